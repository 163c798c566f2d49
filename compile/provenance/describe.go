package provenance

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/zinc-compiler/zinc/internal/node"
)

// List is a list of a database. Its items are described one at a time, so that a large database needs no tree in
// memory.
type List struct {
	Key   string // in JSON
	Title string // in text, "" of a list that only JSON has
	Len   int
	Item  func(i int) *node.Node
}

// Print writes the database as text.
func (db *DB) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	if err := db.Head().WriteText(b); err != nil {
		return err
	}
	for _, l := range db.Lists() {
		if l.Title == "" {
			continue
		}
		fmt.Fprintf(b, "\n%s: %d\n", l.Title, l.Len)
		for i := range l.Len {
			if err := l.Item(i).WriteText(b); err != nil {
				return err
			}
		}
	}
	return b.Flush()
}

// Head describes what a database is of.
func (db *DB) Head() *node.Node {
	return node.Row("", "debug database, {compiler} for {target}, of the container with SHA-256 {container_sha256}\n"+
		"{+passes}files: {-}\n{+files}{text_bytes:#x} bytes of tasks, {constant_bytes:#x} bytes of constants; "+
		"{-} statements, {-} nodes\n", db.Compiler, db.Target, fmt.Sprintf("%x", db.SHA256),
		append([]string{}, db.Passes...), strings.Join(db.Files, ", "), append([]string{}, db.Files...), db.TextSize,
		db.ConstantSize, len(db.Statements), len(db.Nodes)-1)
}

// Lists returns the lists of a database. Statements are indices into the first of them. Nodes is the graph from which
// the short lists of statements and passes were collected.
func (db *DB) Lists() []List {
	return []List{
		{"statements", "statements", len(db.Statements), db.statement},
		{"nodes", "", len(db.Nodes), db.node},
		{"operators", "operations as lowered", len(db.Operators), db.operator},
		{"gone", "operations removed by passes", len(db.Gone), db.removed},
		{"procedures", "", len(db.Procedures), db.procedure},
		{"tasks", "tasks", len(db.Tasks), db.TaskNode},
		{"constants", "constants", len(db.Extents), db.extent},
		{"surfaces", "surfaces", len(db.Surfaces), db.surface},
		{"operations", "operations of the descriptor", len(db.Operations), db.operation},
	}
}

func (db *DB) statement(i int) *node.Node {
	s := &db.Statements[i]
	file := db.File(s)
	return node.Row("", "{-} {-}{-} in {-}\n", i, db.StatementString(i), s.typeString(), s.Func).
		AddIf(file != "", node.Value("file", file)).
		AddIf(s.Line != 0, node.Value("line", s.Line)).
		AddIf(s.Col != 0, node.Value("column", s.Col)).
		Add(node.Value("function", s.Func), node.Value("op", s.Op), node.Value("name", s.Name)).
		AddIf(len(s.Args) > 0, node.Value("constants", s.Args)).
		AddIf(s.Type != "", node.Value("type", s.Type)).
		AddIf(len(s.Shape) > 0, node.Value("shape", s.Shape))
}

func (db *DB) node(i int) *node.Node {
	n := &db.Nodes[i]
	return node.Object("").
		AddIf(n.Statement >= 0, node.Value("statement", n.Statement)).
		AddIf(n.Pass != "", node.Value("pass", n.Pass)).
		AddIf(len(n.From) > 0, node.Value("from", n.From))
}

func (db *DB) operator(i int) *node.Node {
	o := &db.Operators[i]
	return node.Row("", "{function} step {step} {op} {name:q} on {unit}", o.Func, o.Step, o.Op, o.Name, o.Unit).
		AddIf(o.Reason != "", node.Row("", ": {reason}", o.Reason)).
		Add(node.Text("\n"), db.source("source", "  ", o.Ref()))
}

func (db *DB) removed(i int) *node.Node {
	g := &db.Gone[i]
	n := node.Row("", "by {pass}\n", g.Pass).Add(db.source("source", "  ", Ref{Node: g.Node}))
	if g.By != 0 {
		n.Add(db.source("by", "  replaced by: ", Ref{Node: g.By}))
	}
	return n
}

