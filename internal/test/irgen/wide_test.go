package irgen

import (
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
)

// MaxWide is the maximum number of elements of a tensor in a program of Wide.
const MaxWide = 1 << 17

// Extents are the longest dimensions of the tensors of Wide.
type Extents struct {
	Last  int64 // of the last dimension
	Other int64 // of another dimension, usually
	Limit int64 // of another dimension, at times
}

// Wides is the number of programs of Wide in a row that have each step once.
var Wides = len(steps)

// Wide returns program i of an endless list: one step or two, on an operand with a dimension of any extent up to those
// passed. Powers of two, the extents passed and the neighbours of both are frequent.
func Wide(i int, e Extents) *Program {
	s := &steps[i%len(steps)]
	for draw := range uint64(maxDraws) {
		if p := wide(s, e, uint64(i), draw); p != nil {
			return p
		}
	}
	panic(fmt.Sprintf("irgen: no operand suits wide program %d, %s", i, s.name))
}

// wide returns one draw, or nil if the step does not suit its operand. The first draws use exact programs for steps
// that can be exact, though sums of long rows are not exact for operands of every size.
func wide(s *step, e Extents, seed, draw uint64) *Program {
	const exactDraws = 40
	m := newMaker(drawn(seed, draw, 250), irbuild.New(seed))
	m.exact, m.top, m.most = s.role&exact != 0 && draw < exactDraws, tops[min(int(draw)/4, len(tops)-1)], MaxWide
	m.vals = append(m.vals, m.input(m.wideShape(e)...))
	if !m.step(s) {
		return nil
	}
	m.g.Output(m.vals[len(m.vals)-1])
	for _, op := range m.g.Program().Funcs[0].Body.Ops {
		for _, v := range op.Results {
			if v.Type.Elems() > MaxWide {
				return nil
			}
		}
	}
	return &Program{
		IR:    m.g.Program(),
		Steps: fmt.Sprint(s.name, " of ", m.vals[0].Type.Shape),
		Exact: m.exact,
		Top:   m.top,
	}
}

// wideShape returns a shape with one long dimension, which is the last as often as all others together; the other
// dimensions share the remaining elements.
func (m *maker) wideShape(e Extents) []int64 {
	s := make([]int64, 1+m.n(5))
	long := len(s) - 1
	if m.yes() {
		long = m.n(len(s))
	}
	limit := e.Other
	switch {
	case long == len(s)-1:
		limit = e.Last
	case m.n(8) == 0:
		limit = e.Limit
	}
	s[long] = m.extent(limit)
	n := s[long]
	for i := range s {
		if i == long {
			continue
		}
		if s[i] = m.dim(); n*s[i] > MaxWide/2 {
			s[i] = 1 + int64(m.n(3))
		}
		if n*s[i] > MaxWide/2 {
			s[i] = 1
		}
		n *= s[i]
	}
	return s
}

// extent returns a number from 1 to limit+1.
func (m *maker) extent(limit int64) int64 {
	near := int64(m.n(3)) - 1
	switch m.n(4) {
	case 0:
		return limit + near
	case 1:
		return max(1<<m.n(int(math.Log2(float64(limit)))+1)+near, 1)
	}
	return int64(math.Exp2(float64(m.n(1<<12)) / (1 << 12) * math.Log2(float64(limit))))
}
