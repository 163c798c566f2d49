package ir

// Support is how the hardware of a generation supports an operation.
type Support uint8

// The degrees of support.
const (
	Unlisted Support = iota // no published table lists the operation
	Native                  // an engine program may consist of it alone
	Bridge                  // only within a program, decomposed or in software
	Gated                   // a later generation has it
	None                    // no generation has it
)

var supportNames = [...]string{"", "native", "bridge", "gated", "none"}

// String returns the word in the published table, "" for operations that the table does not list.
func (s Support) String() string { return supportNames[s] }

// Has reports whether an engine program can contain the operation.
func (s Support) Has() bool { return s == Native || s == Bridge }

// Generations is the number of generations that the published table distinguishes: M1, M2, and M3 with all later ones.
// target.Family.Generation counts them.
const Generations = 3

type ops = []*Operation

// natives is the support by generation of the operations in the published table. The table was
// measured on the M1, M2 and M5 and predicted from compiler tables for the M3 and M4. It differs
// from Gate, which comes from the vendor's validator: the validator considers only whole
// operations, and accepts some for which no code is generated.
var natives = []struct {
	on  [Generations]Support
	ops ops
}{
	{[Generations]Support{Native, Native, Native}, ops{
		OpAbs, OpAtan, OpCeil, OpErf, OpExp, OpExp2, OpFloor, OpRound, OpSign, OpSqrt, OpSquare, OpTanh,
		OpRelu, OpRelu6, OpSigmoid, OpSilu, OpSoftplus, OpSoftsign, OpInverse, OpLog, OpRsqrt, OpLogicalNot,
		OpCast, OpClip, OpThreshold, OpElu, OpLeakyRelu, OpThresholdedRelu, OpClampedRelu,
		OpLinearActivation, OpScaledTanh, OpSigmoidHard, OpPrelu, OpSoftplusParametric, OpGelu, OpAdd, OpSub,
		OpMul, OpRealDiv, OpFloorDiv, OpPow, OpMaximum, OpMinimum, OpEqual, OpNotEqual, OpLess, OpLessEqual,
		OpGreater, OpGreaterEqual, OpSelect, OpLinear, OpMatMul, OpScaledDotProductAttention, OpEinsum,
		OpConv, OpConvTranspose, OpAvgPool, OpMaxPool, OpL2Pool, OpReduceL1Norm, OpReduceL2Norm,
		OpReduceLogSum, OpReduceLogSumExp, OpReduceMax, OpReduceMean, OpReduceMin, OpReduceSum,
		OpReduceSumSquare, OpReduceArgmax, OpSoftmax, OpBatchNorm, OpInstanceNorm, OpL2Norm, OpLayerNorm,
		OpLocalResponseNorm, OpReshape, OpExpandDims, OpSqueeze, OpTranspose, OpFlatten2D, OpReshapeLike,
		OpSliceBySize, OpSliceUpdate, OpConcat, OpStack, OpSplit, OpTile, OpPad, OpDepthToSpace,
		OpPixelShuffle, OpSpaceToDepth, OpPixelUnshuffle, OpSpaceToBatch, OpBatchToSpace, OpReverse,
		OpGather, OpGatherAlongAxis, OpCrop, OpIdentity, OpFill, OpFillLike, OpCumsum, OpReadState,
		OpWriteState, OpQuantize, OpDequantize, OpConstexprLUTToDense, OpConstexprSparseToDense,
	}},
	{[Generations]Support{Bridge, Native, Native}, ops{
		OpGatherND, OpUpsampleNearestNeighbor, OpResizeNearestNeighbor, OpResizeBilinear, OpUpsampleBilinear,
		OpResize,
	}},
	{[Generations]Support{Bridge, Bridge, Native}, ops{
		OpReduceArgmin, OpRandomUniform, OpConstexprBlockwiseShiftScale,
		OpConstexprSparseBlockwiseShiftScale,
	}},
	{[Generations]Support{Bridge, Bridge, Bridge}, ops{
		OpSliceByIndex, OpRange1D, OpNonMaximumSuppression, OpCond, OpWhileLoop, OpConstexprAffineDequantize,
		OpConstexprLUTToSparse,
	}},
	{[Generations]Support{Gated, Native, Native}, ops{
		OpAffine, OpResample, OpCropResize, OpArgsort, OpTopK,
	}},
	{[Generations]Support{Gated, Gated, Native}, ops{
		OpCos, OpSin,
	}},
	{[Generations]Support{None, None, None}, ops{
		OpAcos, OpAsin, OpAtanh, OpCosh, OpSinh, OpTan, OpMod, OpLogicalAnd, OpLogicalOr, OpLogicalXor,
		OpReduceProd, OpSlidingWindows, OpReverseSequence, OpScatter, OpScatterAlongAxis, OpScatterND,
		OpShape, OpBandPart, OpNonZero, OpOneHot, OpRandomBernoulli, OpRandomNormal, OpRandomCategorical,
		OpLSTM, OpGRU, OpRNN, OpMakeList, OpListLength, OpListRead, OpListWrite, OpListGather, OpListScatter,
		OpConstexprCast,
	}},
}
