package provenance

import "fmt"

// View is the JSON format of a DB. Fields may be added; none change their meaning.
// Statements are indices into the list of statements. Nodes is the graph from which
// the short lists of statements and passes were collected.
type View struct {
	Compiler      string          `json:"compiler"`
	Target        string          `json:"target"`
	SHA256        string          `json:"container_sha256"`
	Passes        []string        `json:"passes"`
	Files         []string        `json:"files"`
	TextBytes     uint64          `json:"text_bytes"`
	ConstantBytes uint64          `json:"constant_bytes"`
	Statements    []StatementView `json:"statements"`
	Nodes         []NodeView      `json:"nodes"`
	Operators     []OperatorView  `json:"operators"`
	Gone          []GoneView      `json:"gone"`
	Procedures    []ProcedureView `json:"procedures"`
	Tasks         []TaskView      `json:"tasks"`
	Constants     []ExtentView    `json:"constants"`
	Surfaces      []SurfaceView   `json:"surfaces"`
	Operations    []OperationView `json:"operations"`
}

// StatementView is a statement of the source.
type StatementView struct {
	File   string `json:"file,omitempty"`
	Line   int32  `json:"line,omitempty"`
	Column int32  `json:"column,omitempty"`
	Func   string `json:"function"`
	Op     string `json:"op"`
	Name   string `json:"name"`
	// Args are the constants that an operation names.
	Args []int32 `json:"constants,omitempty"`
	// Type and Shape are those of a constant; a scalar has no Shape.
	Type  string  `json:"type,omitempty"`
	Shape []int64 `json:"shape,omitempty"`
}

// NodeView is a node of the graph; the first node represents nothing.
type NodeView struct {
	Statement *int32   `json:"statement,omitempty"`
	Pass      string   `json:"pass,omitempty"`
	From      []NodeID `json:"from,omitempty"`
}

// SourceView is the origin of something.
type SourceView struct {
	Node       NodeID   `json:"node"`
	Statements []int    `json:"statements"`
	Users      []int    `json:"users,omitempty"`
	With       []int    `json:"with,omitempty"`
	Passes     []string `json:"passes,omitempty"`
	Rule       string   `json:"rule,omitempty"`
	More       bool     `json:"more,omitempty"` // some statements are omitted; they are in the graph
}

// OperatorView is an operation of the lowered program.
type OperatorView struct {
	Func   string     `json:"function"`
	Step   uint32     `json:"step"`
	Op     string     `json:"op"`
	Name   string     `json:"name"`
	Unit   string     `json:"unit"`
	Reason string     `json:"reason,omitempty"`
	Source SourceView `json:"source"`
}

// GoneView is an operation that a pass removed.
type GoneView struct {
	Pass   string      `json:"pass"`
	Source SourceView  `json:"source"`
	By     *SourceView `json:"by,omitempty"`
}

// ProcedureView is one entry of the container.
type ProcedureView struct {
	Name string `json:"name"`
	Func string `json:"function"`
	Step uint32 `json:"step"`
	Node NodeID `json:"node"`
}

// TaskView is one task.
type TaskView struct {
	Procedure string     `json:"procedure"`
	Index     uint32     `json:"index"`
	Offset    uint64     `json:"offset"`
	Words     uint32     `json:"words"`
	Source    SourceView `json:"source"`
	Links     []LinkView `json:"links,omitempty"`
}

// LinkView is a word of a task that is an address.
type LinkView struct {
	Word    uint32  `json:"word"`
	Kind    string  `json:"kind"`
	Surface string  `json:"surface,omitempty"`
	Offset  *uint64 `json:"offset,omitempty"`
}

// ExtentView is one stored constant.
type ExtentView struct {
	Offset uint64       `json:"offset"`
	Size   uint64       `json:"size"`
	Layout []RepeatView `json:"layout"`
	Roles  []RoleView   `json:"roles"`
}

// RepeatView is a sequence of runs, repeated Times times.
type RepeatView struct {
	Times uint32    `json:"times"`
	Runs  []RunView `json:"runs"`
}

// RunView is a run of bytes of one role.
type RunView struct {
	Role string `json:"role"`
	Size uint32 `json:"size"`
}

// RoleView has the origins of an extent's bytes of one role, one source for each user.
type RoleView struct {
	Role    string       `json:"role"`
	Bytes   uint64       `json:"bytes"`
	Sources []SourceView `json:"sources"`
}

// SurfaceView is one port of a procedure.
type SurfaceView struct {
	Procedure string     `json:"procedure"`
	Name      string     `json:"name"`
	Output    bool       `json:"output"`
	Value     string     `json:"value"`
	Address   uint64     `json:"address"`
	Size      uint64     `json:"size"`
	Source    SourceView `json:"source"`
}

// OperationView is one operation of the descriptor.
type OperationView struct {
	Func   string     `json:"function"`
	Index  uint32     `json:"index"`
	Name   string     `json:"name"`
	Kind   string     `json:"kind"`
	Source SourceView `json:"source"`
}

