package passes

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCheapest compares the stretches that go to the CPU with the best of all ways to divide the step.
func TestCheapest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	divided := 0
	for k := range 3000 {
		n := 1 + r.IntN(9)
		w := balance{share: 2, dispatch: nanoseconds(r.IntN(40))}
		for range n {
			w.engine = append(w.engine, nanoseconds(r.IntN(30)))
			w.cpu = append(w.cpu, nanoseconds(r.IntN(60)))
		}
		for range n + 1 {
			w.in, w.out = append(w.in, nanoseconds(r.IntN(10))), append(w.out, nanoseconds(r.IntN(10)))
		}
		all := uint(1)<<n - 1
		least := w
		least.engine = slices.Clone(w.engine)
		if w.cost(0) < w.cost(all) { // worth its dispatch as a whole
			for i := range least.engine {
				least.engine[i] /= 2
			}
		}
		best := least.cost(0)
		for onCPU := range uint(1) << n {
			best = min(best, least.cost(onCPU))
		}
		onCPU := uint(0)
		for _, s := range w.cheapest() {
			for i := s.begin; i < s.end; i++ {
				onCPU |= 1 << i
			}
			if s.engine < s.cpu {
				t.Errorf("case %d: operations %d to %d go to the CPU: %d on the engine, %d there", k, s.begin, s.end-1,
					s.engine, s.cpu)
			}
		}
		if got := least.cost(onCPU); got != best {
			t.Errorf("case %d: operations %0*b on the CPU: %d, and the best way takes %d", k, n, onCPU, got, best)
		}
		if onCPU != 0 && onCPU != all {
			divided++
		}
	}
	if divided == 0 {
		t.Error("no step was divided")
	}
}

// cost returns what the step takes with the given operations, a bit each, on the CPU.
func (w balance) cost(onCPU uint) nanoseconds {
	n := len(w.engine)
	engine := func(i int) bool { return i >= 0 && i < n && onCPU>>i&1 == 0 }
	t := nanoseconds(0)
	for i := range n + 1 {
		switch {
		case engine(i) && !engine(i-1):
			t += w.dispatch + w.in[i]
		case engine(i-1) && !engine(i):
			t += w.out[i]
		}
		switch {
		case i == n:
		case engine(i):
			t += w.engine[i]
		default:
			t += w.cpu[i]
		}
	}
	return t
}
