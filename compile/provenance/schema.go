package provenance

import "github.com/zinc-compiler/zinc/internal/flattable"

// The kinds of fields.
const (
	i32    = flattable.Int32
	u32    = flattable.Uint32
	u64    = flattable.Uint64
	truth  = flattable.Uint8  // 0 or 1
	text   = flattable.Uint32 // index into the strings of the file
	nodeID = flattable.Uint32 // index into the nodes
	subs   = flattable.Subs
)

var opt = flattable.Opt

// The tables of a file. A table has the fields of the Go struct of the same name, in the same order. A later revision
// appends fields to both.
var (
	statementTable = record("Statement", opt("file", i32), opt("line", i32), opt("col", i32), opt("func", text),
		opt("op", text), opt("name", text), opt("args", flattable.Int32s), opt("type", text),
		opt("shape", flattable.Uint64s))
	nodeTable     = record("Node", opt("statement", i32), opt("pass", text), opt("from", flattable.Uint32s))
	operatorTable = record("Operator", opt("func", text), opt("step", u32), opt("op", text), opt("name", text),
		opt("unit", text), opt("rule", text), opt("reason", text), opt("node", nodeID), opt("with", nodeID),
		opt("transposed", truth))
	goneTable      = record("Gone", opt("pass", text), opt("node", nodeID), opt("by", nodeID))
	procedureTable = record("Procedure", opt("name", text), opt("func", text), opt("step", u32), opt("node", nodeID))
	linkTable      = record("Link", opt("word", u32), opt("kind", flattable.Uint8), opt("target", u64))
	taskTable      = record("Task", opt("procedure", u32), opt("index", u32), opt("offset", u64), opt("words", u32),
		opt("node", nodeID), opt("with", nodeID), opt("rule", text), opt("links", subs, linkTable))
	runTable    = record("Run", opt("role", text), opt("size", u32))
	repeatTable = record("Repeat", opt("times", u32), opt("runs", subs, runTable))
	useTable    = record("Use", opt("node", nodeID), opt("rule", text), opt("values", nodeID), opt("bias", nodeID),
		opt("table", nodeID))
	extentTable = record("Extent", opt("offset", u64), opt("size", u64), opt("layout", subs, repeatTable),
		opt("uses", subs, useTable))
	surfaceTable = record("Surface", opt("procedure", u32), opt("name", text), opt("output", truth), opt("value", text),
		opt("address", u64), opt("size", u64), opt("node", nodeID))
	operationTable = record("Operation", opt("func", text), opt("index", u32), opt("name", text), opt("kind", text),
		opt("rule", text), opt("node", nodeID), opt("with", nodeID))

	databaseTable = record("DB", opt("compiler", flattable.String), opt("target", flattable.String),
		opt("sha256", flattable.Bytes), opt("passes", flattable.Texts), opt("files", flattable.Texts),
		opt("text_size", u64), opt("constant_size", u64), opt("statements", subs, statementTable),
		opt("nodes", subs, nodeTable), opt("operators", subs, operatorTable), opt("gone", subs, goneTable),
		opt("procedures", subs, procedureTable), opt("tasks", subs, taskTable), opt("extents", subs, extentTable),
		opt("surfaces", subs, surfaceTable), opt("operations", subs, operationTable))

	fileTable = &flattable.Table{Name: "File", Identifier: identifier, Sparse: true, Fields: []flattable.Field{
		opt("revision", u32), opt("strings", flattable.Texts), flattable.Req("db", flattable.Sub, databaseTable)}}
)

// record returns a table whose fields are omitted where they are 0 or empty.
func record(name string, fields ...flattable.Field) *flattable.Table {
	return &flattable.Table{Name: name, Fields: fields, Sparse: true}
}
