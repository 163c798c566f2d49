// Package blobfiletest writes weight files for tests.
//
// In: a path and the blobs. Out: a weight file that package blobfile writes.
//
// Invariants: an error fails the test.
package blobfiletest

import (
	"os"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
)

// Blob is one blob: the packed bytes of its elements.
type Blob struct {
	Type  blobfile.ElemType
	Elems int
	Data  []byte
}

// Write writes a weight file of the blobs and returns the offsets of their records, which MIL text names.
func Write(t testing.TB, path string, blobs ...Blob) []uint64 {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := blobfile.NewWriter(f, len(blobs))
	records := make([]uint64, len(blobs))
	for i, b := range blobs {
		if records[i], err = w.Append(b.Type, b.Elems, b.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return records
}