func (db *DB) procedure(i int) *node.Node {
	p := &db.Procedures[i]
	return node.Row("", "{+name}{+function}{+step}{+node}", p.Name, p.Func, p.Step, p.Node)
}

// TaskNode describes a task, an index into DB.Tasks.
func (db *DB) TaskNode(i int) *node.Node {
	t := &db.Tasks[i]
	n := node.Row("", "{procedure} task {index} at {-:#x}, {+offset}{words} words\n", db.Procedures[t.Procedure].Name,
		t.Index, t.Offset, t.Offset, t.Words).Add(db.source("source", "  ", t.Ref()))
	for _, l := range t.Links {
		n.Add(node.Row("", "  word {-} points at {-}\n", l.Word, db.LinkString(l)))
	}
	return n.AddIf(len(t.Links) > 0, node.Value("links", db.Links(t)))
}

// LinkView is a word of a task that is an address, in JSON.
type LinkView struct {
	Word    uint32  `json:"word"`
	Kind    string  `json:"kind"`
	Surface string  `json:"surface,omitempty"`
	Offset  *uint64 `json:"offset,omitempty"`
}

// Links returns the words of a task that are addresses.
func (db *DB) Links(t *Task) []LinkView {
	out := make([]LinkView, len(t.Links))
	for i := range t.Links {
		l := &t.Links[i]
		out[i] = LinkView{Word: l.Word, Kind: l.Kind.String(), Offset: &l.Target}
		if l.Kind == LinkSurface {
			out[i].Surface, out[i].Offset = db.Surfaces[l.Target].Name, nil
		}
	}
	return out
}

func (db *DB) extent(i int) *node.Node {
	x := &db.Extents[i]
	roles := node.List("roles")
	for _, role := range x.Roles() {
		n := node.Row("", "  {role}, {bytes} bytes\n", role, x.bytesOf(role))
		sources := node.List("sources")
		for _, r := range x.Refs(role) {
			sources.Add(node.Value("", db.SourceView(r)))
			if role != RolePadding && role != RoleReserved {
				n.Add(db.lines("    ", r))
			}
		}
		roles.Add(n.Add(sources))
	}
	return node.Row("", "{-:#x}, {+offset}{size} bytes\n", x.Offset, x.Offset, x.Size).
		Add(node.Value("layout", append([]Repeat{}, x.Layout...)), roles)
}

func (db *DB) surface(i int) *node.Node {
	s := &db.Surfaces[i]
	way := "input"
	if s.Output {
		way = "output"
	}
	return node.Row("", "{procedure} {-} {name:q}{+output} at {-:#x}, {-} bytes, value {value:q}\n{+address}{+size}",
		db.Procedures[s.Procedure].Name, way, s.Name, s.Output, s.Address, s.Size, s.Value, s.Address, s.Size).
		Add(db.source("source", "  ", s.Ref()))
}

func (db *DB) operation(i int) *node.Node {
	o := &db.Operations[i]
	return node.Row("", "{function} {index} {name}\n{+kind}", o.Func, o.Index, o.Name, o.Kind).
		Add(db.source("source", "  ", o.Ref()))
}

// source describes an answer: lines of text, and a SourceView in JSON.
func (db *DB) source(key, indent string, r Ref) *node.Node {
	return node.Object("", node.Value(key, db.SourceView(r)), db.lines(indent, r))
}

// printed is the number of statements printed for one answer.
const printed = 12

// lines are the lines of an answer, which JSON has not.
func (db *DB) lines(indent string, r Ref) *node.Node {
	n := node.Object("")
	for _, l := range db.SourceLines(db.Brief(r, briefNodes), printed) {
		n.Add(node.Row("", indent+"{-}\n", l))
	}
	return n
}

// SourceView is the origin of something, in JSON.
type SourceView struct {
	Node NodeID `json:"node"`
	Source
}

// SourceView returns the JSON format of an answer.
func (db *DB) SourceView(r Ref) SourceView {
	v := SourceView{r.Node, db.Brief(r, briefNodes)}
	if v.Statements == nil {
		v.Statements = []int{}
	}
	return v
}
