package compile

import (
	"bytes"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/pair"
)

// Pair returns the bytes of the pair, and the debug database if Options.Provenance is set.
func (r *Result) Pair() (pair.Pair, error) {
	var p pair.Pair
	var container bytes.Buffer
	container.Grow(int(r.HWX.Size))
	if _, err := r.HWX.WriteTo(&container); err != nil {
		return p, err
	}
	p.Container = container.Bytes()
	var err error
	if p.Descriptor, err = e5.Bytes(r.E5); err != nil || r.Provenance == nil {
		return p, err
	}
	var debug bytes.Buffer
	err = r.Provenance.Write(&debug)
	p.Debug = debug.Bytes()
	return p, err
}
