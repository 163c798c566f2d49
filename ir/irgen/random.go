package irgen

import (
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irbuild"
)

// maxSteps is the most steps of a random program.
const maxSteps = 12

// FromBytes returns the program of up to 12 steps that the bytes decide on. Its
// inputs take normal numbers.
func FromBytes(b []byte) *Program {
	m := &maker{choices: &choices{b}, g: irbuild.New(uint64(len(b))), grids: map[*ir.Value]grid{}, most: MaxElems}
	m.vals = append(m.vals, m.input(m.shape()...))
	var names []string
	for range maxSteps {
		if m.done() {
			break
		}
		s := &steps[m.n(len(steps))]
		if vs := m.usable(s.f(m, m.value())); vs != nil {
			m.vals = append(m.vals, vs...)
			names = append(names, s.name)
		}
	}
	returned := map[*ir.Value]bool{}
	for i := range 1 + m.n(4) {
		v := m.vals[len(m.vals)-1]
		if i > 0 {
			v = m.vals[m.n(len(m.vals))]
		}
		if !returned[v] {
			returned[v] = true
			m.g.Output(v)
		}
	}
	return &Program{IR: m.g.Program(), Steps: strings.Join(names, ", ")}
}
