package provenance

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// bucket is the name of the only bucket; it ends in the version of the records. A
// file of another version is refused. The version increases when an old reader would
// misinterpret the records.
const (
	bucketPrefix = "zinc.provenance."
	bucket       = bucketPrefix + "1"
)

// Revision counts the additions to the version: fields at the end of records, kinds
// of records after the others, kinds of links. In a file of a later revision, unknown
// additions are ignored; in a file of an older revision, missing fields are zero.
// docs/provenance.md lists what each revision added.
const Revision = 1

// A key is the kind of a record and its number, big endian.
const keySize = 5

type recordKind byte

// Kinds of records, in the order of their keys.
const (
	recHeader recordKind = iota + 1
	recFile
	recString
	recStatement
	recNode
	recOperator
	recGone
	recProcedure
	recTask
	recExtent
	recSurface
	recOperation
	numRecords
)

// codec writes or reads the fields of records. Both use the same code, so that the
// order of the fields is the same. Numbers are varints; texts are indices into the
// list of strings.
type codec struct {
	b       []byte
	reading bool
	off     int64 // when reading, offset of b in the file
	field   string
	err     error
	// revision is the revision of the file when reading.
	revision uint64

	strings []string
	ids     map[string]uint64 // used when writing
}

func (c *codec) fail(msg string) {
	if c.err == nil {
		c.err = badf(c.off, c.field, "%s", msg)
	}
}

