package passes

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// Selections of elements along an axis are written with slices, which are views, and with concat, which copies each
// operand. Along the last dimension, a slice that does not begin at 0 is infinite where x is 4096 or more
// (numerics.WidthSlice), and no slice has a stride. Selections there therefore exchange the last dimension of x for
// another.

// maxPieces limits the number of slices in a selection.
const maxPieces = 128

// maxJoined limits the number of operands of one concat: a procedure has registers for target.Table.MaxSurfaces
// tensors.
const maxJoined = 24

// A run is count places at equal distances.
type run struct{ first, count, step int64 }

func (r run) last() int64 { return r.first + (r.count-1)*r.step }

// runsOf divides places into runs: neighbours first, then at least three places at another distance.
func runsOf(at []int64) []run {
	var out []run
	for i := 0; i < len(at); {
		n := 1
		for i+n < len(at) && at[i+n] == at[i]+int64(n) {
			n++
		}
		if step := int64(1); n == 1 && i+2 < len(at) {
			step = at[i+1] - at[i]
			m := 1
			for i+m < len(at) && at[i+m] == at[i]+int64(m)*step {
				m++
			}
			if m > 1 && i+m < len(at) && at[i+m] == at[i+m-1]+1 {
				m-- // the last one starts a run of adjacent places
			}
			if m >= 3 {
				out = append(out, run{at[i], int64(m), step})
				i += m
				continue
			}
		}
		out = append(out, run{at[i], int64(n), 1})
		i += n
	}
	return out
}

// taken selects the elements at the given places of an axis, in that order.
func (c *decomposer) taken(x *ir.Value, axis int, at []int64) *ir.Value {
	runs := runsOf(at)
	n := x.Type.Shape[axis]
	switch {
	case len(runs) == 0:
		return c.Fail("selects nothing")
	case len(runs) == 1 && runs[0] == run{0, n, 1}:
		return x
	case len(runs) == 1 && runs[0].step == 1:
		return c.part(x, axis, runs[0].first, runs[0].last()+1)
	}
	if axis < x.Type.Rank()-1 {
		return c.takenRows(x, axis, at, runs)
	}
	return c.exchanged(x, func(y *ir.Value, axis int) *ir.Value { return c.taken(y, axis, at) })
}

// exchange returns x with its last dimension exchanged for the largest other one, the axis of the former last
// dimension, and a function that exchanges a result back.
func (c *decomposer) exchange(x *ir.Value) (y *ir.Value, axis int, back func(*ir.Value) *ir.Value) {
	if x.Type.Rank() == 1 {
		y, axis, matrix := c.exchange(c.Reshape(x, 1, x.Type.Shape[0]))
		return y, axis, func(z *ir.Value) *ir.Value {
			z = matrix(z)
			return c.Reshape(z, z.Type.Elems())
		}
	}
	last := x.Type.Rank() - 1
	for i, d := range x.Type.Shape[:last] {
		if d >= x.Type.Shape[axis] {
			axis = i
		}
	}
	perm := exchangeOf(last+1, axis, last)
	return c.Transpose(x, perm...), axis, func(z *ir.Value) *ir.Value { return c.Transpose(z, perm...) }
}

// exchanged calls f with x, whose last dimension is exchanged for another, and with the axis where that dimension is
// now. It exchanges the result back.
func (c *decomposer) exchanged(x *ir.Value, f func(y *ir.Value, axis int) *ir.Value) *ir.Value {
	y, axis, back := c.exchange(x)
	return back(f(y, axis))
}

