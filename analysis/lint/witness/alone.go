package witness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/ir"
)

// A Cut is a model of one statement, with as many of the operations around it as the effect needs, in which a run shows
// the hazard with operands that no input of the whole model is known to produce.
type Cut struct {
	// Statements is the number of statements of the cut model, without constants.
	Statements int       `json:"statements"`
	Operands   []Operand `json:"operands"` // inputs of the cut model
	// Factor is the factor by which the ranges of the operands in recorded runs of the whole model were widened, 1 if
	// they were not; 0 if there were no such runs.
	Factor verify.Number `json:"factor"`
	// Reduced describes extents that were reduced.
	Reduced string `json:"reduced,omitempty"`
	// Model is the path of the written cut model.
	Model string `json:"model,omitempty"`

	// Program is the cut model, to be written as text. It shares constants with the judged program, whose files must
	// stay open.
	Program *ir.Program `json:"-"`
}

// Origins of an operand's range.
const (
	FromInput    = "input"    // it is an input of the whole model: the range passed for it
	FromRuns     = "runs"     // recorded values are as far out
	FromInterval = "interval" // intervals allow it; no input is known to produce such values
)

// Operand is an input of a cut.
type Operand struct {
	Name  string `json:"name"`  // in the cut model
	Value string `json:"value"` // in the whole model
	Type  string `json:"type"`  // type of the operand
	// Least and greatest number that it may have in the whole model.
	Interval [2]verify.Number  `json:"interval"`
	Seen     *[2]verify.Number `json:"seen,omitempty"` // in recorded runs
	Used     [2]verify.Number  `json:"used"`           // in the input that shows the hazard
	// Where the range of used comes from: the interval, the input or recorded runs.
	From string `json:"from"`
	// Safe is a range to clip to: with the ranges of the other operands, the intervals rule the hazard out.
	Safe *[2]verify.Number `json:"safe,omitempty"`
}

// largeCut is the cost from which the free extents of a product are reduced.
const largeCut, smallExtent = 1 << 26, 16

// widest bounds the doublings of the recorded ranges.
const widest = 32

// cutOut looks for a model of the statement alone in which a run shows the hazard.
func (s *search) cutOut(p *proof, budget int64) error {
	note := ""
	for _, ops := range s.neighbourhoods(p) {
		var why string
		spent, err := s.cutAt(p, ops, budget, &why)
		s.spent += spent
		budget -= spent
		if err != nil || p.Cut != nil {
			return err
		}
		note = cmp.Or(note, why)
	}
	if note != "" {
		p.Note += "; alone: " + note
	}
	return nil
}

// neighbourhoods are the sets of statements to cut out, the smallest first: the suspicious ones, these with their
// readers, and these with the operations that compute their operands.
func (s *search) neighbourhoods(p *proof) [][]*ir.Op {
	out := [][]*ir.Op{p.Region}
	body, uses := map[*ir.Op]bool{}, ir.Uses(s.a.Func())
	for _, op := range s.a.Func().Body.Ops {
		body[op] = true
	}
	grow := func(more func(op *ir.Op, add func(*ir.Op))) {
		ops := slices.Clone(p.Region)
		add := func(op *ir.Op) {
			if op != nil && body[op] && !slices.Contains(ops, op) && len(op.Blocks) == 0 {
				ops = append(ops, op)
			}
		}
		for _, op := range p.Region {
			if !body[op] {
				return
			}
			more(op, add)
		}
		if len(ops) > len(p.Region) {
			out = append(out, ops)
		}
	}
	grow(func(op *ir.Op, add func(*ir.Op)) {
		for _, r := range op.Results {
			for _, u := range uses.Get(r) {
				add(u)
			}
		}
	})
	grow(func(op *ir.Op, add func(*ir.Op)) {
		op.Operands(func(_ *ir.Param, v *ir.Value) { add(v.Def) })
	})
	return out
}

