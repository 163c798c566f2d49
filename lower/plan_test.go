package lower

import (
	"math/rand/v2"
	"testing"
)

// alive returns scratch buffers with random sizes and lives.
func alive(rng *rand.Rand, tasks, buffers int) (bufs []*buffer) {
	for range buffers {
		def := rng.IntN(tasks)
		bufs = append(bufs, &buffer{
			space: scratch,
			size:  1 + rng.Int64N(5000),
			def:   def,
			last:  min(tasks-1, def+rng.IntN(6)),
		})
	}
	return bufs
}

// TestScratchIsNotShared checks that two buffers of one task share no byte: a task writes its result while it still
// reads its sources.
func TestScratchIsNotShared(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		bufs := alive(rng, 1+rng.IntN(60), 1+rng.IntN(60))
		top := placeScratch(bufs)
		sum := int64(0)
		for i, x := range bufs {
			sum += align(x.size, scratchAlign)
			if x.off < 0 || x.off%scratchAlign != 0 || x.off+x.size > top {
				t.Fatalf("seed %d: buffer at %#x of %d bytes in scratch of %d", seed, x.off, x.size, top)
			}
			for _, y := range bufs[:i] {
				together := x.def <= y.last && y.def <= x.last
				if together && x.off < y.off+y.size && y.off < x.off+x.size {
					t.Fatalf("seed %d: buffers of tasks %d-%d at %#x+%d and of tasks %d-%d at %#x+%d share bytes",
						seed, x.def, x.last, x.off, x.size, y.def, y.last, y.off, y.size)
				}
			}
		}
		if top > sum {
			t.Errorf("seed %d: scratch of %d bytes for buffers of %d", seed, top, sum)
		}
	}
}

// TestScratchIsReused checks that buffers whose lives follow each other have the same place.
func TestScratchIsReused(t *testing.T) {
	var bufs []*buffer
	for i := range 100 {
		bufs = append(bufs, &buffer{space: scratch, size: 1000, def: 2 * i, last: 2*i + 1})
	}
	if top := placeScratch(bufs); top != align(1000, scratchAlign) {
		t.Errorf("scratch of %d bytes for buffers of 1000 that never live together", top)
	}
}

func TestScratchTakesTheLowestGap(t *testing.T) {
	at := func(spans ...int64) (rs []*resident) {
		for i := 0; i < len(spans); i += 2 {
			rs = append(rs, &resident{at: spans[i], size: spans[i+1]})
		}
		return rs
	}
	for _, c := range []struct {
		live []*resident
		n    int64
		want int64
	}{
		{nil, 100, 0},
		{at(0, 64), 16, 64},
		{at(64, 64), 64, 0},
		{at(64, 64), 80, 128},
		{at(0, 64, 128, 64), 64, 64},
		{at(0, 64, 128, 64), 80, 192},
	} {
		if got := lowest(c.live, c.n, 0); got != c.want {
			t.Errorf("lowest gap for %d bytes among %v: %d, want %d", c.n, c.live, got, c.want)
		}
	}
}
