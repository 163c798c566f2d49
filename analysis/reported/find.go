package reported

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
)

// Place is a statement to which a rule applies.
type Place struct {
	Function string `json:"function"`            // function of the statement
	Name     string `json:"statement,omitempty"` // name of its result, or of the parameter
	Op       string `json:"op,omitempty"`        // name of the operation, "" for a parameter
	Line     int32  `json:"line,omitempty"`      // line of the statement, from 1
	Col      int32  `json:"column,omitempty"`    // column of the statement, from 1
	Detail   string `json:"detail"`              // the facts that match
}

// Finding is a rule that applies to a program.
type Finding struct {
	Rule    string    `json:"rule"`              // name of the rule
	Effect  Effect    `json:"effect"`            // what the reports say happens
	Places  []Place   `json:"places"`            // statements, in the order of the program
	Reports []*Report `json:"reports"`           // the reports
	Instead string    `json:"instead,omitempty"` // what to write instead, where that is known
	Recipe  string    `json:"recipe,omitempty"`  // recipe of zinc explain that writes it
}

// Options configure Find.
type Options struct {
	// Ranges are known ranges of inputs and states, by name.
	Ranges map[string]lint.Interval
	// FP16 says that what is declared fp32 is computed in fp16.
	FP16 bool
	// Records includes the forms that recorded compilers refused.
	Records bool
}

// Find returns the rules that apply to a program, in the order of Rules.
func Find(p *ir.Program, o Options) []*Finding {
	places := make([][]Place, len(Rules))
	for _, f := range p.Funcs {
		s := &search{
			fn: f, ranges: o.Ranges, asFP16: o.FP16, huge: map[*ir.Value]bool{},
			convs: map[*ir.Op]int{}, pointwise: map[*ir.Op]int{},
		}
		s.run(o.Records, places)
	}
	var out []*Finding
	for i := range Rules {
		if r := &Rules[i]; len(places[i]) > 0 {
			out = append(out, &Finding{
				Rule: r.Name, Effect: r.Effect, Places: places[i], Reports: of(r.Name), Instead: r.Instead,
				Recipe: r.Recipe,
			})
		}
	}
	return out
}

// OnEngine returns the findings without records of operations that are not on the engine, and counts the operations of
// those that are. The findings are of the program that the report is about, before passes.
func OnEngine(fs []*Finding, rep *compile.Report) (out []*Finding, records int) {
	engine := map[string]bool{}
	for _, r := range rep.Each() {
		for i := range r.Ops {
			o := &r.Ops[i]
			engine[key(o.Line, o.Col, o.Name)] = o.Unit == ir.Engine.String()
		}
	}
	seen := map[string]bool{}
	for _, f := range fs {
		if f.Effect == Record {
			f.Places = slices.DeleteFunc(f.Places, func(p Place) bool { return !engine[key(p.Line, p.Col, p.Name)] })
			for _, p := range f.Places {
				seen[key(p.Line, p.Col, p.Name)] = true
			}
		}
		if len(f.Places) > 0 {
			out = append(out, f)
		}
	}
	return out, len(seen)
}

// key identifies a statement: by its place in the text, or else by its result.
func key(line, col int32, name string) string {
	if line > 0 {
		return fmt.Sprint(line, ":", col)
	}
	return name
}

// search is the search in one function.
type search struct {
	fn     *ir.Func
	ranges map[string]lint.Interval
	asFP16 bool // fp32 is computed in fp16
	known  *lint.Known
	// unbounded are the values that have no known range.
	unbounded map[*ir.Value]bool
	uses      *ir.ValueMap[[]*ir.Op]
	huge      map[*ir.Value]bool // whether a value has constants beyond fp16 added to it
	// convs and pointwise are the lengths of the chains that end in an operation.
	convs, pointwise map[*ir.Op]int
}

// byOp are the indices of the rules that look at an operation.
var byOp = func() map[*ir.Operation][]int {
	m := map[*ir.Operation][]int{}
	for i := range Rules {
		for _, o := range Rules[i].ops {
			m[o] = append(m[o], i)
		}
	}
	return m
}()

