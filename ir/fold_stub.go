package ir

func foldBinary(f func(x, y float32) float32, i func(x, y int64) (int64, bool)) func(*Op) ([]*Const, error) {
	return nil
}
func foldUnary(f func(x float64) float64) func(*Op) ([]*Const, error) { return nil }
func foldUnaryArgs(n []string, f func(x float64, a []float64) float64) func(*Op) ([]*Const, error) {
	return nil
}

var foldSelect, foldCast, foldReinterpret, foldTranspose, foldSlice, foldConcat, foldStack, foldSplit, foldTile, foldGather, foldIdentity, foldShape, foldFill, foldRange, foldAffine, foldConstexprCast, foldLUT16, foldSparse, foldBlockwise, foldLUT18, foldLUTSparse, foldSparseBlockwise func(*Op) ([]*Const, error)
