package lint

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Rule is one kind of hazard.
type Rule struct {
	Name string
	// Doc states when it applies, Why what happens, Source where the figure comes from, Instead what to write.
	Doc, Why, Source, Instead string
	// By is the kind of run that shows it, BySimulator or ByANE. Holds states the targets.
	By, Holds string
	// on reports whether a target has what the rule is about, nil for every target.
	on func(*target.Table) bool

	// ops are the operations it looks at, nil for all.
	ops []*ir.Operation
	// check judges one statement by the ranges and returns nil if it is not suspect.
	check func(s *site) *suspect
}

// Sources of figures, as docs/numerics.md grades them.
const (
	measured = "measured on the M1's engine"
	modelled = "modelled"
	fromIEEE = "the format (IEEE 754)"
	recorded = "recorded programs of the vendor's compiler"
)

// Texts of Rule.Holds. Targets whose arithmetic was not measured are assumed to be like the M1's.
const (
	everywhere = "every target, on the engine and on the CPU"
	engineFP16 = "every target, on the engine"
	zincsOwn   = "every target, by the order in which zinc writes the sums (modelled)"
)

// Those that name the target of the M1, which was measured.
var (
	likeM1      = of("M1", false) + ", where it was measured; assumed for other targets (modelled)"
	asRecorded  = of("M1", true) + ", whose tables these are; assumed for other targets (modelled)"
	widthSliceH = of("M1", false) + ", where it was measured on slices of the vendor's compiler; assumed for " +
		"other targets whose table has it (zinc targets; modelled). Zinc's own slices are views that the next task " +
		"reads from another start, and it is not known whether such a read goes through the copy"
	productsH = of("M1", false) + ", where it was measured; assumed for other targets whose table has it (zinc " +
		"targets; modelled)"
)

