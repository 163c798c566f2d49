package compile

import (
	"cmp"
	"encoding/hex"
	"slices"
	"time"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
)

// unit records a function that has gone through the passes.
func (r *recorder) unit(u *unit) {
	if r == nil {
		return
	}
	for lead, es := range u.state.Fused {
		r.fused[lead] = es
		for _, e := range es {
			r.lead[e] = lead
		}
	}
	for _, st := range u.state.States {
		r.states[st.Value] = r.node(st.Origin)
	}
	for _, p := range u.state.Func.Body.Params {
		r.value(p)
	}
	// The lists are long, and what append makes room for would not be used. Most operations have a statement, a node,
	// and another of their place.
	n := u.operations()
	r.db.Statements = slices.Grow(r.db.Statements, n)
	r.db.Nodes = slices.Grow(r.db.Nodes, 2*n)
	for _, st := range u.state.Partitions {
		for _, op := range st.Ops {
			r.op(op)
			r.with(op)
		}
	}
	for _, g := range u.state.Gone {
		r.db.Gone = append(r.db.Gone, provenance.Gone{Pass: g.Pass, Node: r.node(g.Origin), By: r.node(g.By)})
	}
}

// operations returns the number of operations of all steps.
func (u *unit) operations() (n int) {
	for _, st := range u.state.Partitions {
		n += len(st.Ops)
	}
	return n
}

// operators records the operations of a function, once they are lowered: lowering needs memory, but not this.
func (r *recorder) operators(u *unit) {
	if r == nil {
		return
	}
	r.db.Operators = slices.Grow(r.db.Operators, u.operations())
	for i, st := range u.state.Partitions {
		for _, op := range st.Ops {
			x := provenance.Operator{Func: u.name, Step: uint32(i), Op: op.Def.Name, Unit: op.Place.Unit.String(),
				Rule: op.Place.Rule, Reason: op.Place.Reason, Node: r.op(op), With: r.with(op),
				Transposed: transposed(op)}
			if len(op.Results) > 0 {
				x.Name = op.Results[0].Name
			}
			r.db.Operators = append(r.db.Operators, x)
		}
	}
}

// forget drops the statements of all origins that have nodes, after the last unit: in a long model they are as large as
// their records, and the compiler reads only the records from then on.
func (r *recorder) forget() {
	if r == nil {
		return
	}
	for o := range r.nodes {
		o.Stmt = nil
	}
}

// transposed reports whether a product's constant matrix is the transpose of what is packed, which has one row per
// output: y as [K, N], x as [K, M].
func transposed(op *ir.Op) bool {
	if !op.Is(ir.OpMatMul) {
		return false
	}
	a, err := ir.MatMulAttrs(op)
	switch {
	case err != nil:
		return false
	case op.Arg(ir.ParamY).IsConst():
		return !a.TransposeY
	}
	return op.Arg(ir.ParamX).IsConst() && a.TransposeX
}

// constants records the extents of the constant section and who reads them.
func (r *recorder) constants(sec *weights.Section, units []*unit) {
	if r == nil {
		return
	}
	// Most layouts are runs of equal size: they share what they are made of.
	for _, x := range sec.Extents() {
		out := provenance.Extent{Offset: uint64(x.Offset), Size: uint64(x.Size)}
		for _, rep := range x.Layout {
			runs := make([]provenance.Run, len(rep.Runs))
			for i, run := range rep.Runs {
				runs[i] = provenance.Run{Role: r.roles[run.Role], Size: run.Size}
			}
			out.Layout = append(out.Layout, provenance.Repeat{Times: rep.Times, Runs: runs})
		}
		r.extents[x.Offset] = len(r.db.Extents)
		r.db.Extents = append(r.db.Extents, out)
	}
	for _, u := range units {
		for _, p := range u.procs {
			for _, c := range p.Constants {
				r.use(c)
			}
		}
	}
}

func (r *recorder) use(c lower.ConstantUse) {
	i, ok := r.extents[c.Offset]
	if !ok {
		return
	}
	made := func(v *ir.Value) provenance.NodeID {
		if v != nil {
			return r.node(v.Source())
		}
		return 0
	}
	u := provenance.Use{Node: r.op(c.Op), Rule: c.Rule, Values: made(c.Values), Bias: made(c.Bias)}
	if u.Values == 0 {
		// The rule generated it from the operation and its constants.
		u.Values = r.join("", u.Node, r.with(c.Op))
	}
	u.Bias = cmp.Or(u.Bias, u.Node)
	// A table is computed from the operation whose function it is and that operation's constants: bounds, slopes.
	u.Table = r.join("", r.constantsOf([]provenance.NodeID{u.Node}, c.Op)...)
	if c.Table != nil {
		u.Table = r.join(passFuse, r.constantsOf([]provenance.NodeID{r.node(c.Table.Origin)}, c.Table)...)
	}
	x := &r.db.Extents[i]
	if n := len(x.Uses); n > 0 && x.Uses[n-1].Node == u.Node && x.Uses[n-1].Rule == u.Rule {
		return
	}
	x.Uses = append(x.Uses, u)
}

