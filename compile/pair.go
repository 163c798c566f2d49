package compile

import (
	"bytes"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
)

// Pair returns the bytes of the pair, and the debug database if Options.Provenance is set.
func (r *Result) Pair() (pair.Pair, error) {
	p := pair.Pair{Summary: r.Report.Line()}
	var err error
	if p.Container = r.container; p.Container == nil {
		if p.Container, err = hwx.Encode(r.HWX); err != nil {
			return p, err
		}
	}
	if p.Descriptor, err = e5.Bytes(r.E5); err != nil || r.Provenance == nil {
		return p, err
	}
	var debug bytes.Buffer
	err = r.Provenance.Write(&debug)
	p.Debug = debug.Bytes()
	return p, err
}
