package compile

import (
	"cmp"
	"encoding/hex"
	"path/filepath"
	"slices"
	"time"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/provenance"
)

// Rules that are not lowering rules: what of the compiler emits a task or an
// operation of the descriptor.
const (
	RuleIdle      = "idle"           // the task of a container that has nothing to do
	RuleInput     = "surface-input"  // a value is cast into a surface
	RuleInference = "inference"      // a procedure is dispatched
	RuleOutput    = "surface-output" // a surface is cast to where the host reads it
	RuleTransfer  = "transfer"       // a conversion between fp16 and fp32 on the host
	RuleCall      = "cpu-call"       // operations run on the CPU
	RuleResult    = "result"         // a value becomes a result of the function
	RuleState     = "state"          // a value goes into the buffer of a state
)

// Passes that the recorder names for what package passes decides without making
// operations.
const (
	passFuse  = "fuse-epilogue"
	passPlace = "place"
	passSteps = "cut-steps"
)

// recorder fills a provenance database while a pair is compiled. Its methods do
// nothing on a nil recorder, which is the one of a compilation that was not asked
// for a database.
type recorder struct {
	db      *provenance.DB
	stmts   map[statementKey]int32
	nodes   map[*ir.Origin]provenance.NodeID
	ops     map[*ir.Op]provenance.NodeID // placed, with what is fused
	withs   map[*ir.Op]provenance.NodeID // constants that they name
	lead    map[*ir.Op]*ir.Op
	fused   map[*ir.Op][]*ir.Op
	steps   map[*lower.Procedure][2]provenance.NodeID // node and constants
	extents map[int64]int                             // by offset
	roles   [weights.NumRoles]string
}

// statementKey tells statements apart. Configurations of one function share
// theirs.
type statementKey struct {
	fn, op, name string
	pos          ir.Pos
}

func newRecorder(p *ir.Program, o *Options) *recorder {
	r := &recorder{
		db:    &provenance.DB{Compiler: "zinc " + Version, Target: o.Target.Name, Nodes: []provenance.Node{{Statement: -1}}},
		stmts: map[statementKey]int32{}, nodes: map[*ir.Origin]provenance.NodeID{}, ops: map[*ir.Op]provenance.NodeID{}, withs: map[*ir.Op]provenance.NodeID{},
		lead: map[*ir.Op]*ir.Op{}, fused: map[*ir.Op][]*ir.Op{}, steps: map[*lower.Procedure][2]provenance.NodeID{}, extents: map[int64]int{},
	}
	for _, f := range p.Files {
		r.db.Files = append(r.db.Files, filepath.Base(filepath.ToSlash(f)))
	}
	for i := range r.roles {
		r.roles[i] = weights.Role(i).String()
	}
	return r
}

// statement returns the number of a statement.
func (r *recorder) statement(s *ir.Stmt) int32 {
	k := statementKey{s.Func, s.Op, s.Name, s.Pos}
	if i, ok := r.stmts[k]; ok {
		return i
	}
	i := int32(len(r.db.Statements))
	r.stmts[k] = i
	x := provenance.Statement{Func: s.Func, Op: s.Op, Name: s.Name}
	if s.Pos.IsValid() && int(s.Pos.File) < len(r.db.Files) {
		x.File, x.Line, x.Col = s.Pos.File, s.Pos.Line, max(s.Pos.Col, 0)
	}
	r.db.Statements = append(r.db.Statements, x)
	var args []int32
	for _, o := range s.Args {
		if o.Stmt != nil {
			args = append(args, r.statement(o.Stmt)) // a constant, which has none itself
		}
	}
	r.db.Statements[i].Args = args
	return i
}

// inSourceOrder puts the statements into the order of the source.
func (r *recorder) inSourceOrder() {
	old := r.db.Statements
	order := make([]int32, len(old))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		a, b := &old[i], &old[j]
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	at := make([]int32, len(old))
	r.db.Statements = make([]provenance.Statement, len(old))
	for to, from := range order {
		at[from] = int32(to)
		r.db.Statements[to] = old[from]
	}
	for i := range r.db.Statements {
		args := r.db.Statements[i].Args
		for k := range args {
			args[k] = at[args[k]]
		}
		slices.Sort(args)
		r.db.Statements[i].Args = slices.Compact(args)
	}
	for i := range r.db.Nodes {
		if n := &r.db.Nodes[i]; n.Statement >= 0 {
			n.Statement = at[n.Statement]
		}
	}
}

