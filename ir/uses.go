package ir

// eachOp calls f for every operation of a block and its nested blocks, an
// operation after those of its own blocks.
func eachOp(b *Block, f func(*Op)) {
	for _, op := range b.Ops {
		for _, n := range op.Blocks {
			eachOp(n, f)
		}
		f(op)
	}
}

// Walk calls f for every operation of the function, nested blocks included, an
// operation after those of its own blocks.
func Walk(f *Func, visit func(*Op)) { eachOp(f.Body, visit) }

// Uses returns the operations that read each value, in program order; one that
// reads a value twice is listed once. Block outputs are not uses by an operation.
func Uses(f *Func) map[*Value][]*Op {
	m := map[*Value][]*Op{}
	Walk(f, func(op *Op) {
		for _, a := range op.Args {
			for _, v := range a {
				if us := m[v]; len(us) == 0 || us[len(us)-1] != op {
					m[v] = append(us, op)
				}
			}
		}
	})
	return m
}

// Rewriter collects replacements of values and applies them in one walk.
type Rewriter struct{ subst map[*Value]*Value }

// Replace records that every use of old is to read new. Chains are followed.
func (r *Rewriter) Replace(old, new *Value) {
	if r.subst == nil {
		r.subst = map[*Value]*Value{}
	}
	if old != new {
		r.subst[old] = new
	}
}

// Find returns what v is replaced by, v itself when by nothing.
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
		r.block(f.Body)
	}
}

func (r *Rewriter) block(b *Block) {
	for _, op := range b.Ops {
		for _, a := range op.Args {
			for i, v := range a {
				a[i] = r.Find(v)
			}
		}
		for _, n := range op.Blocks {
			r.block(n)
		}
	}
	for i, v := range b.Outputs {
		b.Outputs[i] = r.Find(v)
	}
}
