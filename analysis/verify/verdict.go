package verify

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim"
)

// summary sums up the comparisons of the statements before a value.
type summary struct {
	widest *Statement // with the widest bound
	used   *Statement // with the largest difference as a part of its bound; nil if none rounds
	wrong  *Statement // the first beyond its bound
	// cpu reports that nothing before the value is on the engine, and that all results are equal to the interpreter's
	// for the source's statements.
	cpu bool
}

// add adds a statement.
func (b *summary) add(s *Statement) {
	b.merge(&summary{widest: s, used: s, cpu: s.fit.equal() || s.tells() && s.fit.nan == 0})
	if !s.Pass && (b.wrong == nil || s.number < b.wrong.number) {
		b.wrong = s
	}
}

// merge adds the summary of another value.
func (b *summary) merge(c *summary) {
	b.cpu = b.cpu && c.cpu
	if first(b.widest, c.widest, func(s, t *Statement) bool {
		return s.tells() != t.tells() && t.tells() || s.tells() == t.tells() && s.BoundPercent > t.BoundPercent
	}) {
		b.widest = c.widest
	}
	if c.used != nil && c.used.Used > 0 &&
		first(b.used, c.used, func(s, t *Statement) bool { return s.Used > t.Used }) {
		b.used = c.used
	}
	if first(b.wrong, c.wrong, func(*Statement, *Statement) bool { return false }) {
		b.wrong = c.wrong
	}
}

// first reports whether t comes before s: by less, then in the order of the program.
func first(s, t *Statement, less func(s, t *Statement) bool) bool {
	switch {
	case s == nil || t == nil:
		return t != nil
	case less(t, s) || less(s, t):
		return less(t, s)
	}
	return t.number < s.number
}

// why says that the widest bound shows nothing, "" if it does.
func (b *summary) why() string {
	switch w := b.widest; {
	case w == nil:
	case w.fit.nan > 0:
		return fmt.Sprintf("statement %s: %s", w.Name, w.fit.undefined())
	case !w.tells():
		why := fmt.Sprintf("the bound of %s is %.3g %% of its scale", w.Name, float64(w.BoundPercent))
		if w.term != "" {
			why += ", most of it " + w.term
		}
		return why
	}
	return ""
}

// summarise computes the summary of each value of the program that was lowered.
func (x *call) summarise() {
	x.before = map[string]*summary{}
	for _, op := range x.f.Placed.Body.Ops {
		b := &summary{cpu: op.Place.Unit != ir.Engine && x.sameCode(op)}
		for _, v := range free(op) {
			b.merge(x.summaryOf(v))
		}
		for _, v := range op.Results {
			for _, s := range x.statements[v.Name] {
				b.add(s)
			}
			x.before[v.Name] = b
		}
	}
}

// sameCode reports whether each result of a statement that the source names too is one of the same statement there, or
// was compared with it.
func (x *call) sameCode(op *ir.Op) bool {
	for _, v := range op.Results {
		w := x.sources[v.Name]
		compared := func(s *Statement) bool { return s.Step == stepPasses }
		if w == nil || slices.ContainsFunc(x.statements[v.Name], compared) {
			continue
		}
		if w.Def == nil || !v.Type.Equal(w.Type) || !x.unchanged(w, v) {
			return false
		}
	}
	return true
}

// summaryOf returns the summary of a value of the program that was lowered.
func (x *call) summaryOf(v *ir.Value) *summary {
	if v != nil && x.before[v.Name] != nil {
		return x.before[v.Name]
	}
	return &summary{cpu: true}
}

// Cause is why an output cannot be told.
type Cause string

// Causes.
const (
	Undefined  Cause = "NaN in the reference"
	NoBound    Cause = "no bound is known"
	Wide       Cause = "a bound is as large as the result"
	ReadAsZero Cause = "operands are read as 0" // and the output differs, which is not rounding
	Unproved   Cause = "bounds are wide or add up, and the proof is open"
)

// doubt is why the bounds of an output cannot tell, and what a proof must show so that only rounding is left.
type doubt struct {
	function string
	cause    Cause // why a proof does not help, "" if it may
	// sources are the first results of the statements of the source that must be proved, besides the bytes.
	sources map[string]bool
}

