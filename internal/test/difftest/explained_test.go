package difftest

import (
	"slices"
	"strings"
)

// unreached says why no program reaches certain rows of the table: by group, the part of a row's name before its last
// colon, and the part after it, with several separated by bars.
var unreached = map[Group][]struct{ of, rows, why string }{
	Rules: {
		{"", "fill", "fills of known shape are folded; those that are too large are tested in package lower"},
	},
	Fused: {
		{"", "log", "its table computes log2, which a further task multiplies"},
		{"", "exp|exp2|inverse|sqrt", "generated programs bound the operand first"},
	},
	Drafts: {
		{"neural", "maximum over channels, clamp at zero", "a maximum is followed by a task of its own"},
		{"neural", "maximum over channels, lookup table", "a maximum is followed by a task of its own"},
		{"neural", "sum over channels, clamp at zero", "relu after a sum is a task of its own"},
		{"planar", "reduction of two sources, average", "two sources are multiplied and summed"},
		{"planar", "reduction of two sources, maximum", "two sources are multiplied and summed"},
		{"planar", "reduction of two sources, minimum", "two sources are multiplied and summed"},
		{"planar", "reduction, average", "a mean is a sum with a factor"},
		{"planar", "reduction, minimum", "a minimum is decomposed into a maximum of negated values"},
		{"planar", "source and parameter pair, maximum", "the pair is a factor and an addend"},
		{"planar", "source and parameter pair, minimum", "the pair is a factor and an addend"},
		{"planar", "source and parameter pair, multiply", "the pair is a factor and an addend"},
	},
	Fields: {
		{"NE.AccBias", "one", "addends of exactly one are rare"},
		{"PE.PoolMode", "minimum", "as of the kinds of drafts"},
		{"PE.Epsilon", "one", "epsilons of one are not generated"},
		{"Common.Oy", "more", "results are computed a row at a time"},
		{"TileDMASrc.Src2Interleave", "more|one", "surfaces of ports are not interleaved"},
		{"TileDMASrc.SrcInterleave", "more", "surfaces of ports are not interleaved"},
		{"Common.PatchWidth", "one", "the narrowest patch of recorded programs has four columns"},
		{"L2.Input2ReLU", "one", "the reciprocal of a deviation is clamped, which h13 does in the table"},
		{"Common.Cin", "zero", extents}, {"Common.Cout", "zero", extents}, {"Common.Din", "zero", extents},
		{"Common.Dout", "zero", extents}, {"Common.Hin", "zero", extents}, {"Common.Hout", "zero", extents},
		{"Common.Kh", "zero", extents}, {"Common.Kw", "zero", extents}, {"Common.NumGroups", "zero", extents},
		{"Common.Ox", "zero", extents}, {"Common.Oy", "zero", extents}, {"Common.Sx", "zero", extents},
		{"Common.Sy", "zero", extents}, {"Common.TileHeight", "zero", extents},
		{"Common.UnicastCin", "zero", extents}, {"Common.Win", "zero", extents}, {"Common.Wout", "zero", extents},
		{"Common.In2Fmt", "int8", halves}, {"Common.InFmt", "int8", halves}, {"Common.OutFmt", "int8", halves},
		{"NE.KernelFmt", "uint8", halves}, {"TileDMADst.DstMemFmt", "int8", halves},
		{"TileDMASrc.Src2MemFmt", "int8", halves}, {"TileDMASrc.SrcMemFmt", "int8", halves},
		{"Common.DPECategory", "more", recorded}, {"Common.Source1", "zero", recorded},
		{"Common.TaskNID", "more", recorded}, {"Common.Word20", "one|zero", recorded},
		{"Header.DebugLogEvents", "one", recorded}, {"Header.LogEvents", "one|zero", recorded},
		{"Header.WBase", "one", recorded}, {"KernelDMA.CoeffCacheHint", "one", recorded},
		{"KernelDMA.StreamConfig", "one", recorded}, {"L2.ResBfrMode", "one", recorded},
		{"L2.ResCfg", "one|zero", recorded}, {"L2.SrcCfg", "one|zero", recorded},
		{"NE.BinaryPoint", "one", recorded}, {"PE.PreScale", "more", recorded},
		{"TileDMADst.DstCacheHint", "one|zero", recorded}, {"TileDMADst.DstFmtMode", "more", recorded},
		{"TileDMADst.DstInterleave", "zero", recorded}, {"TileDMADst.DstShift", "one", recorded},
		{"TileDMADst.DstTruncate", "one", recorded}, {"TileDMASrc.Src2CacheHint", "one|zero", recorded},
		{"TileDMASrc.Src2CacheHintNoReuse", "one|zero", recorded},
		{"TileDMASrc.Src2CacheHintReuse", "one|zero", recorded}, {"TileDMASrc.Src2FmtMode", "more|one", recorded},
		{"TileDMASrc.Src2Truncate", "one", recorded}, {"TileDMASrc.SrcCacheHint", "one", recorded},
		{"TileDMASrc.SrcCacheHintNoReuse", "one|zero", recorded},
		{"TileDMASrc.SrcCacheHintReuse", "one|zero", recorded}, {"TileDMASrc.SrcFmtMode", "more", recorded},
		{"TileDMASrc.SrcInterleave", "zero", recorded}, {"TileDMASrc.SrcShift", "one", recorded},
		{"TileDMASrc.SrcTruncate", "one", recorded}, {"TileDMASrc.Word40", "one", recorded},
		{"Common.ContextSwitchIn", "one", unused}, {"Common.ContextSwitchOut", "one", unused},
		{"Common.ElemMultMode", "one", unused}, {"Common.TaskID", "more|one", unused},
		{"Common.TaskQ", "more|one", unused}, {"Header.DebugExceptions", "more|one", unused},
		{"Header.Exceptions", "more|one", unused}, {"Header.KBE1", "one", unused}, {"Header.KBE2", "one", unused},
		{"Header.KBE3", "one", unused}, {"Header.KBase1", "more|one", unused}, {"Header.KBase2", "more|one", unused},
		{"Header.KBase3", "more|one", unused}, {"Header.KPC", "one", unused}, {"Header.NID", "more|one", unused},
		{"Header.NextPriority", "more|one", unused}, {"Header.TBase", "more|one", unused},
		{"Header.TDSkip", "one", unused}, {"Header.TQDis", "one", unused},
		{"KernelDMA.CoeffCrH", "more|one", unused}, {"KernelDMA.CoeffPrefetch", "one", unused},
		{"KernelDMA.StreamBase", "not zero", unused}, {"L2.InputReLU", "one", unused},
		{"NE.AccBiasShift", "more|one", unused}, {"NE.BiasMode", "one", unused},
		{"NE.GroupKernelReuse", "one", unused}, {"NE.MatrixBiasEn", "one", unused},
		{"NE.MatrixVectorBias", "more|one", unused}, {"NE.PostScaleMode", "one", unused},
		{"NE.PostScaleRightShift", "more|one", unused}, {"PE.ReluEn", "one", unused},
		{"TileDMADst.BypassEOW", "one", unused}, {"TileDMADst.DstCmpVec", "more|one", unused},
		{"TileDMADst.DstCrH", "more|one", unused}, {"TileDMADst.DstOffsetCh", "more|one", unused},
		{"TileDMASrc.Src2CrH", "more|one", unused}, {"TileDMASrc.Src2DependencyMode", "one", unused},
		{"TileDMASrc.Src2En", "one", unused}, {"TileDMASrc.SrcCmpVec", "more|one", unused},
		{"TileDMASrc.SrcCrH", "more|one", unused}, {"TileDMASrc.SrcDependencyMode", "one", unused},
		{"TileDMASrc.SrcOffsetCh", "more|one", unused},
	},
	Refusals: {
		{"", "interleave|pad-mode|slice", "decompositions write these, or name a limit of the hardware"},
		{"", "bridge", "range_1d with computed bounds, whose extent no type tells; limits_test.go has one"},
		{"", "row-change", "a reshape of more than a million elements; limits_test.go of package lower has one"},
		{"", "no-record", "a limit of targets of which zinc writes recorded forms alone"},
		{"", "state-width", otherTargets},
		{"", "tasks", "an operation that needs so many tasks takes minutes; limits_test.go of package lower has one"},
		{"", "value-kind", "lists are on the CPU with all that reads them, whose refusal is no-lowering"},
		{"", "vector-product", "decompose writes products of vectors as products of matrices"},
	},
}

// Reasons that apply to several rows.
const (
	extents      = "a task's extents begin at one"
	halves       = "numbers on the engine are fp16, truth values uint8"
	recorded     = "zinc writes the value that recorded tasks have"
	unused       = "no recorded task sets it, and no rule needs it"
	otherTargets = "a limit of other targets"
)

// whyEmpty returns why a row may be empty, "" if it must not.
func whyEmpty(g Group, row string) string {
	of, class := "", row
	if i := strings.LastIndex(row, ": "); i >= 0 {
		of, class = row[:i], row[i+2:]
	}
	for _, u := range unreached[g] {
		if u.of == of && slices.Contains(strings.Split(u.rows, "|"), class) {
			return u.why
		}
	}
	return ""
}
