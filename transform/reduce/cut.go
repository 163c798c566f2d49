package reduce

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// every returns the operations of a function in order, an operation before the operations of its blocks.
func every(f *ir.Func) []*ir.Op {
	var out []*ir.Op
	var walk func(b *ir.Block)
	walk = func(b *ir.Block) {
		for _, op := range b.Ops {
			out = append(out, op)
			for _, inner := range op.Blocks {
				walk(inner)
			}
		}
	}
	walk(f.Body)
	return out
}

// fixed reports whether op's result must stay computed where param reads it: the
// parameter must be known at compile time, or the value cannot be an input.
func fixed(v *ir.Value, param *ir.Param) bool {
	return !v.Type.Port() || param != nil && param.Const || ir.IsConstexpr(v.Def)
}

// cut drops operations of f. What kept ones read of them becomes an input of the
// function; where that cannot be, the operation stays. An output that is dropped
// gives way to the computed values that its operation read. It reports whether
// anything went.
func cut(f *ir.Func, drop map[*ir.Op]bool) bool {
	keepFixed(f, drop)
	if len(drop) == 0 {
		return false
	}
	gone := func(v *ir.Value) bool { return v.Def != nil && drop[v.Def] }
	var outs []*ir.Value
	var out func(v *ir.Value)
	seen := map[*ir.Value]bool{}
	out = func(v *ir.Value) {
		if seen[v] {
			return
		}
		seen[v] = true
		if !gone(v) {
			outs = append(outs, v)
			return
		}
		v.Def.Reads(func(x *ir.Value) {
			if x.Def != nil && x.Type.Port() {
				out(x)
			}
		})
	}
	for _, v := range f.Body.Outputs {
		out(v)
	}
	f.Body.Outputs = outs
	remove(f.Body, drop)
	made := map[*ir.Value]bool{}
	read := func(v *ir.Value) {
		if gone(v) && !made[v] {
			made[v] = true
			v.Def = nil
			f.Body.Params = append(f.Body.Params, v)
		}
	}
	for _, op := range f.Body.Ops {
		op.Reads(read)
	}
	return true
}

// keepFixed takes operations out of drop whose results cannot become inputs
// though something that stays reads them.
func keepFixed(f *ir.Func, drop map[*ir.Op]bool) {
	for again := true; again; {
		again = false
		stay := func(v *ir.Value, param *ir.Param) {
			if v.Def != nil && drop[v.Def] && fixed(v, param) {
				delete(drop, v.Def)
				again = true
			}
		}
		var block func(b *ir.Block)
		block = func(b *ir.Block) {
			for _, op := range b.Ops {
				if drop[op] {
					continue
				}
				op.Operands(func(p *ir.Param, v *ir.Value) { stay(v, p) })
				for _, inner := range op.Blocks {
					block(inner)
					for _, v := range inner.Outputs {
						stay(v, nil)
					}
				}
			}
		}
		block(f.Body)
	}
}

// remove takes operations out of a block and the blocks inside.
func remove(b *ir.Block, drop map[*ir.Op]bool) {
	b.Ops = slices.DeleteFunc(b.Ops, func(op *ir.Op) bool { return drop[op] })
	for _, op := range b.Ops {
		for _, inner := range op.Blocks {
			remove(inner, drop)
		}
	}
}

// prefix is the edit that ends function fn after its first k operations.
func prefix(fn, k int) edit {
	return func(p *ir.Program) (map[*ir.Value]bool, bool) {
		f := p.Funcs[fn]
		ops := f.Body.Ops
		if k <= 0 || k >= len(ops) {
			return nil, false
		}
		later := map[*ir.Value]bool{}
		for _, op := range ops[k:] {
			op.Reads(func(v *ir.Value) { later[v] = later[v] || v.Type.Port() })
		}
		for _, v := range f.Body.Outputs {
			later[v] = true
		}
		f.Body.Outputs = nil
		for _, op := range ops[:k] {
			for _, v := range op.Results {
				if later[v] {
					f.Body.Outputs = append(f.Body.Outputs, v)
				}
			}
		}
		f.Body.Ops = ops[:k]
		return nil, len(f.Body.Outputs) > 0
	}
}

