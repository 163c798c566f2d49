package dump

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// OpenDebug opens the debug database of the container at path, whose bytes are b: o.Debug,
// or the one beside the container.
func (o *Options) OpenDebug(path string, b []byte) (*provenance.DB, error) {
	name := cmp.Or(o.Debug, pair.PathsOf(path).Debug)
	db, err := provenance.Open(name)
	if errors.Is(err, fs.ErrNotExist) && o.Debug == "" {
		return nil, fmt.Errorf("%s: missing debug database %s; compile with %s %s, or name another "+
			"with %[3]s", path, name, o.name("debug-db"), name)
	}
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(b); db.SHA256 != sum {
		return nil, fmt.Errorf("%s: the database belongs to the container with SHA-256 %x, that of %s is %x; "+
			"compile both together",
			name, db.SHA256, path, sum)
	}
	return db, nil
}

// database prints a debug database.
func (c *printer) database(path string, b []byte) error {
	db, err := provenance.Read(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !c.JSON {
		return db.Print(c.out)
	}
	return c.wholeOf("database", func(j *jsonform.Stream) {
		j.Open("database", '{')
		for _, v := range db.Head().Parts {
			j.Put(v.Key, v)
		}
		for _, l := range db.Lists() {
			putList(j, l)
		}
		j.Close()
	}, nil)
}

// putList writes a list of a database.
func putList(j *jsonform.Stream, l provenance.List) {
	j.Open(l.Key, '[')
	for i := range l.Len {
		j.Put("", l.Item(i))
	}
	j.Close()
}
