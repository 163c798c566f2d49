package reduce

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

func (r *reducer) functions() error {
	n := len(r.cur.prog.Funcs)
	if n < 2 {
		return nil
	}
	_, err := r.first(n, func(i int) edit {
		return func(p *ir.Program) (map[*ir.Value]bool, bool) {
			p.Funcs = p.Funcs[i : i+1]
			return nil, true
		}
	})
	return err
}

// openExtent is the extent that a dimension without a default gets, as far as its
// range allows.
const openExtent = 2

func (r *reducer) shapes() error {
	return r.perFunc(func(fn int) error {
		_, err := r.try(func(p *ir.Program) (map[*ir.Value]bool, bool) {
			f := p.Funcs[fn]
			changed := map[*ir.Value]bool{}
			for _, v := range f.Body.Params {
				if v.Type.Kind != ir.Tensor || v.Type.Static() {
					continue
				}
				shape := slices.Clone(v.Type.Shape)
				given, ranges := f.Flex.Default[v.Name], f.Flex.Ranges[v.Name]
				for i, d := range shape {
					switch {
					case d >= 0:
					case i < len(given):
						shape[i] = given[i]
					default:
						shape[i] = openExtent
						if i < len(ranges) {
							shape[i] = max(shape[i], ranges[i][0])
							if high := ranges[i][1]; high >= 0 {
								shape[i] = min(shape[i], high)
							}
						}
					}
				}
				v.Type.Shape = shape
				changed[v] = true
			}
			flex := f.Flex.Default != nil || f.Flex.Ranges != nil || f.Flex.Enums != nil
			f.Flex = ir.Flexible{}
			return changed, flex || len(changed) > 0
		})
		return err
	})
}

func (r *reducer) outputs() error {
	return r.perFunc(func(fn int) error {
		count := func() int { return len(r.cur.prog.Funcs[fn].Body.Outputs) }
		if count() < 2 {
			return nil
		}
		if k, err := r.first(count(), func(i int) edit {
			return func(p *ir.Program) (map[*ir.Value]bool, bool) {
				b := p.Funcs[fn].Body
				b.Outputs = b.Outputs[i : i+1]
				return nil, true
			}
		}); err != nil || k >= 0 {
			return err
		}
		return r.each(count, func(i int) edit {
			return func(p *ir.Program) (map[*ir.Value]bool, bool) {
				b := p.Funcs[fn].Body
				if len(b.Outputs) < 2 {
					return nil, false
				}
				b.Outputs = slices.Delete(b.Outputs, i, i+1)
				return nil, true
			}
		})
	})
}

func (r *reducer) fold() error {
	return r.perFunc(func(fn int) error {
		yes, err := r.try(func(p *ir.Program) (map[*ir.Value]bool, bool) { return folded(p.Funcs[fn], nil) })
		if err != nil || yes {
			return err
		}
		return r.each(func() int { return len(every(r.cur.prog.Funcs[fn])) }, func(i int) edit {
			return func(p *ir.Program) (map[*ir.Value]bool, bool) {
				f := p.Funcs[fn]
				return folded(f, every(f)[i])
			}
		})
	})
}

// folded replaces results that follow from constants, the results of one operation or of all.
func folded(f *ir.Func, only *ir.Op) (map[*ir.Value]bool, bool) {
	with, changed := map[*ir.Value]*ir.Value{}, map[*ir.Value]bool{}
	for _, op := range every(f) {
		if only != nil && op != only || len(op.Blocks) > 0 || op.Def.Effect != ir.Pure {
			continue
		}
		// The operands may have been folded just before.
		own := *op
		own.Args = nil
		for _, vs := range op.Args {
			vs = slices.Clone(vs)
			for i, v := range vs {
				if n := with[v]; n != nil {
					vs[i] = n
				}
			}
			own.Args = append(own.Args, vs)
		}
		cs, err := ir.FoldOp(&own)
		if err != nil || len(cs) != len(op.Results) {
			continue
		}
		for i, c := range cs {
			v := op.Results[i]
			n := &ir.Value{Name: v.Name, Type: c.Type, Const: c, Pos: v.Pos}
			with[v], changed[n] = n, true
		}
	}
	replace(f.Body, with)
	// A constant takes its name from the operation, which must go with it.
	drop := map[*ir.Op]bool{}
	for v := range with {
		drop[v.Def] = true
	}
	remove(f.Body, drop)
	return changed, len(with) > 0
}

func (r *reducer) inline() error {
	return r.perFunc(func(fn int) error {
		return r.everywhere(fn, func(op *ir.Op) int { return len(op.Blocks) },
			func(f *ir.Func, op *ir.Op, block int) (map[*ir.Value]bool, bool) { return inlined(f.Body, op, block) })
	})
}

