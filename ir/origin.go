package ir

// Stmt is a statement of the source: an operation, a constant or a parameter.
type Stmt struct {
	Func string // function it is in
	Op   string // what it computes; StmtConst, StmtParam and StmtFunc are no operations
	Name string // of its first result, as the source has it
	Pos  Pos    // zero where the source has no lines
	Type Type   // of a constant
	// Args are the origins of the constants that an operation names, its
	// attributes among them.
	Args []*Origin
}

// What a statement is that is not an operation.
const (
	StmtConst = "const"
	StmtParam = "input"
	StmtFunc  = "func"
)

// Origin says what an operation or a constant came from: a statement of the
// source as it stands, or what a pass made of other origins. An origin never
// changes once it is made, so that many operations share one, and each refers only to older
// ones: together they are a graph without cycles, whose size is linear in what
// the passes did.
type Origin struct {
	Stmt *Stmt  // nil for what a pass made
	Pass string // pass that made or changed it; "" for a statement
	From []*Origin
}

// Derive returns the origin of what a pass makes of others; those that are nil
// or stand twice are left out. Without any it returns nil.
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

// contains looks at the last few only: an operation with thousands of operands
// must not cost their square, and an origin that stands twice does no harm.
func contains(os []*Origin, o *Origin) bool {
	const few = 16
	for i := len(os) - 1; i >= max(len(os)-few, 0); i-- {
		if os[i] == o {
			return true
		}
	}
	return false
}

// Source returns the origin of a value: its own for a constant or a parameter,
// that of its operation otherwise; nil where none was recorded.
func (v *Value) Source() *Origin {
	if v == nil {
		return nil
	}
	if v.Origin == nil && v.Def != nil {
		return v.Def.Origin
	}
	return v.Origin
}

// RecordOrigins gives every operation, constant and parameter of f the origin
// of its statement, where it has none. A constant that is in an argument
// belongs to the statement of the operation.
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
	case v.Origin != nil:
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
