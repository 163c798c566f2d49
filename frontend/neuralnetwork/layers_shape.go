package neuralnetwork

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// loadConstant has a constant of channels, height and width.
func (l *layer) loadConstant() []tensor {
	s := l.Ints("shape")
	if len(s) != 3 {
		l.reject("shape", "a shape of %d dimensions; want 3, channels, height and width", len(s))
	}
	return one(l.vector(l.Message, "data", append([]int64{1}, s...)...), true)
}

func (l *layer) loadConstantND() []tensor {
	return one(l.vector(l.Message, "data", l.Ints("shape")...), false)
}

// Values of FlattenLayerParams.mode and ReshapeLayerParams.mode.
const (
	channelFirst = iota
	channelLast
)

// last reports whether elements are in the order of height, width and channels.
func (l *layer) last() bool {
	m := l.Int("mode")
	if m != channelFirst && m != channelLast {
		l.reject("mode", "unknown order %d, want %d or %d", m, channelFirst, channelLast)
	}
	return m == channelLast
}

func (l *layer) flatten() []tensor {
	t := l.image(0)
	v := t.v
	n := l.vectorOf(v)
	if l.last() {
		v = l.Transpose(v, 0, 2, 3, 1)
	}
	return one(l.Reshape(v, l.size(v, 0), n, 1, 1), t.five)
}

func (l *layer) reshape() []tensor {
	t, s := l.image(0), l.Ints("targetShape")
	if len(s) == 3 {
		s = append([]int64{l.size(t.v, 0)}, s...)
	}
	if len(s) != 4 || slices.Min(s) < 1 {
		l.reject("targetShape", "a shape of %s; want 3 dimensions, channels, height and width, or 4 with the sequence "+
			"before, each at least 1", ir.ShapeString(s))
	}
	if !l.last() {
		return one(l.Reshape(t.v, s...), t.five)
	}
	v := l.Transpose(t.v, 0, 2, 3, 1)
	return one(l.Transpose(l.Reshape(v, s[0], s[2], s[3], s[1]), 0, 3, 1, 2), t.five)
}

// permute numbers sequence, channels, height and width.
func (l *layer) permute() []tensor {
	t, axes := l.image(0), l.Ints("axis")
	if !permutation(axes, 4) {
		l.reject("axis", "%s is not an order of the axes 0 to 3", ir.ShapeString(axes))
	}
	return one(l.Transpose(t.v, axes...), t.five)
}

func permutation(axes []int64, n int) bool {
	sorted := slices.Sorted(slices.Values(axes))
	for i, a := range sorted {
		if a != int64(i) {
			return false
		}
	}
	return len(axes) == n
}

func (l *layer) transpose() []tensor {
	v, axes := l.full(0), l.Ints("axes")
	if !permutation(axes, v.Type.Rank()) {
		l.reject("axes", "%s is not an order of the %d axes of its input", ir.ShapeString(axes), v.Type.Rank())
	}
	return one(l.Transpose(v, axes...), false)
}

// concat joins channels, or sequences.
func (l *layer) concat() []tensor {
	vs, five := l.alike()
	axis := l.axisOf(vs[0], -3)
	if l.Bool("sequenceConcat") {
		if axis = 0; !five {
			axis = l.axisOf(vs[0], -5)
		}
	}
	return one(l.Builder.Concat(axis, vs...), five)
}

func (l *layer) concatND() []tensor {
	args := []ir.Arg{arg(ir.ParamAxis, l.integer(l.Int("axis"))), arg(ir.ParamInterleave, l.flag(l.Bool("interleave")))}
	for i := range l.in {
		args = append(args, arg(ir.ParamValues, l.full(i)))
	}
	return one(l.Do(ir.OpConcat, args...), false)
}

func (l *layer) stack() []tensor {
	args := []ir.Arg{arg(ir.ParamAxis, l.integer(l.Int("axis")))}
	for i := range l.in {
		args = append(args, arg(ir.ParamValues, l.full(i)))
	}
	return one(l.Do(ir.OpStack, args...), false)
}

// split makes equal parts of the channels.
func (l *layer) split() []tensor {
	t := l.plane(0)
	return l.parts(t.v, int64(l.axisOf(t.v, -3)), t.five,
		arg(ir.ParamNumSplits, l.integer(int64(len(l.names)))))
}

