package mapfault

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"unsafe"
)

// Error reports a mapped file that was shortened while it was in use.
type Error struct {
	File   string
	Offset uint64 // of the byte that could not be read
	Size   uint64 // of the file when it was mapped
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: byte %#x cannot be read: the file had %d bytes when it was opened and was shortened while "+
		"in use, or its device failed; run again once the file is complete", e.File, e.Offset, e.Size)
}

// mapping is a mapped file. A panic is often looked at after the file was closed on the way up, so closed mappings are
// remembered until another one is in their place.
type mapping struct {
	name     string
	at, size uintptr
	closed   bool
}

// maxClosed is the number of closed mappings that are remembered.
const maxClosed = 256

var mappings struct {
	sync.Mutex
	list []*mapping // oldest first
}

// Register records that b is a mapping of the file name, until forget is called, which must be before b is unmapped.
func Register(name string, b []byte) (forget func()) {
	m := &mapping{name: name, at: uintptr(unsafe.Pointer(unsafe.SliceData(b))), size: uintptr(len(b))}
	mappings.Lock()
	defer mappings.Unlock()
	mappings.list = slices.DeleteFunc(mappings.list, func(old *mapping) bool {
		return old.closed && old.at < m.at+m.size && m.at < old.at+old.size
	})
	mappings.list = append(mappings.list, m)
	return func() {
		mappings.Lock()
		defer mappings.Unlock()
		m.closed = true
		n := 0
		for _, m := range mappings.list {
			if m.closed {
				n++
			}
		}
		if n > maxClosed {
			oldest := slices.IndexFunc(mappings.list, func(m *mapping) bool { return m.closed })
			mappings.list = slices.Delete(mappings.list, oldest, oldest+1)
		}
	}
}

// Of returns the error of a recovered value, nil if it is not from a read of a registered mapping.
func Of(recovered any) error {
	if e, ok := recovered.(*Error); ok {
		return e
	}
	fault, ok := recovered.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok {
		return nil
	}
	mappings.Lock()
	defer mappings.Unlock()
	for _, m := range mappings.list {
		if off := fault.Addr() - m.at; fault.Addr() >= m.at && off < m.size {
			return &Error{File: m.name, Offset: uint64(off), Size: uint64(m.size)}
		}
	}
	return nil
}

// Guard calls f. If f reads a registered mapping whose file was shortened, Guard returns an *Error instead of letting
// the process end. Goroutines that f starts must belong to a Group.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if err = Of(r); err == nil {
				panic(r)
			}
		}
	}()
	return f()
}

// Group is goroutines that work for the one that waits for them. A panic in one of them, such as a fault, becomes a
// panic in Wait. The zero Group is ready to use.
type Group struct {
	wg     sync.WaitGroup
	once   sync.Once
	caught any
}

// Go calls f in a goroutine.
func (g *Group) Go(f func()) {
	g.wg.Go(func() {
		debug.SetPanicOnFault(true)
		defer func() {
			if r := recover(); r != nil {
				g.once.Do(func() { g.caught = r })
			}
		}()
		f()
	})
}

// Wait waits for the goroutines and panics with the first panic of one of them.
func (g *Group) Wait() {
	g.wg.Wait()
	if g.caught != nil {
		panic(g.caught)
	}
}
