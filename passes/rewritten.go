package passes

import "github.com/zinc-compiler/zinc/ir"

// Rewritten describes what a pass does with an operation before placement looks for a lowering rule.
type Rewritten struct {
	Pass string  // of List
	Unit ir.Unit // where its replacement runs; Unplaced if nothing is left to run
	Doc  string  // what becomes of it, and when
}

// RewrittenOps has a row for each operation that no lowering rule needs to know, at least for some arguments.
var RewrittenOps = func() map[*ir.Operation]Rewritten {
	m := map[*ir.Operation]Rewritten{
		ir.OpIdentity: {"canonicalise", ir.Unplaced, "dropped: what reads it reads its operand"},
		ir.OpBatchNorm: {"canonicalise", ir.Engine,
			"becomes a factor and an addend by the channel, which fold into the product before them"},
		ir.OpPow: {"canonicalise", ir.Engine,
			"the powers 1, 2, 0.5 and -0.5 become nothing, a product, sqrt and rsqrt; others are not lowered"},
		ir.OpReadState: {"lower-states", ir.Unplaced, "becomes the value of the state at that place"},
		ir.OpWriteState: {"lower-states", ir.Unplaced,
			"becomes a result that the state's buffer takes after the call"},
		ir.OpCoreMLUpdateState: {"lower-states", ir.Unplaced,
			"becomes its operand, which the state's buffer takes after the call"},
		ir.OpWhileLoop: {"fold-constants", ir.Unplaced,
			"unrolls where constants decide its trips; other loops are not lowered"},
		ir.OpRange1D: {"fold-constants", ir.Unplaced,
			"becomes a constant, which the host makes, where its arguments are constant; others are not lowered"},
		ir.OpCond: {"flatten-branches", ir.Unplaced,
			"a constant takes its branch; cheap branches are both computed and selected from; others are not lowered"},
		ir.OpCast: {"place", ir.Transfer,
			"between fp16 and fp32 or integers beside the engine, part of the transfer; others are not lowered"},
	}
	for _, o := range ir.Operations {
		if o.Class == ir.Compressed {
			m[o] = Rewritten{"fold-constants", ir.Unplaced, "becomes a dense constant"}
		}
	}
	return m
}()
