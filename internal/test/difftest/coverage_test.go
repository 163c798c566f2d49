package difftest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// A Group is a kind of feature that programs reach.
type Group string

// Groups, in the order of the table.
const (
	Operations Group = "operations"
	Parameters Group = "parameters"
	Types      Group = "element types of operations"
	Rules      Group = "lowering rules"
	Fused      Group = "operations fused into others"
	Drafts     Group = "kinds of drafts"
	Fields     Group = "classes of field values"
	Refusals   Group = "refusals"
)

var groups = []Group{Operations, Parameters, Types, Rules, Fused, Drafts, Fields, Refusals}

// Coverage counts how often programs reached each row of each group. Rows are derived from the tables of the compiler:
// the operation registry, lower.Rules and lower.Fusable, the field table, target.Rules.
type Coverage struct {
	rows   map[Group]map[string]int
	fields [][]int // by field and class
}

// NewCoverage returns an empty table.
func NewCoverage() *Coverage {
	c := &Coverage{rows: map[Group]map[string]int{}}
	for _, g := range groups {
		c.rows[g] = map[string]int{}
	}
	for _, o := range ir.Operations {
		c.rows[Operations][o.Name] = 0
		for _, d := range o.Forms() {
			for i := range d.Params {
				c.rows[Parameters][o.Name+"."+string(d.Params[i].Name)] = 0
			}
			for _, t := range operandTypes(d) {
				c.rows[Types][o.Name+" "+t.String()] = 0
			}
		}
	}
	for _, r := range lower.Rules {
		c.rows[Rules][r.Name] = 0
	}
	for _, o := range lower.Fusable() {
		c.rows[Fused][o.Name] = 0
	}
	for _, r := range target.Rules {
		c.rows[Refusals][r.ID] = 0
	}
	for _, d := range draftKinds() {
		c.rows[Drafts][d] = 0
	}
	for f := range fieldTable {
		c.fields = append(c.fields, make([]int, len(classes(&fieldTable[f]))))
	}
	return c
}

// tensorTypes are the element types of tensors in programs; all other types occur only in constants.
var tensorTypes = []ir.DType{ir.Bool, ir.Int8, ir.Int16, ir.Int32, ir.UInt8, ir.UInt16, ir.FP16, ir.FP32}

// operandTypes are the element types of the first operand of a form, or none if that operand is a state or a list.
func operandTypes(d *ir.OpDef) []ir.DType {
	var out []ir.DType
	for _, t := range tensorTypes {
		if len(d.Params) > 0 && d.Params[0].Kind == ir.Tensor && d.Params[0].Types.Has(t) {
			out = append(out, t)
		}
	}
	return out
}

// draftKinds are the kinds of work of a task: what the neural engine does and what it applies to the result, and how
// the planar engine combines or reduces.
func draftKinds() []string {
	var out []string
	for _, op := range td.NEOp.Row().Values {
		for _, n := range td.Nonlinear.Row().Values {
			out = append(out, "neural: "+op.Word+", "+n.Word)
		}
	}
	for _, w := range td.PlanarType.Row().Values {
		switch td.PlanarWork(w.V) {
		case td.NotPlanar:
		case td.PlanarOne:
			out = append(out, "planar: "+w.Word)
		case td.PlanarReduce, td.PlanarReduceTwo:
			for _, p := range td.PoolMode.Row().Values {
				out = append(out, "planar: "+w.Word+", "+p.Word)
			}
		default:
			for _, p := range td.PEOp.Row().Values {
				out = append(out, "planar: "+w.Word+", "+p.Word)
			}
		}
	}
	return out
}

func draftKind(t *td.Task) string {
	word := func(f td.Field) string { return f.Row().Meaning(t.Get(f)) }
	w := t.Planar()
	switch {
	case w == td.NotPlanar:
		return "neural: " + word(td.NEOp) + ", " + word(td.Nonlinear)
	case w == td.PlanarOne:
		return "planar: " + word(td.PlanarType)
	case w.Reduces():
		return "planar: " + word(td.PlanarType) + ", " + word(td.PoolMode)
	}
	return "planar: " + word(td.PlanarType) + ", " + word(td.PEOp)
}

// fieldTable are the rows of the field table.
var fieldTable = td.Fields()

// classes are the names of the classes of a field's values: each value that has a word, otherwise zero, one and others.
func classes(r *td.Row) []string {
	var out []string
	for _, v := range r.Values {
		out = append(out, v.Word)
	}
	switch {
	case r.Known == td.Unknown: // bits of unknown meaning have no classes
		return nil
	case len(out) > 0:
		return out
	case r.Kind == td.Chain || r.Kind == td.Address || r.Kind == td.Size:
		return []string{"zero", "not zero"}
	case r.Flag():
		return []string{"zero", "one"}
	}
	return []string{"zero", "one", "more"}
}

