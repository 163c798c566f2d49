package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/inspect/dump"
	"github.com/zinc-compiler/zinc/ir"
)

// linkByNames replaces the debug database of a version that wrote none: it links the statements of the source and the
// tasks of the container by the names in the version's report. Constants and operations of the chain have no links.
func (v *view) linkByNames(f *hwx.File, reports []*compile.Report) (*provenance.DB, error) {
	db := &provenance.DB{
		TextSize: uint64(len(v.text)),
		Nodes:    []provenance.Node{{Statement: -1}},
		Files:    []string{v.model.file},
	}
	for _, c := range f.ConstantSections() {
		db.ConstantSize += c.Size
	}
	opened, err := v.model.open(v.config.Text)
	if err != nil {
		return nil, fmt.Errorf("reading the text with this zinc: %w", err)
	}
	defer opened.Close()
	type key struct{ fn, name string }
	nodes := map[key]provenance.NodeID{}
	for _, s := range statementsOf(opened.Program) {
		if s.Op != ir.StmtConst && s.Op != ir.StmtFunc {
			nodes[key{s.Func, s.Name}] = provenance.NodeID(len(db.Nodes))
		}
		db.Nodes = append(db.Nodes, provenance.Node{Statement: int32(len(db.Statements))})
		db.Statements = append(db.Statements, provenance.Statement{
			Line: max(s.Pos.Line, 0),
			Col:  max(s.Pos.Col, 0),
			Func: s.Func,
			Op:   s.Op,
			Name: s.Name,
		})
	}
	type place struct {
		procedure string
		index     int
	}
	type told struct {
		node provenance.NodeID
		rule string
	}
	by := map[place]told{}
	for _, r := range reports {
		fn, _, _ := strings.Cut(r.Function, compile.VariantMark)
		for i := range r.TaskList {
			t := &r.TaskList[i]
			by[place{t.Procedure, t.Task}] = told{nodes[key{fn, t.Op}], t.Rule}
		}
	}
	chains := dump.ChainsOf(f)
	for i, q := range f.Procedures() {
		db.Procedures = append(db.Procedures, provenance.Procedure{Name: q.Name})
		chain, err := chains.Tasks(q)
		if err != nil {
			continue // tasks that this zinc cannot decode are shown as bytes
		}
		for k, t := range chain {
			x := by[place{q.Name, k}]
			db.Tasks = append(db.Tasks, provenance.Task{
				Procedure: uint32(i), Index: uint32(k), Offset: uint64(t.Off), Words: uint32(t.Words()), Node: x.node,
				Rule: x.rule,
			})
		}
	}
	slices.SortStableFunc(db.Tasks, func(a, b provenance.Task) int { return cmp.Compare(a.Offset, b.Offset) })
	// Two procedures may share tasks; each byte belongs to one.
	db.Tasks = slices.CompactFunc(db.Tasks, func(a, b provenance.Task) bool { return a.Offset == b.Offset })
	return db, nil
}

// statementsOf lists the statements of a program by their places.
func statementsOf(p *ir.Program) (out []*ir.Stmt) {
	seen := map[*ir.Stmt]bool{}
	add := func(o *ir.Origin) {
		if o != nil && o.Stmt != nil && !seen[o.Stmt] {
			seen[o.Stmt] = true
			out = append(out, o.Stmt)
		}
	}
	for _, f := range p.Funcs {
		ir.RecordOrigins(f)
		for _, v := range f.Body.Params {
			add(v.Source())
		}
		ir.Walk(f, func(op *ir.Op) {
			add(op.Origin)
			op.Operands(func(_ *ir.Param, v *ir.Value) {
				if v != nil && v.IsConst() {
					add(v.Source())
				}
			})
		})
	}
	slices.SortStableFunc(out, func(a, b *ir.Stmt) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return out
}