// u64 codes one number up to limit.
func (c *codec) u64(v *uint64, limit uint64) {
	if !c.reading {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	if c.err != nil {
		*v = 0
		return
	}
	x, n := binary.Uvarint(c.b)
	if n <= 0 || x > limit {
		c.fail(fmt.Sprintf("a number is missing or exceeds its limit of %d", limit))
		*v = 0
		return
	}
	c.b = c.b[n:]
	*v = x
}

func number[T ~uint8 | ~uint32 | ~uint64 | ~int32 | ~int64](c *codec, v *T, limit uint64) {
	x := uint64(*v)
	c.u64(&x, limit)
	*v = T(x)
}

// has reports whether the record contains the fields added by a revision.
func (c *codec) has(revision uint64) bool { return !c.reading || c.revision >= revision }

// later reports whether the file is of a later revision than this package knows.
func (c *codec) later() bool { return c.revision > Revision }

func (c *codec) u32(v *uint32)     { number(c, v, math.MaxUint32) }
func (c *codec) i32(v *int32)      { number(c, v, math.MaxInt32) }
func (c *codec) node(v *NodeID)    { number(c, v, math.MaxUint32) }
func (c *codec) address(v *uint64) { number(c, v, math.MaxInt64) }

func (c *codec) bool(v *bool) {
	x := uint64(0)
	if *v {
		x = 1
	}
	c.u64(&x, 1)
	*v = x == 1
}

// text codes a text as its index in the list of strings.
func (c *codec) text(s *string) {
	if !c.reading {
		id, ok := c.ids[*s]
		if !ok {
			id = uint64(len(c.strings))
			c.ids[*s] = id
			c.strings = append(c.strings, *s)
		}
		c.u64(&id, 0)
		return
	}
	var id uint64
	c.u64(&id, math.MaxUint32)
	if c.err == nil && id >= uint64(len(c.strings)) {
		c.fail(fmt.Sprintf("text %d, want less than %d, the number of strings", id, len(c.strings)))
	}
	if c.err == nil {
		*s = c.strings[id]
	}
}

// list codes a list whose elements take at least one byte.
func list[T any](c *codec, l *[]T, each func(c *codec, x *T)) {
	n := uint64(len(*l))
	c.u64(&n, uint64(len(c.b)))
	if c.reading && c.err == nil {
		if n > uint64(len(c.b)) {
			c.fail(fmt.Sprintf("a list of %d elements exceeds the %d bytes of its record", n, len(c.b)))
			return
		}
		*l = nil
		for range n {
			var x T
			each(c, &x)
			if c.err != nil {
				return
			}
			*l = append(*l, x)
		}
		return
	}
	for i := range *l {
		each(c, &(*l)[i])
	}
}

func (s *Statement) code(c *codec) {
	c.i32(&s.File)
	c.i32(&s.Line)
	c.i32(&s.Col)
	c.text(&s.Func)
	c.text(&s.Op)
	c.text(&s.Name)
	list(c, &s.Args, (*codec).i32)
	if c.has(1) {
		c.text(&s.Type)
		list(c, &s.Shape, func(c *codec, d *int64) { number(c, d, math.MaxInt64) })
	}
}

func (n *Node) code(c *codec) {
	s := uint32(n.Statement + 1)
	c.u32(&s)
	n.Statement = int32(s) - 1
	c.text(&n.Pass)
	list(c, &n.From, (*codec).node)
}

func (o *Operator) code(c *codec) {
	c.text(&o.Func)
	c.u32(&o.Step)
	for _, s := range [...]*string{&o.Op, &o.Name, &o.Unit, &o.Rule, &o.Reason} {
		c.text(s)
	}
	c.node(&o.Node)
	c.node(&o.With)
	if c.has(1) {
		c.bool(&o.Turned)
	}
}

func (g *Gone) code(c *codec) {
	c.text(&g.Pass)
	c.node(&g.Node)
	c.node(&g.By)
}

func (p *Procedure) code(c *codec) {
	c.text(&p.Name)
	c.text(&p.Func)
	c.u32(&p.Step)
	c.node(&p.Node)
}

func (t *Task) code(c *codec) {
	c.u32(&t.Procedure)
	c.u32(&t.Index)
	c.address(&t.Offset)
	c.u32(&t.Words)
	c.node(&t.Node)
	c.node(&t.With)
	c.text(&t.Rule)
	kinds := uint64(numLinks)
	if c.reading && c.later() {
		kinds = math.MaxUint8 + 1
	}
	list(c, &t.Links, func(c *codec, l *Link) {
		c.u32(&l.Word)
		number(c, &l.Kind, kinds-1)
		c.address(&l.Target)
	})
	if kinds > uint64(numLinks) {
		if t.Links = slices.DeleteFunc(t.Links, func(l Link) bool { return l.Kind >= numLinks }); len(t.Links) == 0 {
			t.Links = nil // as for a task without links
		}
	}
}

func (x *Extent) code(c *codec) {
	c.address(&x.Offset)
	c.address(&x.Size)
	list(c, &x.Layout, func(c *codec, r *Repeat) {
		c.u32(&r.Times)
		list(c, &r.Runs, func(c *codec, r *Run) {
			c.text(&r.Role)
			c.u32(&r.Size)
		})
	})
	list(c, &x.Uses, func(c *codec, u *Use) {
		c.node(&u.Node)
		c.text(&u.Rule)
		c.node(&u.Values)
		c.node(&u.Bias)
		c.node(&u.Table)
	})
}

func (s *Surface) code(c *codec) {
	c.u32(&s.Procedure)
	c.text(&s.Name)
	c.bool(&s.Output)
	c.text(&s.Value)
	c.address(&s.Address)
	c.address(&s.Size)
	c.node(&s.Node)
}

func (o *Operation) code(c *codec) {
	c.text(&o.Func)
	c.u32(&o.Index)
	c.text(&o.Name)
	c.text(&o.Kind)
	c.text(&o.Rule)
	c.node(&o.Node)
	c.node(&o.With)
}

// table is one list of a DB: its number of records, and the codec of each.
type table struct {
	kind recordKind
	name string
	n    func(db *DB) int
	grow func(db *DB) // by one record
	code func(db *DB, i int, c *codec)
}

func tableOf[T any](kind recordKind, name string, of func(db *DB) *[]T, code func(x *T, c *codec)) table {
	return table{kind: kind, name: name,
		n:    func(db *DB) int { return len(*of(db)) },
		grow: func(db *DB) { var x T; *of(db) = append(*of(db), x) },
		code: func(db *DB, i int, c *codec) { code(&(*of(db))[i], c) }}
}

// tables are the lists of records in the order of their keys, without header, files
// and strings.
var tables = []table{
	tableOf(recStatement, "statement", func(db *DB) *[]Statement { return &db.Statements }, (*Statement).code),
	tableOf(recNode, "node", func(db *DB) *[]Node { return &db.Nodes }, (*Node).code),
	tableOf(recOperator, "operator", func(db *DB) *[]Operator { return &db.Operators }, (*Operator).code),
	tableOf(recGone, "gone", func(db *DB) *[]Gone { return &db.Gone }, (*Gone).code),
	tableOf(recProcedure, "procedure", func(db *DB) *[]Procedure { return &db.Procedures }, (*Procedure).code),
	tableOf(recTask, "task", func(db *DB) *[]Task { return &db.Tasks }, (*Task).code),
	tableOf(recExtent, "extent", func(db *DB) *[]Extent { return &db.Extents }, (*Extent).code),
	tableOf(recSurface, "surface", func(db *DB) *[]Surface { return &db.Surfaces }, (*Surface).code),
	tableOf(recOperation, "operation", func(db *DB) *[]Operation { return &db.Operations }, (*Operation).code),
}

// header codes the record of the DB's own properties: versions, hash, sizes, the
// number of records of each table, and the revision, which files of revision 0 omit.
func (db *DB) header(c *codec, counts []uint64) {
	for _, s := range [...]*string{&db.Compiler, &db.Target} {
		c.literal(s)
	}
	hash := string(db.SHA256[:])
	c.literal(&hash)
	if c.reading && c.err == nil && copy(db.SHA256[:], hash) != len(hash) {
		c.fail(fmt.Sprintf("a hash of %d bytes, want %d", len(hash), len(db.SHA256)))
	}
	list(c, &db.Passes, (*codec).literal)
	c.address(&db.TextSize)
	c.address(&db.ConstantSize)
	for i := range counts {
		c.u64(&counts[i], math.MaxUint32)
	}
	revision := uint64(Revision)
	if c.reading && len(c.b) == 0 {
		revision = 0
	} else {
		c.u64(&revision, math.MaxUint32)
	}
	c.revision = revision
}

// literal codes a text inside its record.
func (c *codec) literal(s *string) {
	n := uint64(len(*s))
	c.u64(&n, math.MaxUint32)
	if !c.reading {
		c.b = append(c.b, *s...)
		return
	}
	if c.err == nil && n > uint64(len(c.b)) {
		c.fail(fmt.Sprintf("a text of %d bytes exceeds the %d bytes of its record", n, len(c.b)))
	}
	if c.err == nil {
		*s, c.b = string(c.b[:n]), c.b[n:]
	}
}
