package compare

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
)

// programs compares the operations of the lowered programs.
func (p *pairing) programs() (out []*Change, err error) {
	to, from := matchBy(p.a.placed, p.b.placed, func(f **ir.Func) string { return (*f).Name })
	for i, f := range p.a.placed {
		if to[i] < 0 {
			out = append(out, &Change{Level: IR, Kind: Removed, Subject: "function " + f.Name})
			continue
		}
		w := &programDiff{pairing: p, fn: sourceName(f.Name)}
		w.block(f.Body, p.b.placed[to[i]].Body)
		out = append(out, w.out...)
	}
	for j, f := range p.b.placed {
		if from[j] < 0 {
			out = append(out, &Change{Level: IR, Kind: Added, Subject: "function " + f.Name})
		}
	}
	return out, nil
}

// programDiff compares two functions.
type programDiff struct {
	*pairing
	fn  string // of the source
	out []*Change
}

// sourceName returns the source's name of a function of a pair.
func sourceName(fn string) string {
	name, _, _ := strings.Cut(fn, compile.VariantMark)
	return name
}

// now returns side B's name of a value of side A.
func (p *pairing) now(fn, name string) string {
	if n, ok := p.renamed[qualified(fn, name)]; ok {
		return n
	}
	return name
}

func opSubject(op *ir.Op) string {
	if len(op.Results) == 0 {
		return op.Def.Name
	}
	return op.Def.Name + " " + op.Results[0].Name
}

// sources returns the statements that an operation and its constants came from.
func sources(op *ir.Op) []string {
	roots := []*ir.Origin{op.Origin}
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		if v != nil && v.IsConst() {
			roots = append(roots, v.Origin)
		}
	})
	return origins(roots...)
}

func (w *programDiff) add(k Kind, op *ir.Op, names []string, details ...string) {
	c := &Change{Level: IR, Kind: k, Subject: opSubject(op), Details: details, names: names}
	place := func(s *Side) string {
		if !op.Pos.IsValid() {
			return ""
		}
		return (&ir.Program{Files: s.files}).PosString(op.Pos)
	}
	if k == Added {
		c.B = place(w.b)
	} else {
		c.A = place(w.a)
	}
	w.out = append(w.out, c)
}

func (w *programDiff) block(a, b *ir.Block) {
	keys := func(b *ir.Block, name func(string) string) []string {
		return keysOf(b.Ops, func(op **ir.Op) string {
			if rs := (*op).Results; len(rs) > 0 {
				return "%" + name(rs[0].Name)
			}
			return (*op).Def.Name
		})
	}
	now := func(n string) string { return w.now(w.fn, n) }
	to, from := match(keys(a, now), keys(b, func(n string) string { return n }))
	for i, op := range a.Ops {
		if to[i] < 0 {
			w.add(Removed, op, sources(op))
			continue
		}
		q := b.Ops[to[i]]
		if d := opDetails(op, q, now); len(d) > 0 {
			w.add(Changed, op, merged(sources(op), sources(q)), d...)
		}
		for k := range min(len(op.Blocks), len(q.Blocks)) {
			w.block(op.Blocks[k], q.Blocks[k])
		}
	}
	for j, op := range b.Ops {
		if from[j] < 0 {
			w.add(Added, op, sources(op))
		}
	}
	for _, i := range moved(to) {
		w.add(Moved, a.Ops[i], sources(a.Ops[i]))
	}
}

