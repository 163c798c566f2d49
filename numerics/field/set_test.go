package field

import (
	"math/rand/v2"
	"sync"
	"testing"
)

func TestSetHasWhatWasAdded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s set
	in, out := make([]Elem, 20000), make([]Elem, 20000)
	for i := range in {
		in[i], out[i] = Elem(1+r.Uint64N(P-1)), Elem(1+r.Uint64N(P-1))
	}
	copy(in, []Elem{256, 512, P - 1}) // of one shard, and the last
	var wg sync.WaitGroup
	for half := range 2 {
		wg.Go(func() {
			for i := half; i < len(in); i += 2 {
				s.add(in[i])
				s.add(in[i])
			}
		})
	}
	wg.Wait()
	n := 0
	for i := range s.shards {
		n += s.shards[i].n
	}
	if n != len(in) {
		t.Errorf("%d elements, want %d", n, len(in))
	}
	for i := range in {
		if !s.has(in[i]) || s.has(out[i]) {
			t.Fatalf("has(%d) = %t, has(%d) = %t", in[i], s.has(in[i]), out[i], s.has(out[i]))
		}
	}
}