func (r *recorder) add(n provenance.Node) provenance.NodeID {
	r.db.Nodes = append(r.db.Nodes, n)
	return provenance.NodeID(len(r.db.Nodes) - 1)
}

// node returns the node of an origin, those it was made of first. The walk keeps
// a stack of its own: origins may be as deep as a program is long.
func (r *recorder) node(o *ir.Origin) provenance.NodeID {
	if o == nil {
		return 0
	}
	if n, ok := r.nodes[o]; ok {
		return n
	}
	type frame struct {
		o    *ir.Origin
		next int
	}
	stack := []frame{{o, 0}}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if f.next < len(f.o.From) {
			from := f.o.From[f.next]
			f.next++
			if _, ok := r.nodes[from]; !ok {
				stack = append(stack, frame{from, 0})
			}
			continue
		}
		if _, ok := r.nodes[f.o]; !ok {
			n := provenance.Node{Statement: -1, Pass: f.o.Pass}
			if f.o.Stmt != nil {
				n.Statement = r.statement(f.o.Stmt)
			}
			for _, from := range f.o.From {
				n.From = append(n.From, r.nodes[from])
			}
			r.nodes[f.o] = r.add(n)
		}
		stack = stack[:len(stack)-1]
	}
	return r.nodes[o]
}

// join returns a node made of others: the only one where it need not be a new
// one.
func (r *recorder) join(pass string, from ...provenance.NodeID) provenance.NodeID {
	from = slices.Clone(from)
	slices.Sort(from)
	from = slices.Compact(from)
	if len(from) > 0 && from[0] == 0 {
		from = from[1:]
	}
	if len(from) == 0 || len(from) == 1 && pass == "" {
		return append(from, 0)[0]
	}
	return r.add(provenance.Node{Statement: -1, Pass: pass, From: from})
}

// op returns the node of a placed operation, for one that is fused that of its
// run.
func (r *recorder) op(op *ir.Op) provenance.NodeID {
	if l := r.lead[op]; l != nil {
		op = l
	}
	if n, ok := r.ops[op]; ok {
		return n
	}
	n := r.node(op.Origin)
	if es := r.fused[op]; len(es) > 0 {
		ns := []provenance.NodeID{n}
		for _, e := range es {
			ns = append(ns, r.node(e.Origin))
		}
		n = r.join(passFuse, ns...)
	}
	if len(op.Blocks) > 0 {
		ns := []provenance.NodeID{n}
		for _, b := range op.Blocks {
			ns = append(ns, r.block(b)...)
		}
		n = r.join("", ns...)
	}
	n = r.join(passPlace, n)
	r.ops[op] = n
	return n
}

// with returns the node of the constants that a placed operation names, for one
// that is fused those of its run.
func (r *recorder) with(op *ir.Op) provenance.NodeID {
	if l := r.lead[op]; l != nil {
		op = l
	}
	if n, ok := r.withs[op]; ok {
		return n
	}
	ns := r.constantsOf(nil, op)
	for _, e := range r.fused[op] {
		ns = r.constantsOf(ns, e)
	}
	n := r.join("", ns...)
	r.withs[op] = n
	return n
}

// constantsOf appends the nodes of the constants that an operation and its blocks
// name.
func (r *recorder) constantsOf(ns []provenance.NodeID, op *ir.Op) []provenance.NodeID {
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		if v.IsConst() {
			ns = append(ns, r.node(v.Origin))
		}
	})
	for _, b := range op.Blocks {
		for _, inner := range b.Ops {
			ns = r.constantsOf(ns, inner)
		}
	}
	return ns
}

func (r *recorder) withList(ops []*ir.Op) []provenance.NodeID {
	ns := make([]provenance.NodeID, len(ops))
	for i, op := range ops {
		ns[i] = r.with(op)
	}
	return ns
}

