package engine

import "github.com/zinc-compiler/zinc/lower/td"

// rule says which values of a field the engine executes.
type rule struct {
	field td.Field
	when  func(t *td.Task) bool // nil: always
	ok    []uint32
	why   string
}

func planarTask(t *td.Task) bool { return t.Get(td.PlanarType) != 0 }
func neuralTask(t *td.Task) bool { return t.Get(td.PlanarType) == 0 }
func twoSources(t *td.Task) bool { return planarTask(t) && t.On(td.PETwo) }
func withKernel(t *td.Task) bool { return neuralTask(t) && t.Get(td.NEOp) == 0 }
func on(f td.Field) func(*td.Task) bool {
	return func(t *td.Task) bool { return t.On(f) }
}

// rules lists the fields whose values change what a task computes. Fields that
// steer caches, events, scheduling and tiling are not here: they change no
// result.
var rules = []rule{
	{td.InFmt, nil, []uint32{2}, "only fp16 (2) sources are executed"},
	{td.In2Fmt, twoSources, []uint32{2}, "only fp16 (2) sources are executed"},
	{td.OutFmt, nil, []uint32{2}, "only fp16 (2) results are executed"},
	{td.SrcMemFmt, on(td.SrcEn), []uint32{2}, "only fp16 (2) in memory is executed"},
	{td.Src2MemFmt, on(td.Source2DMA), []uint32{2}, "only fp16 (2) in memory is executed"},
	{td.DstMemFmt, on(td.DstEn), []uint32{2}, "only fp16 (2) in memory is executed"},
	{td.SrcShift, on(td.SrcEn), []uint32{0}, "meaning not known"},
	{td.SrcOffsetCh, on(td.SrcEn), []uint32{0}, "meaning not known"},
	{td.SrcCmpVec, on(td.SrcEn), []uint32{0}, "meaning not known"},
	{td.DstShift, on(td.DstEn), []uint32{0}, "meaning not known"},
	{td.DstOffsetCh, on(td.DstEn), []uint32{0}, "meaning not known"},
	{td.DstCmpVec, on(td.DstEn), []uint32{0}, "meaning not known"},
	{td.ElemMultMode, nil, []uint32{0}, "meaning not known"},
	{td.PaddingMode, nil, []uint32{0, 2}, "0 zero and 2 the identity of a maximum are known"},

	{td.PlanarType, nil, []uint32{0, 2, 3, 4, 5, 6}, "0 and 2 to 6 are known"},
	{td.PECond, planarTask, []uint32{0, 1}, "0 none and 1 absolute value are known"},
	{td.PENonlinear, planarTask, []uint32{0, 1, 2}, "0 none, 1 reciprocal, 2 reciprocal square root are known"},
	{td.SwapNE, planarTask, []uint32{0}, "a planar result is exchanged by SwapResult"},

	{td.NEOp, neuralTask, []uint32{0, 8, 11, 12}, "0 kernel, 8 sum, 11 maximum, 12 pass through are known"},
	{td.KernelFmt, withKernel, []uint32{2}, "only fp16 (2) coefficients are executed"},
	{td.KernelReuse, withKernel, []uint32{0}, "meaning not known"},
	{td.BiasMode, neuralTask, []uint32{0}, "meaning not known"},
	{td.MatrixBias, neuralTask, []uint32{0}, "meaning not known"},
	{td.MatrixVecBias, neuralTask, []uint32{0}, "meaning not known"},
	{td.AccBiasShift, neuralTask, []uint32{0}, "meaning not known"},
	{td.PostScaleMode, neuralTask, []uint32{0}, "meaning not known"},
	{td.PostShift, neuralTask, []uint32{0}, "meaning not known"},
	{td.Nonlinear, neuralTask, []uint32{0, 1, 2}, "0 none, 1 clamp, 2 lookup table are known"},
	{td.ActiveNE, neuralTask, []uint32{0, 1, 2, 3, 4}, "there are sixteen cores (4)"},
	{td.SwapResult, neuralTask, []uint32{0}, "a neural-engine result is exchanged by SwapNE"},
	{td.Swap2, neuralTask, []uint32{0}, "the neural engine has no second source"},
	{td.Source2DMA, neuralTask, []uint32{0}, "the neural engine has no second source"},
	{td.Src2En, nil, []uint32{0}, "0 in every recorded task; Common.Source2DMA says that source 2 is read from DRAM"},
}

// legal refuses a task with a value that has no known meaning.
func legal(t *td.Task) error {
next:
	for i := range rules {
		r := &rules[i]
		if r.when != nil && !r.when(t) {
			continue
		}
		v := t.Get(r.field)
		for _, ok := range r.ok {
			if v == ok {
				continue next
			}
		}
		return badField(t, r.field, r.why)
	}
	return nil
}
