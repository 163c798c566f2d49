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
	var ss []Slice
	for first := 0; first < out; first += MaxCores * per {
		ss = append(ss, Slice{first, min(MaxCores*per, out-first)})
	}
	return ss, nil
}
