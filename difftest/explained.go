package difftest

import "strings"

// unreached says of rows of the table why no program reaches them, by group and by the start of the row's name.
var unreached = map[Group][]struct{ rows, why string }{
	Drafts: {
		{"neural: maximum over channels, ", "a maximum is followed by a task of its own"},
		{"neural: sum over channels, clamp at zero", "relu after a sum is a task of its own"},
		{"planar: reduction, average", "a mean is a sum with a factor"},
		{"planar: reduction, minimum", "a minimum is composed of a maximum of negated values"},
		{"planar: reduction of two sources, ", "two sources are multiplied and summed"},
		{"planar: source and parameter pair, ", "the pair is a factor and an addend"},
	},
	Fields: {
		{"Common.Cin: zero", extents}, {"Common.Cout: zero", extents}, {"Common.Din: zero", extents},
		{"Common.Dout: zero", extents}, {"Common.Hin: zero", extents}, {"Common.Hout: zero", extents},
		{"Common.Win: zero", extents}, {"Common.Wout: zero", extents}, {"Common.Kh: zero", extents},
		{"Common.Kw: zero", extents}, {"Common.Sx: zero", extents}, {"Common.Sy: zero", extents},
		{"Common.Ox: zero", extents}, {"Common.Oy: zero", extents}, {"Common.NumGroups: zero", extents},
		{"Common.TileHeight: zero", extents}, {"Common.UnicastCin: zero", extents},
		{"Common.Oy: more", "results are computed a row at a time"},
		{"Common.PatchWidth: one", "the narrowest patch of recorded programs has four columns"},
		{"Common.DPECategory: more", recorded}, {"Common.Source1: zero", recorded},
		{"Common.TaskNID: more", recorded}, {"Common.Word20: ", recorded}, {"Header.DebugLogEvents: one", recorded},
		{"Header.LogEvents: ", recorded}, {"KernelDMA.CoeffCacheHint: one", recorded},
		{"KernelDMA.StreamConfig: one", recorded}, {"L2.ResBfrMode: one", recorded}, {"L2.ResCfg: ", recorded},
		{"L2.SrcCfg: ", recorded}, {"NE.BinaryPoint: one", recorded}, {"TileDMADst.DstCacheHint: ", recorded},
		{"TileDMADst.DstFmtMode: more", recorded}, {"TileDMADst.DstTruncate: one", recorded},
		{"TileDMASrc.Src2CacheHint", recorded}, {"TileDMASrc.SrcCacheHint", recorded},
		{"TileDMASrc.SrcFmtMode: more", recorded}, {"TileDMASrc.Src2FmtMode: ", recorded},
		{"TileDMASrc.Word40: one", recorded}, {"Header.WBase: one", recorded}, {"PE.PreScale: more", recorded},
		{"TileDMASrc.SrcInterleave: zero", recorded}, {"TileDMADst.DstInterleave: zero", recorded},
		{"TileDMASrc.SrcTruncate: one", recorded}, {"TileDMASrc.Src2Truncate: one", recorded},
		{"TileDMADst.DstShift: one", recorded}, {"TileDMASrc.SrcShift: one", recorded},
		{"Common.ContextSwitch", unused}, {"Common.ElemMultMode: one", unused}, {"Common.TaskID: ", unused},
		{"Common.TaskQ: ", unused}, {"Header.DebugExceptions: ", unused}, {"Header.Exceptions: ", unused},
		{"Header.KBE1: ", unused}, {"Header.KBE2: ", unused}, {"Header.KBE3: ", unused}, {"Header.KBase1: ", unused},
		{"Header.KBase2: ", unused}, {"Header.KBase3: ", unused}, {"Header.KPC: ", unused}, {"Header.NID: ", unused},
		{"Header.NextPriority: ", unused}, {"Header.TBase: ", unused}, {"Header.TDSkip: ", unused},
		{"Header.TQDis: ", unused}, {"KernelDMA.CoeffCrH: ", unused}, {"KernelDMA.CoeffPrefetch: ", unused},
		{"KernelDMA.StreamBase: ", unused}, {"NE.AccBiasShift: ", unused}, {"NE.BiasMode: ", unused},
		{"NE.GroupKernelReuse: ", unused}, {"NE.MatrixBiasEn: ", unused}, {"NE.MatrixVectorBias: ", unused},
		{"NE.PostScaleMode: ", unused}, {"NE.PostScaleRightShift: ", unused}, {"TileDMADst.BypassEOW: ", unused},
		{"TileDMADst.DstCmpVec: ", unused}, {"TileDMADst.DstCrH: ", unused}, {"TileDMADst.DstOffsetCh: ", unused},
		{"TileDMASrc.SrcCmpVec: ", unused}, {"TileDMASrc.SrcCrH: ", unused}, {"TileDMASrc.Src2CrH: ", unused},
		{"TileDMASrc.SrcDependencyMode: ", unused}, {"TileDMASrc.Src2DependencyMode: ", unused},
		{"TileDMASrc.Src2En: ", unused}, {"TileDMASrc.SrcOffsetCh: ", unused}, {"L2.InputReLU: one", unused},
		{"Common.InFmt: int8", halves}, {"Common.In2Fmt: int8", halves}, {"Common.OutFmt: int8", halves},
		{"TileDMADst.DstMemFmt: int8", halves}, {"TileDMASrc.SrcMemFmt: int8", halves},
		{"TileDMASrc.Src2MemFmt: int8", halves}, {"NE.KernelFmt: uint8", halves},
		{"PE.PoolMode: minimum", "as of the kinds of drafts"},
		{"PE.ReluEn: one", unused}, {"PE.Epsilon: one", "epsilons of one are not generated"},
		{"L2.Input2ReLU: one", "the reciprocal of a deviation is clamped, which h13 does in the table"},
		{"NE.AccBias: one", "addends of exactly one are rare"},
		{"TileDMASrc.SrcInterleave: more", "surfaces of ports are not interleaved"},
		{"TileDMASrc.Src2Interleave: ", "surfaces of ports are not interleaved"},
	},
	Rules: {
		{"fill", "fills of known shape are folded; those that are too large are tested in package lower"},
	},
	Refusals: {
		{"state-width", otherTargets},
		{"tasks", "an operation that needs so many tasks takes minutes; limit_test.go of package lower has one"},
		{"row-change", "a reshape of more than a million elements; limits_test.go of package lower has one"},
		{"vector-product", "compose writes products of vectors as products of matrices"},
		{"value-kind", "lists are on the CPU with all that reads them, whose refusal is no-lowering"},
	},
}

// Reasons that hold for several rows.
const (
	extents      = "a task's extents begin at one"
	halves       = "numbers on the engine are fp16, truth values uint8"
	recorded     = "zinc writes the value that recorded tasks have"
	unused       = "no recorded task sets it, and no rule needs it"
	otherTargets = "a limit of targets for which zinc writes no programs"
)

// whyEmpty returns why a row may be empty, "" if it must not.
func whyEmpty(g Group, row string) string {
	for _, u := range unreached[g] {
		if strings.HasPrefix(row, u.rows) {
			return u.why
		}
	}
	return ""
}
