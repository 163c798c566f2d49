package weights

import "fmt"

// The division of outputs over tasks and rounds of the M6 (h18g), read from published lists of the kernels that its
// compiler cut. A core computes a round of channels at a time; field OCGSize is its logarithm.

// maxRound is the largest round.
const maxRound = 16

// winogradChannels is the number of input channels up to which a round by Winograd's method has one channel; published
// are 16 and 64 with one, 256 and 512 with two.
const winogradChannels = 64

// channelBytes is the size of the coefficients of one channel of a round as they are stored: of one output, or of one
// of its columns.
func (k *Kernel) channelBytes() int {
	one := *k
	one.Bias = nil
	if k.Sparse { // a mask, and what is not zero (published: a pruned kernel of 3x3 has a round of 16)
		values := 0
		for i := 0; i+1 < len(k.W); i += 2 {
			if k.W[i] != 0 || k.W[i+1]&0x7f != 0 {
				values++
			}
		}
		return k.Red()/8 + 2*values/k.Out
	}
	if k.Rewritten() {
		return (k.maskBits() + 16*k.terms()) / 8
	}
	return one.PlaneBytes(1)
}

// terms is the number of coefficients of an output that a rewrite did not add.
func (k *Kernel) terms() int {
	if k.Taps > 0 {
		return k.In / k.Groups * k.Taps
	}
	return k.Red()
}

// maskBits is the number of bits of a mask of one lane of a rewritten kernel.
func (k *Kernel) maskBits() int {
	if k.Columns > 1 {
		return k.In / k.Groups * k.KH * PairWidth(k.KW)
	}
	return k.Red()
}

// RoundSize returns the field OCGSize for rounds as large as kernel memory holds, which it is filled with once. The
// argument says whether the task computes by Winograd's method.
func (k *Kernel) RoundSize(winograd bool) int {
	switch {
	case winograd && k.In/k.Groups <= winogradChannels:
		return 0
	case winograd:
		return 1
	}
	return log2Ceil(min(maxRound, floorPow2(ResidentBytes/max(k.channelBytes(), 1))))
}

// CutResident divides the outputs of a kernel into tasks: as many outputs on each core as kernel memory holds, in the
// form in which they are stored; an even number of those that are stored whole. Of a rewritten kernel it counts masks
// for the next power of two of lanes (published: 96 outputs with 1x9 taps, 80 with 1x11, 48 with 1x15, and 80 of 512
// channels with 3x3 dilated taps, of which kernel memory would hold 96). With at most WorkUnitPixels pixels there is
// one task, and the kernel streams.
func CutResident(k *Kernel, pixels int) ([]Slice, error) {
	if err := checkOutputs(k.Out); err != nil {
		return nil, err
	}
	if pixels <= WorkUnitPixels {
		return []Slice{{0, k.Out}}, nil
	}
	if n := k.partBytes(1); n > ResidentBytes {
		return nil, fmt.Errorf("weights: one output takes %d bytes, which exceeds the %d bytes of kernel memory of a "+
			"core; split the reduction", n, ResidentBytes)
	}
	step, per := 2, 1
	if k.Sparse || k.Rewritten() {
		step = 1
	}
	for n := step; n-step < (k.Out+MaxCores-1)/MaxCores && k.partBytes(n) <= ResidentBytes; n += step {
		per = n
	}
	return slicesOf(k.Out, per), nil
}

// partBytes is the size as which the part of a core with a number of outputs counts.
func (k *Kernel) partBytes(outputs int) int {
	switch {
	case k.Sparse:
		return outputs*k.channelBytes() + Granule
	case k.Rewritten():
		return k.RewrittenBytes(outputs)
	}
	return k.leadBytes() + k.PlaneBytes(outputs)
}

// RewrittenBytes is the size as which the compiler counts the part of a core with a number of outputs.
func (k *Kernel) RewrittenBytes(outputs int) int {
	lanes := outputs * k.columns()
	n := ceilPow2(lanes)*k.maskBits()/8 + 2*lanes*k.terms() + Granule
	if k.Bias != nil {
		n += 2 * lanes
	}
	return n
}

// slicesOf cuts outputs into slices of per on every core.
func slicesOf(out, per int) (ss []Slice) {
	for first := 0; first < out; first += MaxCores * per {
		ss = append(ss, Slice{first, min(MaxCores*per, out-first)})
	}
	return ss
}

// PlanRounds plans outputs first to first+out of a kernel, or all of a grouped one, in rounds of 1 << size channels. An
// output whose columns are computed two at a time takes two channels of a round.
func PlanRounds(k *Kernel, first, out, size int) (Plan, error) {
	if err := checkOutputs(out); err != nil {
		return Plan{}, err
	}
	per := out / k.Groups
	outputs := size
	if k.columns() > 1 {
		outputs = max(size-1, 0)
	}
	n := ActiveCores(per)
	p := Plan{Form: Dense, First: first, Out: out, Cores: n, OCGSize: size, Groups: SplitOCGs(per, n, outputs),
		ConvGroups: k.Groups}
	if k.Groups > 1 {
		p.Form = Grouped
	}
	return p, nil
}