// run appends the places of each rule.
func (s *search) run(records bool, places [][]Place) {
	add := func(rule int, p Place) {
		p.Function = s.fn.Name
		places[rule] = append(places[rule], p)
	}
	values := func(op *ir.Op, vs []*ir.Value) {
		for _, v := range vs {
			for _, i := range valueRules {
				if detail := Rules[i].value(v); detail != "" {
					add(i, placeOf(op, v, detail))
				}
			}
		}
	}
	for i := range Rules {
		if f := Rules[i].fn; f != nil {
			if v, detail := f(s); detail != "" {
				add(i, placeOf(nil, v, detail))
			}
		}
	}
	values(nil, s.fn.Body.Params)
	ir.Walk(s.fn, func(op *ir.Op) {
		values(op, op.Results)
		for _, i := range byOp[op.Def.Operation] {
			r := &Rules[i]
			if r.Effect == Record && !records {
				continue
			}
			if detail := r.op(s, op); detail != "" {
				add(i, placeOf(op, nil, detail))
			}
		}
	})
}

// valueRules are the indices of the rules that look at values.
var valueRules = func() (is []int) {
	for i := range Rules {
		if Rules[i].value != nil {
			is = append(is, i)
		}
	}
	return is
}()

// placeOf returns the place of an operation, of a value of it, or of a parameter.
func placeOf(op *ir.Op, v *ir.Value, detail string) Place {
	p := Place{Detail: detail}
	switch {
	case op != nil:
		p.Op, p.Line, p.Col = op.Def.Name, op.Pos.Line, op.Pos.Col
		p.Name = op.Name
		if len(op.Results) > 0 {
			p.Name = op.Results[0].Name
		}
	case v != nil:
		p.Name, p.Line, p.Col = v.Name, v.Pos.Line, v.Pos.Col
	}
	return p
}

// bounds returns the known range of a value.
func (s *search) bounds(v *ir.Value) (lint.Interval, bool) {
	if s.open(v) {
		return lint.Interval{}, false
	}
	return s.judged().Range(v)
}

// open reports whether it is clear without intervals that a value has no known range.
func (s *search) open(v *ir.Value) bool {
	if s.unbounded == nil {
		s.unbounded = unbounded(s.fn, s.ranges)
	}
	return s.unbounded[v]
}

// judged returns the known ranges of the function's values.
func (s *search) judged() *lint.Known {
	if s.known == nil {
		s.known = lint.KnownRanges(s.fn, s.ranges)
	}
	return s.known
}

// unbounded returns the values that have no known range since an input or a product has none, and nothing after it
// bounds them: most values of most models. Intervals are computed only if a rule looks at another value.
func unbounded(f *ir.Func, ranges map[string]lint.Interval) map[*ir.Value]bool {
	m := map[*ir.Value]bool{}
	for _, p := range f.Body.Params {
		if _, ok := ranges[p.Name]; !ok && p.Type.DType != ir.UInt8 {
			m[p] = true
		}
	}
	ir.Walk(f, func(op *ir.Op) {
		open := false
		switch op.Def.Class {
		case ir.Product, ir.Recurrent, ir.Compressed:
			open = true
		case ir.Normalization:
			open = !op.Is(ir.OpSoftmax, ir.OpBatchNorm)
		case ir.Movement:
			open = anyOf(op, m)
		case ir.Pointwise:
			open = op.Is(passOn...) && anyOf(op, m)
		}
		if open {
			for _, r := range op.Results {
				m[r] = true
			}
		}
	})
	return m
}

// passOn are the pointwise operations whose results have no bounds if an operand has none.
var passOn = ops{ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpRealDiv, ir.OpSelect, ir.OpCast, ir.OpRelu, ir.OpLeakyRelu,
	ir.OpSilu, ir.OpGelu, ir.OpSquare, ir.OpAbs}

// anyOf reports whether a float operand is in a set.
func anyOf(op *ir.Op, m map[*ir.Value]bool) bool {
	hit := false
	op.Operands(func(_ *ir.Param, v *ir.Value) { hit = hit || v.Type.DType.IsFloat() && m[v] })
	return hit
}

// readers returns the operations that read a value.
func (s *search) readers(v *ir.Value) []*ir.Op {
	if s.uses == nil {
		s.uses = ir.Uses(s.fn)
	}
	return s.uses.Get(v)
}
