//go:build unix && !aix && !solaris && !illumos

package blobfile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/zinc-compiler/zinc/internal/mapfault"
)

// mapping is a file mapped for reading.
type mapping struct {
	memory
	forget func()
}

func (m *mapping) close() error {
	b := m.memory
	m.memory = nil
	if b == nil {
		return nil
	}
	m.forget()
	return unix.Munmap(b)
}

// mapFile maps the whole of f and then closes f.
func mapFile(f *os.File, size uint64) (source, error) {
	if size > math.MaxInt {
		return nil, errors.New("file is larger than the address space")
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &mapping{memory: b, forget: mapfault.Register(f.Name(), b)}, f.Close()
}
