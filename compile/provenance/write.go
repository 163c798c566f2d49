package provenance

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// record is one record to be written to the file.
type record struct {
	key   [keySize]byte
	value []byte
}

func newRecord(kind recordKind, i int, value []byte) record {
	r := record{value: value}
	r.key[0] = byte(kind)
	binary.BigEndian.PutUint32(r.key[1:], uint32(i))
	return r
}

// records returns all records in the order of their keys.
func (db *DB) records() []record {
	c := &codec{ids: map[string]uint64{}}
	var body []record
	take := func(kind recordKind, i int, code func()) record {
		from := len(c.b)
		code()
		return newRecord(kind, i, c.b[from:len(c.b):len(c.b)])
	}
	counts := []uint64{uint64(len(db.Files)), 0}
	for _, t := range tables {
		n := t.n(db)
		counts = append(counts, uint64(n))
		for i := range n {
			body = append(body, take(t.kind, i, func() { t.code(db, i, c) }))
		}
	}
	counts[1] = uint64(len(c.strings))
	out := []record{take(recHeader, 0, func() { db.header(c, counts) })}
	for i, f := range db.Files {
		out = append(out, newRecord(recFile, i, []byte(f)))
	}
	for i, s := range c.strings {
		out = append(out, newRecord(recString, i, []byte(s)))
	}
	return append(out, body...)
}

// Write writes the database as a .zdb file. The same DB gives the same bytes. Write
// returns an error for a DB that Read would refuse. It uses a temporary file,
// because bbolt needs a file that it can map.
func (db *DB) Write(w io.Writer) (err error) {
	if err := db.check(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "zinc-zdb-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	bolt, err := bbolt.Open(filepath.Join(dir, "db"), 0o600, &bbolt.Options{
		PageSize: pageSize, FreelistType: bbolt.FreelistArrayType, NoSync: true, NoGrowSync: true,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bolt.Close()) }()
	// One bucket and one transaction: bbolt places several buckets of a
	// transaction in the order of a map.
	err = bolt.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte(bucket))
		if err != nil {
			return err
		}
		b.FillPercent = 1 // keys come in order
		for _, r := range db.records() {
			if err := b.Put(r.key[:], r.value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return bolt.View(func(tx *bbolt.Tx) error {
		_, err := tx.WriteTo(w)
		return err
	})
}
