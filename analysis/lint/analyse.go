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
	fn     *ir.Func
	inputs map[string]Interval
	val    map[*ir.Value]Interval // as stored
	raw    map[*ir.Value]Interval // before rounding
	hots   map[*ir.Op]*witness.Peaks
	rows   map[*ir.Value]*rows // of products, as stored
	folded map[*ir.Value]*ir.Const
	consts map[*ir.Const]Interval
	uses   map[*ir.Value][]*ir.Op
	ops    []*ir.Op // in order, those of nested blocks before their own
	// unmodelled are the operations whose ranges come from their types alone.
	unmodelled map[*ir.Op]bool
	// written are the states without a passed range: zeros and what operations judged so far write.
	written map[*ir.Value]Interval
	// calm omits NaN from every result, and clips results without bounds about which there is a finding: the ranges are
	// those of runs in which no statement returns a NaN and findings are repaired. Rules look at these, since after a
	// first NaN or infinity nothing else could be found.
	calm bool
	// repaired are the results that are clipped, with the range that their readers get.
	repaired map[*ir.Value]Interval
}

// analyse judges a function whose operations have places. inputs maps parameters to their ranges; a parameter without
// an entry has the range of its type, a state that of what the function writes to it.
func analyse(f *ir.Func, inputs map[string]Interval) *analysis {
	a := prepare(f, inputs, map[*ir.Value]*ir.Const{}, map[*ir.Const]Interval{})
	a.body()
	return a
}

// calmly judges the function again, with NaN omitted and findings repaired.
func (a *analysis) calmly() *analysis {
	c := prepare(a.fn, a.inputs, a.folded, a.consts)
	c.calm = true
	c.body()
	return c
}

// prepare sets the ranges of the parameters.
func prepare(f *ir.Func, inputs map[string]Interval, folded map[*ir.Value]*ir.Const,
	consts map[*ir.Const]Interval) *analysis {
	a := &analysis{
		fn: f, inputs: inputs, val: map[*ir.Value]Interval{}, raw: map[*ir.Value]Interval{},
		hots:   map[*ir.Op]*witness.Peaks{},
		rows:   map[*ir.Value]*rows{},
		folded: folded, consts: consts, uses: ir.Uses(f), unmodelled: map[*ir.Op]bool{},
		repaired: map[*ir.Value]Interval{},
	}
	a.order(f.Body)
	for _, p := range f.Body.Params {
		r, ok := inputs[p.Name]
		if !ok {
			r = interval.OfType(p.Type.DType)
		}
		a.val[p], a.raw[p] = r, r
	}
	return a
}

// Func returns the function.
func (a *analysis) Func() *ir.Func { return a.fn }

// Operations returns the operations in order, those of nested blocks before their own.
func (a *analysis) Operations() []*ir.Op { return a.ops }

// order lists the operations of a block.
func (a *analysis) order(b *ir.Block) {
	for _, op := range b.Ops {
		for _, inner := range op.Blocks {
			a.order(inner)
		}
		a.ops = append(a.ops, op)
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
		if a.calm && v.Type.Kind == ir.Tensor {
			r.NaN = false
		}
		a.raw[v] = r
		a.val[v] = storedRange(op, v.Type.DType, r, c.running)
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
	a.val[v], a.repaired[v] = clip(a.val[v]), limit
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
	out := make([]Interval, len(op.Results))
	for i := range out {
		out[i] = interval.Nothing
	}
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

// loop sets the ranges of loop variables to those of their types, since the number of iterations is not followed.
func (a *analysis) loop(op *ir.Op) []Interval {
	for _, b := range op.Blocks {
		for _, p := range b.Params {
			r := interval.OfType(p.Type.DType)
			a.val[p], a.raw[p] = r, r
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
	if r, ok := a.val[v]; ok {
		return r
	}
	return interval.OfType(v.Type.DType)
}

func (a *analysis) constOf(k *ir.Const) Interval {
	r, ok := a.consts[k]
	if !ok {
		r = interval.OfConst(k)
		a.consts[k] = r
	}
	return r
}

// Constant returns the constant that a value is, or that its operation computes from constants.
func (a *analysis) Constant(v *ir.Value) *ir.Const {
	if v.Const != nil || v.Def == nil {
		return v.Const
	}
	if k, ok := a.folded[v]; ok {
		return k
	}
	a.folded[v] = nil
	op := *v.Def
	if op.Def.Fold == nil || len(op.Blocks) > 0 {
		return nil
	}
	op.Args = slices.Clone(op.Args)
	for i, list := range op.Args {
		op.Args[i] = slices.Clone(list)
		for j, w := range list {
			k := a.Constant(w)
			if k == nil {
				return nil
			}
			op.Args[i][j] = &ir.Value{Name: w.Name, Type: k.Type, Const: k}
		}
	}
	ks, err := ir.FoldOp(&op)
	if err != nil || len(ks) != len(v.Def.Results) {
		return nil
	}
	for i, r := range v.Def.Results {
		a.folded[r] = ks[i]
	}
	return a.folded[v]
}

var inf = math.Inf(1)
