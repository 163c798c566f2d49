package ir

import "slices"

// eachOp calls f for every operation of a block and its nested blocks, an operation after the operations of its own
// blocks.
func eachOp(b *Block, f func(*Op)) {
	for _, op := range b.Ops {
		for _, n := range op.Blocks {
			eachOp(n, f)
		}
		f(op)
	}
}

// Walk calls f for every operation of the function, nested blocks included, an operation after the operations of its
// own blocks.
func Walk(f *Func, visit func(*Op)) { eachOp(f.Body, visit) }

// ConstantBytes returns the size of a program's constants; several values of one constant count once.
func ConstantBytes(p *Program) (n int64) {
	seen := map[*Const]bool{}
	for _, f := range p.Funcs {
		Walk(f, func(op *Op) {
			op.Operands(func(_ *Param, v *Value) {
				if v.Const != nil && !seen[v.Const] {
					seen[v.Const] = true
					n += int64(len(v.Const.Data))
				}
			})
		})
	}
	return n
}

// Uses returns the operations that read each value, in program order; one that
// reads a value twice is listed once. Block outputs are not uses by an operation.
func Uses(f *Func) *ValueMap[[]*Op] {
	m := NewValueMap[[]*Op](Number(f.Body))
	Walk(f, func(op *Op) {
		for _, a := range op.Args {
			for _, v := range a {
				if us := m.Get(v); len(us) == 0 || us[len(us)-1] != op {
					m.Set(v, append(us, op))
				}
			}
		}
	})
	return m
}

// Takes reports whether v is an operand of op.
func (op *Op) Takes(v *Value) bool {
	return slices.ContainsFunc(op.Args, func(a []*Value) bool { return slices.Contains(a, v) })
}

// Reads calls f for every value defined outside op that op and its blocks read.
func (op *Op) Reads(f func(*Value)) {
	for _, a := range op.Args {
		for _, v := range a {
			f(v)
		}
	}
	for _, b := range op.Blocks {
		own := map[*Value]bool{}
		var block func(b *Block)
		block = func(b *Block) {
			for _, p := range b.Params {
				own[p] = true
			}
			for _, o := range b.Ops {
				for _, r := range o.Results {
					own[r] = true
				}
			}
			for _, o := range b.Ops {
				for _, a := range o.Args {
					for _, v := range a {
						if !own[v] {
							f(v)
						}
					}
				}
				for _, n := range o.Blocks {
					block(n)
				}
			}
			for _, v := range b.Outputs {
				if !own[v] {
					f(v)
				}
			}
		}
		block(b)
	}
}

// Rewriter collects replacements of values and applies them in one walk.
type Rewriter struct{ subst map[*Value]*Value }

// Replace records that every use of old must read new. Chains are followed.
func (r *Rewriter) Replace(old, new *Value) {
	if r.subst == nil {
		r.subst = map[*Value]*Value{}
	}
	if old != new {
		r.subst[old] = new
	}
}

// Find returns the replacement of v, or v itself if there is none.
func (r *Rewriter) Find(v *Value) *Value {
	end := v
	for n := 0; n <= len(r.subst); n++ {
		next, ok := r.subst[end]
		if !ok {
			break
		}
		end = next
	}
	for v != end { // shorten the chain
		next, ok := r.subst[v]
		if !ok {
			break
		}
		r.subst[v] = end
		v = next
	}
	return end
}

// Apply rewrites the arguments of every operation and every block's outputs.
func (r *Rewriter) Apply(f *Func) {
	if len(r.subst) > 0 {
		r.Block(f.Body)
	}
}

// Op rewrites the arguments of one operation and of the operations in its blocks.
func (r *Rewriter) Op(op *Op) {
	for _, a := range op.Args {
		for i, v := range a {
			a[i] = r.Find(v)
		}
	}
	for _, n := range op.Blocks {
		r.Block(n)
	}
}

// Block is like Apply for one block.
func (r *Rewriter) Block(b *Block) {
	for _, op := range b.Ops {
		r.Op(op)
	}
	for i, v := range b.Outputs {
		b.Outputs[i] = r.Find(v)
	}
}
