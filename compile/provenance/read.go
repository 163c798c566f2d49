package provenance

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"unicode/utf8"
)

// maxFile bounds the files that Open reads.
const maxFile = 1 << 30

// Open reads the file at path.
func Open(path string) (*DB, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s: want a regular file of at most %d bytes for a debug database", path, maxFile)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	db, err := Read(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return db, nil
}

// Read decodes the bytes of a .zdb file. Its errors are of type *FormatError. The DB
// does not refer to b.
func Read(b []byte) (*DB, error) {
	pairs, err := readBucket(b, bucket)
	if err != nil {
		return nil, err
	}
	return decode(pairs)
}

// decode reads the records of a file, which are in the order of their keys.
func decode(pairs []pair) (*DB, error) {
	r := &recordReader{pairs: pairs}
	db := &DB{}
	counts := make([]uint64, 2+len(tables))
	r.next(recHeader, "header", 0, func(c *codec) { db.header(c, counts) })
	for i := range counts[0] {
		r.next(recFile, "file", i, func(c *codec) { db.Files = append(db.Files, c.rest()) })
	}
	for i := range counts[1] {
		r.next(recString, "string", i, func(c *codec) { r.strings = append(r.strings, c.rest()) })
	}
	for k, t := range tables {
		for i := range counts[2+k] {
			r.next(t.kind, t.name, i, func(c *codec) {
				t.grow(db)
				t.code(db, int(i), c)
			})
			if r.err != nil {
				return nil, r.err
			}
		}
	}
	// A later revision may have more kinds of records, which follow the others.
	if later := r.revision > Revision; r.err == nil && len(r.pairs) > 0 &&
		(!later || recordKind(r.pairs[0].key[0]) < numRecords) {
		r.err = badf(r.pairs[0].off, "key", "%x exceeds the number of records in the header", r.pairs[0].key)
	}
	if r.err != nil {
		return nil, r.err
	}
	return db, db.check()
}

// recordReader decodes records in the order of their keys.
type recordReader struct {
	pairs    []pair
	strings  []string
	revision uint64 // of the file, known once the header has been read
	err      error
}

// next decodes one record. It must have the given key, and all of it is decoded.
func (r *recordReader) next(kind recordKind, name string, i uint64, code func(c *codec)) {
	if r.err != nil {
		return
	}
	field := fmt.Sprintf("%s %d", name, i)
	if len(r.pairs) == 0 {
		r.err = badf(-1, field, "missing: the file ends before it")
		return
	}
	p := r.pairs[0]
	r.pairs = r.pairs[1:]
	if len(p.key) != keySize || p.key[0] != byte(kind) || uint64(binary.BigEndian.Uint32(p.key[1:])) != i {
		r.err = badf(p.off, field, "missing: the next record has key %x", p.key)
		return
	}
	c := &codec{b: p.value, reading: true, off: p.off, field: field, strings: r.strings, revision: r.revision}
	code(c)
	r.revision = c.revision
	if c.err == nil && len(c.b) > 0 && !c.later() {
		c.fail(fmt.Sprintf("%d bytes follow the last field of the record", len(c.b)))
	}
	r.err = c.err
}

// rest returns the remaining bytes of a record as text.
func (c *codec) rest() string {
	s := string(c.b)
	c.b = nil
	if !utf8.ValidString(s) {
		c.fail("the text is not UTF-8")
	}
	return s
}

// maxSection is the size limit of a container's sections, because addresses have 32
// bits.
const maxSection = 1 << 32

