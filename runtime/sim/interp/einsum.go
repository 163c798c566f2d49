package interp

import (
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

var _ = add(map[*ir.Operation]kernel{ir.OpEinsum: einsum})

// einsum sums the products of two operands over the letters that the right side
// of the equation leaves out.
func einsum(c *call) []Tensor {
	vs := c.tuple(ir.ParamValues)
	left, right, ok := strings.Cut(strings.ReplaceAll(c.string(ir.ParamEquation, ""), " ", ""), "->")
	terms := strings.Split(left, ",")
	if c.err == nil && (!ok || len(terms) != len(vs) || len(vs) != 2) {
		return c.fail("equation does not name two operands and a result, values has %d", len(vs))
	}
	if c.err != nil {
		return nil
	}
	size := map[rune]int64{}
	for i, t := range terms {
		if vs[i].Type.Rank() != len(t) {
			return c.fail("operand %d has shape %s, the equation says %q", i, ir.ShapeString(vs[i].Type.Shape), t)
		}
		for d, l := range t {
			n := vs[i].Type.Shape[d]
			old, seen := size[l]
			if seen && old != n && old != 1 && n != 1 || l < 'A' || l > 'z' {
				return c.fail("letter %q stands for %d and for %d elements", l, old, n)
			}
			if !seen || old == 1 {
				size[l] = n // 1 repeats, as in numpy
			}
		}
	}
	// Letters in order: the result's, then the summed ones.
	var order []rune
	var shape []int64
	for i, l := range right {
		if _, known := size[l]; !known || strings.ContainsRune(right[:i], l) {
			return c.fail("result letter %q is in no operand or stands twice", l)
		}
		order, shape = append(order, l), append(shape, size[l])
	}
	full := append([]int64(nil), shape...)
	for _, l := range left {
		if l != ',' && !strings.ContainsRune(string(order), l) {
			order, full = append(order, l), append(full, size[l])
		}
	}
	st := make([][]int, 2)
	for i, t := range terms {
		st[i] = make([]int, len(order))
		own := strides(vs[i].Type.Shape)
		for d, l := range t {
			if vs[i].Type.Shape[d] != 1 {
				st[i][strings.IndexRune(string(order), l)] += own[d]
			}
		}
	}
	// Walk the outputs; the summed letters form one list of steps per operand.
	n := len(shape)
	steps := [2][]int{{0}, {0}}
	for d := n; d < len(full); d++ {
		for i := range steps {
			if full[d] > 0 && len(steps[i]) > (1<<30)/int(full[d]) {
				return c.fail("the sum has too many terms")
			}
			next := make([]int, 0, len(steps[i])*int(full[d]))
			for _, at := range steps[i] {
				for k := range int(full[d]) {
					next = append(next, at+k*st[i][d])
				}
			}
			if !c.reserve(8 * int64(len(next))) {
				return nil
			}
			steps[i] = next
		}
	}
	if ir.TensorOf(ir.FP32, shape...).Bytes() < 0 {
		return c.fail("the result of shape %s is too large", ir.ShapeString(shape))
	}
	xs, ys, out := c.macFloats(vs[0]), c.macFloats(vs[1]), c.buffer(prod(shape))
	if c.err != nil {
		return nil
	}
	sum := func(x, y int) float32 {
		if c.fixed && len(steps[0]) > 1 {
			s := numerics.FixedSum{}
			for k, d := range steps[0] {
				s.Add(xs[x+d], ys[y+steps[1][k]])
			}
			return s.Value()
		}
		s := 0.0
		for k, d := range steps[0] {
			p := float64(xs[x+d]) * float64(ys[y+steps[1][k]])
			if c.ane && p != p {
				p = 0
			}
			s += p
		}
		return float32(s)
	}
	cols, width := split(shape)
	sx, sy := 0, 0
	if n > 0 {
		sx, sy = st[0][n-1], st[1][n-1]
	}
	lead := [][]int{st[0][:n], st[1][:n]}
	c.parallel(cols, 1, func(lo, hi int) {
		rows(shape, lo, hi, lead, func(at int, off []int) {
			if c.r.ctx.Err() != nil {
				return
			}
			for k := range width {
				out[at+k] = sum(off[0]+k*sx, off[1]+k*sy)
			}
		})
	})
	return results(c.outMAC(0, shape, out))
}