// block returns the nodes of the operations of a block and the blocks in it.
func (r *recorder) block(b *ir.Block) (ns []provenance.NodeID) {
	for _, op := range b.Ops {
		ns = append(ns, r.node(op.Origin))
		for _, inner := range op.Blocks {
			ns = append(ns, r.block(inner)...)
		}
	}
	return ns
}

func (r *recorder) value(v *ir.Value) provenance.NodeID {
	if v.Def != nil {
		return r.op(v.Def)
	}
	return r.node(v.Origin)
}

func (r *recorder) opList(ops []*ir.Op) []provenance.NodeID {
	ns := make([]provenance.NodeID, len(ops))
	for i, op := range ops {
		ns[i] = r.op(op)
	}
	return ns
}

// function is the node of a function's own line.
func (r *recorder) function(f *ir.Func) provenance.NodeID {
	return r.add(provenance.Node{Statement: r.statement(&ir.Stmt{Func: f.Name, Op: ir.StmtFunc, Name: f.Name, Pos: f.Pos})})
}

// unit takes in a function that has gone through the passes.
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
	for _, p := range u.state.Func.Body.Params {
		r.value(p)
	}
	for i, st := range u.state.Steps {
		for _, op := range st.Ops {
			x := provenance.Operator{Func: u.name, Step: uint32(i), Op: op.Def.Name, Unit: op.Place.Unit.String(),
				Rule: op.Place.Rule, Reason: op.Place.Reason, Node: r.op(op), With: r.with(op)}
			if len(op.Results) > 0 {
				x.Name = op.Results[0].Name
			}
			r.db.Operators = append(r.db.Operators, x)
		}
	}
	for _, g := range u.state.Gone {
		r.db.Gone = append(r.db.Gone, provenance.Gone{Pass: g.Pass, Node: r.node(g.Origin), By: r.node(g.By)})
	}
}

// constants takes in the extents of the constant section and who reads them.
func (r *recorder) constants(sec *weights.Section, units []*unit) {
	if r == nil {
		return
	}
	// Most layouts are equal runs of bytes: they share what they are made of.
	for _, x := range sec.Extents() {
		out := provenance.Extent{Offset: uint64(x.Offset), Size: uint64(x.Size)}
		for _, rep := range x.Layout {
			runs := make([]provenance.Run, len(rep.Runs))
			for i, run := range rep.Runs {
				runs[i] = provenance.Run{Role: r.roles[run.Role], Size: run.Size}
			}
			out.Layout = append(out.Layout, provenance.Repeat{Times: rep.Times, Runs: runs})
		}
		r.extents[int64(x.Offset)] = len(r.db.Extents)
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
		// The rule made it up, of the operation and its constants.
		u.Values = r.join("", u.Node, r.with(c.Op))
	}
	if u.Bias == 0 {
		u.Bias = u.Node
	}
	u.Table = u.Node
	if c.Table != nil {
		u.Table = r.join(passFuse, r.node(c.Table.Origin))
	}
	x := &r.db.Extents[i]
	if n := len(x.Uses); n > 0 && x.Uses[n-1].Node == u.Node && x.Uses[n-1].Rule == u.Rule {
		return
	}
	x.Uses = append(x.Uses, u)
}

// addresses of a task: the fields that name a buffer, and the one that holds the
// offset in it.
var streams = []struct{ enable, bar, base td.Field }{
	{td.RBE0, td.RBase0, td.SrcBase},
	{td.RBE1, td.RBase1, td.Src2Base},
	{td.WBE, td.WBase, td.DstBase},
}

