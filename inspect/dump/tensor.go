package dump

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// shownElements is the number of elements in a summary.
const shownElements = 8

// Statistics are facts about the elements of a tensor.
type Statistics struct {
	Elements  int     `json:"elements"`   // number of elements
	Min       float64 `json:"min"`        // of the finite elements, 0 if there are none
	Max       float64 `json:"max"`        // of the finite elements, 0 if there are none
	Mean      float64 `json:"mean"`       // of the finite elements, 0 if there are none
	NotFinite int     `json:"not_finite"` // elements that are infinite or NaN
}

// Summarize returns the statistics of a tensor, which are empty for text.
func Summarize(t interp.Tensor) Statistics {
	if t.Type.Kind != ir.Tensor || t.Type.DType == ir.String {
		return Statistics{}
	}
	return summarize(t.Const().Floats())
}

func summarize(vs []float64) Statistics {
	s := Statistics{Elements: len(vs)}
	lo, hi, sum := math.Inf(1), math.Inf(-1), 0.0
	for _, v := range vs {
		if v-v != 0 {
			s.NotFinite++
			continue
		}
		lo, hi, sum = min(lo, v), max(hi, v), sum+v
	}
	if n := len(vs) - s.NotFinite; n > 0 {
		s.Min, s.Max, s.Mean = lo, hi, sum/float64(n)
	}
	return s
}

// Tensor prints one line about a tensor: type, range, mean, first elements.
func Tensor(w io.Writer, name string, t interp.Tensor) error {
	if t.Type.Kind != ir.Tensor || t.Type.DType == ir.String {
		_, err := fmt.Fprintf(w, "%s  %s\n", name, t.Type)
		return err
	}
	vs := t.Const().Floats()
	x := summarize(vs)
	var s strings.Builder
	fmt.Fprintf(&s, "%s  %s", name, t.Type)
	if x.NotFinite < len(vs) {
		fmt.Fprintf(&s, "  min %.6g max %.6g mean %.6g", x.Min, x.Max, x.Mean)
	}
	if x.NotFinite > 0 {
		fmt.Fprintf(&s, "  %d not finite", x.NotFinite)
	}
	s.WriteString("  [")
	for i, v := range vs[:min(len(vs), shownElements)] {
		if i > 0 {
			s.WriteString(", ")
		}
		fmt.Fprintf(&s, "%.6g", v)
	}
	if len(vs) > shownElements {
		s.WriteString(", ...")
	}
	s.WriteString("]\n")
	_, err := io.WriteString(w, s.String())
	return err
}
