package explain

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Options configure an explanation.
type Options struct {
	// Compile is how the model is compiled. Provenance is set anyway; Progress is also called for the runs of rewrites.
	Compile  compile.Options
	Rewrites bool   // search for rewrites of a refused statement
	Hazards  bool   // check the numbers by the rules of package lint, for inputs in their default ranges
	Seed     uint64 // of the inputs that rewrites are run on
	Workers  int    // goroutines for the runs, 0 for one per processor
	Work     int64  // of Advise, 0 for DefaultWork
	Runs     int64  // work that Advise may spend on running one change, 0 for all that is left
	// Screening is one that Advise takes over, begun for the program with the same options; nil to begin one.
	Screening *Screening
	// Again, if not nil, returns the program again, a new one each time. Then Explain may change the one that it was
	// given, and compiles without two programs in memory.
	Again func() (*ir.Program, error)
}

// Explain shows how the statement at a place of p is compiled. It does not change p, except with Options.Again. It
// returns a *PlaceError for a place without a statement.
func Explain(ctx context.Context, p *ir.Program, at Place, o Options) (*Answer, error) {
	s, err := find(p, at, o.Compile.Func)
	if err != nil {
		return nil, err
	}
	a := &Answer{
		Target: o.Compile.Target.Name, Function: s.fn.Name, Op: s.kind(), Name: s.name(),
		Line: s.pos().Line, Column: s.pos().Col, Passes: []string{}, Operators: []Operator{},
	}
	if pos := s.pos(); pos.IsValid() && int(pos.File) < len(p.Files) {
		a.File = p.Files[pos.File]
	}
	o.Compile.Provenance = true
	a.PlacedOnly = o.Compile.Target.TD == 0
	var stmts []int
	var db *provenance.DB
	var made *provenance.Made
	words := map[int][]byte{} // of the tasks of made
	look := func(x *provenance.DB, text []byte) error {
		db = x
		for i := range db.Statements {
			t := &db.Statements[i]
			if t.Func == a.Function && t.Name == a.Name && t.Op == a.Op && t.Line == a.Line {
				stmts = append(stmts, i)
			}
		}
		made = db.From(stmts...)
		for _, i := range made.Tasks {
			x := &db.Tasks[i]
			words[i] = bytes.Clone(text[x.Offset:][:4*x.Words])
		}
		return nil
	}
	var rep *compile.Report
	ports := map[string]lower.Surface{}
	to := compile.Sink{Database: look, Report: compile.To(&rep), Procedure: func(p *lower.Procedure) error {
		for _, s := range slices.Concat(p.Inputs, p.Outputs) {
			ports[s.Name] = s
		}
		return nil
	}}
	if a.PlacedOnly {
		to = compile.Sink{Database: look, Plan: compile.To(&rep)}
	}
	state := s.state()
	faster := o.Rewrites && s.index >= 0 && len(s.op.Results) == 1 &&
		slices.ContainsFunc(Recipes, func(r Recipe) bool { return r.For("", s.op.Def.Operation) })
	program := p
	alone := o.Again != nil && s.op != nil // what is asked below of other statements is asked of p
	if alone {
		p, s = nil, nil
	} else {
		program = ir.CloneProgram(p)
	}
	if err := compile.Compile(ctx, program, o.Compile, to); err != nil {
		return nil, err
	}
	a.Precision = rep.Precision
	if !alone {
		a.widely(db, made, s)
	}
	a.operators(db, made, rep)
	a.tasks(db, made, rep, o.Compile.Target, words)
	a.constants(db, made, stmts)
	a.ports(db, made, ports)
	a.numerics(rep)
	a.states(rep, state)
	if rep.Estimate != nil && len(a.Tasks) > 0 {
		a.CostError = rep.Estimate.Known
	}
	// What the compilation made is not kept while others run, but for the sums with which rewrites are compared.
	no, now := a.Refused(), sumsOf(rep)
	hazards := o.Hazards && !a.PlacedOnly && a.Op != ir.StmtConst && a.Op != ir.StmtParam && a.onEngine()
	rep, db, made, program, ports = nil, nil, nil, nil, nil
	again := o.Again
	if !alone {
		again = func() (*ir.Program, error) { return ir.CloneProgram(p), nil }
	}
	if hazards {
		if err := a.hazards(ctx, again, o); err != nil {
			return nil, err
		}
	}
	if !o.Rewrites || no == nil && !faster {
		return a, nil
	}
	if alone {
		if p, err = again(); err == nil {
			s, err = find(p, at, o.Compile.Func)
		}
		if err != nil {
			return nil, err
		}
	}
	if by := o.Compile.Target.ByLimits(); by != o.Compile.Target { // few of a replacement's operations are recorded
		o.Compile.Target, o.Compile.Memory = by, nil
		r, err := estimate(ctx, ir.CloneProgram(p), o.Compile)
		if err != nil {
			return nil, err
		}
		now = sumsOf(r)
	}
	switch {
	case no == nil:
		return a, a.faster(ctx, p, s, now, o)
	case s.op == nil:
		a.NotSought = "explain the operation that is refused, on its own line"
	case s.index < 0:
		a.NotSought = "the statement is in a block of another; only statements of the function's body are rewritten"
	case len(s.op.Results) != 1:
		a.NotSought = fmt.Sprintf("the statement has %d results; only statements with one are rewritten",
			len(s.op.Results))
	default:
		a.Sought = true
		a.Rewrites, a.Tried, err = rewrites(ctx, p, s, no.Rule, o)
		if err == nil {
			err = estimateCost(ctx, a.Rewrites, now, o.Compile)
		}
	}
	return a, err
}