// procedure records a procedure, whose tasks come next among those that were recorded.
func (r *recorder) procedure(u *unit, p *lower.Procedure, step int) {
	if r == nil {
		return
	}
	st := u.state.Partitions[step]
	n := r.join(passPartition, r.opList(st.Ops)...)
	r.steps[p] = [2]provenance.NodeID{n, r.join("", r.withList(st.Ops)...)}
	at := uint32(len(r.db.Procedures))
	r.db.Procedures = append(r.db.Procedures, provenance.Procedure{
		Name: p.Name,
		Func: u.name,
		Step: uint32(step),
		Node: n,
	})
	surface := map[int]uint64{} // by buffer-access register
	port := func(s *lower.Surface, output bool) {
		surface[s.Bar] = uint64(len(r.db.Surfaces))
		r.db.Surfaces = append(r.db.Surfaces, provenance.Surface{
			Procedure: at,
			Name:      s.Name,
			Output:    output,
			Value:     s.Value.Name,
			Size:      uint64(s.Size),
			Node:      r.join(passPartition, r.value(s.Value)),
		})
	}
	for i := range p.Inputs {
		port(&p.Inputs[i], false)
	}
	for i := range p.Outputs {
		port(&p.Outputs[i], true)
	}
	tasks := r.db.Tasks[r.tasks:][:len(p.Infos)]
	r.tasks += len(tasks)
	for i := range tasks {
		x, info := &tasks[i], &p.Infos[i]
		x.Procedure, x.Index, x.Node, x.With, x.Rule = at, uint32(i), r.op(info.Op), r.with(info.Op), info.Rule
		x.Links = slices.DeleteFunc(x.Links, func(l provenance.Link) bool {
			_, ok := surface[int(l.Target)]
			return l.Kind == provenance.LinkSurface && !ok
		})
		if len(x.Links) == 0 {
			x.Links = nil
		}
		for k := range x.Links {
			switch l := &x.Links[k]; l.Kind {
			case provenance.LinkSurface:
				l.Target = surface[int(l.Target)]
			case provenance.LinkTask:
				l.Target = tasks[i+1].Offset
			}
		}
	}
}

// task records a task as it is written at an offset, with follow more after it in its procedure. What its words point
// at is known when procedure is called: until then the target of a surface is its buffer-access register.
func (r *recorder) task(t *td.Task, off, follow int) {
	if r == nil {
		return
	}
	var list [16]provenance.Link
	links := list[:0]
	link := func(bar int, base td.Field, target int64) {
		w, ok := r.codec.WordIndex(t, base)
		if !ok {
			return
		}
		l := provenance.Link{Word: uint32(w), Target: uint64(target)}
		switch bar {
		case td.BarConstants:
			l.Kind = provenance.LinkConstant
		case td.BarScratch:
			l.Kind = provenance.LinkScratch
		default:
			l.Kind, l.Target = provenance.LinkSurface, uint64(bar)
		}
		links = append(links, l)
	}
	if w, ok := r.codec.WordIndex(t, td.NextPointer); ok && follow > 0 {
		links = append(links, provenance.Link{Word: uint32(w), Kind: provenance.LinkTask})
	}
	for k := range td.Streams {
		if s := &td.Streams[k]; t.On(s.BarValid) {
			link(t.Int(s.Bar), s.Base, int64(t.Get(s.Base)))
		}
	}
	if t.On(td.KBE0) {
		bar := t.Int(td.KBase0)
		if r.codec.ConstantKernel(t) {
			bar = td.BarConstants
		}
		for lane := range t.LaneParts() {
			link(bar, lane.Base, lane.From)
		}
		for table := range t.StreamParts() {
			link(bar, table.Base, table.From)
		}
	}
	slices.SortStableFunc(links, func(a, b provenance.Link) int { return int(a.Word) - int(b.Word) })
	r.db.Tasks = append(slices.Grow(r.db.Tasks, 1+follow), provenance.Task{
		Offset: uint64(off),
		Words:  uint32(r.codec.Words(t)),
		Links:  slices.Clone(links),
	})
}

// idle records the container of a program that does not use the engine: it belongs to the function.
func (r *recorder) idle(img *hwx.Image, u *unit) {
	if r == nil {
		return
	}
	n := r.join(passPartition, r.function(u.state.Func))
	e := &img.Procedures[0]
	r.db.Procedures = append(r.db.Procedures, provenance.Procedure{Name: e.Name, Func: u.name, Node: n})
	for _, s := range img.Surfaces {
		r.db.Surfaces = append(r.db.Surfaces, provenance.Surface{
			Name:   s.Name,
			Output: s.Binding == hwx.BindOutput,
			Size:   s.Size,
			Node:   n,
		})
	}
	r.db.Tasks = append(r.db.Tasks, provenance.Task{Words: e.FirstWords, Node: n, Rule: RuleIdle})
}

// finish fills in what is known only from the written container.
func (r *recorder) finish(d *driver, f *hwx.File) error {
	if r == nil {
		return nil
	}
	defer d.units[0].rep.time("provenance", time.Now())
	hash, err := hex.DecodeString(d.hash)
	if err != nil {
		return err
	}
	copy(r.db.SHA256[:], hash)
	for _, u := range d.units {
		r.operators(u)
	}
	r.inSourceOrder()
	r.db.TextSize = uint64(len(f.TextBytes()))
	for _, s := range f.ConstantSections() {
		r.db.ConstantSize += s.Size
	}
	for i := range r.db.Surfaces {
		r.db.Surfaces[i].Address = d.addrs[r.db.Surfaces[i].Name]
	}
	return nil
}
