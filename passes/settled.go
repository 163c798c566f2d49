package passes

import "github.com/zinc-compiler/zinc/ir"

// Settled says what a pass makes of an operation before placement asks for a
// lowering rule.
type Settled struct {
	Pass string  // of List
	Unit ir.Unit // where what it becomes runs; Unplaced when nothing is left to run
	Doc  string  // what becomes of it, and when
}

// SettledOps has a row for each operation that no lowering rule needs to know,
// at least for some arguments.
var SettledOps = func() map[string]Settled {
	m := map[string]Settled{
		"identity": {"normalise", ir.Unplaced, "dropped: its operand stands for it"},
		"batch_norm": {"normalise", ir.Engine,
			"becomes a factor and an addend by the channel, which fold into the product before them"},
		"pow": {"normalise", ir.Engine,
			"the powers 1, 2, 0.5 and -0.5 become nothing, a product, sqrt and rsqrt; others are not lowered"},
		"read_state": {"lower-states", ir.Unplaced, "becomes the value of the state at that place"},
		"write_state": {"lower-states", ir.Unplaced,
			"becomes a result that the state's buffer takes after the call"},
		"coreml_update_state": {"lower-states", ir.Unplaced,
			"becomes its operand, which the state's buffer takes after the call"},
		"while_loop": {"fold-constants", ir.Unplaced,
			"unrolls where constants decide its trips; other loops are not lowered"},
		"cond": {"flatten-branches", ir.Unplaced,
			"a constant takes its branch; cheap branches are both computed and selected from; others are not lowered"},
		"cast": {"place", ir.Transfer,
			"between fp16 and fp32 beside the engine, part of the transfer; other conversions are not lowered"},
	}
	for name := range forms {
		m[name] = Settled{"fold-constants", ir.Unplaced, "becomes a dense constant"}
	}
	return m
}()