// check checks the rules that queries rely on.
func (db *DB) check() error {
	bad := func(field string, i int, format string, args ...any) error {
		return badf(-1, fmt.Sprintf("%s %d", field, i), format, args...)
	}
	if db.TextSize > maxSection || db.ConstantSize > maxSection {
		return badf(-1, "header", "sections of %d and %d bytes, the limit is %d", db.TextSize, db.ConstantSize,
			int64(maxSection))
	}
	nodes := len(db.Nodes)
	if nodes == 0 || nodes > math.MaxInt32 || db.Nodes[0].Statement != -1 || db.Nodes[0].Pass != "" ||
		db.Nodes[0].From != nil {
		return badf(-1, "node 0", "missing, or not empty")
	}
	for i, n := range db.Nodes {
		if n.Statement < -1 || int(n.Statement) >= len(db.Statements) {
			return bad("node", i, "statement %d of %d", n.Statement, len(db.Statements))
		}
		for _, f := range n.From {
			if f == 0 || int(f) >= i {
				return bad("node", i, "from node %d, want a node from 1 to %d", f, i-1)
			}
		}
	}
	for i := range db.Statements {
		if s := &db.Statements[i]; s.File < 0 || s.Line < 0 || s.Col < 0 || s.Line > 0 && int(s.File) >= len(db.Files) {
			return bad("statement", i, "line %d of file %d: the database names %d files", s.Line, s.File, len(db.Files))
		}
		for _, d := range db.Statements[i].Shape {
			if d < 0 {
				return bad("statement", i, "dimension %d, want >= 0", d)
			}
		}
		for _, a := range db.Statements[i].Args {
			if a < 0 || int(a) >= len(db.Statements) {
				return bad("statement", i, "names statement %d of %d", a, len(db.Statements))
			}
		}
	}
	node := func(field string, i int, ids ...NodeID) error {
		for _, id := range ids {
			if int64(id) >= int64(nodes) {
				return bad(field, i, "node %d of %d", id, nodes)
			}
		}
		return nil
	}
	procedure := func(field string, i int, p uint32) error {
		if int64(p) >= int64(len(db.Procedures)) {
			return bad(field, i, "procedure %d of %d", p, len(db.Procedures))
		}
		return nil
	}
	for i := range db.Operators {
		if err := node("operator", i, db.Operators[i].Node, db.Operators[i].With); err != nil {
			return err
		}
	}
	for i := range db.Gone {
		if err := node("gone", i, db.Gone[i].Node, db.Gone[i].By); err != nil {
			return err
		}
	}
	for i := range db.Procedures {
		if err := node("procedure", i, db.Procedures[i].Node); err != nil {
			return err
		}
	}
	for i := range db.Operations {
		if err := node("operation", i, db.Operations[i].Node, db.Operations[i].With); err != nil {
			return err
		}
	}
	for i := range db.Surfaces {
		s := &db.Surfaces[i]
		if err := node("surface", i, s.Node); err != nil {
			return err
		}
		if err := procedure("surface", i, s.Procedure); err != nil {
			return err
		}
	}
	end := uint64(0)
	for i := range db.Tasks {
		t := &db.Tasks[i]
		if err := node("task", i, t.Node, t.With); err != nil {
			return err
		}
		if err := procedure("task", i, t.Procedure); err != nil {
			return err
		}
		if t.Offset < end || t.Offset > db.TextSize || 4*uint64(t.Words) > db.TextSize-t.Offset {
			return bad("task", i, "%d words at %#x, want it after the previous task, which ends at %#x, and inside "+
				"the %#x bytes of the section", t.Words, t.Offset, end, db.TextSize)
		}
		end = t.Offset + 4*uint64(t.Words)
		for _, l := range t.Links {
			room := map[LinkKind]uint64{
				LinkSurface:  uint64(len(db.Surfaces)),
				LinkScratch:  maxSection,
				LinkConstant: db.ConstantSize,
				LinkTask:     db.TextSize,
			}[l.Kind]
			if l.Word >= t.Words || l.Target >= room {
				return bad("task", i, "word %d of %d points at %s %d of %d", l.Word, t.Words, l.Kind, l.Target, room)
			}
		}
	}
	return db.checkExtents(bad, node)
}

func (db *DB) checkExtents(bad func(string, int, string, ...any) error, node func(string, int, ...NodeID) error) error {
	end := uint64(0)
	for i := range db.Extents {
		x := &db.Extents[i]
		if x.Offset < end || x.Offset > db.ConstantSize || x.Size > db.ConstantSize-x.Offset {
			return bad("extent", i, "%d bytes at %#x, want it after the previous extent, which ends at %#x, and "+
				"inside the %#x bytes of constants", x.Size, x.Offset, end, db.ConstantSize)
		}
		end = x.Offset + x.Size
		left := x.Size
		for k := range x.Layout {
			r := &x.Layout[k]
			each := uint64(0)
			for _, run := range r.Runs {
				each += uint64(run.Size)
				if run.Size == 0 {
					return bad("extent", i, "its layout has a run of 0 bytes, want at least 1")
				}
			}
			if each == 0 || r.Times == 0 || each > left/uint64(r.Times) {
				return bad("extent", i, "its layout has %d times %d bytes, but only %d are left", r.Times, each, left)
			}
			left -= each * uint64(r.Times)
		}
		if left > 0 {
			return bad("extent", i, "its layout omits %d of %d bytes", left, x.Size)
		}
		for _, u := range x.Uses {
			if err := node("extent", i, u.Node, u.Values, u.Bias, u.Table); err != nil {
				return err
			}
		}
	}
	return nil
}