// faster adds the rewrites of a statement that the engine accepts with which the model takes less time.
func (a *Answer) faster(ctx context.Context, p *ir.Program, s *found, now sums, o Options) (err error) {
	a.Rewrites, a.Tried, err = rewrites(ctx, p, s, "", o)
	if err == nil {
		err = estimateCost(ctx, a.Rewrites, now, o.Compile)
	}
	a.Rewrites = slices.DeleteFunc(a.Rewrites, func(w *Rewrite) bool { return w.Before <= w.After })
	a.Sought = len(a.Rewrites) > 0
	return err
}

// Refused returns why the statement's own operation, or its replacement, is on the CPU; nil if it is not, or if nothing
// but the reason is known.
func (a *Answer) Refused() *compile.RefusalInfo {
	for i := range a.Operators {
		if x := &a.Operators[i]; x.Refusal != nil && x.Name == a.Name {
			return x.Refusal
		}
	}
	for i := range a.Operators {
		if x := &a.Operators[i]; x.Refusal != nil {
			return x.Refusal
		}
	}
	for i := range a.Gone {
		if x := &a.Gone[i]; x.Refusal != nil {
			return x.Refusal
		}
	}
	return nil
}

// widely adds the operators of the operations that read an input, or that name a constant that led to nothing.
func (a *Answer) widely(db *provenance.DB, made *provenance.Made, s *found) {
	if s.op == nil && s.value.Const == nil {
		made.Operators = inputReaders(db, s)
	}
	if s.reader != nil && len(made.Operators)+len(made.Extents)+len(made.Reads) == 0 {
		made.Operators = a.readerOf(db, s)
	}
}

func operatorOf(fn string, o *compile.OpReport) Operator {
	return Operator{
		Op:       o.Op,
		Name:     o.Name,
		Function: fn,
		Step:     o.Step,
		Unit:     o.Unit,
		Rule:     o.Rule,
		Reason:   o.Reason,
		Fused:    o.Fused,
		MACs:     o.MACs,
		Refusal:  o.Refusal,
		CPU:      o.CPU,
		Estimate: o.Estimate,
	}
}

// operators lists the operations that the statement was lowered to, and the passes that changed them.
func (a *Answer) operators(db *provenance.DB, made *provenance.Made, r *compile.Report) {
	reports := map[string]*compile.Report{}
	for _, f := range r.Each() {
		reports[f.Function] = f
	}
	note := func(ref provenance.Ref) {
		for _, p := range db.Source(ref).Passes {
			if !slices.Contains(a.Passes, p) {
				a.Passes = append(a.Passes, p)
			}
		}
	}
	for _, i := range made.Operators {
		x := &db.Operators[i]
		o := Operator{
			Op:       x.Op,
			Name:     x.Name,
			Function: x.Func,
			Step:     int(x.Step),
			Unit:     x.Unit,
			Rule:     x.Rule,
			Reason:   x.Reason,
		}
		if rep := reports[x.Func]; rep != nil {
			for k := range rep.Ops {
				if y := &rep.Ops[k]; y.Name == x.Name && y.Op == x.Op {
					o = operatorOf(x.Func, y)
				}
			}
		}
		a.Operators = append(a.Operators, o)
		note(provenance.Ref{Node: x.Node})
	}
	for _, i := range made.Gone {
		g := &db.Gone[i]
		x := Gone{Pass: g.Pass}
		for _, k := range db.Source(provenance.Ref{Node: g.By}).Statements {
			if x.By != "" {
				x.By += ", "
			}
			x.By += db.Statements[k].Op + " " + db.Statements[k].Name
			for _, f := range r.Each() {
				for n := range f.Ops {
					if y := &f.Ops[n]; x.Refusal == nil && f.Function == db.Statements[k].Func &&
						y.Name == db.Statements[k].Name {
						x.Refusal = y.Refusal
					}
				}
			}
		}
		a.Gone = append(a.Gone, x)
		if !slices.Contains(a.Passes, g.Pass) {
			a.Passes = append(a.Passes, g.Pass)
		}
	}
	slices.SortFunc(a.Passes, func(x, y string) int { return slices.Index(db.Passes, x) - slices.Index(db.Passes, y) })
}

