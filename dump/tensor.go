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

// Tensor prints one line about a tensor: type, range, mean, first elements.
func Tensor(w io.Writer, name string, t interp.Tensor) error {
	if t.Type.Kind != ir.Tensor || t.Type.DType == ir.String {
		_, err := fmt.Fprintf(w, "%s  %s\n", name, t.Type)
		return err
	}
	vs := t.Const().Floats()
	lo, hi, sum, odd := math.Inf(1), math.Inf(-1), 0.0, 0
	for _, v := range vs {
		if v-v != 0 {
			odd++
			continue
		}
		lo, hi, sum = min(lo, v), max(hi, v), sum+v
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s  %s", name, t.Type)
	if n := len(vs) - odd; n > 0 {
		fmt.Fprintf(&s, "  min %.6g max %.6g mean %.6g", lo, hi, sum/float64(n))
	}
	if odd > 0 {
		fmt.Fprintf(&s, "  %d not finite", odd)
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
