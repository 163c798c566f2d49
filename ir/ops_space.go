package ir

// Elements in other places.
var (
	OpDepthToSpace = newOp("depth_to_space", Movement,
		"Channels moved into blocks of space, with the block index outermost: [b, b, C].").picks(ofX...)
	OpPixelShuffle = newOp("pixel_shuffle", Movement,
		"Channels moved into blocks of space, with the block index innermost: [C, r, r].").picks(ofX...)
	OpSpaceToDepth = newOp("space_to_depth", Movement,
		"Blocks of space moved into channels, the reverse of depth_to_space.").gate(A13).picks(ofX...)
	OpPixelUnshuffle = newOp("pixel_unshuffle", Movement,
		"Blocks of space moved into channels, the reverse of pixel_shuffle.").gate(A13).picks(ofX...)
	OpSpaceToBatch = newOp("space_to_batch", Movement, "Padded blocks of space moved into the batch.").picks(ofX...)
	OpBatchToSpace = newOp("batch_to_space", Movement, "Batches moved into blocks of space, then cropped.").
			picks(ofX...)
	OpSlidingWindows = newOp("sliding_windows", Movement,
		"Windows of size elements along axis, stride apart, as a new dimension.").gate(Never).picks(ofX...)
	OpReverse         = newOp("reverse", Movement, "x with the order along axes reversed.").picks(ofX...)
	OpReverseSequence = newOp("reverse_sequence", Movement, "x with the first elements of each sequence reversed.").
				gate(Never).picks(ofX...)
)

// blockOf reads a positive block size.
func blockOf(op *Op, name ParamName) (int64, error) {
	b, err := needInt(op, name)
	if err == nil && (b < 1 || b > 1<<15) {
		err = Rulef(name, "%s is %d, must be at least 1", name, b)
	}
	return b, err
}

func divided(op *Op, name ParamName, i int, b int64) (int64, error) {
	d := op.Arg(ParamX).Type.Shape[i]
	if d < 0 {
		return Unknown, nil
	}
	if d%b != 0 {
		return 0, Rulef(name, "dimension %d of x is %d, not a multiple of %d", i, d, b).and(ParamX)
	}
	return d / b, nil
}

func times(d, n int64) int64 {
	if d < 0 {
		return Unknown
	}
	return d * n
}

// inferToSpace moves channels into height and width.
func inferToSpace(param ParamName) func(op *Op) ([]Type, error) {
	return inferBlocks(param, func(op *Op, x Type, b int64) (c, h, w int64, err error) {
		c, err = divided(op, param, 1, b*b)
		return c, times(x.Shape[2], b), times(x.Shape[3], b), err
	})
}

// inferToDepth moves blocks of height and width into channels.
func inferToDepth(param ParamName) func(op *Op) ([]Type, error) {
	return inferBlocks(param, func(op *Op, x Type, b int64) (c, h, w int64, err error) {
		if h, err = divided(op, param, 2, b); err == nil {
			w, err = divided(op, param, 3, b)
		}
		return times(x.Shape[1], b*b), h, w, err
	})
}

// inferBlocks infers the type of a result whose channels, height and width f computes from x and the size of a block.
func inferBlocks(param ParamName,
	f func(op *Op, x Type, b int64) (c, h, w int64, err error)) func(*Op) ([]Type, error) {
	return func(op *Op) ([]Type, error) {
		b, err := blockOf(op, param)
		if err != nil {
			return nil, err
		}
		x := op.Arg(ParamX).Type
		c, h, w, err := f(op, x, b)
		if err != nil {
			return nil, err
		}
		return one(x.WithShape(x.Shape[0], c, h, w))
	}
}

// batchBlocks reads block_shape and the pairs of paddings or crops.
func batchBlocks(op *Op, pairs ParamName) (block, pair []int64, err error) {
	if block, err = needInts(op, ParamBlockShape); err != nil {
		return nil, nil, err
	}
	if pair, err = needInts(op, pairs); err != nil {
		return nil, nil, err
	}
	if len(block) != 2 || len(pair) != 4 {
		return nil, nil, Rulef(pairs, "block_shape has %d elements and %s %d; must be 2 and [2, 2]", len(block), pairs,
			len(pair))
	}
	for i := range pair {
		if pair[i] < 0 || block[i/2] < 1 || block[i/2] > 1<<15 {
			return nil, nil, Rulef(pairs, "block_shape %s or %s %s is out of range", intsText(block), pairs,
				intsText(pair))
		}
	}
	return block, pair, nil
}

func inferSpaceToBatch(op *Op) ([]Type, error) {
	block, pair, err := batchBlocks(op, ParamPaddings)
	if err != nil {
		return nil, err
	}
	x := op.Arg(ParamX).Type
	out := []int64{times(x.Shape[0], block[0]*block[1]), x.Shape[1], Unknown, Unknown}
	for i := range 2 {
		if d := x.Shape[2+i]; d >= 0 {
			d += pair[2*i] + pair[2*i+1]
			if d%block[i] != 0 {
				return nil, Rulef(ParamBlockShape, "padded dimension %d of x is %d, not a multiple of %d", 2+i, d,
					block[i]).and(ParamX)
			}
			out[2+i] = d / block[i]
		}
	}
	return one(x.WithShape(out...))
}