// of returns the target of a chip, with the targets of the same descriptors if all is set.
func of(chip string, all bool) string {
	tab, err := target.Lookup(chip)
	if err != nil {
		panic(err) // the table of chips is wrong
	}
	names := []string{}
	for _, t := range target.All {
		if t == tab || all && t.Version == tab.Version {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, " and ")
}

func slicesEnd(t *target.Table) bool { return t.WidthSliceEnd > 0 }

func flushesProducts(t *target.Table) bool { return t.FlushesProducts }

// site is a statement that is being judged.
type site struct {
	a      *analysis
	op     *ir.Op
	engine bool
}

// suspect is a statement whose ranges reach a limit.
type suspect struct {
	witness.Suspicion
	rule     *Rule
	interval Interval // of the suspicion's value
	limit    string
	detail   string // numbers of this case, after the rule's Why
	instead  string // with numbers; replaces the rule's
}

// arg returns an argument's value.
func (s *site) arg(name ir.ParamName) *ir.Value { return s.op.Arg(name) }

// of returns the range of an argument, as stored.
func (s *site) of(name ir.ParamName) Interval {
	v := s.op.Arg(name)
	if v == nil {
		return interval.Nothing
	}
	return s.a.Range(v)
}

func (s *site) result() *ir.Value { return s.op.Results[0] }

// raw is the range of the result before rounding.
func (s *site) raw() Interval { return s.a.ranges.Get(s.result()).raw }

// judged reports whether every computed float operand is finite. If one is not, an earlier statement is the cause and
// this one cannot be judged.
func (s *site) judged() bool {
	ok := true
	s.op.Operands(func(p *ir.Param, v *ir.Value) {
		if v.Const == nil && v.Type.Kind == ir.Tensor && v.Type.DType.IsFloat() && !s.a.Range(v).Finite() {
			ok = false
		}
	})
	return ok
}

func (s *site) isFP16() bool { return len(s.op.Results) > 0 && s.result().Type.DType == ir.FP16 }

// suspect returns a suspicion about the statement's result.
func (s *site) suspect(v *ir.Value, r Interval, limit string) *suspect {
	return &suspect{Suspicion: witness.Suspicion{Op: s.op, Value: v, Region: []*ir.Op{s.op}}, interval: r, limit: limit}
}

// anyOf returns a Reached function on the elements of one value.
func (p *suspect) anyOf(v *ir.Value, f func(x float64) bool) *suspect {
	p.Need = append(p.Need, v)
	p.Reached = func(t witness.Trace) (float64, bool) {
		for _, x := range t.Floats(v) {
			if f(x) {
				return x, true
			}
		}
		return 0, false
	}
	return p
}

// anyPair returns a Reached function on pairs of elements of two values; the second is broadcast to the shape of the
// first.
func (p *suspect) anyPair(v, w *ir.Value, f func(x, y float64) bool) *suspect {
	p.Need = append(p.Need, v, w)
	p.Reached = func(t witness.Trace) (float64, bool) {
		xs, ys := t.Floats(v), t.Floats(w)
		shape, _, ok := ir.Broadcast(v.Type.Shape, w.Type.Shape)
		if !ok || len(xs) == 0 || len(ys) == 0 {
			return 0, false
		}
		xi, ok1 := witness.BroadcastIndex(v.Type.Shape, shape)
		yi, ok2 := witness.BroadcastIndex(w.Type.Shape, shape)
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

// extremes are the goals that bring a value past a limit, in the directions in which its range passes it.
func extremes(v *ir.Value, r Interval, limit float64, h *witness.Peaks) (gs []witness.Goal) {
	if r.Hi >= limit {
		gs = append(gs, witness.Most(v, h))
	}
	if r.Lo <= -limit {
		gs = append(gs, witness.Least(v, h))
	}
	return gs
}

// powerOver returns the smallest k with m / 2^k below the limit.
func powerOver(m, limit float64) int {
	k := 0
	for m >= limit && k < 200 {
		m, k = m/2, k+1
	}
	return k
}

// half16 is the least magnitude that rounds to infinity in fp16.
const half16 = 65520

// judge is the analysis of a cut.
func judge(f *ir.Func, ranges map[string]Interval) (witness.Analysis, []*witness.Suspicion) {
	a := analyse(f, ranges).calmly()
	found, _ := suspects(a)
	return a, suspicions(found)
}

func suspicions(found []*suspect) []*witness.Suspicion {
	out := make([]*witness.Suspicion, len(found))
	for i, p := range found {
		out[i] = &p.Suspicion
	}
	return out
}

// rulesOf returns the rules of an operation: those for it, and those for all.
var rulesOf = sync.OnceValue(func() map[*ir.Operation][]*Rule {
	m := map[*ir.Operation][]*Rule{}
	for _, o := range ir.Operations {
		for _, every := range []bool{false, true} {
			for i := range Rules {
				if r := &Rules[i]; every == (r.ops == nil) && (every || slices.Contains(r.ops, o)) {
					m[o] = append(m[o], r)
				}
			}
		}
	}
	return m
})

// suspects judges every statement by every rule.
func suspects(a *analysis) (out []*suspect, unjudged int) {
	for _, op := range a.ops {
		switch {
		case len(op.Results) == 0:
		case !(&site{a: a, op: op}).judged():
			unjudged++
		default:
			out = append(out, a.suspectsAt(op)...)
		}
	}
	return out, unjudged
}

// suspectsAt judges a statement by every rule; none applies to one that reads values without bounds.
func (a *analysis) suspectsAt(op *ir.Op) (out []*suspect) {
	s := &site{a: a, op: op, engine: op.Place.Unit == ir.Engine}
	if !s.judged() {
		return nil
	}
	for _, r := range rulesOf()[op.Def.Operation] {
		if p := r.check(s); p != nil {
			p.rule, p.Kind = r, r.Name
			p.instead = cmp.Or(p.instead, r.Instead)
			out = append(out, p)
		}
	}
	return out
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