// everywhere tries an edit with every number below count at every operation of a function.
func (r *reducer) everywhere(fn int, count func(op *ir.Op) int,
	edited func(f *ir.Func, op *ir.Op, k int) (map[*ir.Value]bool, bool)) error {
	type place struct{ op, k int }
	var places []place
	list := func() int {
		places = nil
		for i, op := range every(r.cur.prog.Funcs[fn]) {
			for k := range count(op) {
				places = append(places, place{i, k})
			}
		}
		return len(places)
	}
	return r.each(list, func(i int) edit {
		at := places[i]
		return func(p *ir.Program) (map[*ir.Value]bool, bool) {
			f := p.Funcs[fn]
			return edited(f, every(f)[at.op], at.k)
		}
	})
}

// inlined puts a block of op in op's place, in b or a block inside. The block's
// parameters read the operation's list of as many values.
func inlined(b *ir.Block, op *ir.Op, block int) (map[*ir.Value]bool, bool) {
	at := slices.Index(b.Ops, op)
	if at < 0 {
		for _, o := range b.Ops {
			for _, inner := range o.Blocks {
				if changed, ok := inlined(inner, op, block); ok {
					return changed, ok
				}
			}
		}
		return nil, false
	}
	body := op.Blocks[block]
	if len(body.Outputs) != len(op.Results) {
		return nil, false
	}
	with, changed := map[*ir.Value]*ir.Value{}, map[*ir.Value]bool{}
	for i, v := range body.Outputs {
		if !v.Type.Fits(op.Results[i].Type) {
			return nil, false
		}
		with[op.Results[i]] = v
		changed[v] = true
	}
	if n := len(body.Params); n > 0 {
		k := slices.IndexFunc(op.Args, func(vs []*ir.Value) bool { return len(vs) == n })
		if k < 0 {
			return nil, false
		}
		for i, v := range body.Params {
			with[v] = op.Args[k][i]
		}
	}
	b.Ops = slices.Concat(b.Ops[:at], body.Ops, b.Ops[at+1:])
	replace(b, with)
	return changed, true
}

// maxFill bounds the elements of a constant that is made for a result.
const maxFill = 1 << 20

func (r *reducer) bypass() error {
	return r.perFunc(func(fn int) error {
		// One edit for each operand, then one for zeros, an operation.
		return r.everywhere(fn, func(op *ir.Op) int {
			n := 1
			op.Operands(func(*ir.Param, *ir.Value) { n++ })
			return n
		}, bypassed)
	})
}

func bypassed(f *ir.Func, op *ir.Op, alt int) (map[*ir.Value]bool, bool) {
	if len(op.Results) == 0 || writes(op) {
		return nil, false
	}
	var operands []*ir.Value
	op.Operands(func(_ *ir.Param, v *ir.Value) { operands = append(operands, v) })
	with, changed := map[*ir.Value]*ir.Value{}, map[*ir.Value]bool{}
	for _, v := range op.Results {
		var n *ir.Value
		if alt < len(operands) {
			if n = operands[alt]; !n.Type.Equal(v.Type) {
				return nil, false
			}
		} else {
			c := filled(v.Type, 0)
			if c == nil {
				return nil, false
			}
			n = &ir.Value{Name: v.Name, Type: v.Type, Const: c, Pos: v.Pos}
			changed[n] = true
		}
		with[v] = n
		// An output that is an input or a constant shows nothing.
		f.Body.Outputs = slices.DeleteFunc(f.Body.Outputs, func(o *ir.Value) bool { return o == v && n.Def == nil })
	}
	if len(f.Body.Outputs) == 0 {
		return nil, false
	}
	replace(f.Body, with)
	remove(f.Body, map[*ir.Op]bool{op: true})
	return changed, true
}

// filled returns a constant all of whose elements are x, nil when none is made of
// the type.
func filled(t ir.Type, x float64) *ir.Const {
	if n := t.Elems(); t.Kind != ir.Tensor || n < 0 || n > maxFill || t.DType.Bits() < 8 || t.DType == ir.FP8E4M3 ||
		t.DType == ir.FP8E5M2 {
		return nil
	}
	one := ir.AppendElem(nil, t.DType, x)
	c := &ir.Const{Type: t, Data: make([]byte, 0, len(one)*int(t.Elems()))}
	for range t.Elems() {
		c.Data = append(c.Data, one...)
	}
	return c
}

func (r *reducer) states() error {
	return r.perFunc(func(fn int) error {
		count := func() int { return len(stateParams(r.cur.prog.Funcs[fn])) }
		return r.dropRuns(count(), count, func(begin, end int) edit {
			return func(p *ir.Program) (map[*ir.Value]bool, bool) {
				f := p.Funcs[fn]
				drop := map[*ir.Value]bool{}
				for _, v := range stateParams(f)[begin:end] {
					drop[v] = true
				}
				return nil, stateless(f, drop)
			}
		})
	})
}

