package main

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/compile/cost"
)

// chip is a chip, its points and what is fitted to them.
type chip struct {
	chipRow
	parent *chip
	points []*point
	rates  [rates]float64
	rows   [rates]int
	bands  [cost.Parts]cost.Factors
	// Without each point, and without each family, in the order of points.
	without, withoutFamily [][rates]float64
}

// ordinary are the points that rates are fitted to: those without parts that no rate explains.
func (c *chip) ordinary(keep func(p *point) bool) (out []*point) {
	for _, p := range c.points {
		if !p.apart && keep(p) {
			out = append(out, p)
		}
	}
	return out
}

// fit fits the chip's rates, and again without each point and each family.
func (c *chip) fit() {
	start := c.start
	for i := range start {
		if start[i] == 0 {
			start[i] = c.parent.rates[i]
		}
	}
	c.rates, c.rows = fit(c.ordinary(func(*point) bool { return true }), start, c.fixed)
	for i := range c.rates {
		c.rates[i] = rounded(c.rates[i])
	}
	families := map[string][rates]float64{}
	for _, p := range c.points {
		left := c.rates
		if !p.apart {
			left, _ = fit(c.ordinary(func(o *point) bool { return o != p }), start, c.fixed)
		}
		c.without = append(c.without, left)
		if _, ok := families[p.family]; !ok {
			families[p.family], _ = fit(c.ordinary(func(o *point) bool { return o.family != p.family }), start, c.fixed)
		}
		c.withoutFamily = append(c.withoutFamily, families[p.family])
	}
}

// rounded returns a number with four digits.
func rounded(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-3)
	return math.Round(v/unit) * unit
}

// timesAt returns the parts of point i with the rates that it has no influence on.
func (c *chip) timesAt(i int) cost.PartTimes {
	r := cost.Rates{Chip: c.chip}
	set(&r, c.without[i])
	return c.points[i].times(&r)
}

// factors returns the ratios of times to estimates by the chip's points: of whole calls or, for the parts that no rate
// explains, of the time that the other parts leave.
func (c *chip) factors(part cost.Part) (out []float64) {
	for i, p := range c.points {
		t := c.timesAt(i)
		sum, own := total(t), float64(t[part])/float64(cost.Microsecond)
		switch {
		case part > cost.PartWork:
			if own > 0 {
				out = append(out, (p.us-sum+own)/own)
			}
		case !p.apart && t.Ordinary() == part:
			out = append(out, p.us/sum)
		}
	}
	return out
}

// fewFactors is the number of points of a part below which a chip also counts the points of the chip that it inherits
// from.
const fewFactors = 10

// band fills in the chip's bands. The parts that no rate explains have few points, so the points of all chips count.
func (c *chip) band(all []*chip) {
	for part := range c.bands {
		var fs []float64
		switch p := cost.Part(part); p {
		case cost.PartCPU:
			continue
		case cost.PartDispatch, cost.PartWork:
			for x := c; x != nil && len(fs) < fewFactors; x = x.parent {
				fs = append(fs, x.factors(p)...)
			}
		default:
			for _, x := range all {
				fs = append(fs, x.factors(p)...)
			}
		}
		c.bands[part] = inner(fs)
	}
}

// inner returns the shortest interval, as a ratio, that has nine of ten factors, extended to 1.
func inner(fs []float64) cost.Factors {
	if len(fs) == 0 {
		return cost.Factors{Low: 1, High: 1}
	}
	slices.Sort(fs)
	var best cost.Factors
	n := max(1, int(math.Round(.9*float64(len(fs)))))
	for i := range len(fs) - n + 1 {
		low, high := max(fs[i], .01), fs[i+n-1]
		if i == 0 || high/low < best.High/best.Low {
			best = cost.Factors{Low: low, High: high}
		}
	}
	const digit = 100
	return cost.Factors{
		Low:  math.Floor(digit*min(1, best.Low)+1e-9) / digit,
		High: math.Ceil(digit*max(1, best.High)-1e-9) / digit,
	}
}

// result returns the chip's constants as the product has them.
func (c *chip) result() cost.Rates {
	r := cost.Rates{Chip: c.chip, Bands: c.bands}
	set(&r, c.rates)
	r.Rows = cost.RateRows{Dispatch: c.rows[dispatch], In: c.rows[in], Out: c.rows[out], DMA: c.rows[dma],
		Products: c.rows[products]}
	var errs []float64
	for i, p := range c.points {
		t := c.timesAt(i)
		b := r.Band(&t)
		r.Shown++
		if b.Holds(p.us) {
			r.Held++
		}
		if !p.apart {
			errs = append(errs, math.Abs(p.estimate(c.without[i])/p.us-1))
		}
	}
	r.Points = len(errs)
	r.Median, r.P90 = quantile(errs, .5), quantile(errs, .9)
	return r
}

// quantile returns the least error that a share of the errors does not exceed.
func quantile(errs []float64, share float64) float64 {
	if len(errs) == 0 {
		return 0
	}
	errs = slices.Sorted(slices.Values(errs))
	if share == .5 {
		return (errs[(len(errs)-1)/2] + errs[len(errs)/2]) / 2
	}
	return errs[int(math.Ceil(share*float64(len(errs))))-1]
}

// rowsOf returns the chip's points as the product has them.
func (c *chip) rowsOf() (out []cost.Point) {
	r := c.result()
	for i, p := range c.points {
		t := p.times(&r)
		b := r.Band(&t)
		out = append(out, cost.Point{
			Graph:         p.description,
			Chip:          c.chip,
			US:            p.us,
			Estimate:      total(t),
			Low:           float64(b.Low) / 1e3,
			High:          float64(b.High) / 1e3,
			Without:       p.estimate(c.without[i]),
			WithoutFamily: p.estimate(c.withoutFamily[i]),
			Apart:         p.apart,
			Derived:       p.derived,
		})
	}
	return out
}
