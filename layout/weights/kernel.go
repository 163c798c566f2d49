package weights

import "fmt"

// Granule is the alignment and padding unit of everything the coefficient DMA
// reads: its base and size registers do not store the low six bits.
const Granule = 64

// MaxCores is the number of cores, and so of kernel DMA lanes, of h13.
const MaxCores = 16

// maxExtent bounds every extent of a kernel; the widest register field that
// holds one (channels) has 17 bits.
const maxExtent = 1 << 17

// Kernel is the constant side of one convolution or matrix product.
type Kernel struct {
	// Out and In are the total numbers of channels. A matrix product with constant weight W[N][K] is Out = N, In = K,
	// KH = KW = 1.
	Out, In int
	// KH and KW are the window in taps.
	KH, KW int
	// Groups divides Out and In; 1 is dense, Groups == In == Out depthwise.
	Groups int
	// W is the weight [Out][In/Groups][KH][KW], fp16 little endian. Never
	// written.
	W []byte
	// Turned reports that W is [In][Out] instead. Such a kernel is dense and has one tap.
	Transposed bool
	// Bias contains one fp16 per output, or is nil.
	Bias []uint16
	// Table is the lookup table fused after the kernel, or nil. Every core's
	// part starts with its own copy.
	Table *Table
	// Book has the values of a kernel that is stored as indices of them, or is nil.
	Book Palette
	// Sparse says that the kernel is stored without its zeros; its stride is 1.
	Sparse bool
	// Taps is the number of taps of a window that a rewrite filled with zeros, as it does for a dilation; 0 for all.
	Taps int
	// Columns is the number of neighbouring columns of one output that a task computes at a time, each with a kernel of
	// its own: 0 and 1 for one, 2 for a kernel and the same one shifted by a column, stored without zeros.
	Columns int
	// Scales contains one fp16 per output of a kernel that is stored as signed bytes, whose products with the scale of
	// their output, rounded, are its values; or it is nil.
	Scales []uint16
}

// Streams reports whether the kernel is stored in a compressed form, whose bytes the engine expands as it reads them.
func (k *Kernel) Streams() bool { return k.Book != nil || k.Sparse || k.Scales != nil }

// ShiftKernel returns the channelwise kernel with a single 1.0 at tap (y, x) of a window of kh by kw, which moves an
// image of the given number of channels.
func ShiftKernel(channels, kh, kw, y, x int) *Kernel {
	k := &Kernel{Out: channels, In: channels, KH: kh, KW: kw, Groups: channels, W: make([]byte, 2*channels*kh*kw)}
	for i := 2 * (y*kw + x); i < len(k.W); i += 2 * kh * kw {
		k.W[i+1] = 0x3c
	}
	return k
}

// columns is the number of kernels of one output.
func (k *Kernel) columns() int { return max(k.Columns, 1) }

// Rewritten reports whether the kernel that a task reads has zeros which the model's has not.
func (k *Kernel) Rewritten() bool { return k.Taps > 0 || k.Columns > 1 }

// PairWidth is the number of taps along the width of each of the two kernels that compute two columns at a time: those
// of the kernel and one more, made even (the published words of kernels of 9 to 15 taps).
func PairWidth(kw int) int { return (kw + 2) &^ 1 }

// Red is the length of one output's reduction: In/Groups*KH*KW.
func (k *Kernel) Red() int { return k.In / k.Groups * k.KH * k.KW }

// PlaneBytes is the size of the coefficients, scales and biases of outputs of one core in one output channel group; of
// a sparse kernel, the most that outputs can have.
func (k *Kernel) PlaneBytes(outputs int) int {
	n := 2 * outputs * k.Red()
	switch {
	case k.Book != nil:
		n = (outputs*k.Red()*k.Book.Bits() + 7) / 8
	case k.Scales != nil:
		n = 2*outputs + outputs*k.Red()
	case k.Sparse:
		n = k.bodyBytes(outputs, k.KH*k.KW, skipSlotsSmall)
	case k.Rewritten():
		return k.RewrittenBytes(outputs) // with its biases
	}
	if k.Bias != nil {
		n += 2 * outputs
	}
	return n
}

