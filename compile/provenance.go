package compile

import (
	"cmp"
	"hash/maphash"
	"path/filepath"
	"slices"

	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/passes"
)

// Rules that are not lowering rules: they name the part of the compiler that emits a task or an operation of the
// descriptor.
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

// Passes that the recorder names for decisions of package passes that create no operations.
const (
	passFuse      = "fuse-epilogue"
	passPlace     = "place"
	passPartition = "partition"
)

// recorder fills a provenance database while a pair is compiled. A recorder is nil if no database was requested; its
// methods then do nothing.
type recorder struct {
	codec   *td.Codec
	db      *provenance.DB
	seed    maphash.Seed
	stmts   map[uint64]int32 // by the hash of the key, or the next free number after it
	nodes   map[*ir.Origin]provenance.NodeID
	ops     map[*ir.Op]provenance.NodeID // placed, with what is fused
	withs   map[*ir.Op]provenance.NodeID // constants that they name
	lead    map[*ir.Op]*ir.Op
	fused   map[*ir.Op][]*ir.Op
	steps   map[*lower.Procedure][2]provenance.NodeID // node and constants
	tasks   int                                       // in db that belong to procedures of db
	extents map[int64]int                             // by offset
	roles   [weights.NumRoles]string
	states  map[*ir.Value]provenance.NodeID // parameters that are states
}

// statementKey identifies a statement. Configurations of one function share statements.
type statementKey struct {
	fn, op, name    string
	file, line, col int32
}

func keyOf(x *provenance.Statement) statementKey {
	return statementKey{fn: x.Func, op: x.Op, name: x.Name, file: x.File, line: x.Line, col: x.Col}
}

func newRecorder(p *ir.Program, d *driver) *recorder {
	r := &recorder{
		codec: d.codec,
		db: &provenance.DB{
			Compiler: "zinc " + Version,
			Target:   d.o.Target.Name,
			Passes:   passes.Names(),
			Nodes:    []provenance.Node{{Statement: -1}},
		},
		states: map[*ir.Value]provenance.NodeID{},
		seed:   maphash.MakeSeed(),
		stmts:  map[uint64]int32{}, nodes: map[*ir.Origin]provenance.NodeID{},
		ops: map[*ir.Op]provenance.NodeID{}, withs: map[*ir.Op]provenance.NodeID{},
		lead: map[*ir.Op]*ir.Op{}, fused: map[*ir.Op][]*ir.Op{}, steps: map[*lower.Procedure][2]provenance.NodeID{},
		extents: map[int64]int{},
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
	x := provenance.Statement{Func: s.Func, Op: s.Op, Name: s.Name}
	if s.Pos.IsValid() && int(s.Pos.File) < len(r.db.Files) {
		x.File, x.Line, x.Col = s.Pos.File, s.Pos.Line, max(s.Pos.Col, 0)
	}
	k := keyOf(&x)
	at := maphash.Comparable(r.seed, k)
	for ; ; at++ {
		i, ok := r.stmts[at]
		if !ok {
			break
		}
		if keyOf(&r.db.Statements[i]) == k {
			return i
		}
	}
	i := int32(len(r.db.Statements))
	r.stmts[at] = i
	if s.Op == ir.StmtConst {
		x.Type, x.Shape = s.Type.DType.String(), append([]int64(nil), s.Type.Shape...)
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
	if r == nil {
		return
	}
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
	for to, from := range order {
		at[from] = int32(to)
	}
	if !slices.IsSorted(order) { // mostly it is, and a copy is large
		r.db.Statements = make([]provenance.Statement, len(old))
		for to, from := range order {
			r.db.Statements[to] = old[from]
		}
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

// node returns the node of an origin; the origins that it was made of are added first. The walk keeps its own stack,
// because the chain of origins may be as long as the program.
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

// join returns a node made of others. It creates no new node if there is only one.
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

// op returns the node of a placed operation; if the operation is fused, the rule of the operation it runs with.
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

// with returns the node of the constants that a placed operation names; if the operation is fused, the ones of the
// operation it runs with.
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
	if n, ok := r.states[v]; ok {
		return n
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

// function returns the node of a function's own line.
func (r *recorder) function(f *ir.Func) provenance.NodeID {
	return r.add(provenance.Node{Statement: r.statement(&ir.Stmt{
		Func: f.Name,
		Op:   ir.StmtFunc,
		Name: f.Name,
		Pos:  f.Pos,
	})})
}
