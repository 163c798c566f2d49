package field

import "sync"

// set is a set of elements other than 0, which are random: their bits are used as they are. It has no pointers, since
// there may be millions. It may be used by several goroutines at once.
type set struct {
	shards [256]struct {
		mu    sync.RWMutex
		table []Elem // a power of two, at most half full; 0 is empty
		n     int
	}
}

// place returns the index of x in a table, or of the empty place where it belongs.
func place(table []Elem, x Elem) int {
	i := int(x>>8) & (len(table) - 1)
	for table[i] != 0 && table[i] != x {
		i = (i + 1) & (len(table) - 1)
	}
	return i
}

func (s *set) add(x Elem) {
	h := &s.shards[x%256]
	h.mu.Lock()
	defer h.mu.Unlock()
	if 2*h.n >= len(h.table) {
		old := h.table
		h.table = make([]Elem, max(16, 2*len(old)))
		for _, x := range old {
			if x != 0 {
				h.table[place(h.table, x)] = x
			}
		}
	}
	if i := place(h.table, x); h.table[i] == 0 {
		h.table[i] = x
		h.n++
	}
}

func (s *set) has(x Elem) bool {
	h := &s.shards[x%256]
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.table) > 0 && h.table[place(h.table, x)] == x
}