func (l *layer) splitND() []tensor {
	by := arg(ir.ParamNumSplits, l.integer(int64(len(l.names))))
	if sizes := l.Ints("splitSizes"); len(sizes) > 0 {
		by = arg(ir.ParamSplitSizes, l.ints(sizes...))
	}
	return l.parts(l.full(0), l.Int("axis"), false, by)
}

func (l *layer) parts(v *ir.Value, axis int64, five bool, by ir.Arg) []tensor {
	var out []tensor
	for _, r := range l.All(ir.OpSplit, arg(ir.ParamX, v), arg(ir.ParamAxis, l.integer(axis)), by) {
		out = append(out, tensor{r, five})
	}
	if len(out) != len(l.names) {
		l.refuse("it makes %d parts and has %d outputs", len(out), len(l.names))
	}
	return out
}

func (l *layer) sequenceRepeat() []tensor {
	t := l.image(0)
	return one(l.on(ir.OpTile, t.v, arg(ir.ParamReps, l.ints(max(l.Int("nRepetitions"), 1), 1, 1, 1))), t.five)
}

func (l *layer) tile() []tensor {
	return one(l.on(ir.OpTile, l.full(0), arg(ir.ParamReps, l.ints(l.Ints("reps")...))), false)
}

// slice reads a range of channels, rows or columns.
func (l *layer) slice() []tensor {
	t := l.plane(0)
	axis := l.axisOf(t.v, choice(l, l.Message, "axis", []int{-3, -2, -1}))
	lo, hi, stride := l.Int("startIndex"), l.Int("endIndex"), max(l.Int("stride"), 1)
	if hi == 0 && lo >= 0 {
		l.reject("endIndex", "the slice ends at 0, where it begins")
	}
	return one(l.part(t.v, axis, lo, hi, stride), t.five)
}

func (l *layer) sliceStatic() []tensor {
	v := l.full(0)
	args := []ir.Arg{arg(ir.ParamBegin, l.ints(l.Ints("beginIds")...)), arg(ir.ParamEnd, l.ints(l.Ints("endIds")...))}
	if s := l.Ints("strides"); len(s) > 0 {
		args = append(args, arg(ir.ParamStride, l.ints(s...)))
	}
	for _, m := range []struct {
		field string
		param ir.ParamName
	}{{"beginMasks", ir.ParamBeginMask}, {"endMasks", ir.ParamEndMask}, {"squeezeMasks", ir.ParamSqueezeMask}} {
		if vs := l.Bools(m.field); len(vs) > 0 {
			args = append(args, arg(m.param, l.flags(vs)))
		}
	}
	return one(l.on(ir.OpSliceByIndex, v, args...), false)
}

func (l *layer) reverse() []tensor {
	var axes []int64
	for i, set := range l.Bools("reverseDim") {
		if set {
			axes = append(axes, int64(i))
		}
	}
	return one(l.on(ir.OpReverse, l.full(0), arg(ir.ParamAxes, l.ints(axes...))), false)
}

func (l *layer) squeezeAxes() []tensor {
	v, axes := l.full(0), l.Ints("axes")
	if l.Bool("squeezeAll") {
		axes = nil
		for i, d := range v.Type.Shape {
			if d == 1 {
				axes = append(axes, int64(i))
			}
		}
	}
	if len(axes) == 0 {
		return one(v, false)
	}
	return one(l.squeeze(v, axes...), false)
}

func (l *layer) expandDims() []tensor {
	return one(l.on(ir.OpExpandDims, l.full(0), arg(ir.ParamAxes, l.ints(l.Ints("axes")...))), false)
}

func (l *layer) flattenTo2D() []tensor {
	return one(l.on(ir.OpFlatten2D, l.full(0), arg(ir.ParamAxis, l.integer(l.Int("axis")))), false)
}

func (l *layer) reshapeStatic() []tensor {
	return one(l.on(ir.OpReshape, l.full(0), arg(ir.ParamShape, l.ints(l.Ints("targetShape")...))), false)
}

// rankPreservingReshape keeps the dimensions for which its shape has 0.
func (l *layer) rankPreservingReshape() []tensor {
	v, s := l.full(0), l.Ints("targetShape")
	if len(s) != v.Type.Rank() {
		l.reject("targetShape", "a shape of %d dimensions for %s", len(s), v.Type)
	}
	for i, d := range s {
		if d == 0 {
			s[i] = l.size(v, i)
		}
	}
	return one(l.on(ir.OpReshape, v, arg(ir.ParamShape, l.ints(s...))), false)
}