// opDetails lists the differences between two operations. Constants are compared by value.
func opDetails(a, b *ir.Op, now func(string) string) (out []string) {
	if a.Def.Operation != b.Def.Operation {
		return []string{"operation: " + a.Def.Name + " -> " + b.Def.Name}
	}
	for i := range min(len(a.Results), len(b.Results)) {
		if x, y := a.Results[i].Type, b.Results[i].Type; !x.Equal(y) {
			out = append(out, "type of "+b.Results[i].Name+": "+x.String()+" -> "+y.String())
		}
	}
	for _, def := range a.Def.Params {
		x, y := a.ArgList(def.Name), b.ArgList(def.Name)
		if len(x) != len(y) {
			out = append(out, fmt.Sprintf("%s: %d values -> %d values", def.Name, len(x), len(y)))
			continue
		}
		for k := range x {
			if u, v := x[k], y[k]; !sameValue(u, v, now) {
				if x, y := valueString(u), valueString(v); x != y {
					out = append(out, string(def.Name)+": "+x+" -> "+y)
				} else {
					out = append(out, string(def.Name)+": other values in "+x)
				}
			}
		}
	}
	if len(a.Blocks) != len(b.Blocks) {
		out = append(out, fmt.Sprintf("blocks: %d -> %d", len(a.Blocks), len(b.Blocks)))
	}
	return out
}

func sameValue(a, b *ir.Value, now func(string) string) bool {
	if a.IsConst() != b.IsConst() {
		return false
	}
	if !a.IsConst() {
		return now(a.Name) == b.Name
	}
	return a.Const.Type.Equal(b.Const.Type) && bytes.Equal(a.Const.Data, b.Const.Data) && slices.Equal(a.Const.Strings,
		b.Const.Strings)
}

func valueString(v *ir.Value) string {
	if v.IsConst() && v.Type.Kind == ir.Tensor && v.Type.DType != ir.String && v.Const.Elems() == 1 {
		return number(v.Const, 0)
	}
	if v.IsConst() {
		return "constant " + v.Name + " " + v.Type.String()
	}
	return v.Name
}

// naming returns side B's name of a value of a function.
type naming func(fn, name string) string

// unchanged is the naming of side B itself.
func unchanged(_, name string) string { return name }

// opRecords returns a record for each operation of a compilation, with the attributes that put adds. fn is the
// function of the pair.
func opRecords(r *compile.Report, now naming, put func(x *record, o *compile.OpReport, fn string)) (out []record) {
	for _, f := range r.Each() {
		fn := sourceName(f.Function)
		for i := range f.Ops {
			o := &f.Ops[i]
			name := now(fn, o.Name)
			x := record{key: o.Op + " " + name, by: name + " of " + f.Function, names: []string{qualified(fn, o.Name)}}
			put(&x, o, f.Function)
			out = append(out, x)
		}
	}
	return out
}

// placement compares where the operations run.
func (p *pairing) placement() ([]*Change, error) {
	several := len(p.a.report.Functions) > 1 || len(p.b.report.Functions) > 1
	list := func(r *compile.Report, now naming) []record {
		return opRecords(r, now, func(x *record, o *compile.OpReport, fn string) {
			if fn != sourceName(fn) || several {
				x.key += " of " + fn
			}
			x.put("operation", o.Op)
			at := o.Unit
			if o.Rule != "" {
				at += " by " + o.Rule
			}
			if o.Reason != "" {
				at += ": " + o.Reason
			}
			x.put("runs on", at)
			if o.Fused != "" {
				x.put("fused into", now(sourceName(fn), o.Fused))
			}
		})
	}
	a, b := p.a.report, p.b.report
	var out []*Change
	for _, c := range records(Placement, list(a, p.now), list(b, unchanged)) {
		if c.Kind != Moved { // the order belongs to level IR
			out = append(out, c)
		}
	}
	total := func(r *compile.Report) []attribute {
		var x record
		x.num("operations on the engine", uint64(r.EngineOps))
		x.num("operations on the CPU", uint64(r.CPUOps))
		x.num("multiply-accumulates on the engine", uint64(r.EngineMACs))
		x.num("dispatches", uint64(r.Dispatches))
		return x.attrs
	}
	if d := attributes(total(a), total(b)); len(d) > 0 {
		out = append(out, &Change{Level: Placement, Kind: Changed, Subject: "totals", Details: d})
	}
	return out, nil
}
