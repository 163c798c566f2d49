//go:build unix && !aix && !solaris && !illumos

package blobfile

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// mapping is a file mapped for reading.
type mapping struct{ memory }

func (m *mapping) close() error {
	b := m.memory
	m.memory = nil
	if b == nil {
		return nil
	}
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
	return &mapping{memory(b)}, f.Close()
}
