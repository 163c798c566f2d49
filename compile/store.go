package compile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/zinc-compiler/zinc/emit/hwx"
)

// store writes the container to where the options say, finds its hash and returns its bytes, if they are kept.
func (d *driver) store(f *hwx.File) ([]byte, error) {
	keep := d.o.Store
	if keep == nil {
		keep = inMemory
	}
	h := sha256.New()
	data, err := keep(f.Size, func(w io.Writer) error {
		h.Reset()
		_, err := f.WriteBoth(w, h)
		return err
	})
	if err != nil {
		return nil, err
	}
	d.hash = hex.EncodeToString(h.Sum(nil))
	return data, nil
}

// keep lets the container refer to the bytes that were stored, if they are kept, once it has been checked: until then
// its text is in memory, and the pages of a file would be in memory too.
func (d *driver) keep(f *hwx.File, data []byte) {
	if data == nil {
		return
	}
	f.Keep(data)
	if d.o.PairOnly {
		d.image.Text = nil
	}
}

// Discard is an Options.Store for a container whose bytes nobody reads: only its hash is computed.
func Discard(_ int64, write func(w io.Writer) error) ([]byte, error) { return nil, write(io.Discard) }

func inMemory(size int64, write func(w io.Writer) error) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size))
	err := write(b)
	return b.Bytes(), err
}