// takenRows is like taken for a dimension other than the last.
func (c *decomposer) takenRows(x *ir.Value, axis int, at []int64, runs []run) *ir.Value {
	n := x.Type.Shape[axis]
	if len(runs) == 1 {
		return c.takenRun(x, axis, runs[0])
	}
	if p := period(at); p < len(at) {
		return c.copies(c.taken(x, axis, at[:p]), axis, int64(len(at)/p))
	}
	if r := repeats(at); r > 1 {
		base := make([]int64, 0, len(at)/r)
		for i := 0; i < len(at); i += r {
			base = append(base, at[i])
		}
		y := c.taken(x, axis, base)
		return c.split(y, axis, int64(len(base)), 1, func(y *ir.Value, axis int) *ir.Value {
			return c.copies(y, axis+1, int64(r))
		})
	}
	if b := blocks(at, n); b > 1 {
		return c.split(x, axis, b, n/b, func(y *ir.Value, axis int) *ir.Value {
			return c.taken(y, axis+1, at[:int64(len(at))/b])
		})
	}
	if len(runs) > maxPieces {
		return c.past("runs of selected elements", int64(len(runs)), maxPieces)
	}
	return c.takenRuns(x, axis, runs)
}

// period returns the length of the part that is repeated, or the whole length if none is.
func period(at []int64) int {
	for p := 1; p <= len(at)/2; p++ {
		if len(at)%p == 0 && slices.Equal(at[p:], at[:len(at)-p]) {
			return p
		}
	}
	return len(at)
}

// repeats returns how many times each place is repeated.
func repeats(at []int64) int {
	g := int64(0)
	for i := 0; i < len(at); {
		n := 1
		for i+n < len(at) && at[i+n] == at[i] {
			n++
		}
		g = gcd(g, int64(n))
		i += n
	}
	return int(g)
}

// blocks returns the number of equal parts into which n places can be divided so that the same is selected from each.
func blocks(at []int64, n int64) int64 {
	for b := min(n, int64(len(at))); b > 1; b-- {
		if n%b != 0 || int64(len(at))%b != 0 {
			continue
		}
		part, size := int64(len(at))/b, n/b
		ok := true
		for i, v := range at {
			o := int64(i) / part
			if v-o*size != at[int64(i)%part] || at[int64(i)%part] >= size {
				ok = false
				break
			}
		}
		if ok {
			return b
		}
	}
	return 1
}

// split calls f with x, whose axis is divided into two of a by b elements, and joins the two again in the result.
// Dimensions before and after are merged if the rank would otherwise exceed 5.
func (c *decomposer) split(x *ir.Value, axis int, a, b int64, f func(y *ir.Value, axis int) *ir.Value) *ir.Value {
	shape := x.Type.Shape
	lead, tail := shape[:axis], shape[axis+1:]
	l, t := slices.Clone(lead), slices.Clone(tail)
	if len(shape) > 4 {
		l = []int64{volume(lead)}
	}
	if len(l)+len(t)+2 > 5 && len(t) > 1 {
		t = []int64{volume(tail[:len(tail)-1]), tail[len(tail)-1]}
	}
	y := f(c.Reshape(x, slices.Concat(l, []int64{a, b}, t)...), len(l))
	s := y.Type.Shape
	return c.Reshape(y, slices.Concat(lead, []int64{s[len(l)] * s[len(l)+1]}, tail)...)
}

// takenRuns joins runs.
func (c *decomposer) takenRuns(x *ir.Value, axis int, runs []run) *ir.Value {
	parts := make([]*ir.Value, len(runs))
	for i, r := range runs {
		parts[i] = c.takenRun(x, axis, r)
	}
	return c.joined(axis, parts)
}

// joined is like concat for any number of values.
func (c *decomposer) joined(axis int, vs []*ir.Value) *ir.Value {
	for len(vs) > maxJoined {
		var next []*ir.Value
		for part := range slices.Chunk(vs, maxJoined) {
			next = append(next, c.Concat(axis, part...))
		}
		vs = next
	}
	return c.Concat(axis, vs...)
}

// stacked joins values along a new dimension.
func (c *decomposer) stacked(axis int, vs []*ir.Value) *ir.Value {
	parts := make([]*ir.Value, len(vs))
	for i, v := range vs {
		parts[i] = c.Reshape(v, slices.Insert(slices.Clone(v.Type.Shape), axis, 1)...)
	}
	return c.joined(axis, parts)
}