// leadBytes is the size of what comes before the coefficients in each part.
func (k *Kernel) leadBytes() (n int) {
	if k.Table != nil {
		n += TableBytes
	}
	if k.Book != nil {
		n += align(2 * len(k.Book))
	}
	return n
}

// lead returns what comes before the coefficients in each part.
func (k *Kernel) lead() (b []byte) {
	if k.Table != nil {
		b = k.Table.Bytes()
	}
	return append(b, k.Book.lead()...)
}

// Cut is the function Cut for the kernel, which streams if it is compressed: stream is the limit of CutStreamed.
func (k *Kernel) Cut(pixels int, stream int64) ([]Slice, error) {
	if k.Streams() {
		return CutStreamed(k, stream)
	}
	return Cut(k.Out, k.Red(), k.Bias != nil, pixels)
}

// rows returns the weights of the outputs first to first+n: their rows, or what a job reads of a transposed kernel.
func (k *Kernel) rows(first, n int) []byte {
	if k.Transposed {
		return k.W[2*first:]
	}
	red := k.Red()
	return k.W[2*red*first : 2*red*(first+n)]
}

// stride is the distance in bytes between what a transposed kernel multiplies neighbouring inputs with, 0 for another
// kernel.
func (k *Kernel) stride() int {
	if k.Transposed {
		return 2 * k.Out
	}
	return 0
}

// Check returns the first field that breaks a rule of the type.
func (k *Kernel) Check() error {
	for _, e := range [...]struct {
		name string
		v    int
	}{{"Out", k.Out}, {"In", k.In}, {"KH", k.KH}, {"KW", k.KW}, {"Groups", k.Groups}} {
		if e.v < 1 || e.v > maxExtent {
			return fmt.Errorf("weights: kernel field %s is %d, want 1..%d", e.name, e.v, maxExtent)
		}
	}
	if k.Out%k.Groups != 0 || k.In%k.Groups != 0 {
		return fmt.Errorf("weights: kernel field Groups is %d, which must divide Out %d and In %d", k.Groups, k.Out,
			k.In)
	}
	// Each factor is at most 2^17, so compare in steps to stay inside int64.
	per := int64(k.In/k.Groups) * int64(k.KH)
	if per > maxExtent*int64(maxExtent)/int64(k.KW) || int64(k.Out) > (1<<62)/(2*per*int64(k.KW)) {
		return fmt.Errorf("weights: kernel of %d x %d x %d x %d taps is too large", k.Out, k.In/k.Groups, k.KH, k.KW)
	}
	if want := 2 * int64(k.Out) * per * int64(k.KW); int64(len(k.W)) != want {
		return fmt.Errorf("weights: kernel field W has %d bytes, want %d for [%d][%d][%d][%d] fp16",
			len(k.W), want, k.Out, k.In/k.Groups, k.KH, k.KW)
	}
	if k.Transposed && (k.Groups != 1 || k.KH != 1 || k.KW != 1) {
		return fmt.Errorf("weights: a transposed kernel of %d groups and %d x %d taps, want 1 and 1 x 1", k.Groups,
			k.KH, k.KW)
	}
	if err := k.Book.check(); err != nil {
		return err
	}
	if k.Scales != nil && len(k.Scales) != k.Out {
		return fmt.Errorf("weights: kernel field Scales has %d values, want %d (one per output) or none", len(k.Scales),
			k.Out)
	}
	if k.Bias != nil && len(k.Bias) != k.Out {
		return fmt.Errorf("weights: kernel field Bias has %d values, want %d (one per output) or none", len(k.Bias),
			k.Out)
	}
	return nil
}

// align rounds n up to Granule.
func align(n int) int { return (n + Granule - 1) &^ (Granule - 1) }