// tasks lists the tasks and the fields of their words, which are in text by task.
func (a *Answer) tasks(db *provenance.DB, made *provenance.Made, r *compile.Report, on *target.Table,
	text map[int][]byte) {
	type key struct {
		procedure string
		index     int
	}
	tasks := map[key]compile.TaskReport{}
	for _, i := range made.Tasks {
		x := &db.Tasks[i]
		tasks[key{db.Procedures[x.Procedure].Name, int(x.Index)}] = compile.TaskReport{}
	}
	for _, f := range r.Each() {
		for _, t := range f.TaskList {
			k := key{t.Procedure, t.Task}
			if _, ok := tasks[k]; ok {
				tasks[k] = t
			}
		}
	}
	for _, i := range made.Tasks {
		x := &db.Tasks[i]
		k := key{db.Procedures[x.Procedure].Name, int(x.Index)}
		rep := tasks[k]
		t := Task{
			Procedure: k.procedure, Index: k.index, Offset: x.Offset, Words: int(x.Words), Rule: x.Rule,
			Kind: rep.Kind, Attested: rep.Attested, Estimate: rep.Estimate, Fields: fields(on, text[i], x.Words),
		}
		for _, l := range x.Links {
			t.Links = append(t.Links, fmt.Sprintf("word %d points at %s", l.Word, db.LinkString(l)))
		}
		a.Tasks = append(a.Tasks, t)
	}
}

// fields returns the fields that a task writes and that are not 0, by word.
func fields(on *target.Table, text []byte, n uint32) []Field {
	out := []Field{}
	words := make([]uint32, n)
	if _, err := binary.Decode(text, binary.LittleEndian, words); err != nil {
		return out
	}
	codec, err := td.CodecOf(on.Version)
	if err != nil {
		return out
	}
	t, err := codec.DecodeWords(words)
	if err != nil {
		return out
	}
	rows := td.Fields()
	for i := range rows {
		f := td.Field(i)
		v := t.Get(f)
		w, ok := codec.WordIndex(t, f)
		if v == 0 || !ok {
			continue
		}
		row := f.Row()
		out = append(out, Field{Word: w, Name: row.Name, Value: v, Known: row.Known.String(), Doc: row.Doc})
	}
	slices.SortStableFunc(out, func(x, y Field) int { return x.Word - y.Word })
	return out
}

// constants lists the stored constants.
func (a *Answer) constants(db *provenance.DB, made *provenance.Made, stmts []int) {
	all := append(slices.Clone(made.Extents), made.Reads...)
	slices.Sort(all)
	for _, i := range slices.Compact(all) {
		x := &db.Extents[i]
		c := Constant{Offset: x.Offset, Size: x.Size, Made: slices.Contains(made.Extents, i)}
		for _, rep := range x.Layout {
			for _, run := range rep.Runs {
				k := slices.IndexFunc(c.Roles, func(r RoleSize) bool { return r.Role == run.Role })
				if k < 0 {
					k = len(c.Roles)
					c.Roles = append(c.Roles, RoleSize{Role: run.Role, Made: c.Made && madeOf(db, x, run.Role, stmts)})
				}
				c.Roles[k].Bytes += uint64(rep.Times) * uint64(run.Size)
			}
		}
		a.Constants = append(a.Constants, c)
	}
}

// madeOf reports whether bytes of a role come from one of the statements. Padding and reserved bytes come from none.
func madeOf(db *provenance.DB, x *provenance.Extent, role string, stmts []int) bool {
	if role == provenance.RolePadding || role == provenance.RoleReserved {
		return false
	}
	for _, r := range x.Refs(role) {
		for _, i := range db.Source(r).Statements {
			if slices.Contains(stmts, i) {
				return true
			}
		}
	}
	return false
}

