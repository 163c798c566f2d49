package reduce

import (
	"slices"

	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// constantsOf returns the constants that a function reads, in order of first use.
func constantsOf(f *ir.Func) []*ir.Value {
	var out []*ir.Value
	seen := map[*ir.Value]bool{}
	add := func(v *ir.Value) {
		if v.Const != nil && !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	for _, op := range f.Body.Ops {
		op.Reads(add)
	}
	for _, v := range f.Body.Outputs {
		add(v)
	}
	return out
}

// smaller are the extents that a dimension is tried with, beside its half.
var smaller = []int64{1, 2, 4, 8, 16, 32, 64}

// A resize gives dimensions other extents, everywhere or in one input.
type resize struct {
	all        []int64  // these extents become 1; nil for the extents of from
	from, to   [2]int64 // two extents at once, for a reshape between them; the second pair 0 for one
	input, dim int      // one dimension of one input; input -1 for all inputs and constants
	numbers    bool     // also integers in constants, which may be shapes
}

// resizes lists what may be tried on a function, the largest extents first.
func resizes(f *ir.Func) []resize {
	extents := map[int64]bool{}
	for _, v := range f.Body.Params {
		for _, d := range v.Type.Shape {
			extents[d] = d > 1
		}
	}
	for _, v := range constantsOf(f) {
		switch {
		case list(v.Const):
			for _, d := range v.Const.Ints() { // of a shape, as the extents between two reshapes
				extents[d] = d > 1
			}
		case v.Const.Type.Kind == ir.Tensor:
			for _, d := range v.Const.Type.Shape {
				extents[d] = d > 1
			}
		}
	}
	var ds []int64
	for d, ok := range extents {
		if ok {
			ds = append(ds, d)
		}
	}
	slices.Sort(ds)
	slices.Reverse(ds)
	var out []resize
	for _, numbers := range []bool{true, false} {
		out = append(out, resize{all: ds, input: -1, numbers: numbers})
	}
	for _, d := range ds {
		for _, to := range targets(d) {
			for _, numbers := range []bool{true, false} {
				out = append(out, resize{from: [2]int64{d}, to: [2]int64{to}, input: -1, numbers: numbers})
			}
		}
		for _, e := range ds {
			if e < d {
				out = append(out, resize{all: []int64{d, e}, input: -1, numbers: true})
			}
			if e < d && d%e == 0 {
				out = append(out, resize{from: [2]int64{d, e}, to: [2]int64{d / e, 1}, input: -1, numbers: true})
			}
		}
	}
	for i, v := range f.Body.Params {
		for j, d := range v.Type.Shape {
			for _, to := range targets(d) {
				out = append(out, resize{from: [2]int64{d}, to: [2]int64{to}, input: i, dim: j})
			}
		}
	}
	return out
}

// list reports whether a constant is a short list of integers, as the arguments are that say axes and shapes. No tensor
// has its length.
func list(c *ir.Const) bool {
	return c.Type.Kind == ir.Tensor && c.Type.DType == ir.Int32 && len(c.Type.Shape) == 1 &&
		c.Elems() <= unbuild.MaxInline
}

// targets returns the extents below d to try, ascending.
func targets(d int64) []int64 {
	var out []int64
	for _, n := range smaller {
		if n < d {
			out = append(out, n)
		}
	}
	if h := d / 2; h > 0 && !slices.Contains(out, h) {
		out = append(out, h)
	}
	return out
}

// of returns the extent that takes the place of d.
func (z resize) of(d int64) int64 {
	if z.all != nil {
		if slices.Contains(z.all, d) {
			return 1
		}
		return d
	}
	for i, from := range z.from {
		if from != 0 && d == from {
			return z.to[i]
		}
	}
	return d
}

// apply resizes inputs and constants of f.
func (z resize) apply(f *ir.Func) (map[*ir.Value]bool, bool) {
	changed := map[*ir.Value]bool{}
	for i, v := range f.Body.Params {
		shape := slices.Clone(v.Type.Shape)
		for j, d := range shape {
			if z.input < 0 || z.input == i && z.dim == j {
				shape[j] = z.of(d)
			}
		}
		if !slices.Equal(shape, v.Type.Shape) {
			v.Type.Shape = shape
			changed[v] = true
		}
	}
	if z.input >= 0 {
		return changed, len(changed) > 0
	}
	with := map[*ir.Value]*ir.Value{}
	for _, v := range constantsOf(f) {
		c, ok := z.constant(v.Const)
		if !ok {
			return nil, false
		}
		if c != v.Const {
			n := &ir.Value{Name: v.Name, Type: c.Type, Const: c, Pos: v.Pos}
			with[v], changed[n] = n, true
		}
	}
	replace(f.Body, with)
	return changed, len(changed) > 0
}

// constant returns the corner of a constant that the new extents leave; false
// where its elements cannot be picked.
func (z resize) constant(c *ir.Const) (*ir.Const, bool) {
	t := c.Type
	if t.Kind != ir.Tensor || t.DType == ir.String {
		return c, true
	}
	if list(c) {
		vs := c.Ints()
		if !z.numbers {
			return c, true
		}
		out := slices.Clone(vs)
		for i, n := range out {
			out[i] = z.of(n)
		}
		if !slices.Equal(vs, out) {
			return ir.ConstInts(ir.Int32, out...), true
		}
		return c, true
	}
	shape := slices.Clone(t.Shape)
	for i, d := range shape {
		shape[i] = z.of(d)
	}
	if slices.Equal(shape, t.Shape) {
		return c, true
	}
	size := t.DType.Bits() / 8
	if size == 0 {
		return nil, false
	}
	return &ir.Const{Type: t.WithShape(shape...), Data: corner(c.Data, t.Shape, shape, size)}, true
}

// corner copies the elements of data, of shape from, whose indices are inside to.
func corner(data []byte, from, to []int64, size int) []byte {
	if len(from) == 0 {
		return data
	}
	step := size
	for _, d := range from[1:] {
		step *= int(d)
	}
	var out []byte
	for i := range int(to[0]) {
		out = append(out, corner(data[i*step:(i+1)*step], from[1:], to[1:], size)...)
	}
	return out
}

func (r *reducer) dims() error {
	return r.perFunc(func(fn int) error {
		var zs []resize
		return r.each(func() int { zs = resizes(r.cur.prog.Funcs[fn]); return len(zs) }, func(i int) edit {
			z := zs[i]
			return func(p *ir.Program) (map[*ir.Value]bool, bool) { return z.apply(p.Funcs[fn]) }
		})
	})
}

func (r *reducer) constants() error {
	return r.perFunc(func(fn int) error {
		fill := []float64{0, 1}
		count := func() int { return len(fill) * len(constantsOf(r.cur.prog.Funcs[fn])) }
		return r.each(count, func(i int) edit {
			return func(p *ir.Program) (map[*ir.Value]bool, bool) {
				f := p.Funcs[fn]
				v := constantsOf(f)[i/len(fill)]
				if v.Type.Kind != ir.Tensor || !v.Type.DType.IsFloat() || v.Const.Elems() < 2 || splat(v.Const) {
					return nil, false
				}
				c := filled(v.Type, fill[i%len(fill)])
				if c == nil {
					return nil, false
				}
				n := &ir.Value{Name: v.Name, Type: v.Type, Const: c, Pos: v.Pos}
				replace(f.Body, map[*ir.Value]*ir.Value{v: n})
				return map[*ir.Value]bool{n: true}, true
			}
		})
	})
}

// splat reports whether all elements are the same.
func splat(c *ir.Const) bool {
	size := c.Type.DType.Bits() / 8
	if size == 0 || len(c.Data) < size {
		return false
	}
	for i := size; i+size <= len(c.Data); i++ {
		if c.Data[i] != c.Data[i-size] {
			return false
		}
	}
	return true
}