// class returns the index of a value's class, or -1 if it has none.
func class(r *td.Row, v uint32) int {
	if len(r.Values) > 0 && r.Known != td.Unknown {
		return slices.IndexFunc(r.Values, func(x td.Value) bool { return x.V == v })
	}
	one := r.Unit
	switch {
	case r.Known == td.Unknown:
		return -1
	case v == 0:
		return 0
	case r.Kind == td.Chain || r.Kind == td.Address || r.Kind == td.Size || r.Flag():
		return 1
	case r.Kind == td.FP16:
		one = 0x3c00
	case r.Kind == td.FP32:
		one = 0x3f800000
	}
	if v == one {
		return 1
	}
	return 2
}

// AddProgram counts the operations of a program.
func (c *Coverage) AddProgram(p *ir.Program) {
	for _, f := range p.Funcs {
		ir.Walk(f, func(op *ir.Op) {
			name := op.Def.Name
			c.rows[Operations][name]++
			for i, a := range op.Args {
				if len(a) == 0 {
					continue
				}
				c.rows[Parameters][name+"."+string(op.Def.Params[i].Name)]++
				if t := name + " " + a[0].Type.DType.String(); i == 0 {
					if _, ok := c.rows[Types][t]; ok {
						c.rows[Types][t]++
					}
				}
			}
		})
	}
}

// AddReport counts the placements in a report.
func (c *Coverage) AddReport(r *compile.Report) {
	for i := range r.Ops {
		switch o := &r.Ops[i]; {
		case o.Refusal != nil:
			c.rows[Refusals][o.Refusal.Rule]++
		case o.Fused != "":
			c.rows[Fused][o.Op]++
		case o.Unit == ir.Engine.String():
			c.rows[Rules][o.Rule]++
		}
	}
}

// AddResult counts the placements and tasks of a compilation.
func (c *Coverage) AddResult(r *compile.Result) {
	c.AddReport(r.Report)
	for _, f := range r.Functions {
		for _, p := range f.Procedures {
			for _, t := range p.Tasks {
				c.rows[Drafts][draftKind(t)]++
				for i := range fieldTable {
					if k := class(&fieldTable[i], t.Get(td.Field(i))); k >= 0 {
						c.fields[i][k]++
					}
				}
			}
		}
	}
}

// Merge adds the counts of o.
func (c *Coverage) Merge(o *Coverage) {
	for g, rows := range o.rows {
		for r, n := range rows {
			c.rows[g][r] += n
		}
	}
	for f := range o.fields {
		for k, n := range o.fields[f] {
			c.fields[f][k] += n
		}
	}
}

// Count is a row of the table.
type Count struct {
	Group Group
	Row   string
	N     int
	Why   string // why it may be empty, "" if it must not
}

// Table returns all rows, sorted in each group. All elements of an indexed field are one row.
func (c *Coverage) Table() []Count {
	fields := map[string]int{}
	for f := range fieldTable {
		r := &fieldTable[f]
		name := r.Name
		if r.Array.Len > 0 {
			name = r.Array.Name
		}
		for k, word := range classes(r) {
			fields[name+": "+word] += c.fields[f][k]
		}
	}
	var out []Count
	for _, g := range groups {
		rows := c.rows[g]
		if g == Fields {
			rows = fields
		}
		names := slices.Sorted(maps.Keys(rows))
		for _, r := range names {
			out = append(out, Count{Group: g, Row: r, N: rows[r], Why: whyEmpty(g, r)})
		}
	}
	return out
}

// Text writes the table: first the rows in columns, then those that are empty with the reason.
func (c *Coverage) Text(w io.Writer) error {
	var b strings.Builder
	var empty []Count
	line, at := "", Group("")
	flush := func() {
		if line != "" {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		line = ""
	}
	for _, row := range c.Table() {
		if row.Group != at {
			flush()
			at = row.Group
			fmt.Fprintf(&b, "\n%s\n", at)
		}
		if row.N == 0 {
			empty = append(empty, row)
			continue
		}
		cell := fmt.Sprintf("  %-47s %9d", row.Row, row.N)
		if len(line)+len(cell) > 120 {
			flush()
		}
		line += cell
	}
	flush()
	if len(empty) > 0 {
		b.WriteString("\nnever reached\n")
	}
	for _, row := range empty {
		why := row.Why
		why = cmp.Or(why, "NOT EXPLAINED")
		fmt.Fprintf(&b, "  %s: %s (%s)\n", row.Group, row.Row, why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
