package lower

import "github.com/zinc-compiler/zinc/ir"

// ConstantUse says that an operation's tasks read an extent of the constant
// section, and what its bytes were made of.
type ConstantUse struct {
	Offset int64  // of the extent, in the section
	Op     *ir.Op // operation, or the leading one of a fused run
	Rule   string
	// Values is the constant that the coefficients or elements came from, Bias the
	// one of the biases, nil where the rule made them up. Table is the operation
	// whose table the extent holds, nil where it holds none of a fused operation.
	Values, Bias *ir.Value
	Table        *ir.Op
}

// constantUse is what a rule knows of the constant it has just added.
type constantUse struct {
	values, bias *ir.Value
	table        *ir.Op
}

// readsAt notes that the operation being lowered reads the extent at off.
func (b *builder) readsAt(off int64, u constantUse) {
	if b.trial || !b.sec.Tracked() {
		return
	}
	x := ConstantUse{Offset: off, Op: b.op, Rule: b.rule, Values: u.values, Bias: u.bias, Table: u.table}
	if n := len(b.consts); n > 0 && b.consts[n-1] == x {
		return
	}
	b.consts = append(b.consts, x)
}

// reads notes that the operation being lowered reads the constant added last,
// made of v, nil where the rule made it up.
func (b *builder) reads(v *ir.Value) {
	b.readsAt(int64(b.sec.Last()), constantUse{values: v, bias: v})
}

// readsKernel is reads for the kernel of a product or the table of an activation.
func (b *builder) readsKernel() {
	var u constantUse
	for _, p := range [...]ir.ParamName{ir.ParamWeight, ir.ParamX, ir.ParamY} {
		if v := b.op.Arg(p); v.IsConst() {
			u.values = v
			break
		}
	}
	if v := b.op.Arg(ir.ParamBias); v.IsConst() {
		u.bias = v
	}
	for _, f := range b.fused[b.op] {
		if _, ok := tableFor(f); ok {
			u.table = f
		}
	}
	b.readsAt(int64(b.sec.Last()), u)
}

// operandOf returns the operand of the operation being lowered that is the
// constant c, or nil.
func (b *builder) operandOf(c *ir.Const) (v *ir.Value) {
	if !b.sec.Tracked() {
		return nil
	}
	b.op.Operands(func(_ *ir.Param, x *ir.Value) {
		if x.Const == c {
			v = x
		}
	})
	return v
}