// stateParams returns the states of a function.
func stateParams(f *ir.Func) (states []*ir.Value) {
	for _, v := range f.Body.Params {
		if v.Type.Kind == ir.State {
			states = append(states, v)
		}
	}
	return states
}

// stateless makes what is read of states an input, and drops what is written.
func stateless(f *ir.Func, states map[*ir.Value]bool) bool {
	with, drop := map[*ir.Value]*ir.Value{}, map[*ir.Op]bool{}
	for _, op := range every(f) {
		uses := false
		var same *ir.Value
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			uses = uses || states[v]
			if len(op.Results) == 1 && v.Type.Equal(op.Results[0].Type) {
				same = v
			}
		})
		switch {
		case !uses:
			continue
		case len(op.Results) > 1 || len(op.Blocks) > 0:
			return false
		case op.Def.Effect == ir.Writes && len(op.Results) == 1:
			if same == nil {
				return false
			}
			with[op.Results[0]] = same
		case op.Def.Effect == ir.Reads:
			for _, v := range op.Results {
				v.Def = nil
				f.Body.Params = append(f.Body.Params, v)
			}
		}
		drop[op] = true
	}
	remove(f.Body, drop)
	replace(f.Body, with)
	f.Body.Outputs = slices.DeleteFunc(f.Body.Outputs, func(v *ir.Value) bool { return v.Def == nil })
	f.Body.Params = slices.DeleteFunc(f.Body.Params, func(v *ir.Value) bool { return states[v] })
	return true
}

func (r *reducer) inputs() error {
	return r.perFunc(func(fn int) error {
		if _, err := r.try(func(p *ir.Program) (map[*ir.Value]bool, bool) {
			b := p.Funcs[fn].Body
			n := len(b.Params)
			used := map[*ir.Value]bool{}
			for _, op := range b.Ops {
				op.Reads(func(v *ir.Value) { used[v] = true })
			}
			for _, v := range b.Outputs {
				used[v] = true
			}
			b.Params = slices.DeleteFunc(b.Params, func(v *ir.Value) bool { return !used[v] })
			return nil, len(b.Params) < n
		}); err != nil {
			return err
		}
		return r.each(func() int { return len(r.cur.prog.Funcs[fn].Body.Params) }, func(i int) edit {
			return func(p *ir.Program) (map[*ir.Value]bool, bool) {
				b := p.Funcs[fn].Body
				v := b.Params[i]
				k := slices.IndexFunc(b.Params, func(x *ir.Value) bool {
					return x.Type.Kind == ir.Tensor && x.Type.Equal(v.Type)
				})
				if k < 0 || k >= i {
					return nil, false
				}
				replace(b, map[*ir.Value]*ir.Value{v: b.Params[k]})
				b.Params = slices.Delete(b.Params, i, i+1)
				return nil, true
			}
		})
	})
}

func (r *reducer) arguments() error {
	return r.perFunc(func(fn int) error {
		// Of an argument of several values, lo to hi go; of any other, all of it.
		type place struct{ op, arg, lo, hi int }
		var places []place
		count := func() int {
			places = nil
			for i, op := range every(r.cur.prog.Funcs[fn]) {
				for j, vs := range op.Args {
					if vs != nil && op.Def.Params[j].Optional {
						places = append(places, place{op: i, arg: j, lo: 0, hi: len(vs)})
					}
					if n := len(vs); n > 1 {
						places = append(places, place{op: i, arg: j, lo: 1, hi: n}, place{op: i, arg: j, lo: n / 2,
							hi: n})
						for k := range n {
							places = append(places, place{op: i, arg: j, lo: k, hi: k + 1})
						}
					}
				}
			}
			return len(places)
		}
		return r.each(count, func(i int) edit {
			at := places[i]
			return func(p *ir.Program) (map[*ir.Value]bool, bool) {
				op := every(p.Funcs[fn])[at.op]
				changed := map[*ir.Value]bool{}
				if vs := op.Args[at.arg]; at.hi-at.lo == len(vs) {
					op.Args[at.arg] = nil
				} else {
					op.Args[at.arg] = slices.Delete(vs, at.lo, at.hi)
				}
				// The operation's own operands tell that its shape is to be inferred again.
				op.Operands(func(_ *ir.Param, v *ir.Value) { changed[v] = true })
				return changed, true
			}
		})
	})
}

func (r *reducer) metadata() error {
	_, err := r.try(func(p *ir.Program) (map[*ir.Value]bool, bool) {
		any := len(p.BuildInfo) > 0
		p.BuildInfo = nil
		for _, f := range p.Funcs {
			for _, op := range every(f) {
				any = any || op.Name != ""
				op.Name = ""
			}
		}
		return nil, any
	})
	return err
}
