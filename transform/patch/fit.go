package patch

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/layout/weights"
)

// fit expresses the values of a weight by those that its compressed form has, and measures what that changes.
type fit struct {
	at            int // values before the next call's
	used          bool
	signal, noise float64
	worst         Error
}

// palette returns fp16 values with each replaced by the nearest entry of a codebook, the first of several.
func (f *fit) palette(values []byte, book weights.Palette) []byte {
	f.used = true
	known, nearest := make([]bool, 1<<16), make([]uint16, 1<<16)
	out := make([]byte, len(values))
	for i := 0; i+1 < len(values); i += 2 {
		bits := binary.LittleEndian.Uint16(values[i:])
		x := weights.FromFP16(bits)
		if !known[bits] {
			best := math.Inf(1)
			nearest[bits] = book[0]
			for _, b := range book {
				if d := distance(x, weights.FromFP16(b)); d < best {
					best, nearest[bits] = d, b
				}
			}
			known[bits] = true
		}
		entry := nearest[bits]
		d := distance(x, weights.FromFP16(entry))
		if d > f.worst.Largest {
			f.worst.Largest, f.worst.Index = d, f.at+i/2
		}
		f.signal, f.noise = f.signal+x*x, f.noise+d*d
		binary.LittleEndian.PutUint16(out[i:], entry)
	}
	f.at += len(values) / 2
	return out
}

// distance is the difference of two numbers: 0 for equal infinities and NaNs, infinite for one of them.
func distance(a, b float64) float64 {
	switch d := math.Abs(a - b); {
	case a == b || a != a && b != b:
		return 0
	case d <= math.MaxFloat64:
		return d
	}
	return math.Inf(1)
}

// judge adds the error to the change of a weight, or refuses it.
func (f *fit) judge(w *weight) error {
	if !f.used {
		return nil
	}
	e := f.worst
	if f.noise > 0 {
		e.Ratio = 10 * math.Log10(f.signal/f.noise)
	}
	if e.Largest > w.MaxError {
		return &Refusal{Name: w.Name,
			Reason: fmt.Sprintf("its codebook cannot express the values: value %d is %.4g from "+
				"the nearest entry (signal to noise %.1f dB), and %.4g is allowed", e.Index, e.Largest,
				e.Ratio, w.MaxError),
			Hint: "allow that error, or compile the pair again from its model with another codebook", Model: true}
	}
	w.change.Error = &e
	return nil
}
