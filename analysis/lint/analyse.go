package lint

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// analysis has the range of every value of a function.
type analysis struct {
	*function
	inputs map[string]Interval
	ranges *ir.ValueMap[valueRange]
	hots   map[*ir.Op]*witness.Peaks
	rows   map[*ir.Value]*rows // of products, as stored
	// unmodelled are the operations whose ranges come from their types alone.
	unmodelled map[*ir.Op]bool
	// written are the states without a passed range: zeros and what operations judged so far write.
	written map[*ir.Value]Interval
	// calm omits NaN from every result, and clips results without bounds about which there is a finding: the ranges
	// hold for runs in which no statement returns a NaN and findings are repaired. Rules look at these, since after a
	// first NaN or infinity nothing else could be found.
	calm bool
	// repaired are the results that are clipped, with the range that their readers get.
	repaired map[*ir.Value]Interval
	summed   map[*ir.Value]bool // with light: the ranges that come from a product
}

// function is what is known of a function whatever its ranges.
type function struct {
	fn      *ir.Func
	numbers *ir.Numbering
	folded  *ir.ValueMap[*ir.Const]
	consts  map[*ir.Const]Interval
	uses    *ir.ValueMap[[]*ir.Op]
	ops     []*ir.Op // in order, operations of nested blocks before their own
	// light omits NaN, large constants, and what would need them (Known).
	light bool
}

// valueRange is the range of a value.
type valueRange struct{ stored, raw Interval } // raw is before rounding

func (a *analysis) setRange(v *ir.Value, stored, raw Interval) {
	a.ranges.Set(v, valueRange{stored, raw})
}

// analyse judges a function whose operations have places. inputs maps parameters to their ranges; a parameter without
// an entry has the range of its type, and a state has the range of the values that the function writes to it.
func analyse(f *ir.Func, inputs map[string]Interval) *analysis {
	a := newFunction(f).prepare(inputs)
	a.body()
	return a
}

func newFunction(f *ir.Func) *function {
	n := ir.Number(f.Body)
	of := &function{
		fn: f, numbers: n, folded: ir.NewValueMap[*ir.Const](n), consts: map[*ir.Const]Interval{}, uses: ir.Uses(f),
	}
	of.order(f.Body)
	return of
}

// calmly judges the function again, with NaN omitted and findings repaired.
func (a *analysis) calmly() *analysis {
	c := a.prepare(a.inputs)
	c.calm = true
	c.body()
	return c
}

// prepare sets the ranges of the parameters.
func (f *function) prepare(inputs map[string]Interval) *analysis {
	a := &analysis{
		function: f, inputs: inputs, ranges: ir.NewValueMap[valueRange](f.numbers), hots: map[*ir.Op]*witness.Peaks{},
		rows: map[*ir.Value]*rows{}, unmodelled: map[*ir.Op]bool{}, repaired: map[*ir.Value]Interval{},
	}
	for _, p := range f.fn.Body.Params {
		r, ok := inputs[p.Name]
		if !ok {
			r = interval.OfType(p.Type.DType)
		}
		a.setRange(p, r, r)
	}
	return a
}

// Func returns the function.
func (f *function) Func() *ir.Func { return f.fn }

// Operations returns the operations in order, operations of nested blocks before their own.
func (f *function) Operations() []*ir.Op { return f.ops }

// order lists the operations of a block.
func (f *function) order(b *ir.Block) {
	for _, op := range b.Ops {
		for _, inner := range op.Blocks {
			f.order(inner)
		}
		f.ops = append(f.ops, op)
	}
}

// body judges the function's body.
func (a *analysis) body() {
	var states []*ir.Value
	for _, p := range a.fn.Body.Params {
		if _, passed := a.inputs[p.Name]; p.Type.Kind == ir.State && !passed {
			states = append(states, p)
		}
	}
	if len(states) > 0 {
		a.stateful(states)
		return
	}
	a.block(a.fn.Body)
}

func (a *analysis) block(b *ir.Block) {
	for _, op := range b.Ops {
		a.op(op)
	}
}

// halfMAC is the least magnitude that rounds to numerics.MACLimit.
const halfMAC = numerics.MACLimit - 8

func (a *analysis) op(op *ir.Op) {
	var rs []Interval
	c := &call{a: a, op: op, engine: op.Place.Unit == ir.Engine}
	switch f := transfers[op.Def.Operation]; {
	case a.light && a.opaque(op):
		rs = c.unknown()
	case op.Is(ir.OpCond) && len(op.Blocks) == 2:
		rs = a.branches(op)
	case op.Is(ir.OpWhileLoop) && len(op.Blocks) == 2:
		rs = a.loop(op)
	case f != nil:
		rs = f(c)
	default:
		rs = c.unknown()
	}
	if c.wide || len(rs) != len(op.Results) {
		a.unmodelled[op] = true
	}
	if c.hot != nil {
		a.hots[op] = c.hot
	}
	if c.rows != nil && len(op.Results) == 1 {
		v := op.Results[0]
		for i, r := range c.rows.r {
			c.rows.r[i] = storedRange(op, v.Type.DType, r, c.running)
		}
		a.rows[v] = c.rows
	}
	for i, v := range op.Results {
		r := interval.All
		if i < len(rs) {
			r = rs[i]
		}
		if v.Type.Kind != ir.Tensor {
			r = interval.All
		}
		if (a.calm || a.light) && v.Type.Kind == ir.Tensor {
			r.NaN = false
		}
		stored := storedRange(op, v.Type.DType, r, c.running)
		if a.light {
			stored = a.learn(op, v, stored)
		}
		a.setRange(v, stored, r)
	}
	a.repair(op)
	if s, v := stateOf(op); v != nil {
		if r, free := a.written[s]; free {
			a.written[s] = r.Hull(a.Range(v))
		}
	}
}

