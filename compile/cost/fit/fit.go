package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	"github.com/zinc-compiler/zinc/compile/cost"
)

// The rates that are fitted, and what one of their units in tables is.
const (
	dispatch = iota
	in
	out
	dma
	products
	rates
)

var units = [rates]float64{1, 1e9, 1e9, 1e9, 1e12}

// The weights of the terms of what a fit minimises: besides the errors, how far rates are from the published figures
// that they begin with, and how far the ratio of the rates of inputs and outputs is, which few rows determine.
const (
	soft       = .03 // error below which squares count
	nearStart  = .02
	nearRatio  = .3
	determines = .1 // share of a rate's change from which a row determines it
	fewest     = 2  // rows that must determine a rate
)

// point is a published time and the program of its graph.
type point struct {
	pointRow
	family, description string
	*program
	apart bool // parts of it are explained by no rate, so nothing is fitted to it
}

// set sets the rates of r.
func set(r *cost.Rates, v [rates]float64) {
	r.Dispatch, r.In, r.Out, r.DMA, r.Products = v[dispatch], v[in], v[out], v[dma], v[products]
}

func get(r *cost.Rates) [rates]float64 {
	return [rates]float64{r.Dispatch, r.In, r.Out, r.DMA, r.Products}
}

// estimate returns the microseconds of a call.
func (p *point) estimate(v [rates]float64) float64 {
	r := cost.Rates{Chip: p.chip}
	set(&r, v)
	return total(p.times(&r))
}

// total returns the microseconds of all parts.
func total(t cost.PartTimes) float64 {
	sum := cost.Time(0)
	for _, d := range t {
		sum += d
	}
	return float64(sum) / float64(cost.Microsecond)
}

// fit returns the rates with the least errors for the points, with those from start that are fixed or that too few
// points determine, and the number of points that determine each.
func fit(points []*point, start [rates]float64, fixed [rates]bool) (v [rates]float64, rows [rates]int) {
	free := slices.DeleteFunc([]int{dispatch, in, out, dma, products}, func(i int) bool { return fixed[i] })
	for {
		v = minimise(points, start, free)
		rows = determined(points, v)
		for i := range rows {
			if fixed[i] {
				rows[i] = 0
			}
		}
		few := slices.IndexFunc(free, func(i int) bool { return rows[i] < fewest })
		if few < 0 {
			return v, rows
		}
		free = slices.Delete(free, few, few+1)
	}
}

// determined counts the points whose estimates depend on each rate.
func determined(points []*point, v [rates]float64) (rows [rates]int) {
	const step = 1.1
	for i := range rates {
		changed := v
		changed[i] *= step
		for _, p := range points {
			if math.Abs(math.Log(p.estimate(changed)/p.estimate(v))) >= determines*math.Log(step) {
				rows[i]++
			}
		}
	}
	return rows
}

// minimise changes the free rates, in logarithms, by the simplex of Nelder and Mead.
func minimise(points []*point, start [rates]float64, free []int) [rates]float64 {
	if len(free) == 0 {
		return start
	}
	at := func(x []float64) [rates]float64 {
		v := start
		for k, i := range free {
			v[i] *= math.Exp(x[k])
		}
		return v
	}
	loss := func(x []float64) float64 {
		v, sum := at(x), 0.0
		for _, p := range points {
			e := math.Log(p.estimate(v) / p.us)
			sum += math.Sqrt(e*e + soft*soft)
		}
		for _, d := range x {
			sum += nearStart * d * d
		}
		ratio := math.Log(v[in] / v[out] / (start[in] / start[out]))
		return sum + nearRatio*ratio*ratio
	}
	x := make([]float64, len(free))
	for range 4 { // a new simplex leaves where the last one had collapsed
		r, err := optimize.Minimize(optimize.Problem{Func: loss}, x, &optimize.Settings{FuncEvaluations: 2000,
			Converger: &optimize.FunctionConverge{Absolute: 1e-7, Iterations: 200}}, &optimize.NelderMead{})
		if r == nil || err != nil && r.X == nil {
			break
		}
		x = r.X
	}
	return at(x)
}
