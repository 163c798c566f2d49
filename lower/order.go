package lower

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// scheduled returns a segment's operations in the order in which they become tasks: the program's order, except for two
// products that only an elementwise operation reads, and one that computes the kernel of a dynamic matmul. Of the two,
// the product that is the second operand comes first (case chain_branch_d256_s64); the one comes immediately before its
// reader (case chain_block_d512_s128_proj1).
func (b *builder) scheduled(ops []*ir.Op) []*ir.Op {
	out := b.kernelsLate(ops)
	read := b.read
	var at map[*ir.Op]int // places in out
	for _, op := range ops {
		if r := ruleFor(op); r == nil || r.Name != "elementwise" {
			continue
		}
		first, second := soleProduct(op.Arg(ir.ParamX), read), soleProduct(op.Arg(ir.ParamY), read)
		if first == nil || second == nil || first == second {
			continue
		}
		if at == nil {
			at = make(map[*ir.Op]int, len(out))
			for i, op := range out {
				at[op] = i
			}
		}
		i, inside := at[first]
		j, also := at[second]
		if !inside || !also || j < i || readsAfter(second, i, at) {
			continue
		}
		copy(out[i+1:j+1], out[i:j])
		out[i] = second
		for k := i; k <= j; k++ {
			at[out[k]] = k
		}
	}
	return out
}

// kernelsLate returns a segment's operations with each product that computes the kernel of a dynamic matmul immediately
// before that.
func (b *builder) kernelsLate(ops []*ir.Op) []*ir.Op {
	var late map[*ir.Op]bool
	for _, op := range ops {
		if b.transposesProduct(op) {
			if late == nil {
				late = map[*ir.Op]bool{}
			}
			late[op.Arg(ir.ParamY).Def] = true
		}
	}
	if late == nil {
		return slices.Clone(ops)
	}
	out := make([]*ir.Op, 0, len(ops))
	for _, op := range ops {
		if late[op] {
			continue
		}
		if y := op.Arg(ir.ParamY); y != nil && late[y.Def] {
			out = append(out, y.Def)
		}
		out = append(out, op)
	}
	return out
}

// soleProduct returns the product that computes v, if v is read once.
func soleProduct(v *ir.Value, read map[*ir.Value]reading) *ir.Op {
	if v == nil || v.Def == nil || v.IsConst() || read[v].n != 1 {
		return nil
	}
	if ruleFor(v.Def) == nil || v.Def.Def.Class != ir.Product {
		return nil
	}
	return v.Def
}

// readsAfter reports whether an operand of op is defined at place i or later.
func readsAfter(op *ir.Op, i int, at map[*ir.Op]int) bool {
	late := false
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		if v.Def != nil {
			if k, ok := at[v.Def]; ok && k >= i {
				late = true
			}
		}
	})
	return late
}