// repair clips results without bounds about which there is a finding: to what the operation can store.
func (a *analysis) repair(op *ir.Op) {
	for _, v := range op.Results {
		delete(a.repaired, v)
	}
	if !a.calm || len(op.Results) != 1 || !a.unbounded(op.Results[0]) || len(a.suspectsAt(op)) == 0 {
		return
	}
	v := op.Results[0]
	limit := interval.FiniteOf(v.Type.DType)
	if op.Place.Unit == ir.Engine && op.Def.Class == ir.Product {
		limit = interval.Span(-numerics.MACLimit+16, numerics.MACLimit-16)
	}
	clip := func(r Interval) Interval {
		return Interval{Lo: interval.Clamp(r.Lo, limit), Hi: interval.Clamp(r.Hi, limit)}
	}
	a.repaired[v] = limit
	r := a.ranges.Get(v)
	a.setRange(v, clip(r.stored), r.raw)
	if rs := a.rows[v]; rs != nil {
		for i, r := range rs.r {
			rs.r[i] = clip(r)
		}
	}
}

// Repaired returns the range to which a finding's result is clipped for its readers, if it is.
func (a *analysis) Repaired(v *ir.Value) (Interval, bool) {
	r, ok := a.repaired[v]
	return r, ok
}

// storedRange returns the range of what an operation stores: rounded to the type, and on the engine changed as its
// output port changes numbers and NaN. running is the range of the partial sums of products.
func storedRange(op *ir.Op, d ir.DType, r, running Interval) Interval {
	if op.Place.Unit == ir.Engine && d.IsFloat() {
		if r.NaN {
			r = r.With(0)
		}
		// The output port of products turns magnitudes from numerics.MACLimit on into infinity, as the accumulator does
		// with partial sums.
		if op.Def.Class == ir.Product {
			if max(r.Hi, running.Hi) >= halfMAC {
				r.Hi = inf
			}
			if min(r.Lo, running.Lo) <= -halfMAC {
				r.Lo = -inf
			}
		}
	}
	return r.Round(d)
}

// branches returns the ranges of the results of either branch.
func (a *analysis) branches(op *ir.Op) []Interval {
	out := slices.Repeat([]Interval{interval.Nothing}, len(op.Results))
	for _, b := range op.Blocks {
		a.block(b)
		for i, v := range b.Outputs {
			if i < len(out) {
				out[i] = out[i].Hull(a.Range(v))
			}
		}
	}
	return out
}

// loop sets the ranges of loop variables to the ranges of their types, since the number of iterations is not followed.
func (a *analysis) loop(op *ir.Op) []Interval {
	for _, b := range op.Blocks {
		for _, p := range b.Params {
			r := interval.OfType(p.Type.DType)
			a.setRange(p, r, r)
		}
		a.block(b)
	}
	a.unmodelled[op] = true
	out := make([]Interval, len(op.Results))
	first, body := op.ArgList(ir.ParamLoopVars), op.Blocks[1].Outputs
	for i := range out {
		out[i] = interval.All
		if i < len(first) && i < len(body) {
			out[i] = a.Range(first[i]).Hull(a.Range(body[i]))
		}
	}
	return out
}

// Range returns the range of a value.
func (a *analysis) Range(v *ir.Value) Interval {
	if v.Const != nil {
		return a.constOf(v.Const)
	}
	if r, ok := a.ranges.Lookup(v); ok {
		return r.stored
	}
	return interval.OfType(v.Type.DType)
}

func (f *function) constOf(k *ir.Const) Interval {
	r, ok := f.consts[k]
	if !ok {
		switch {
		case f.light && (k.Assumed != nil || k.Elems() > knownElems):
			r = interval.All
		case k.Assumed != nil && k.Elems() > knownElems: // the range of some is as good
			r = interval.OfConst(&ir.Const{Type: k.Type.WithShape(knownElems), Data: k.Data})
		default:
			r = interval.OfConst(k)
		}
		f.consts[k] = r
	}
	return r
}

// Constant returns the constant that a value is, or that its operation computes from constants.
func (f *function) Constant(v *ir.Value) *ir.Const {
	if v.Const != nil || v.Def == nil {
		return v.Const
	}
	if k, ok := f.folded.Lookup(v); ok {
		return k
	}
	f.folded.Set(v, nil)
	if v.Def.Def.Fold == nil || len(v.Def.Blocks) > 0 {
		return nil
	}
	for _, list := range v.Def.Args {
		for _, w := range list {
			if f.Constant(w) == nil {
				return nil
			}
		}
	}
	op := *v.Def // a copy, of constants
	op.Args = slices.Clone(op.Args)
	for i, list := range op.Args {
		op.Args[i] = slices.Clone(list)
		for j, w := range list {
			k := f.Constant(w)
			op.Args[i][j] = &ir.Value{Name: w.Name, Type: k.Type, Const: k}
		}
	}
	ks, err := ir.FoldOp(&op)
	if err != nil || len(ks) != len(v.Def.Results) {
		return nil
	}
	for i, r := range v.Def.Results {
		f.folded.Set(r, ks[i])
	}
	return f.folded.Get(v)
}

var inf = math.Inf(1)