// SourceView returns the JSON format of an answer.
func (db *DB) SourceView(r Ref) SourceView {
	s := db.Brief(r, briefNodes)
	v := SourceView{
		Node:       r.Node,
		Statements: s.Statements,
		Users:      s.Users,
		With:       s.With,
		Passes:     s.Passes,
		Rule:       s.Rule,
		More:       s.More,
	}
	if v.Statements == nil {
		v.Statements = []int{}
	}
	return v
}

// View returns the JSON format of a database.
func (db *DB) View() *View {
	v := &View{
		Compiler: db.Compiler, Target: db.Target, SHA256: fmt.Sprintf("%x", db.SHA256), Passes: append([]string{},
			db.Passes...), Files: append([]string{}, db.Files...),
		TextBytes: db.TextSize, ConstantBytes: db.ConstantSize,
		Statements: []StatementView{}, Nodes: []NodeView{}, Operators: []OperatorView{}, Gone: []GoneView{},
		Procedures: []ProcedureView{},
		Tasks:      []TaskView{}, Constants: []ExtentView{}, Surfaces: []SurfaceView{}, Operations: []OperationView{},
	}
	for i := range db.Statements {
		s := &db.Statements[i]
		v.Statements = append(v.Statements, StatementView{
			File:   db.File(s),
			Line:   s.Line,
			Column: s.Col,
			Func:   s.Func,
			Op:     s.Op,
			Name:   s.Name,
			Args:   s.Args,
			Type:   s.Type,
			Shape:  s.Shape,
		})
	}
	for i := range db.Nodes {
		n := &db.Nodes[i]
		x := NodeView{Pass: n.Pass, From: n.From}
		if n.Statement >= 0 {
			x.Statement = &n.Statement
		}
		v.Nodes = append(v.Nodes, x)
	}
	for i := range db.Operators {
		o := &db.Operators[i]
		v.Operators = append(v.Operators, OperatorView{
			Func:   o.Func,
			Step:   o.Step,
			Op:     o.Op,
			Name:   o.Name,
			Unit:   o.Unit,
			Reason: o.Reason,
			Source: db.SourceView(o.Ref()),
		})
	}
	for i := range db.Gone {
		g := &db.Gone[i]
		x := GoneView{Pass: g.Pass, Source: db.SourceView(Ref{Node: g.Node})}
		if g.By != 0 {
			by := db.SourceView(Ref{Node: g.By})
			x.By = &by
		}
		v.Gone = append(v.Gone, x)
	}
	for _, p := range db.Procedures {
		v.Procedures = append(v.Procedures, ProcedureView(p))
	}
	for i := range db.Tasks {
		v.Tasks = append(v.Tasks, db.TaskView(i))
	}
	for i := range db.Extents {
		v.Constants = append(v.Constants, db.extentView(&db.Extents[i]))
	}
	for i := range db.Surfaces {
		s := &db.Surfaces[i]
		v.Surfaces = append(v.Surfaces, SurfaceView{
			Procedure: db.Procedures[s.Procedure].Name,
			Name:      s.Name,
			Output:    s.Output,
			Value:     s.Value,
			Address:   s.Address,
			Size:      s.Size,
			Source:    db.SourceView(s.Ref()),
		})
	}
	for i := range db.Operations {
		o := &db.Operations[i]
		v.Operations = append(v.Operations, OperationView{
			Func:   o.Func,
			Index:  o.Index,
			Name:   o.Name,
			Kind:   o.Kind,
			Source: db.SourceView(o.Ref()),
		})
	}
	return v
}

// TaskView returns the JSON format of a task, given as an index into DB.Tasks.
func (db *DB) TaskView(i int) TaskView {
	t := &db.Tasks[i]
	x := TaskView{
		Procedure: db.Procedures[t.Procedure].Name,
		Index:     t.Index,
		Offset:    t.Offset,
		Words:     t.Words,
		Source:    db.SourceView(t.Ref()),
	}
	for k := range t.Links {
		l := &t.Links[k]
		y := LinkView{Word: l.Word, Kind: l.Kind.String(), Offset: &l.Target}
		if l.Kind == LinkSurface {
			y.Surface, y.Offset = db.Surfaces[l.Target].Name, nil
		}
		x.Links = append(x.Links, y)
	}
	return x
}

func (db *DB) extentView(x *Extent) ExtentView {
	v := ExtentView{Offset: x.Offset, Size: x.Size, Layout: []RepeatView{}, Roles: []RoleView{}}
	for _, r := range x.Layout {
		y := RepeatView{Times: r.Times}
		for _, run := range r.Runs {
			y.Runs = append(y.Runs, RunView(run))
		}
		v.Layout = append(v.Layout, y)
	}
	for _, role := range x.Roles() {
		y := RoleView{Role: role, Bytes: x.bytesOf(role), Sources: []SourceView{}}
		for _, r := range x.Refs(role) {
			y.Sources = append(y.Sources, db.SourceView(r))
		}
		v.Roles = append(v.Roles, y)
	}
	return v
}
