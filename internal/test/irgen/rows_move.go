package irgen

import "github.com/zinc-compiler/zinc/ir"

func movementRows() map[*ir.Operation]row {
	factor := func(param string) row {
		return ofX(4, 4, func(m *maker, x *ir.Value) []any { return []any{param, 2 + m.n(2)} })
	}
	return join(
		family(ofX(1, 5, reshapeArgs), ir.OpReshape),
		family(ofX(1, 5, expandArgs), ir.OpExpandDims),
		family(ofX(1, 5, squeezeArgs), ir.OpSqueeze),
		family(ofX(1, 5, transposeArgs), ir.OpTranspose),
		family(ofX(1, 5, func(m *maker, x *ir.Value) []any {
			return []any{"axis", m.n(x.Type.Rank() + 1)}
		}), ir.OpFlatten2D),
		family(ofX(1, 5, reshapeLikeArgs), ir.OpReshapeLike),
		family(ofX(1, 5, func(m *maker, x *ir.Value) []any { return m.masks(x) }), ir.OpSliceByIndex),
		family(ofX(1, 5, sliceArgs), ir.OpSliceBySize),
		family(sliceUpdateRow, ir.OpSliceUpdate),
		family(joinRow, ir.OpConcat, ir.OpStack),
		family(splitRow, ir.OpSplit),
		family(bytesRow, ir.OpToBytes, ir.OpFromBytes),
		family(ofX(1, 5, tileArgs), ir.OpTile),
		family(ofX(1, 5, padArgs), ir.OpPad),
		family(factor("block_size"), ir.OpDepthToSpace, ir.OpSpaceToDepth),
		family(factor("upscale_factor"), ir.OpPixelShuffle),
		family(factor("downscale_factor"), ir.OpPixelUnshuffle),
		family(ofX(4, 4, toBatchArgs), ir.OpSpaceToBatch),
		family(ofX(4, 4, func(m *maker, x *ir.Value) []any {
			return []any{"block_shape", []int64{1, x.Type.Shape[0]},
				"crops", m.integers(func(i int64) int64 { return 0 }, 2, 2)}
		}), ir.OpBatchToSpace),
		family(ofX(1, 4, func(m *maker, x *ir.Value) []any {
			a := m.axis(x)
			return m.maybe([]any{"axis", a, "size", 1 + m.n(int(min(x.Type.Shape[a], 9)))}, "stride", 1+m.n(3))
		}), ir.OpSlidingWindows),
		family(ofX(1, 5, func(m *maker, x *ir.Value) []any {
			return m.maybe([]any{}, "axes", []int{m.axis(x)})
		}), ir.OpReverse),
		family(ofX(2, 5, reverseSequenceArgs), ir.OpReverseSequence),
		family(ofX(1, 5, func(m *maker, x *ir.Value) []any {
			return m.maybe([]any{}, "lower", m.n(4)-1, "upper", m.n(4)-1)
		}), ir.OpBandPart),
		family(ofX(3, 5, cropArgs), ir.OpCrop),
	)
}

// ofX is a row of an operation whose operand x has least to most dimensions; f returns the other arguments.
func ofX(least, most int, f func(m *maker, x *ir.Value) []any) row {
	return func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.x(op, least, most)
		return m.try(op.Name, append([]any{"x", x}, f(m, x)...)...)
	}
}

// reshapeArgs returns the shape of as many elements as x has.
func reshapeArgs(m *maker, x *ir.Value) []any {
	shape := m.recut(x)
	if m.n(4) == 0 { // one extent to be found
		shape[m.n(len(shape))] = -1
	}
	return []any{"shape", shape}
}

// expandArgs returns one or two axes of the result.
func expandArgs(m *maker, x *ir.Value) []any {
	axes := []int{m.n(x.Type.Rank() + 1)}
	if m.yes() && x.Type.Rank() < 4 {
		axes = append(axes, x.Type.Rank()+1)
	}
	return []any{"axes", axes}
}

// squeezeArgs returns one axis of a single element, or none.
func squeezeArgs(m *maker, x *ir.Value) []any {
	for i, d := range x.Type.Shape {
		if d == 1 && m.yes() {
			return []any{"axes", []int{i}}
		}
	}
	return []any{}
}

// transposeArgs returns an order of the axes.
func transposeArgs(m *maker, x *ir.Value) []any {
	perm := make([]int, x.Type.Rank())
	for i := range perm {
		perm[i] = i
		j := m.n(i + 1)
		perm[i], perm[j] = perm[j], perm[i]
	}
	return []any{"perm", perm}
}

