package lower

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOccupancyIsThatOfEachTask compares the tree with lists of residents for each task, on random residents.
func TestOccupancyIsThatOfEachTask(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		drafts := make([]*draft, 1+rng.IntN(70))
		for i := range drafts {
			drafts[i] = &draft{floor: rng.Int64N(100), reach: rng.Int64N(1000)}
		}
		o := newOccupancy(drafts)
		floors := make([]int64, len(drafts))
		for i, d := range drafts {
			floors[i] = d.floor
		}
		var added []*resident
		for range 40 {
			def := rng.IntN(len(drafts))
			r := &resident{def: def, last: def + rng.IntN(len(drafts)-def)}
			r.at, r.size = rng.Int64N(8)*64, 1+rng.Int64N(100)
			if r.last+1 < len(drafts) {
				r.after = rng.IntN(2)
			}
			var alive []*resident
			for i := r.def; i <= r.end(); i++ {
				for _, l := range added {
					if l.def <= i && i <= l.end() && !slices.Contains(alive, l) {
						alive = append(alive, l)
					}
				}
			}
			slices.SortStableFunc(alive, func(a, b *resident) int { return int(a.at - b.at) })
			if got := o.aliveWith(r); !slices.Equal(got, alive) {
				t.Fatalf("alive with %d to %d: %v, want %v", r.def, r.end(), got, alive)
			}
			limit, want := 900+rng.Int64N(300), true
			for i := r.def; i <= r.end(); i++ {
				want = want && align(max(floors[i], r.at+r.size), 64)+drafts[i].reach <= limit
			}
			if got := o.fits(r.def, r.end(), r.at+r.size, limit); got != want {
				t.Fatalf("fits in %d: %v, want %v", limit, got, want)
			}
			if !want {
				continue
			}
			o.add(r)
			added = append(added, r)
			for i := r.def; i <= r.end(); i++ {
				floors[i] = max(floors[i], r.at+r.size)
			}
		}
		o.setFloors()
		for i, d := range drafts {
			if d.floor != floors[i] {
				t.Fatalf("task %d: floor %d, want %d", i, d.floor, floors[i])
			}
		}
	}
}
