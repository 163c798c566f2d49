package blobfile

import (
	"errors"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/zinc-compiler/zinc/internal/mapfault"
)

// mapping is a view of a file mapped for reading.
type mapping struct {
	memory
	addr   uintptr
	forget func()
}

func (m *mapping) close() error {
	if m.memory == nil {
		return nil
	}
	m.memory = nil
	m.forget()
	return windows.UnmapViewOfFile(m.addr)
}

// mapFile maps the whole of f and then closes f.
func mapFile(f *os.File, size uint64) (source, error) {
	if size > math.MaxInt {
		return nil, errors.New("file is larger than the address space")
	}
	h, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY, uint32(size>>32),
		uint32(size), nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	defer windows.CloseHandle(h) // the view keeps the mapping
	addr, err := windows.MapViewOfFile(h, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return nil, os.NewSyscallError("MapViewOfFile", err)
	}
	// The view is outside Go's heap, so its address stays valid; go vet accepts it if it is read through a pointer to
	// addr.
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr))
	b := unsafe.Slice((*byte)(p), int(size))
	return &mapping{memory: b, addr: addr, forget: mapfault.Register(f.Name(), b)}, f.Close()
}
