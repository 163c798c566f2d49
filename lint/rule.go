package lint

import (
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// Rule is one kind of cliff.
type Rule struct {
	Name string
	// Doc says when it applies, Why what happens there, Source where the figure
	// comes from, Instead what to write.
	Doc, Why, Source, Instead string
	// By is what runs show it, BySimulator or ByANE, and Holds for which targets.
	By, Holds string

	// ops are the operations it looks at, nil for all.
	ops []*ir.Operation
	// check judges one statement by the ranges; nil for no suspicion.
	check func(s *site) *suspect
}

// Sources of figures, as docs/numerics.md grades them.
const (
	measured = "measured on the M1's engine"
	modelled = "modelled"
	fromIEEE = "the format (IEEE 754)"
	recorded = "recorded programs of the vendor's compiler"
)

// Words of Rule.Holds. Targets whose arithmetic nobody measured are taken to be
// like h13, whose programs and arithmetic represent theirs.
const (
	everywhere  = "every target, on the engine and on the CPU"
	engineFP16  = "every target, on the engine"
	likeH13     = "h13, where it was measured; other targets are taken to be alike (modelled)"
	asRecorded  = "h13 and h13g, whose tables these are; other targets are taken to be alike (modelled)"
	zincsOwn    = "every target, by the order in which zinc writes the sums (modelled)"
	widthSliceH = "h13, where it was measured on slices of the vendor's compiler; other targets are taken to be " +
		"alike (modelled). Zinc's own slices are views that the next task reads with another start, and whether " +
		"that reading passes the copy is not known"
)

// site is a statement under judgement.
type site struct {
	a      *analysis
	op     *ir.Op
	engine bool
}

// suspect is a statement whose ranges reach a limit.
type suspect struct {
	rule     *Rule
	op       *ir.Op
	value    *ir.Value // whose interval is told
	interval Interval
	limit    string
	detail   string // numbers of this case, behind the rule's Why
	instead  string // with numbers, instead of the rule's
	region   []*ir.Op
	goals    []goal
	// where the simulator shows nothing, the interpreter's mode ane may: it has rules that the simulator has not
	ane     bool
	exactly bool // of the statement alone any difference counts: it is meant to be exact

	// cliff is the magnitude of value at which the limit is met, 0 where it is no
	// magnitude; gap then tells by what factor values that were seen would have to
	// grow.
	cliff float64
	gap   func(seen func(v *ir.Value) Interval) float64

	// need are the values that reached reads; reached tells whether a run of the
	// interpreter met the limit, and with which number.
	need    []*ir.Value
	reached func(t trace) (at float64, ok bool)
	// evidence makes the proof from the operands and from what the engine gave for
	// the statement alone; nil where outputs are compared with those in fp32.
	evidence func(t trace) *Evidence
}

// goal is where an input should bring a value: its most (dir 1), its least (dir
// -1), or near a number.
type goal struct {
	v    *ir.Value
	dir  float64
	near float64 // NaN for none
	hot  *hot
}

func most(v *ir.Value, h *hot) goal    { return goal{v: v, dir: 1, near: math.NaN(), hot: h} }
func least(v *ir.Value, h *hot) goal   { return goal{v: v, dir: -1, near: math.NaN(), hot: h} }
func near(v *ir.Value, x float64) goal { return goal{v: v, dir: 1, near: x} }

// arg returns an argument's value.
func (s *site) arg(name ir.ParamName) *ir.Value { return s.op.Arg(name) }

// of returns the range of an argument, as stored.
func (s *site) of(name ir.ParamName) Interval {
	v := s.op.Arg(name)
	if v == nil {
		return nothing
	}
	return s.a.of(v)
}

func (s *site) result() *ir.Value { return s.op.Results[0] }

// raw is the range of the result before rounding.
func (s *site) raw() Interval { return s.a.raw[s.result()] }

// judged reports whether every float operand that is computed is finite: where
// one is not, an earlier statement is to blame and this one cannot be judged.
func (s *site) judged() bool {
	ok := true
	s.op.Operands(func(p *ir.Param, v *ir.Value) {
		if v.Const == nil && v.Type.Kind == ir.Tensor && v.Type.DType.IsFloat() && !s.a.of(v).finite() {
			ok = false
		}
	})
	return ok
}

// number is a scalar argument or its default.
func (s *site) number(name ir.ParamName) float64 { return (&call{a: s.a, op: s.op}).number(name) }

func (s *site) half() bool { return len(s.op.Results) > 0 && s.result().Type.DType == ir.FP16 }

// suspect makes a suspicion about the statement's result.
func (s *site) suspect(v *ir.Value, r Interval, limit string) *suspect {
	return &suspect{op: s.op, value: v, interval: r, limit: limit, region: []*ir.Op{s.op}}
}

// anyOf is a reached function on the elements of one value.
func (p *suspect) anyOf(v *ir.Value, f func(x float64) bool) *suspect {
	p.need = append(p.need, v)
	p.reached = func(t trace) (float64, bool) {
		for _, x := range t.floats(v) {
			if f(x) {
				return x, true
			}
		}
		return 0, false
	}
	return p
}

// anyPair is a reached function on two values of one shape, element by element,
// the second spread over the first where it is smaller.
func (p *suspect) anyPair(v, w *ir.Value, f func(x, y float64) bool) *suspect {
	p.need = append(p.need, v, w)
	p.reached = func(t trace) (float64, bool) {
		xs, ys := t.floats(v), t.floats(w)
		shape, _, ok := ir.Broadcast(v.Type.Shape, w.Type.Shape)
		if !ok || len(xs) == 0 || len(ys) == 0 {
			return 0, false
		}
		xi, ok1 := spread(v.Type.Shape, shape)
		yi, ok2 := spread(w.Type.Shape, shape)
		if !ok1 || !ok2 {
			return 0, false
		}
		for i := range ir.TensorOf(ir.FP16, shape...).Elems() {
			if x, y := xs[xi(int(i))], ys[yi(int(i))]; f(x, y) {
				return y, true
			}
		}
		return 0, false
	}
	return p
}

// extremes are the goals that bring a value past a limit on the sides on which
// its range passes it.
func extremes(v *ir.Value, r Interval, limit float64, h *hot) (gs []goal) {
	if r.Hi >= limit {
		gs = append(gs, most(v, h))
	}
	if r.Lo <= -limit {
		gs = append(gs, least(v, h))
	}
	return gs
}

// powerOver returns the least k with m / 2^k below the limit.
func powerOver(m, limit float64) int {
	k := 0
	for m >= limit && k < 200 {
		m, k = m/2, k+1
	}
	return k
}

// half16 is the least magnitude that rounds to infinity in fp16.
const half16 = 65520

// suspects judges every statement by every rule.
func suspects(a *analysis) (out []*suspect, unjudged int) {
	byOp := map[*ir.Operation][]*Rule{}
	var every []*Rule
	for i := range Rules {
		r := &Rules[i]
		if r.ops == nil {
			every = append(every, r)
		}
		for _, o := range r.ops {
			byOp[o] = append(byOp[o], r)
		}
	}
	for _, op := range a.ops {
		s := &site{a: a, op: op, engine: op.Place.Unit == ir.Engine}
		if len(op.Results) == 0 {
			continue
		}
		if !s.judged() {
			unjudged++
			continue
		}
		for _, list := range [][]*Rule{byOp[op.Def.Operation], every} {
			for _, r := range list {
				if p := r.check(s); p != nil {
					p.rule = r
					if p.instead == "" {
						p.instead = r.Instead
					}
					out = append(out, p)
				}
			}
		}
	}
	return out, unjudged
}

// name is what a statement is called: its first result.
func name(op *ir.Op) string {
	if len(op.Results) == 0 {
		return op.Def.Name
	}
	return op.Results[0].Name
}

func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.6g", x)
}

// taps reports whether a product sums more than one term.
func taps(op *ir.Op) bool {
	w := op.Arg(ir.ParamWeight)
	if !op.Is(ir.OpConv) || w == nil {
		return true
	}
	n := int64(1)
	for _, d := range w.Type.Shape[1:] {
		n *= d
	}
	return n > 1
}

// leastNormal is the least normal fp16 number.
const leastNormal = numerics.MinNormalFP16
