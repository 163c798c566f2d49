package provenance

import (
	"fmt"
	"math"
)

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
		if s.Address > math.MaxInt64 || s.Size > math.MaxInt64 {
			return bad("surface", i, "%d bytes at %#x, the limit of both is 2^63 - 1", s.Size, s.Address)
		}
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
			if l.later() {
				return bad("task", i, "link of kind %d, want less than %d", l.Kind, numLinks)
			}
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
