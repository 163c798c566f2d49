package coreml

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/graph/path"
	"gonum.org/v1/gonum/graph/simple"
)

// randomSteps returns steps with small whole costs, so that ties are frequent, and backends that are missing.
func randomSteps(r *rand.Rand, n int) []step {
	steps := make([]step, n)
	for i := range steps {
		for b := range NumBackends {
			steps[i][b] = Cost(r.IntN(5)) * 1e11
			if b == GPU || b == Engine && r.IntN(4) == 0 {
				steps[i][b] = never
			}
		}
	}
	return steps
}

// TestPathIsCheapest compares the way through random steps with the shortest path through the same graph, found by
// another program, and its ties with all ways of the same cost.
func TestPathIsCheapest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range Names() {
		rules, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		m := newMoves(rules)
		for range 300 {
			steps := randomSteps(r, 1+r.IntN(6))
			w := cheapest(steps, &m)
			if want := shortest(steps, &m); w.best.MS() != want {
				t.Fatalf("%s: cost %g ms, want %g: %v", name, w.best.MS(), want, steps)
			}
			if got := costOfWay(steps, w.chosen, &m); got != w.best {
				t.Fatalf("%s: the chosen way costs %d, want %d", name, got, w.best)
			}
			best := allBest(steps, &m, w.best)
			for i := range steps {
				var want []Device
				for _, way := range best {
					if d := way[i].Device(); d != w.chosen[i].Device() && !slices.Contains(want, d) {
						want = append(want, d)
					}
				}
				got := w.ties(i)
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Fatalf("%s, step %d: ties with %v, want %v: %v", name, i, got, want, steps)
				}
			}
		}
	}
}

// shortest finds the length of the shortest path in milliseconds as a graph problem.
func shortest(steps []step, m *moves) float64 {
	g := simple.NewWeightedDirectedGraph(0, 1e18)
	node := func(i int, b Backend) simple.Node { return simple.Node(i*int(NumBackends) + int(b)) }
	source, sink := simple.Node(-1), simple.Node(-2)
	edge := func(from, to simple.Node, c Cost) {
		if c != never {
			g.SetWeightedEdge(simple.WeightedEdge{F: from, T: to, W: c.MS()})
		}
	}
	last := len(steps) - 1
	for i := range steps {
		for b := range NumBackends {
			if i == 0 {
				edge(source, node(i, b), m[Caller][b].plus(steps[i][b]))
			}
			for a := range NumBackends {
				if i > 0 {
					edge(node(i-1, a), node(i, b), m[a][b].plus(steps[i][b]))
				}
			}
			if i == last {
				edge(node(i, b), sink, m[b][Caller])
			}
		}
	}
	_, length := path.DijkstraFrom(source, g).To(sink.ID())
	return costOf(length).MS()
}

// costOfWay adds up a way.
func costOfWay(steps []step, way []Backend, m *moves) Cost {
	total := m[Caller][way[0]]
	for i, b := range way {
		if i > 0 {
			total = total.plus(m[way[i-1]][b])
		}
		total = total.plus(steps[i][b])
	}
	return total.plus(m[way[len(way)-1]][Caller])
}

// allBest lists every way of the given cost.
func allBest(steps []step, m *moves, best Cost) (ways [][]Backend) {
	way := make([]Backend, len(steps))
	var extend func(i int)
	extend = func(i int) {
		if i == len(steps) {
			if costOfWay(steps, way, m) == best {
				ways = append(ways, slices.Clone(way))
			}
			return
		}
		for b := range NumBackends {
			way[i] = b
			extend(i + 1)
		}
	}
	extend(0)
	return ways
}

// TestCostsStopAtNever checks that sums of huge estimates do not wrap.
func TestCostsStopAtNever(t *testing.T) {
	huge := costOf(1e300)
	sum := Cost(0)
	for range 10 {
		sum = sum.plus(huge)
	}
	if sum != never {
		t.Errorf("the sum of ten huge costs is %d, want %d", sum, never)
	}
}