// reshapeLikeArgs returns a tensor with as many elements as x has.
func reshapeLikeArgs(m *maker, x *ir.Value) []any {
	like := m.g.InputOf(ir.FP16, m.recut(x)...)
	return []any{"ref_tensors", []*ir.Value{like}, "begins", m.tuple(0), "ends", m.tuple(like.Type.Rank()),
		"end_masks", m.tuple(m.n(4) == 0)}
}

// sliceArgs returns the begin and the size of a part of x.
func sliceArgs(m *maker, x *ir.Value) []any {
	var begin, size []int64
	for _, d := range x.Type.Shape {
		b := int64(m.n(int(min(d, 256))))
		begin = append(begin, b)
		if m.n(4) == 0 {
			size = append(size, -1)
		} else {
			size = append(size, 1+int64(m.n(int(min(d-b, 256)))))
		}
	}
	return []any{"begin", begin, "size", size}
}

// tileArgs returns one or two repetitions along each axis.
func tileArgs(m *maker, x *ir.Value) []any {
	reps := make([]int, x.Type.Rank())
	for i := range reps {
		reps[i] = 1 + m.n(2)
	}
	return []any{"reps", reps}
}

// padArgs returns the padding of the last one or two axes.
func padArgs(m *maker, x *ir.Value) []any {
	var pad []int
	mode := pick(m.choices, "constant", "reflect", "replicate", "constant")
	for _, d := range x.Type.Shape[x.Type.Rank()-1-m.n(min(x.Type.Rank(), 2)):] {
		most := min(int(d), 4)
		pad = append(pad, m.n(most), m.n(most))
	}
	return m.maybe([]any{"pad", pad, "mode", mode}, "constant_val", m.number(x, 2))
}

// toBatchArgs returns the paddings that blocks of 2x2 need.
func toBatchArgs(m *maker, x *ir.Value) []any {
	s := x.Type.Shape
	pads := []int64{0, s[2] % 2, s[3] % 2, 0}
	return []any{"block_shape", []int64{2, 2},
		"paddings", m.integers(func(i int64) int64 { return pads[i] }, 2, 2)}
}

// reverseSequenceArgs returns the lengths along the second axis.
func reverseSequenceArgs(m *maker, x *ir.Value) []any {
	lengths := m.g.Filled(ir.Int32, func(i int64) float64 { return float64(i % (x.Type.Shape[1] + 1)) },
		x.Type.Shape[0])
	return m.maybe([]any{"seq_axis", 1, "lengths", lengths}, "batch_axis", 0)
}

// cropArgs returns what is cut from the last two axes.
func cropArgs(m *maker, x *ir.Value) []any {
	s := x.Type.Shape
	cut := func(d int64) []int {
		a := m.n(int(min(d, 256)))
		return []int{a, m.n(int(min(d, 256)) - a)}
	}
	return []any{"crop_height", cut(s[len(s)-2]), "crop_width", cut(s[len(s)-1])}
}

// sliceUpdateRow replaces a part of x.
func sliceUpdateRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.x(op, 1, 5)
	args := m.masks(x)
	part := m.try("slice_by_index", append([]any{"x", x}, args...)...)
	update := m.like(x, part[0].Type.Shape...)
	return m.try(op.Name, append([]any{"x", x, "update", update}, args...)...)
}

// splitRow splits an axis into two parts.
func splitRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.x(op, 1, 5)
	axis := m.axis(x)
	d := x.Type.Shape[axis]
	if m.yes() && d%2 == 0 {
		return m.try(op.Name, "x", x, "axis", axis, "num_splits", 2)
	}
	if d < 2 {
		return nil
	}
	a := 1 + int64(m.n(int(min(d-1, 256))))
	return m.try(op.Name, "x", x, "axis", axis, "split_sizes", []int64{a, d - a})
}

// bytesRow takes integers apart into bytes, and puts them together again.
func bytesRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.x(ir.OpToBytes, 1, 5)
	parts := m.all("to_bytes", "x", x)
	if op == ir.OpToBytes {
		return parts
	}
	return m.try("from_bytes", "values", parts, "dtype", x.Type.DType.String())
}

// masks returns the arguments of a slice: bounds, strides and some of its masks.
func (m *maker) masks(x *ir.Value) []any {
	begin, end, stride, _ := m.window(x)
	args := []any{"begin", begin, "end", end}
	back := false
	for _, s := range stride {
		back = back || s != 1
	}
	if back || m.yes() {
		args = append(args, "stride", stride)
	}
	flags := func(one int) []bool {
		fs := make([]bool, len(begin))
		for i := range fs {
			fs[i] = m.n(one) == 0
		}
		return fs
	}
	args = m.maybe(args, "begin_mask", flags(4), "end_mask", flags(4))
	if fs := flags(6); m.yes() {
		fs[len(fs)-1] = len(fs) == 1 && fs[len(fs)-1]
		args = append(args, "squeeze_mask", fs)
	}
	return args
}