func inferBatchToSpace(op *Op) ([]Type, error) {
	block, pair, err := batchBlocks(op, ParamCrops)
	if err != nil {
		return nil, err
	}
	n, err := divided(op, ParamBlockShape, 0, block[0]*block[1])
	if err != nil {
		return nil, err
	}
	x := op.Arg(ParamX).Type
	out := []int64{n, x.Shape[1], Unknown, Unknown}
	for i := range 2 {
		if d := x.Shape[2+i]; d >= 0 {
			if out[2+i] = d*block[i] - pair[2*i] - pair[2*i+1]; out[2+i] < 0 {
				return nil, Rulef(ParamCrops, "crops take %d of %d elements", pair[2*i]+pair[2*i+1], d*block[i])
			}
		}
	}
	return one(x.WithShape(out...))
}

func inferWindows(op *Op) ([]Type, error) {
	x := op.Arg(ParamX).Type
	a, err := AxisAttr(op, ParamAxis, x.Rank())
	if err != nil {
		return nil, err
	}
	size, err := needInt(op, ParamSize)
	if err != nil {
		return nil, err
	}
	stride, err := needInt(op, ParamStride)
	if err != nil {
		return nil, err
	}
	if size < 1 || stride < 1 {
		return nil, Rulef(ParamSize, "size is %d and stride %d, must be at least 1", size, stride)
	}
	n := WindowOutput(x.Shape[a], size, stride, 0, 0, false)
	if n == 0 {
		return nil, Rulef(ParamSize, "size is %d, dimension %d of x is %d", size, a, x.Shape[a]).and(ParamX)
	}
	out := append(cloneShape(x.Shape[:a]), n, size)
	return one(x.WithShape(append(out, x.Shape[a+1:]...)...))
}

// spaceForms are the forms of the operations above.
func spaceForms() (out forms) {
	x := in(ParamX, clsFloat).rank(4, 4)
	out.add(
		&OpDef{Operation: OpDepthToSpace,
			Params: params(x, intP(ParamBlockSize)), Infer: inferToSpace(ParamBlockSize)},
		&OpDef{Operation: OpPixelShuffle,
			Params: params(x, intP(ParamUpscaleFactor)), Infer: inferToSpace(ParamUpscaleFactor)},
		&OpDef{Operation: OpSpaceToDepth,
			Params: params(x, intP(ParamBlockSize)), Infer: inferToDepth(ParamBlockSize)},
		&OpDef{Operation: OpPixelUnshuffle, Since: "ios16",
			Params: params(x, in(ParamDownscaleFactor, DTypesOf(UInt32)).fixed()),
			Infer:  inferToDepth(ParamDownscaleFactor)},
		&OpDef{Operation: OpSpaceToBatch,
			Params: params(x, intP(ParamBlockShape), intP(ParamPaddings)), Infer: inferSpaceToBatch},
		&OpDef{Operation: OpBatchToSpace,
			Params: params(x, intP(ParamBlockShape), intP(ParamCrops)), Infer: inferBatchToSpace})
	win := &OpDef{Operation: OpSlidingWindows,
		Params: params(in(ParamX, clsNum), intP(ParamAxis), intP(ParamSize), intP(ParamStride).or(int64(1))),
		Infer:  inferWindows}
	out.add(win, win.since("ios17", func(d *OpDef) { d.types(clsSmallB, ParamX) }))
	for _, o := range []*Operation{OpReverse, OpReverseSequence} {
		ps := params(in(ParamX, clsNumB), intP(ParamAxes).opt())
		infer := func(op *Op) ([]Type, error) {
			if op.Arg(ParamAxes) == nil {
				return sameAsX(op)
			}
			v, err := needInts(op, ParamAxes)
			if err != nil {
				return nil, err
			}
			if _, err := axes(ParamAxes, v, op.Arg(ParamX).Type.Rank()); err != nil {
				return nil, err
			}
			return sameAsX(op)
		}
		if o == OpReverseSequence {
			ps = params(in(ParamX, clsNumB), in(ParamLengths, clsInt32), intP(ParamSeqAxis).or(int64(0)),
				intP(ParamBatchAxis).
					or(int64(0)))
			infer = inferReverseSequence
		}
		d := &OpDef{Operation: o, Params: ps, Infer: infer}
		out.add(d, d.since("ios17", func(d *OpDef) { d.types(clsSmallB, ParamX); d.types(clsIndex, ParamLengths) }))
	}
	return out
}

func inferReverseSequence(op *Op) ([]Type, error) {
	x := op.Arg(ParamX).Type
	if _, err := AxisAttr(op, ParamSeqAxis, x.Rank()); err != nil {
		return nil, err
	}
	b, err := AxisAttr(op, ParamBatchAxis, x.Rank())
	if err != nil {
		return nil, err
	}
	if err := vectorOf(op, ParamLengths, x.Shape[b], "the batch of x"); err != nil {
		return nil, err
	}
	return sameAsX(op)
}
