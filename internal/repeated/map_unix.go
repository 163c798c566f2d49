//go:build linux || darwin

package repeated

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapBytes maps a file with the period as often as n needs, or returns nil.
func mapBytes(period []byte, n int) []byte {
	f, err := os.CreateTemp("", "zinc-*")
	if err != nil {
		return nil
	}
	defer f.Close() // the mappings keep it
	if os.Remove(f.Name()) != nil {
		return nil
	}
	if _, err := f.Write(period); err != nil {
		return nil
	}
	count := (n + len(period) - 1) / len(period)
	size := count * len(period)
	room, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil
	}
	for i := range count {
		at := unsafe.Add(room, i*len(period))
		if _, err := unix.MmapPtr(int(f.Fd()), 0, at, uintptr(len(period)), unix.PROT_READ,
			unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
			unix.MunmapPtr(room, uintptr(size)) // nothing reads it yet
			return nil
		}
	}
	return unsafe.Slice((*byte)(room), n)
}
