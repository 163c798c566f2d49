package field

import (
	"math/bits"
	"sync"
)

// Memory keeps elements that are no longer needed for the next values: most values of a program are as large as an
// earlier one, and to get new pages of memory takes longer than to compute some values. The zero value is ready for
// use, by several goroutines at once.
type Memory struct {
	mu   sync.Mutex
	free [bits.UintSize + 1][][]Elem // by the length of the capacity in binary
}

// Take returns n elements, which may have any values.
func (m *Memory) Take(n int) []Elem {
	m.mu.Lock()
	defer m.mu.Unlock()
	class := &m.free[bits.Len(uint(n))]
	for i, v := range *class {
		if cap(v) >= n {
			last := len(*class) - 1
			(*class)[i], (*class)[last] = (*class)[last], nil
			*class = (*class)[:last]
			return v[:n]
		}
	}
	return make([]Elem, n)
}

// Zeros returns n elements that are 0.
func (m *Memory) Zeros(n int) []Elem {
	v := m.Take(n)
	clear(v)
	return v
}

// Give returns elements that nothing refers to any more.
func (m *Memory) Give(v []Elem) {
	m.mu.Lock()
	class := &m.free[bits.Len(uint(cap(v)))]
	*class = append(*class, v)
	m.mu.Unlock()
}