// doubts returns what a proof must show of an output, the value v of the program that was lowered: that passes did not
// change the statements before it whose bounds show nothing and, if it departs, any statement of the source before it.
func (x *call) doubts(name string, v *ir.Value, f *fit, departs bool) *doubt {
	far := !tells(f.maxAbs, f.scale)
	d := &doubt{function: x.f.Name, sources: map[string]bool{}}
	for _, op := range upTo(x.f.Placed.Body, v) {
		for _, r := range op.Results {
			for _, s := range x.statements[r.Name] {
				d.add(s, far)
			}
		}
	}
	if departs {
		for _, op := range x.sourceOf(name) {
			for _, v := range op.Results {
				d.sources[v.Name] = true
			}
		}
	}
	return d
}

// add adds a statement before an output, which is far from the reference or not, unless the bound tells.
func (d *doubt) add(s *Statement, far bool) {
	if s.tells() && s.fit.nan == 0 {
		return
	}
	switch {
	case d.cause != "":
	case s.fit.nan > 0:
		d.cause = Undefined
	case math.IsInf(float64(s.Bound), 0):
		d.cause = NoBound
	case !(s.BoundPercent < 100):
		d.cause = Wide
	case far && s.term == flushedOperands:
		d.cause = ReadAsZero
	}
	if s.Step == stepPasses {
		d.sources[s.op.Results[0].Name] = true
	}
}

// sourceOf returns the statements of the source from which an output is computed; all of them for a function with
// states.
func (x *call) sourceOf(name string) []*ir.Op {
	body := x.f.Reference.Body
	at := slices.IndexFunc(body.Outputs, func(v *ir.Value) bool { return v.Name == name })
	if at < 0 || len(x.f.States) > 0 {
		return body.Ops
	}
	return upTo(body, body.Outputs[at])
}

// upTo returns the operations of a block from which a value is computed.
func upTo(b *ir.Block, v *ir.Value) []*ir.Op {
	needed, out := map[*ir.Value]bool{v: true}, []*ir.Op(nil)
	for _, op := range slices.Backward(b.Ops) {
		if !slices.ContainsFunc(op.Results, func(v *ir.Value) bool { return needed[v] }) {
			continue
		}
		out = append(out, op)
		for _, v := range free(op) {
			needed[v] = true
		}
	}
	return out
}

// prove proves the pair if that is wanted, or if the bounds of an output cannot tell and a proof may.
func (r *Result) prove(ctx context.Context, m *sim.Machine, c *compile.Result, o *Options) error {
	undecided := func(out Output) bool { return out.doubt != nil && out.Cause == "" }
	if !o.Prove && (r.First != nil || !slices.ContainsFunc(r.Outputs, undecided)) {
		return nil
	}
	proof, err := prove.Pair(ctx, m, Provable(c), prove.Options{Seed: o.Seed, Workers: o.Workers, Progress: o.Progress})
	switch {
	case err == nil:
		r.Proof = proof
	case o.Prove || ctx.Err() != nil:
		return err
	}
	for i := range r.Outputs {
		if out := &r.Outputs[i]; undecided(*out) {
			out.decideByProof(proof, err)
		}
	}
	return nil
}

// decideByProof decides an output by a proof: if bytes and statements are proved, what is left is rounding within the
// bounds.
func (o *Output) decideByProof(p *prove.Result, err error) {
	open := ""
	if err != nil {
		open = err.Error()
	} else {
		i := slices.IndexFunc(p.Functions, func(f prove.FunctionResult) bool { return f.Name == o.doubt.function })
		f := &p.Functions[i]
		if f.Verdict == prove.Wrong {
			o.Verdict, o.Why = Fail, o.Why+"; the proof shows that the bytes compute something else"
			return
		}
		open = o.doubt.open(f)
	}
	if open != "" {
		o.Cause = Unproved
		o.Why += "; not proved: " + open
		return
	}
	o.Verdict, o.Pass, o.Proved, o.Why = Pass, true, true, ""
}

// open returns what a proof of the function leaves open, "" for nothing.
func (d *doubt) open(f *prove.FunctionResult) string {
	if f.Verdict != prove.Proved {
		return "the bytes"
	}
	for _, s := range f.Source.Statements {
		// A statement of a loop that was unrolled has the name of the trip.
		name, _, _ := strings.Cut(s.Statement, " = ")
		name, _, _ = strings.Cut(name, ", trip ")
		if s.Verdict != prove.Proved && d.sources[name] {
			return fmt.Sprintf("%s is %s (%s)", s.Statement, s.Verdict, s.Why)
		}
	}
	return ""
}
