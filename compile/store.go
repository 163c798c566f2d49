package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/zinc-compiler/zinc/emit/hwx"
)

// store writes the container to where the sink wants it, finds its hash and returns its bytes, if they are kept.
func (d *driver) store(f *hwx.File) ([]byte, error) {
	keep := d.sink.Container
	if keep == nil {
		keep = discard
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
	d.image.Text = nil
}

func discard(_ int64, write func(w io.Writer) error) ([]byte, error) { return nil, write(io.Discard) }
