package engine

import "github.com/zinc-compiler/zinc/lower/td"

// rule says which values of a field the engine executes.
type rule struct {
	field td.Field
	when  func(t *td.Task) bool  // nil: always
	of    func(c *td.Codec) bool // of which versions; nil: all
	ok    []uint32
	why   string
}

func planarTask(t *td.Task) bool    { return t.Get(td.PlanarType) != 0 }
func neuralTask(t *td.Task) bool    { return t.Get(td.PlanarType) == 0 }
func twoSources(t *td.Task) bool    { return planarTask(t) && t.On(td.PETwo) }
func withKernel(t *td.Task) bool    { return neuralTask(t) && t.Get(td.NEOp) == 0 }
func withoutKernel(t *td.Task) bool { return neuralTask(t) && t.Get(td.NEOp) != 0 }
func on(f td.Field) func(*td.Task) bool {
	return func(t *td.Task) bool { return t.On(f) }
}

func off(f td.Field) func(*td.Task) bool {
	return func(t *td.Task) bool { return !t.On(f) }
}

// fetches reports whether source 1 comes from DRAM and has a type in L2; leaves reports whether the result of a type
// goes there.
func fetches(format uint32) func(*td.Task) bool {
	return func(t *td.Task) bool { return source1.moved(t) && t.Get(td.InFmt) == format }
}

func leaves(format uint32) func(*td.Task) bool {
	return func(t *td.Task) bool { return t.On(td.DstEn) && t.Get(td.OutFmt) == format }
}

// before and from report whether a version is older than another, or not. Version 8 is older than 17, newer than 11.
func before(v *td.Codec) func(*td.Codec) bool {
	return func(c *td.Codec) bool { return c.Version < v.Version }
}

func from(v *td.Codec) func(*td.Codec) bool {
	return func(c *td.Codec) bool { return c.Version >= v.Version }
}

