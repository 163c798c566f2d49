//go:build !windows && (!unix || aix || solaris || illumos)

package blobfile

import (
	"os"
	"sync"
)

// reader reads ranges of a file on systems without mapping. What it returns is a copy, which stays valid after close.
type reader struct {
	f    *os.File
	n    uint64
	once sync.Once
	err  error
}

func (r *reader) size() uint64 { return r.n }

func (r *reader) bytes(off, n uint64) ([]byte, error) {
	b := make([]byte, n)
	_, err := r.f.ReadAt(b, int64(off))
	return b, err
}

func (r *reader) close() error {
	r.once.Do(func() { r.err = r.f.Close() })
	return r.err
}

// mapFile keeps f.
func mapFile(f *os.File, size uint64) (source, error) {
	return &reader{f: f, n: size}, nil
}
