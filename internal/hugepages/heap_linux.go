package hugepages

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"
)

// Sizes in bytes of a huge page and of the heap that is made of them. Most checks take less than 128 MiB.
const (
	pageSize = 2 << 20
	heapSize = 128 << 20
)

// The first touch of a page enters the kernel, which takes 10 to 16 us on a virtual machine: with pages of 4 KiB that
// was a third of the time of a check. The runtime has no call that makes pages larger, so memory of the heap is
// allocated, advised, and freed for the heap to give out again. What nothing touches of it takes no memory. The
// collection is short, since little is allocated yet.
func init() {
	percent := debug.SetGCPercent(-1)
	b := make([]byte, heapSize+pageSize)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) % pageSize
	syscall.Madvise(b[skip:][:heapSize], syscall.MADV_HUGEPAGE) // an error leaves pages as they are
	runtime.GC()
	debug.SetGCPercent(percent)
}
