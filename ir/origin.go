package ir

// Stmt is a statement of the source: an operation, a constant or a parameter.
type Stmt struct {
	Func string // function it is in
	Op   string // name of the operation, or StmtConst, StmtParam or StmtFunc
	Name string // name of its first result, as in the source
	Pos  Pos    // zero if the source has no lines
	Type Type   // of a constant
	// Args are the origins of the constants among an operation's arguments, including attributes.
	Args []*Origin
}

// Values of Stmt.Op for statements that are not operations.
const (
	StmtConst = "const"
	StmtParam = "input"
	StmtFunc  = "func"
)

// Origin is what an operation or a constant came from: an unchanged statement of the source, or
// other origins that a pass combined. Origins are immutable, so that operations can share them, and
// refer only to older ones: they form an acyclic graph, whose size is linear in the work of the
// passes.
type Origin struct {
	Stmt *Stmt  // nil if a pass created it
	Pass string // pass that created or changed it; "" for a statement
	From []*Origin
}

// Derive returns the origin of something that a pass derived from others. It omits nil and
// duplicate origins, and returns nil if none is left.
func Derive(pass string, from ...*Origin) *Origin {
	o := &Origin{Pass: pass}
	for _, f := range from {
		if f != nil && !contains(o.From, f) {
			o.From = append(o.From, f)
		}
	}
	switch {
	case len(o.From) == 0:
		return nil
	case len(o.From) == 1 && o.From[0].Pass == pass:
		return o.From[0]
	}
	return o
}

// contains checks only the last few origins, so that an operation with thousands of operands does
// not take quadratic time; a duplicate does no harm.
func contains(os []*Origin, o *Origin) bool {
	const few = 16
	for i := len(os) - 1; i >= max(len(os)-few, 0); i-- {
		if os[i] == o {
			return true
		}
	}
	return false
}

// Source returns the origin of a value: its own for a constant or a parameter, its operation's otherwise; nil if none
// was recorded.
func (v *Value) Source() *Origin {
	if v == nil {
		return nil
	}
	if v.Origin == nil && v.Def != nil {
		return v.Def.Origin
	}
	return v.Origin
}

// RecordOrigins sets the origins of operations, constants and parameters of f without one to their
// statements. A constant that is written in an argument belongs to the statement of the operation.
func RecordOrigins(f *Func) {
	o := &originRecorder{fn: f.Name}
	for _, p := range f.Body.Params {
		o.value(p, StmtParam, nil)
	}
	o.block(f.Body)
}

type originRecorder struct{ fn string }

func (r *originRecorder) value(v *Value, what string, user *Origin) {
	switch {
	case v.Origin != nil && (v.Origin.Stmt != nil || len(v.Origin.From) > 0): // otherwise it was forgotten
	case user != nil && v.Name == "":
		v.Origin = user
	default:
		s := &Stmt{Func: r.fn, Op: what, Name: v.Name, Pos: v.Pos}
		if what == StmtConst {
			s.Type = v.Type
		}
		v.Origin = &Origin{Stmt: s}
	}
}

func (r *originRecorder) block(b *Block) {
	for _, op := range b.Ops {
		if op.Origin != nil {
			continue
		}
		s := &Stmt{Func: r.fn, Op: op.Def.Name, Name: op.Name, Pos: op.Pos}
		if len(op.Results) > 0 {
			s.Name = op.Results[0].Name
		}
		op.Origin = &Origin{Stmt: s}
		for _, a := range op.Args {
			for _, v := range a {
				if !v.IsConst() {
					continue
				}
				r.value(v, StmtConst, op.Origin)
				if v.Origin != op.Origin {
					s.Args = append(s.Args, v.Origin)
				}
			}
		}
		for _, n := range op.Blocks {
			r.block(n)
		}
	}
	for _, v := range b.Outputs {
		if v.IsConst() {
			r.value(v, StmtConst, nil)
		}
	}
}
