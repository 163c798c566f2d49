package main

import (
	"math"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/cost"
)

// TestTablesOfTheProductAreCurrent estimates every point again with the constants of package cost, and compares them
// with its table. It also checks that no other rates nearby have clearly smaller errors; a little smaller they may be,
// since the fit also keeps rates near those that it begins with.
func TestTablesOfTheProductAreCurrent(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles every graph")
	}
	chips, err := load()
	if err != nil {
		t.Fatal(err)
	}
	k := 0
	for n, c := range chips {
		r := &cost.Chips[n]
		if r.Chip != c.chip {
			t.Fatalf("chip %d is %s, the table has %s", n, c.chip, r.Chip)
		}
		for _, p := range c.points {
			if k == len(cost.Points) {
				t.Fatal("the table has too few points")
			}
			want := cost.Points[k]
			k++
			got := p.estimate(get(r))
			if want.Graph != p.description || want.Chip != c.chip || want.Apart != p.apart ||
				math.Abs(want.US/p.us-1) > 1e-4 || math.Abs(want.Estimate/got-1) > 1e-3 {
				t.Errorf("%s, %s: published %.5g, estimate %.5g; the table says %+v", c.chip, p.description, p.us, got,
					want)
			}
		}
		ordinary := c.ordinary(func(*point) bool { return true })
		sum := func(v [rates]float64) (s float64) {
			for _, p := range ordinary {
				e := math.Log(p.estimate(v) / p.us)
				s += math.Sqrt(e*e + soft*soft)
			}
			return s
		}
		for i, rows := range [rates]int{r.Rows.Dispatch, r.Rows.In, r.Rows.Out, r.Rows.DMA, r.Rows.Products} {
			for _, by := range []float64{.8, 1.25} {
				v := get(r)
				v[i] *= by
				if rows >= fewest && sum(v) < .95*sum(get(r)) {
					t.Errorf("%s: rate %d times %g has smaller errors", c.chip, i, by)
				}
			}
		}
	}
	if k != len(cost.Points) {
		t.Errorf("%d points, the table has %d", k, len(cost.Points))
	}
}

// TestFitFindsTheRatesOfMadeUpPoints gives the fit points that rates predict exactly, and one that is far off.
func TestFitFindsTheRatesOfMadeUpPoints(t *testing.T) {
	want := [rates]float64{150, 12e9, 6e9, 50e9, 8e12}
	var points []*point
	for _, p := range []program{
		{in: 100, out: 100}, {in: 200, out: 50},
		{in: 8 << 20, out: 64}, {in: 16 << 20, out: 64}, {in: 64, out: 8 << 20}, {in: 64, out: 16 << 20},
		{tasks: []tasks{{work: cost.TaskWork{TileBytes: 64 << 20, Cores: 16}, n: 1}}},
		{tasks: []tasks{{work: cost.TaskWork{Kernel: cost.Stream{Bytes: 32 << 20}, Cores: 16}, n: 2}}},
		{tasks: []tasks{{work: cost.TaskWork{MACs: 1 << 33, Cores: 16}, n: 1}}},
		{tasks: []tasks{{work: cost.TaskWork{MACs: 1 << 30, Cores: 16}, n: 9}}},
	} {
		x := &point{program: &p}
		x.us = x.estimate(want)
		points = append(points, x)
	}
	wrong := *points[7]
	wrong.us *= 3
	got, rows := fit(append(points, &wrong), [rates]float64{190, 10e9, 4.7e9, 63e9, 12e12}, [rates]bool{})
	for i := range got {
		if math.Abs(got[i]/want[i]-1) > .03 || rows[i] < fewest {
			t.Errorf("rate %d is %.4g, which %d points determine; want %.4g", i, got[i], rows[i], want[i])
		}
	}
	start := [rates]float64{190, 10e9, 4.7e9, 63e9, 12e12}
	few, _ := fit(points[:8], start, [rates]bool{})
	if few[products] != start[products] {
		t.Errorf("no point determines the products, and they are %.4g", few[products])
	}
	fixed, _ := fit(points, start, [rates]bool{dispatch: true})
	if fixed[dispatch] != start[dispatch] {
		t.Errorf("the dispatch is fixed, and it is %.4g", fixed[dispatch])
	}
}

func TestBandsHaveNineOfTenFactors(t *testing.T) {
	for _, c := range []struct {
		factors []float64
		want    cost.Factors
	}{
		{nil, cost.Factors{Low: 1, High: 1}},
		{[]float64{.8}, cost.Factors{Low: .8, High: 1}},
		{[]float64{1.1, 1.2, 9}, cost.Factors{Low: 1, High: 9}},
		{[]float64{.9, .95, .97, 1, 1.01, 1.02, 1.03, 1.05, 1.1, 9}, cost.Factors{Low: .9, High: 1.1}},
		{[]float64{.01, .95, .97, 1, 1.01, 1.02, 1.03, 1.05, 1.1, 1.2}, cost.Factors{Low: .95, High: 1.2}},
	} {
		if got := inner(c.factors); got != c.want {
			t.Errorf("%v: %v, want %v", c.factors, got, c.want)
		}
	}
}

func TestDescriptionsBecomeText(t *testing.T) {
	text, err := milOf("in 1x8x4x4; 2 of conv 8 1 shared, relu; conv 16 3")
	if err != nil {
		t.Fatal(err)
	}
	for part, n := range map[string]int{"conv(": 3, "relu(": 2, "BLOBFILE": 2, "[1, 16, 4, 4]": 1} {
		if got := strings.Count(text, part); got != n {
			t.Errorf("%q occurs %d times, want %d, in\n%s", part, got, n, text)
		}
	}
	for _, bad := range []string{"", "relu", "in 1xq", "in 1x8; conv 8 1", "in 1x8; linear", "in 1x8; linear 0",
		"in 1x8; sin", "in 1x8; x of relu", "in 1x8; sdpa", "in 1x8; jacobi"} {
		if _, err := milOf(bad); err == nil {
			t.Errorf("%q is a graph", bad)
		}
	}
}
