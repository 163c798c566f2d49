package coreml

import "math"

// table is the rates of rules by operation, in the order in which they apply.
type table struct {
	rates map[string][]*Rate
	any   []*Rate
}

func newTable(r *Rules) *table {
	t := &table{rates: map[string][]*Rate{}}
	for i := range r.Rates {
		if x := &r.Rates[i]; x.Operation == "*" {
			t.any = append(t.any, x)
		} else {
			t.rates[x.Operation] = append(t.rates[x.Operation], x)
		}
	}
	return t
}

// find returns the rate that applies to an operation, and those that may apply instead of it.
func (t *table) find(operation string, f *features) (rate *Rate, maybe []*Rate) {
	own := t.rates[operation]
	for _, list := range [][]*Rate{own, t.any} {
		for _, x := range list {
			if x.When.holds(f) {
				rate = x
				break
			}
		}
		if rate != nil {
			break
		}
	}
	for _, x := range own {
		if x != rate && x.Maybe != nil && x.Maybe.holds(f) {
			maybe = append(maybe, x)
		}
	}
	return rate, maybe
}

// estimate returns the milliseconds of an operation on each backend, NaN where the rate or the work is not known.
func (x *Rate) estimate(f *features) (ms [NumBackends]float64) {
	for b := range ms {
		ms[b] = math.NaN()
		if x == nil {
			continue
		}
		for _, t := range x.Times[b] {
			if d := f.of(t.Work) / t.Giga / 1e6; math.IsNaN(ms[b]) || d > ms[b] || math.IsNaN(d) {
				ms[b] = d
			}
		}
	}
	return ms
}