// rules lists the fields whose values change what a task computes. Fields that control caches, events, scheduling and
// tiling are not listed: they change no result.
var rules = []rule{
	{field: td.InFmt, ok: []uint32{formatUint8, formatFP16}, why: "only uint8 (0) and fp16 (2) sources are executed"},
	{field: td.In2Fmt, when: twoSources, ok: []uint32{2}, why: "only fp16 (2) sources are executed"},
	{field: td.OutFmt, when: planarTask, ok: []uint32{formatFP16}, why: "only fp16 (2) results are executed"},
	{field: td.OutFmt, ok: []uint32{formatUint8, formatFP16}, why: "only uint8 (0) and fp16 (2) results are executed"},
	{field: td.SrcMemFmt, when: fetches(formatFP16), ok: []uint32{formatFP16},
		why: "a source keeps its type on the way"},
	{field: td.SrcMemFmt, when: fetches(formatUint8), ok: []uint32{formatUint8},
		why: "a source keeps its type on the way"},
	{field: td.Src2MemFmt, when: on(td.Source2DMA), ok: []uint32{2}, why: "only fp16 (2) in memory is executed"},
	{field: td.DstMemFmt, when: leaves(formatFP16), ok: []uint32{formatFP16},
		why: "a result keeps its type on the way"},
	{field: td.DstMemFmt, when: leaves(formatUint8), ok: []uint32{formatUint8},
		why: "a result keeps its type on the way"},
	{field: td.SrcShift, when: source1.moved, ok: []uint32{0}, why: "meaning not known"},
	{field: td.SrcOffsetCh, when: source1.moved, ok: []uint32{0}, why: "meaning not known"},
	{field: td.SrcCmpVec, when: source1.moved, ok: []uint32{0}, why: "meaning not known"},
	{field: td.DstShift, when: on(td.DstEn), ok: []uint32{0}, why: "meaning not known"},
	{field: td.DstOffsetCh, when: on(td.DstEn), ok: []uint32{0}, why: "meaning not known"},
	{field: td.DstCmpVec, when: on(td.DstEn), of: before(td.V20), ok: []uint32{0}, why: "meaning not known"},
	{field: td.DstCmpVec, when: on(td.DstEn), of: from(td.V20), ok: []uint32{15}, why: "15 in every recorded task"},
	{field: td.ElemMultMode, ok: []uint32{0}, why: "meaning not known"},
	{field: td.PaddingMode, ok: []uint32{0, 2}, why: "0 zero and 2 the identity of a maximum are known"},

	{field: td.PlanarType, ok: []uint32{0, 2, 3, 4, 5, 6}, why: "0 and 2 to 6 are known"},
	{field: td.PECond, when: planarTask, of: before(td.V17), ok: []uint32{0, 1},
		why: "0 none and 1 absolute value are known"},
	{field: td.PECond, when: planarTask, of: from(td.V17), ok: []uint32{0, 7},
		why: "0 none and 7 absolute value are known"},
	{field: td.PENonlinear, when: planarTask, ok: []uint32{0, 1, 2},
		why: "0 none, 1 reciprocal, 2 reciprocal square root are known"},
	{field: td.SwapNE, when: planarTask, ok: []uint32{0}, why: "a planar result is exchanged by SwapResult"},

	{field: td.NEOp, when: neuralTask, ok: []uint32{0, 8, 11, 12},
		why: "0 kernel, 8 sum, 11 maximum, 12 pass through are known"},
	{field: td.KernelFmt, when: withKernel, ok: []uint32{1, 2}, why: "int8 (1) and fp16 (2) coefficients are executed"},
	{field: td.KernelReuse, when: withKernel, ok: []uint32{0}, why: "meaning not known"},
	{field: td.BiasMode, when: neuralTask, ok: []uint32{0}, why: "meaning not known"},
	{field: td.MatrixBias, when: neuralTask, ok: []uint32{0}, why: "meaning not known"},
	{field: td.MatrixVecBias, when: neuralTask, ok: []uint32{0}, why: "meaning not known"},
	{field: td.AccBiasShift, when: neuralTask, ok: []uint32{0}, why: "meaning not known"},
	{field: td.PostScaleMode, when: withoutKernel, ok: []uint32{0}, why: "scales are known of a kernel (NE.Op 0)"},
	{field: td.PostShift, when: neuralTask, ok: []uint32{0}, why: "meaning not known"},
	{field: td.Nonlinear, when: neuralTask, ok: []uint32{0, 1, 2}, why: "0 none, 1 clamp, 2 lookup table are known"},
	{field: td.ActiveNE, when: neuralTask, ok: []uint32{0, 1, 2, 3, 4}, why: "there are sixteen cores (4)"},
	{field: td.SwapResult, when: neuralTask, ok: []uint32{0}, why: "a neural-engine result is exchanged by SwapNE"},
	{field: td.Bcast1W, when: neuralTask, ok: []uint32{0}, why: "a source that is broadcast is the planar engine's"},
	{field: td.Bcast1H, when: neuralTask, ok: []uint32{0}, why: "a source that is broadcast is the planar engine's"},
	{field: td.Bcast1D, when: neuralTask, ok: []uint32{0}, why: "a source that is broadcast is the planar engine's"},
	{field: td.Bcast1C, when: neuralTask, ok: []uint32{0}, why: "a source that is broadcast is the planar engine's"},
	{field: td.Swap2, when: neuralTask, ok: []uint32{0}, why: "the neural engine has no second source"},
	{field: td.Source2DMA, when: neuralTask, ok: []uint32{0}, why: "the neural engine has no second source"},
	{field: td.Src2En, when: off(td.Source2DMA), ok: []uint32{0}, why: "Common.Source2DMA says that source 2 is read " +
		"from DRAM"},
}

// legal returns a fault for a task with a value that has no known meaning.
func legal(t *td.Task, c *td.Codec) error {
next:
	for i := range rules {
		r := &rules[i]
		if r.when != nil && !r.when(t) || r.of != nil && !r.of(c) {
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