// procedure takes in a procedure whose tasks lie at the given offsets.
func (r *recorder) procedure(u *unit, p *lower.Procedure, step int, offs []int) {
	if r == nil {
		return
	}
	st := u.state.Steps[step]
	n := r.join(passSteps, r.opList(st.Ops)...)
	r.steps[p] = [2]provenance.NodeID{n, r.join("", r.withList(st.Ops)...)}
	at := uint32(len(r.db.Procedures))
	r.db.Procedures = append(r.db.Procedures, provenance.Procedure{Name: p.Name, Func: u.name, Step: uint32(step), Node: n})
	surface := map[int]uint64{} // by buffer-access register
	port := func(s *lower.Surface, output bool) {
		surface[s.Bar] = uint64(len(r.db.Surfaces))
		r.db.Surfaces = append(r.db.Surfaces, provenance.Surface{Procedure: at, Name: s.Name, Output: output, Value: s.Value.Name, Size: uint64(s.Size), Node: r.join(passSteps, r.value(s.Value))})
	}
	for i := range p.Inputs {
		port(&p.Inputs[i], false)
	}
	for i := range p.Outputs {
		port(&p.Outputs[i], true)
	}
	for i, t := range p.Tasks {
		x := provenance.Task{Procedure: at, Index: uint32(i), Offset: uint64(offs[i]), Words: uint32(t.Words()), Node: r.op(p.Infos[i].Op), With: r.with(p.Infos[i].Op), Rule: p.Infos[i].Rule}
		link := func(bar int, base td.Field) {
			w, ok := t.WordIndex(base)
			if !ok {
				return
			}
			l := provenance.Link{Word: uint32(w), Target: uint64(t.Get(base))}
			switch bar {
			case lower.BarConstants:
				l.Kind = provenance.LinkConstant
			case lower.BarScratch:
				l.Kind = provenance.LinkScratch
			default:
				s, ok := surface[bar]
				if !ok {
					return
				}
				l.Kind, l.Target = provenance.LinkSurface, s
			}
			x.Links = append(x.Links, l)
		}
		if i+1 < len(p.Tasks) {
			if w, ok := t.WordIndex(td.NextPointer); ok {
				x.Links = append(x.Links, provenance.Link{Word: uint32(w), Kind: provenance.LinkTask, Target: uint64(offs[i+1])})
			}
		}
		for _, s := range streams {
			if t.On(s.enable) {
				link(t.Int(s.bar), s.base)
			}
		}
		if t.On(td.KBE0) {
			for lane := range td.Lanes {
				if t.On(td.CoeffEn.At(lane)) {
					link(t.Int(td.KBase0), td.CoeffBase.At(lane))
				}
			}
		}
		slices.SortStableFunc(x.Links, func(a, b provenance.Link) int { return int(a.Word) - int(b.Word) })
		r.db.Tasks = append(r.db.Tasks, x)
	}
}

// idle takes in the container of a program that leaves the engine alone: it
// belongs to the function.
func (r *recorder) idle(img *hwx.Image, u *unit) {
	if r == nil {
		return
	}
	n := r.join(passSteps, r.function(u.state.Func))
	e := &img.Procedures[0]
	r.db.Procedures = append(r.db.Procedures, provenance.Procedure{Name: e.Name, Func: u.name, Node: n})
	for _, s := range img.Surfaces {
		r.db.Surfaces = append(r.db.Surfaces, provenance.Surface{Name: s.Name, Output: s.Binding == hwx.BindOutput, Size: s.Size, Node: n})
	}
	r.db.Tasks = append(r.db.Tasks, provenance.Task{Words: e.FirstWords, Node: n, Rule: RuleIdle})
}

// finish fills in what the written container knows.
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

// note says what the operation that the chain has appended last came from: the
// values, the operations and the origins, and what was read through on the way.
func (c *chain) note(rule string, ns ...provenance.NodeID) {
	r := c.d.prov
	if r == nil {
		return
	}
	ns = append(ns, r.opList(c.through)...)
	index := c.ops
	c.ops++
	b := &c.f.Blocks[len(c.f.Blocks)-1]
	op := &b.Operations[len(b.Operations)-1]
	r.db.Operations = append(r.db.Operations, provenance.Operation{Func: c.u.name, Index: uint32(index), Name: op.Name, Kind: op.Type.String(), Rule: rule, Node: r.join(passSteps, ns...)})
}

// noteWith adds to the last note the constants that its operations name.
func (c *chain) noteWith(n provenance.NodeID) {
	ops := c.d.prov.db.Operations
	ops[len(ops)-1].With = n
}

// madeOf returns the node of a value, none without a recorder.
func (c *chain) madeOf(v *ir.Value) provenance.NodeID {
	if c.d.prov == nil {
		return 0
	}
	return c.d.prov.value(v)
}
