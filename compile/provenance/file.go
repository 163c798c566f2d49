package provenance

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/zinc-compiler/zinc/internal/flattable"
)

// The identifier of the FlatBuffer ends in the version of the format, which changes when an old reader would misread a
// file.
const (
	format     = "ZDB"
	version    = "2"
	identifier = format + version
)

// Revision counts the additions to the format: fields after the others, and kinds of links. In a file of a later
// revision, unknown additions are ignored. docs/provenance.md lists what each revision added.
const Revision = 2

// maxFile bounds the files that Open reads.
const maxFile = 1 << 30

// boltMagic is at byte 16 of a file of version 1, a database of the store bbolt.
var boltMagic = []byte{0xed, 0xda, 0x0c, 0xed}

// versionOf returns the version that a file states, or "" if it is not a debug database.
func versionOf(b []byte) string {
	switch {
	case len(b) >= 8 && string(b[4:7]) == format:
		return string(b[7:8])
	case len(b) >= 20 && bytes.Equal(b[16:20], boltMagic):
		return "1"
	}
	return ""
}

// Is reports whether b begins like a debug database of any version.
func Is(b []byte) bool { return versionOf(b) != "" }

// Write writes the database as a .zdb file. The same DB gives the same bytes. Write returns an error for a DB that Read
// would refuse.
func (db *DB) Write(w io.Writer) error {
	if err := db.check(); err != nil {
		return err
	}
	n := db.file()
	b, err := flattable.Encode(n, n.Bound())
	if err != nil {
		return badf(-1, err.Path, "%s", err.Msg)
	}
	_, failed := w.Write(b)
	return failed
}

// file returns the root of a file.
func (db *DB) file() *flattable.Node {
	var s flattable.Strings
	body := s.Node(databaseTable, db)
	return flattable.NewNode(fileTable, uint64(Revision), s.List, body)
}

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

// Read decodes the bytes of a .zdb file. Its errors are of type *FormatError. The DB does not refer to b.
func Read(b []byte) (*DB, error) {
	switch v := versionOf(b); {
	case v == "":
		return nil, badf(0, "identifier", "the first bytes are not those of a debug database, %q at byte 4", identifier)
	case v != version:
		return nil, badf(0, "version", "%q: this zinc reads version %s; compile the model again with a debug database",
			v, version)
	case len(b) > maxFile:
		return nil, badf(-1, "size", "%d bytes, the limit is %d", len(b), maxFile)
	}
	if f := flattable.Verify(b, 0, fileTable); f != nil {
		return nil, formatError(f)
	}
	root, db := flattable.Root(b, fileTable), &DB{}
	s := flattable.Strings{List: root.Texts("strings")}
	if f := s.Fill(root.Sub("db"), db); f != nil {
		return nil, formatError(f)
	}
	for i := range db.Tasks {
		if t := &db.Tasks[i]; root.Number("revision") > Revision && slices.ContainsFunc(t.Links, Link.later) {
			if t.Links = slices.DeleteFunc(t.Links, Link.later); len(t.Links) == 0 {
				t.Links = nil // as for a task without links
			}
		}
	}
	return db, db.check()
}

// later reports whether a link is of a kind that a later revision has added.
func (l Link) later() bool { return l.Kind >= numLinks }

func formatError(f *flattable.Fault) error {
	return badf(int64(f.Off), f.Table+"."+f.Field, "%s", f.Msg)
}