// readerOf returns the operators that the operation naming a constant became, if passes rewrote it without that
// constant.
func (a *Answer) readerOf(db *provenance.DB, s *found) []int {
	if len(s.reader.Results) == 0 {
		return nil
	}
	var stmts []int
	for _, i := range db.Named(s.reader.Results[0].Name) {
		if t := &db.Statements[i]; t.Func == s.fn.Name && t.Op == s.reader.Def.Name {
			stmts = append(stmts, i)
		}
	}
	if len(stmts) == 0 {
		return nil
	}
	ops := db.From(stmts...).Operators
	if len(ops) > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf(
			"%s %q, line %d, names it in the source; passes rewrote that statement with the values of the constant "+
				"instead of the constant", s.reader.Def.Name, s.reader.Results[0].Name, s.reader.Pos.Line))
	}
	return ops
}

// inputReaders returns the operators that the operations reading an input became.
func inputReaders(db *provenance.DB, s *found) []int {
	var stmts []int
	ir.Walk(s.fn, func(op *ir.Op) {
		if !op.Takes(s.value) || len(op.Results) == 0 {
			return
		}
		for _, i := range db.Named(op.Results[0].Name) {
			if t := &db.Statements[i]; t.Func == s.fn.Name && t.Op == op.Def.Name {
				stmts = append(stmts, i)
			}
		}
	})
	if len(stmts) == 0 {
		return nil
	}
	return db.From(stmts...).Operators
}

// ports lists surfaces and operations of the descriptor.
func (a *Answer) ports(db *provenance.DB, made *provenance.Made, ports map[string]lower.Surface) {
	for _, i := range made.Surfaces {
		x := &db.Surfaces[i]
		s := Surface{
			Procedure: db.Procedures[x.Procedure].Name,
			Name:      x.Name,
			Output:    x.Output,
			Value:     x.Value,
			Address:   x.Address,
			Size:      x.Size,
		}
		y := ports[s.Name]
		if n := len(y.Dims); n > 0 {
			s.Row = y.Dims[n-1]
			if n > 1 {
				s.RowBytes = y.Stride[n-2]
			}
		}
		a.Surfaces = append(a.Surfaces, s)
	}
	for _, i := range made.Operations {
		x := &db.Operations[i]
		a.Operations = append(a.Operations, Descriptor{
			Function: x.Func,
			Index:    int(x.Index),
			Name:     x.Name,
			Kind:     x.Kind,
			Rule:     x.Rule,
		})
	}
}

// onEngine reports whether any of the operators runs on the engine.
func (a *Answer) onEngine() bool {
	return slices.ContainsFunc(a.Operators, func(o Operator) bool { return o.Unit == ir.Engine.String() })
}

// numerics records what is known about the numbers that the statement computes.
func (a *Answer) numerics(r *compile.Report) {
	for _, o := range a.Operators {
		for _, t := range r.Tables {
			if t.Name == o.Name && t.Op == o.Op {
				a.Numerics = append(a.Numerics,
					fmt.Sprintf("the error of the lookup table of %s %q is at most %.3g, relative to the value at "+
						"most %.3g",
						t.Op, t.Name, t.Abs, t.Rel))
			}
		}
	}
	if a.Op == ir.StmtConst || a.Op == ir.StmtParam {
		return
	}
	if a.onEngine() {
		a.Numerics = append(a.Numerics, "the engine computes from fp16 to fp16: magnitudes end at 65504, and no "+
			"result is NaN or -0 (docs/numerics.md)")
	}
	if slices.Contains(a.Passes, "convert-precision") {
		a.Numerics = append(a.Numerics, "declared in fp32, computed in fp16")
	}
	if n := len(a.Tasks); n > 0 {
		attested := 0
		for _, t := range a.Tasks {
			if t.Attested {
				attested++
			}
		}
		a.Numerics = append(a.Numerics, fmt.Sprintf(
			"the kinds of %d of %d tasks are in recorded programs; the rest are modelled", attested, n))
	}
}

// hazards records the linter's findings for the statement. Without a search for inputs the findings are possible, not
// shown.
func (a *Answer) hazards(ctx context.Context, again func() (*ir.Program, error), o Options) error {
	o.Compile.Provenance = false
	p, err := again() // lint changes it
	if err != nil {
		return err
	}
	rep, err := lint.Run(ctx, p, lint.Options{Compile: o.Compile, Work: -1, Workers: o.Workers})
	if err != nil {
		return fmt.Errorf("analysing the numbers: %w", err)
	}
	for _, f := range rep.Functions {
		if f.Name != a.Function {
			continue
		}
		for _, x := range f.Findings {
			if x.Statement == a.Name || a.Line > 0 && x.Line == a.Line && x.Col == a.Column {
				a.Hazards = append(a.Hazards, x)
			}
		}
	}
	return nil
}
