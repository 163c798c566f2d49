package driver

import (
	"cmp"
	"slices"
	"sync"
)

// userPage is the granularity of a task's address space, and userBase its first
// address; both are modelled.
const (
	userPage = 1 << 14
	userBase = 0x1_0000_0000
	userEnd  = 1 << 47
)

// Task is a task of the host that opens the device: its identity, its entitlements and its memory. The exported fields
// must be set before the first use.
type Task struct {
	PID               int
	TeamID            string
	CodeDirectoryHash [20]byte
	Entitlements      []string
	// PrivilegedVMAccess is the property of the second access check.
	PrivilegedVMAccess bool
	// OnBehalfOf is the application for which a privileged daemon opens the
	// device: team identifier and code-directory hash are then the
	// application's, and its surfaces are found as well.
	OnBehalfOf *Task

	mu    sync.RWMutex
	next  uint64
	pages []region // by address
	ports []*WakePort
	surf  map[uint32][]byte
	made  uint32 // surfaces so far
}

type region struct {
	addr  uint64
	bytes []byte
}

// Holds reports whether the task has an entitlement.
func (t *Task) Holds(entitlement string) bool { return slices.Contains(t.Entitlements, entitlement) }

// Map maps bytes into the task's address space and returns their address. The bytes must stay allocated until Unmap.
// Map returns 0 for no bytes.
func (t *Task) Map(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = cmp.Or(t.next, userBase)
	size := (uint64(len(b)) + userPage - 1) / userPage * userPage
	if t.next+size+userPage > userEnd {
		return 0
	}
	at := t.next
	t.next += size + userPage // a page between regions is never mapped
	t.pages = append(t.pages, region{at, b})
	return at
}

// Unmap removes the mapping at an address, or returns false if no mapping starts there.
func (t *Task) Unmap(addr uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, ok := t.find(addr)
	if !ok || t.pages[i].addr != addr {
		return false
	}
	t.pages = slices.Delete(t.pages, i, i+1)
	return true
}

// find returns the region that holds an address; t.mu is held.
func (t *Task) find(addr uint64) (int, bool) {
	i, ok := slices.BinarySearchFunc(t.pages, addr, func(r region, a uint64) int {
		switch {
		case r.addr+uint64(len(r.bytes)) <= a:
			return -1
		case r.addr > a:
			return 1
		}
		return 0
	})
	return i, ok
}

// memory returns n bytes of the address space in place, or false unless one Map has mapped them all.
func (t *Task) memory(addr, n uint64) ([]byte, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	i, ok := t.find(addr)
	if !ok || n == 0 {
		return nil, false
	}
	b := t.pages[i].bytes[addr-t.pages[i].addr:]
	if n > uint64(len(b)) {
		return nil, false
	}
	return b[:n:n], true
}

// CreateSurface creates a surface of bytes, which must stay allocated until ReleaseSurface, and returns its identifier:
// the low half of the PID, then the number of the surface (modelled; tasks with the same PID are one task). It returns
// 0 for no bytes, or if the task has created 65535 surfaces.
func (t *Task) CreateSurface(b []byte) uint32 {
	if len(b) == 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.surf == nil {
		t.surf = map[uint32][]byte{}
	}
	if t.made == 0xffff {
		return 0
	}
	t.made++
	id := uint32(t.PID)<<16 | t.made
	t.surf[id] = b
	return id
}

// ReleaseSurface removes a surface, or returns false if it does not exist. Mappings for the engine remain until they
// are unmapped.
func (t *Task) ReleaseSurface(id uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.surf[id]
	delete(t.surf, id)
	return ok
}

// surface finds a surface of the task, or of the task on whose behalf it acts.
func (t *Task) surface(id uint32) ([]byte, bool) {
	for range maxDelegation {
		if t == nil {
			break
		}
		t.mu.RLock()
		b, ok := t.surf[id]
		t.mu.RUnlock()
		if ok {
			return b, true
		}
		t = t.OnBehalfOf
	}
	return nil, false
}

// maxDelegation bounds the length of a chain of OnBehalfOf.
const maxDelegation = 4

// identity returns the identity that the kernel attributes to a task.
type identity struct {
	team string
	hash [20]byte
}

func (t *Task) identity() identity {
	for i := 1; i < maxDelegation && t.OnBehalfOf != nil; i++ {
		t = t.OnBehalfOf
	}
	return identity{t.TeamID, t.CodeDirectoryHash}
}

// matches reports whether a client may share what the other owns: equal team
// identifier and code-directory hash. A task without a team matches none.
func (i identity) matches(o identity) bool { return i.team != "" && i == o }
