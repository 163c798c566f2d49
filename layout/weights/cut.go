package weights

import "fmt"

const (
	// WorkUnitPixels is one work unit of the engine: a task whose output has
	// more pixels keeps its kernel resident.
	WorkUnitPixels = 128
	// ResidentBytes is the kernel memory of one core, the limit of a resident
	// kernel's part.
	ResidentBytes = 64 << 10
)

// Slice is a run of outputs that one task computes.
type Slice struct {
	First, Count int
}

// Cut divides the outputs of a dense convolution or a constant matrix product into tasks. red is one output's reduction
// length, pixels the number of output pixels (rows, for a matrix product).
//
// With at most WorkUnitPixels pixels there is one slice, and the kernel streams. With more there are slices of 16*per
// outputs, where per is the largest even count with per*(red+bias)*2 up to ResidentBytes, and one smaller slice for the
// rest. If not even two outputs per core fit, per is 1 (modelled); if one output does not fit, the kernel cannot be
// resident and Cut reports that. Slices are in output order; recorded convolutions run them last first, matrix products
// first to last. A fused table's 128 bytes do not count (modelled: no record has a cut kernel and a table).
func Cut(out, red int, bias bool, pixels int) ([]Slice, error) {
	if err := checkOutputs(out); err != nil {
		return nil, err
	}
	if red < 1 || pixels < 1 {
		return nil, fmt.Errorf("weights: cut of a reduction of %d over %d pixels, want both at least 1", red, pixels)
	}
	if pixels <= WorkUnitPixels {
		return []Slice{{0, out}}, nil
	}
	rows := red
	if bias {
		rows++
	}
	per := ResidentBytes / 2 / rows
	if per < 1 {
		return nil, fmt.Errorf("weights: one output of %d coefficients is %d bytes, which exceeds the %d bytes of "+
			"kernel "+
			"memory a core keeps resident for %d output pixels; split the reduction", rows, 2*rows, ResidentBytes,
			pixels)
	}
	if per > 1 {
		per &^= 1
	}
	return slicesOf(out, per), nil
}

// CutSkipping is Cut for a dense stride 2 kernel in the zero-skipping form, whose masks take kernel memory too: slices
// of 12 outputs per core where Cut has 14 (recorded: 256 outputs of 2304 coefficients). Coefficients count as if none
// were zero (modelled). It returns none if one output does not fit.
func CutSkipping(k *Kernel, pixels int) ([]Slice, error) {
	if err := checkOutputs(k.Out); err != nil {
		return nil, err
	}
	if pixels <= WorkUnitPixels {
		return []Slice{{0, k.Out}}, nil
	}
	if k.skippingBytes(1) > ResidentBytes {
		return nil, nil
	}
	per := 1
	for n := 2; (n-2)*MaxCores < k.Out && k.skippingBytes(n) <= ResidentBytes; n += 2 {
		per = n
	}
	return slicesOf(k.Out, per), nil
}

// skippingBytes is the largest size of the zero-skipping form of a number of outputs of one core.
func (k *Kernel) skippingBytes(outputs int) int {
	n := k.bodyBytes(outputs, 4*((k.KH+1)/2)*((k.KW+1)/2), skipSlotsLarge)
	if k.Bias != nil {
		n += 2 * outputs
	}
	return align(n)
}

// bodyBytes is the size of zero-skipping bodies of outputs of one core, with cells of at least some lane slots, if no
// coefficient is zero.
func (k *Kernel) bodyBytes(outputs, cells, slots int) int {
	masks := (k.In/k.Groups*cells*max(outputs, slots) + 15) / 16 * 2
	return 3*((outputs+capLarge-1)/capLarge) + masks + 2*k.Red()*outputs
}