// interleaved joins n slices along an axis, one of each value in turn. The last values may be one slice shorter than
// the first.
func (c *decomposer) interleaved(axis int, n int64, vs []*ir.Value) *ir.Value {
	if len(vs) == 1 {
		return vs[0]
	}
	shape, parts := slices.Clone(vs[0].Type.Shape), make([]*ir.Value, len(vs))
	if axis == len(shape)-1 {
		var back func(*ir.Value) *ir.Value
		at := 0
		for i, v := range vs {
			switch {
			case i > 0 && v == vs[i-1]:
				parts[i] = parts[i-1]
			default:
				y, a, b := c.exchange(v)
				if parts[i] = y; i == 0 {
					at, back = a, b
				}
			}
		}
		return back(c.interleaved(at, n, parts))
	}
	each := shape[axis]
	lead, row := volume(shape[:axis]), shape[len(shape)-1]
	for i, v := range vs {
		if v.Type.Shape[axis] < each { // any slice can fill its place, and is cut off
			v = c.Concat(axis, v, c.Slice(v, axis, 0, 1))
		}
		parts[i] = c.Reshape(v, lead, each, 1, volume(shape[axis+1:len(shape)-1]), row)
	}
	shape[axis] = each * int64(len(vs))
	v := c.joined(2, parts)
	if v = c.Reshape(v, shape...); shape[axis] > n {
		v = c.Slice(v, axis, 0, n)
	}
	return v
}

// takenRun selects one run.
func (c *decomposer) takenRun(x *ir.Value, axis int, r run) *ir.Value {
	switch {
	case r.count == 1:
		return c.Slice(x, axis, r.first, r.first+1)
	case r.step == 0:
		return c.copies(c.Slice(x, axis, r.first, r.first+1), axis, r.count)
	case r.step < 0:
		return c.reversed(c.every(x, axis, run{r.last(), r.count, -r.step}), axis)
	}
	return c.every(x, axis, r)
}

// part slices the elements from lo to hi.
func (c *decomposer) part(x *ir.Value, axis int, lo, hi int64) *ir.Value {
	if lo == 0 || axis < x.Type.Rank()-1 {
		return c.Slice(x, axis, lo, hi)
	}
	return c.exchanged(x, func(y *ir.Value, axis int) *ir.Value { return c.Slice(y, axis, lo, hi) })
}

// every slices a run that goes forward.
func (c *decomposer) every(x *ir.Value, axis int, r run) *ir.Value {
	if r.step == 1 && r.first == 0 && r.count == x.Type.Shape[axis] {
		return x
	}
	if r.step == 1 {
		return c.part(x, axis, r.first, r.last()+1)
	}
	if axis == x.Type.Rank()-1 {
		return c.exchanged(x, func(y *ir.Value, axis int) *ir.Value { return c.every(y, axis, r) })
	}
	begin, end, stride := make([]int64, x.Type.Rank()), slices.Clone(x.Type.Shape), make([]int64, x.Type.Rank())
	for i := range stride {
		stride[i] = 1
	}
	begin[axis], end[axis], stride[axis] = r.first, r.last()+1, r.step
	return c.Do(ir.OpSliceByIndex, arg(ir.ParamX, x), arg(ir.ParamBegin, c.Ints(begin...)),
		arg(ir.ParamEnd, c.Ints(end...)), arg(ir.ParamStride, c.Ints(stride...)))
}

// copies repeats x along an axis.
func (c *decomposer) copies(x *ir.Value, axis int, n int64) *ir.Value {
	if n == 1 {
		return x
	}
	reps := slices.Repeat([]int64{1}, x.Type.Rank())
	reps[axis] = n
	return c.Do(ir.OpTile, arg(ir.ParamX, x), arg(ir.ParamReps, c.Ints(reps...)))
}

// reversed reverses an axis.
func (c *decomposer) reversed(x *ir.Value, axis int) *ir.Value {
	if x.Type.Shape[axis] == 1 {
		return x
	}
	return c.Do(ir.OpReverse, arg(ir.ParamX, x), arg(ir.ParamAxes, c.Ints(int64(axis))))
}