// suffix is the edit that begins function fn at operation k.
func suffix(fn, k int) edit {
	return func(p *ir.Program) (map[*ir.Value]bool, bool) {
		f := p.Funcs[fn]
		if k <= 0 || k >= len(f.Body.Ops) {
			return nil, false
		}
		drop := map[*ir.Op]bool{}
		for _, op := range f.Body.Ops[:k] {
			drop[op] = true
		}
		// An output from before k shows nothing of what comes after it.
		f.Body.Outputs = slices.DeleteFunc(f.Body.Outputs, func(v *ir.Value) bool {
			return v.Def == nil || drop[v.Def]
		})
		return nil, len(f.Body.Outputs) > 0 && cut(f, drop)
	}
}

// body returns the number of operations of function fn's own block.
func (r *reducer) body(fn int) int { return len(r.cur.prog.Funcs[fn].Body.Ops) }

// perFunc runs a pass on every function.
func (r *reducer) perFunc(f func(fn int) error) error {
	for fn := range r.cur.prog.Funcs {
		if err := f(fn); err != nil {
			return err
		}
	}
	return nil
}

func (r *reducer) halves() error {
	return r.perFunc(func(fn int) error {
		for n := r.body(fn); n > 1; {
			k, err := r.first(2, func(i int) edit {
				if i == 0 {
					return prefix(fn, n/2)
				}
				return suffix(fn, n/2)
			})
			if err != nil {
				return err
			}
			if now := r.body(fn); k < 0 || now >= n {
				return nil
			} else {
				n = now
			}
		}
		return nil
	})
}

func (r *reducer) tail() error {
	return r.perFunc(func(fn int) error {
		return r.bisect(0, r.body(fn), func(k int) edit { return prefix(fn, k) })
	})
}

func (r *reducer) head() error {
	return r.perFunc(func(fn int) error {
		n := r.body(fn)
		return r.bisect(0, n, func(k int) edit { return suffix(fn, n-k) })
	})
}

func (r *reducer) statements() error {
	return r.perFunc(func(fn int) error {
		count := func() int { return len(every(r.cur.prog.Funcs[fn])) }
		// From the end: what only a dropped statement reads goes with it.
		return r.dropRuns(max(1, count()/2), count, func(begin, end int) edit { return without(fn, begin, end) })
	})
}

// dropRuns drops runs of a list that changes as edits stay, from size elements down to one (ddmin), from its end: count
// says how long it is now.
func (r *reducer) dropRuns(size int, count func() int, without func(begin, end int) edit) error {
	for ; size > 0; size /= 2 {
		for end := count(); end > 0; {
			n := (end + size - 1) / size
			k, err := r.first(n, func(i int) edit { return without(max(0, end-(i+1)*size), end-i*size) })
			if err != nil {
				return err
			}
			if k < 0 {
				break
			}
			end = min(max(0, end-(k+1)*size), count())
		}
	}
	return nil
}

func (r *reducer) sever() error {
	return r.perFunc(func(fn int) error {
		count := func() int { return len(every(r.cur.prog.Funcs[fn])) }
		return r.each(count, func(i int) edit {
			return func(p *ir.Program) (map[*ir.Value]bool, bool) {
				f := p.Funcs[fn]
				op := every(f)[i]
				if !slices.Contains(f.Body.Ops, op) || slices.ContainsFunc(op.Results, func(v *ir.Value) bool {
					return slices.Contains(f.Body.Outputs, v)
				}) {
					return nil, false
				}
				var ends []*ir.Value
				op.Reads(func(v *ir.Value) {
					if v.Def != nil && v.Type.Port() && !slices.Contains(f.Body.Outputs, v) &&
						!slices.Contains(ends, v) && slices.Contains(f.Body.Ops, v.Def) {
						ends = append(ends, v)
					}
				})
				if len(ends) == 0 || !cut(f, map[*ir.Op]bool{op: true}) {
					return nil, false
				}
				f.Body.Outputs = append(f.Body.Outputs, ends...)
				return nil, true
			}
		})
	})
}

// without is the edit that drops operations lo to hi, as every counts them.
func without(fn, lo, hi int) edit {
	return func(p *ir.Program) (map[*ir.Value]bool, bool) {
		f := p.Funcs[fn]
		ops := every(f)
		if lo >= hi || hi > len(ops) {
			return nil, false
		}
		drop := map[*ir.Op]bool{}
		for _, op := range ops[lo:hi] {
			drop[op] = true
		}
		return nil, cut(f, drop)
	}
}