// joinRow writes a concat or a stack of two to four tensors.
func joinRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.operand(want{types: m.types(op, ir.ParamValues) & ir.DTypesOf(castTypes...), least: 1, most: 4})
	axis := m.axis(x)
	same := op == ir.OpStack || m.n(4) == 0
	vs := []*ir.Value{x}
	for range 1 + m.n(3) {
		s := append([]int64(nil), x.Type.Shape...)
		if !same {
			s[axis] = 1 + int64(m.n(9))
		}
		y := m.like(x, s...)
		vs = append(vs, y)
	}
	args := []any{"values", vs, "axis", axis}
	if op == ir.OpConcat && (same || m.yes()) {
		args = append(args, "interleave", same)
	}
	return m.try(op.Name, args...)
}

func indexRows() map[*ir.Operation]row {
	gather := func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.x(op, 1, 4)
		axis := m.axis(x)
		d := min(x.Type.Shape[axis], 120)
		idx := []int64{1 + int64(m.n(5))}
		batch := 0
		if axis > 0 && m.n(3) == 0 && m.has(op, ir.ParamBatchDims) {
			batch = 1
			idx = []int64{x.Type.Shape[0], 1 + int64(m.n(3))}
		}
		args := []any{"x", x, "indices", m.indices(m.types(op, ir.ParamIndices), d, idx...), "axis", axis}
		if m.has(op, ir.ParamBatchDims) {
			args = m.maybe(append(args, "batch_dims", batch))
		}
		return m.try(op.Name, m.validated(op, args)...)
	}
	along := func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.x(op, 1, 4)
		axis := m.axis(x)
		s := append([]int64(nil), x.Type.Shape...)
		s[axis] = 1 + int64(m.n(3))
		args := []any{"x", x, "axis", axis,
			"indices", m.indices(m.types(op, ir.ParamIndices), min(x.Type.Shape[axis], 120), s...)}
		return m.try(op.Name, m.validated(op, args)...)
	}
	nd := func(m *maker, op *ir.Operation) []*ir.Value {
		x := m.x(op, 1, 4)
		least := x.Type.Shape[0]
		k := 1 + int64(m.n(x.Type.Rank()))
		for _, d := range x.Type.Shape[:k] {
			least = min(least, d)
		}
		args := []any{"x", x,
			"indices", m.indices(m.types(op, ir.ParamIndices), min(least, 120), 1+int64(m.n(4)), k)}
		if m.has(op, ir.ParamBatchDims) {
			args = m.maybe(args, "batch_dims", 0)
		}
		return m.try(op.Name, m.validated(op, args)...)
	}
	scatter := func(m *maker, op *ir.Operation) []*ir.Value {
		data := m.operand(want{types: m.types(op, ir.ParamData), least: 1, most: 4})
		s := append([]int64(nil), data.Type.Shape...)
		axis := m.axis(data)
		n := min(1+int64(m.n(4)), s[axis]) // distinct: the order of equal ones is unspecified
		index := []int64{n}
		k := int64(1)
		updates := append([]int64(nil), s...)
		updates[axis] = n
		switch op {
		case ir.OpScatterAlongAxis:
			index = updates
		case ir.OpScatterND:
			axis, n = 0, min(n, s[0])
			index, updates = []int64{n, 1}, append([]int64{n}, s[1:]...)
		}
		for _, d := range index[min(axis+1, len(index)):] {
			k *= d
		}
		idx := m.g.Filled(ir.Int32, func(i int64) float64 { return float64(i / k % n) }, index...)
		if m.n(3) == 0 && op == ir.OpScatterND {
			idx = m.g.Filled(ir.Int32, func(i int64) float64 { return float64(n - 1 - i) }, index...)
		}
		u := m.like(data, updates...)
		mode := pick(m.choices, "add", "update", "sub", "max", "min", "mul")
		args := m.maybe([]any{"data", data, "indices", idx, "updates", u}, "mode", mode)
		if op != ir.OpScatterND {
			args = append(args, "axis", axis)
		}
		return m.try(op.Name, m.validated(op, args)...)
	}
	return join(
		family(gather, ir.OpGather), family(along, ir.OpGatherAlongAxis), family(nd, ir.OpGatherND),
		family(scatter, ir.OpScatter, ir.OpScatterAlongAxis, ir.OpScatterND),
	)
}

// validated adds the argument that later operation sets have.
func (m *maker) validated(op *ir.Operation, args []any) []any {
	if m.has(op, ir.ParamValidateIndices) {
		return m.maybe(args, "validate_indices", false)
	}
	return args
}