// cutAt looks for such a model of the statements. why is the reason if there is none.
func (s *search) cutAt(p *proof, ops []*ir.Op, budget int64, why *string) (spent int64, err error) {
	fn, inputs, err := cutFrom(s.a, ops)
	if err != nil {
		*why = err.Error()
		return 0, nil
	}
	c := &Cut{Reduced: reduceProduct(fn)}
	names := map[string]bool{}
	var os []*operand
	for i, v := range inputs {
		q := fn.Body.Params[i]
		if q.Type.Kind != ir.Tensor || !q.Type.Static() || q.Type.DType == ir.String {
			*why = fmt.Sprintf("it reads %s, whose shape is not known", ValueLabel(v))
			return 0, nil
		}
		q.Name = portName(ValueLabel(v), names)
		o := &operand{
			v:     v,
			name:  q.Name,
			typ:   q.Type,
			limit: s.a.Range(v),
			seen:  s.seen[v],
			input: slices.Contains(s.a.Func().Body.Params, v),
		}
		_, o.ran = s.seen[v]
		if x, ok := p.ran[v]; ok { // of an input that reaches the limit
			o.seen, o.ran = o.seen.Hull(RangeOf(x)), true
		}
		o.ran = o.ran && o.seen.Finite() && !o.seen.Empty()
		if t := interval.FiniteOf(q.Type.DType); !o.limit.Finite() || o.limit.Empty() {
			o.limit = t
		}
		os = append(os, o)
	}
	for _, v := range fn.Body.Outputs {
		v.Name = portName(ValueLabel(v), names)
	}
	for _, op := range fn.Body.Ops {
		if !ir.IsConstexpr(op) {
			c.Statements++
		}
	}
	program := func() *ir.Program {
		return &ir.Program{Version: "1.3", Funcs: []*ir.Func{ir.CloneFunc(fn, "main")}}
	}
	b, err := compiled(s.ctx, program(), s.o.Compile, s.o.Workers)
	if err != nil {
		*why = "it does not compile: " + err.Error()
		return 0, s.ctx.Err()
	}
	t := &cutting{search: s, p: p, b: b, os: os}
	*why = "its ranges alone do not reach the limit"
	var last []interval.Interval
	safe := 0.0 // the widest ranges for which the rule does not apply
	for k := 1.0; ; {
		x, err := t.box(k)
		if err != nil {
			*why = err.Error()
			return spent, nil
		}
		if slices.Equal(x.r, last) {
			if k == inf {
				return spent, nil
			}
			k = inf // values that were always 0 do not grow
			continue
		}
		last = x.r
		was := k
		if k *= 2; k > 1<<widest {
			k = inf
		}
		a, found := t.judge(x)
		if found == nil {
			safe = was
			continue
		}
		q, sub, err := t.try(x, a, found, was, budget-spent)
		if err != nil {
			return spent, err
		}
		spent += sub.spent
		if q.Shown != nil {
			c.Factor = factorOf(os, was)
			c.Program = program()
			for _, o := range os {
				c.Operands = append(c.Operands, o.told(q.Input.Values[o.name]))
			}
			t.rule(c, safe, was)
			p.Cut, p.Local, p.Input, p.MetAt = c, q.Shown, q.Input, q.MetAt
			return spent, nil
		}
		*why = q.Note
		if sub.out {
			return spent, nil
		}
	}
}

// portName returns an unused name that is valid in text, as a file and on command lines.
func portName(s string, taken map[string]bool) string {
	s = strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		s = "v" + s
	}
	for n, k := s, 1; ; k++ {
		if !taken[n] {
			taken[n] = true
			return n
		}
		n = fmt.Sprintf("%s_%d", s, k)
	}
}

// reduceProduct reduces the extents of a large product over which it does not sum, and describes that.
func reduceProduct(fn *ir.Func) string {
	if len(fn.Body.Ops) != 1 || costOf(fn.Body.Ops[0]) < largeCut {
		return ""
	}
	op := fn.Body.Ops[0]
	kept := map[*ir.Value]int{} // axis of the sum
	switch op.Def.Operation {
	case ir.OpLinear:
		if op.Arg(ir.ParamWeight).Const != nil {
			kept[op.Arg(ir.ParamX)] = op.Arg(ir.ParamX).Type.Rank() - 1
		}
	case ir.OpMatMul:
		m, err := ir.MatMulAttrs(op)
		x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
		if err != nil || x == y || x.Const != nil || y.Const != nil || m.VectorX || m.VectorY {
			return ""
		}
		kept[x], kept[y] = x.Type.Rank()-1, y.Type.Rank()-2
		if m.TransposeX {
			kept[x] = x.Type.Rank() - 2
		}
		if m.TransposeY {
			kept[y] = y.Type.Rank() - 1
		}
	}
	var told []string
	old := map[*ir.Value][]int64{}
	for _, v := range fn.Body.Params {
		axis, ok := kept[v]
		if !ok {
			continue
		}
		old[v] = v.Type.Shape
		s := slices.Clone(v.Type.Shape)
		for d := range s {
			switch {
			case d == axis:
			case d < len(s)-2:
				s[d] = 1
			default:
				s[d] = min(s[d], smallExtent)
			}
		}
		if slices.Equal(s, v.Type.Shape) {
			continue
		}
		v.Type.Shape = s
		told = append(told, fmt.Sprintf("%s to %v", ValueLabel(v), s))
	}
	ts, err := ir.InferOp(op)
	if err != nil || len(ts) != len(op.Results) {
		for v, s := range old {
			v.Type.Shape = s
		}
		return ""
	}
	for i, r := range op.Results {
		r.Type = ts[i]
	}
	return strings.Join(told, ", ")
}
