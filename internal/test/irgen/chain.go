package irgen

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// producers and movers are the steps of those roles; followers are both, and no
// step at all.
var producers, movers, followers = func() (p, m, f []*step) {
	f = append(f, nil)
	for i := range steps {
		s := &steps[i]
		if s.role&produces != 0 {
			p = append(p, s)
		}
		if s.role&moves != 0 {
			m = append(m, s)
		}
		if s.role&(produces|moves) != 0 {
			f = append(f, s)
		}
	}
	return p, m, f
}()

// Triples is the number of chains that differ in their steps.
var Triples = len(producers) * len(movers) * len(followers)

// maxDraws is the maximum number of operands and parameters that are tried for one chain.
const maxDraws = 5000

// Chain returns chain i of an endless list. A chain computes a tensor, arranges its result in another way, and may take
// a third step. Any Triples consecutive chains contain all combinations of steps once; shapes and parameters differ
// from chain to chain. Some chains compute their operand first, or use an intermediate value twice.
func Chain(i int) *Program {
	p, _ := chainAt(i)
	return p
}

// chainAt returns a chain and the grids of its values.
func chainAt(i int) (*Program, map[*ir.Value]grid) {
	k := i % Triples
	chosen := []*step{producers[k%len(producers)], movers[k/len(producers)%len(movers)]}
	if s := followers[k/len(producers)/len(movers)]; s != nil {
		chosen = append(chosen, s)
	}
	for draw := range uint64(maxDraws) {
		if p, grids := chain(chosen, uint64(i), draw); p != nil {
			return p, grids
		}
	}
	panic(fmt.Sprintf("irgen: no operand suits chain %d, %s", i, names(chosen)))
}

func names(ss []*step) string {
	var b strings.Builder
	for i, s := range ss {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.name)
	}
	return b.String()
}

// tops are the magnitudes of the inputs of exact programs. Later draws, which follow failures with the larger
// magnitudes, use the smaller ones.
var tops = []float64{1000, 50, 7, 2, 1}

// chain returns one draw of a chain, or nil if a step does not suit its operand.
func chain(chosen []*step, seed, draw uint64) (*Program, map[*ir.Value]grid) {
	m := newMaker(drawn(seed, draw, 250), irbuild.New(seed))
	m.exact, m.top = true, tops[min(int(draw)/4, len(tops)-1)]
	for _, s := range chosen {
		m.exact = m.exact && s.role&exact != 0
	}
	m.vals = append(m.vals, m.input(m.shape()...))
	before := ""
	if m.n(3) == 0 { // an operand that is computed, and in L2 too
		if !m.step(withConstant) {
			return nil, nil
		}
		before = withConstant.name + ", "
	}
	produced := -1
	for i, s := range chosen {
		if !m.step(s) {
			return nil, nil
		}
		if i == 0 {
			produced = len(m.vals) - 1
		}
	}
	out := []*ir.Value{m.vals[len(m.vals)-1]}
	switch m.n(6) {
	case 0: // the intermediate values are results as well
		out = append(out, m.vals[m.n(len(m.vals)-1)])
	case 1: // the result has two readers
		m.vals = append(m.vals, m.vals[produced])
		if m.step(chosen[1]) {
			out = append(out, m.vals[len(m.vals)-1])
		} else if m.exact {
			return nil, nil
		}
	}
	for i, v := range out {
		if v.Def != nil && (i == 0 || v != out[0]) {
			m.g.Output(v)
		}
	}
	return &Program{IR: m.g.Program(), Steps: before + names(chosen), Exact: m.exact, Top: m.top}, m.grids
}

// step takes a step on the latest value, and reports whether the result can be used further.
func (m *maker) step(s *step) bool {
	vs := m.usable(s.write(m, m.vals[len(m.vals)-1]))
	m.vals = append(m.vals, vs...)
	return vs != nil
}
