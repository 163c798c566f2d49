package coreml

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/internal/diag"
)

// Observation is the framework's own estimates of an operation.
type Observation struct {
	Row *Row                 // of a forecast
	MS  [NumBackends]float64 // milliseconds; NaN or 0 where the framework printed none
}

// Fit is rates that were fitted to observations.
type Fit struct {
	Rules     *Rules
	Groups    []FitGroup
	Residuals []Residual // in the order of the observations
	Unfitted  []Unfitted
}

// FitGroup is a rate that was fitted.
type FitGroup struct {
	Rate  *Rate
	Count int                  // observations
	Worst [NumBackends]float64 // largest relative error; NaN without observations
}

// Residual is how far the fitted estimate of an observation is off.
type Residual struct {
	Observation
	Fitted [NumBackends]float64 // NaN where there is no observation or no rate
}

// Unfitted is a kind of operation whose estimates follow no rate; the rates of the base stay.
type Unfitted struct {
	Operation string
	Count     int
	Why       string
	Worst     float64 // largest relative error of the rates that stay; NaN if there are none
}

// FitTolerance is the relative error up to which estimates follow a rate.
const FitTolerance = 0.01

// baseTolerance is the error up to which the measure of the base is kept, though another fits better.
const baseTolerance = 0.001

// sameTolerance is the error up to which a rate is the base's, which may have only four digits.
const sameTolerance = 0.00005

// FitRates fits rates to estimates that the framework printed for another chip or system. base has what estimates do
// not say: the costs of changes, the limits, and the rates of operations that are not observed.
func FitRates(base *Rules, observed []Observation) *Fit {
	rules := *base
	rules.Rates = nil
	f := &fitter{base: base, table: newTable(base), known: map[string][][]*Rate{}, fit: &Fit{Rules: &rules}}
	for _, name := range builtIn {
		for operation, rates := range newTable(builtInRules(name)).rates {
			f.known[operation] = append(f.known[operation], rates)
		}
	}
	kinds, others := f.group(observed)
	for _, k := range kinds {
		if rates := f.kind(k.operation, k.samples, f.table.rates[k.operation]); rates != nil {
			rules.Rates = append(rules.Rates, rates...)
		}
	}
	rules.Rates = append(rules.Rates, f.rest(others)...)
	f.summarise(observed)
	return f.fit
}

// A fitter collects a Fit.
type fitter struct {
	base  *Rules
	table *table
	known map[string][][]*Rate // of all built-in rules, whose conditions are tried too
	fit   *Fit
}

// sample is an observation with its work.
type sample struct {
	*Observation
	work map[Measure]float64
}

// samples are observations of one operation.
type kindSamples struct {
	operation string
	samples   []sample
}

// group sorts the observations by operation, in the order of their first appearance. own have rates in the base, others
// do not.
func (f *fitter) group(observed []Observation) (own, others []kindSamples) {
	index := map[string]int{}
	var all []kindSamples
	for i := range observed {
		o := &observed[i]
		if o.Row.Inserted != "" {
			continue
		}
		name := o.Row.Operator()
		at, ok := index[name]
		if !ok {
			at = len(all)
			index[name], all = at, append(all, kindSamples{operation: name})
		}
		s := sample{Observation: o, work: map[Measure]float64{}}
		for _, m := range measures {
			s.work[m] = o.Row.work.of(m)
		}
		all[at].samples = append(all[at].samples, s)
	}
	for _, k := range all {
		if f.table.rates[k.operation] != nil {
			own = append(own, k)
		} else {
			others = append(others, k)
		}
	}
	return own, others
}

// class is observations to which one rate applies.
type class struct {
	when, maybe Conditions
	samples     []sample
	base        *Rate  // the base's rate, whose measures come first; nil for none
	about       string // of the interval, for the source
}

// kind fits the rates of an operation: one rate, a rate for each condition of the base or of other known rules, or for
// each interval of a measure. It returns the base's rates if the estimates follow none.
func (f *fitter) kind(operation string, all []sample, base []*Rate) []Rate {
	structures := [][]class{{{samples: all, base: first0(base)}}}
	for _, rates := range append([][]*Rate{base}, f.known[operation]...) {
		if len(rates) > 1 {
			structures = append(structures, partition(all, rates))
		}
	}
	if s := intervals(all, base); s != nil {
		structures = append(structures, s)
	}
	best := math.Inf(1)
	for _, classes := range structures {
		rates, groups, worst := classRates(operation, classes)
		if worst <= FitTolerance {
			f.fit.Groups = append(f.fit.Groups, groups...)
			return rates
		}
		best = min(best, worst)
	}
	f.fit.Unfitted = append(f.fit.Unfitted, Unfitted{
		Operation: operation,
		Count:     len(all),
		Why:       fmt.Sprintf("the best rates are off by up to %.3g %%", 100*best),
		Worst:     math.NaN(),
	})
	return f.kept(base, "does not follow a rate")
}

// first0 returns the first rate, or nil.
func first0(rates []*Rate) *Rate {
	if len(rates) == 0 {
		return nil
	}
	return rates[0]
}

// kept returns rates of the base, whose source says so.
func (f *fitter) kept(base []*Rate, why string) (out []Rate) {
	for _, r := range base {
		x := *r
		x.Source = fmt.Sprintf("%s in the dump; as in %s: %s", why, f.base.Name, r.Source)
		out = append(out, x)
	}
	return out
}

// partition divides observations by the first condition of the base that holds.
func partition(all []sample, base []*Rate) []class {
	classes := make([]class, len(base))
	for i, r := range base {
		classes[i] = class{when: r.When, maybe: r.Maybe, base: r, about: r.When.String()}
	}
	for _, s := range all {
		if r := applying(base, &s); r != nil {
			i := slices.Index(base, r)
			classes[i].samples = append(classes[i].samples, s)
		}
	}
	return classes
}

// candidates are the measures of work that rates may have. The measures of the base are first, for the backend and then
// for the engine.
func candidates(base *Rate, b Backend) (out []Measure) {
	if base != nil {
		for _, t := range append(slices.Clone(base.Times[b]), base.Times[Engine]...) {
			if !slices.Contains(out, t.Work) {
				out = append(out, t.Work)
			}
		}
	}
	for _, m := range []Measure{Bias, Flops, Elements, Inputs, Outputs, Bytes, Window} {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// classRates fits each class; one without observations keeps the base's rate. worst is the largest relative error.
func classRates(operation string, classes []class) (rates []Rate, groups []FitGroup, worst float64) {
	for i := range classes {
		c := &classes[i]
		if len(c.samples) == 0 {
			r := *c.base
			r.Source = "not in the dump: " + r.Source
			rates = append(rates, r)
			continue
		}
		r := &Rate{Operation: operation, When: c.when, Maybe: c.maybe}
		g := FitGroup{Rate: r, Count: len(c.samples)}
		most := 0.0
		var assumed []string
		for b := range NumBackends {
			var off float64
			r.Times[b], off = c.times(b)
			g.Worst[b] = off
			if !math.IsNaN(off) {
				most = max(most, off)
			}
			if r.Times[b] == nil && c.base != nil && c.base.Times[b] != nil {
				r.Times[b] = c.base.Times[b]
				assumed = append(assumed, b.String())
			}
		}
		r.Source = diag.Count(len(c.samples), "estimate", "estimates") + ": within " + percentText(most)
		if c.about != "" && c.about != "-" {
			r.Source += "; " + c.about
		}
		if assumed != nil {
			r.Source += "; " + strings.Join(assumed, ", ") + " not in the dump"
		}
		worst = max(worst, most)
		rates, groups = append(rates, *r), append(groups, g)
	}
	return rates, groups, worst
}

// percentText writes a relative error, of at least a hundredth of a per cent.
func percentText(x float64) string { return fmt.Sprintf("%.2g %%", 100*max(x, 1e-4)) }

// times fits the rate of a class on a backend, and returns its largest relative error, NaN without observations.
func (c *class) times(b Backend) (Times, float64) {
	var seen []sample
	for _, s := range c.samples {
		if s.MS[b] > 0 {
			seen = append(seen, s)
		}
	}
	if len(seen) == 0 {
		return nil, math.NaN()
	}
	if c.base != nil && c.base.Times[b] != nil {
		if worst := worstOf(seen, c.base, b); worst <= sameTolerance {
			return c.base.Times[b], worst
		}
	}
	var best Times
	off := math.Inf(1)
	for i, m := range candidates(c.base, b) {
		giga, worst, ok := fitTerm(seen, b, m)
		if ok && worst < off {
			best, off = Times{{Giga: giga, Work: m}}, worst
		}
		if i == 0 && off <= baseTolerance {
			break
		}
	}
	if off > baseTolerance && c.base != nil && len(c.base.Times[b]) > 1 {
		if ts, worst, ok := fitLongest(seen, b, c.base.Times[b]); ok && worst < off {
			best, off = ts, worst
		}
	}
	return best, off
}

// rateOf is the rate in 10^9 a second that an observation has for a measure.
func (s *sample) rateOf(b Backend, m Measure) float64 { return s.work[m] / s.MS[b] / 1e6 }

// fitTerm returns the geometric mean of the rates, and the largest relative error; ok is false if an observation does
// not have the measure.
func fitTerm(seen []sample, b Backend, m Measure) (giga, worst float64, ok bool) {
	rates := make([]float64, len(seen))
	logs := 0.0
	for i := range seen {
		rates[i] = seen[i].rateOf(b, m)
		if !(rates[i] > 0) || math.IsInf(rates[i], 0) {
			return 0, 0, false
		}
		logs += math.Log(rates[i])
	}
	giga = digits(math.Exp(logs/float64(len(rates))), rateDigits, math.Round)
	for _, r := range rates {
		worst = max(worst, math.Abs(r/giga-1))
	}
	return giga, worst, true
}

// rateDigits is the number of digits of a rate.
const rateDigits = 7

// digits rounds a number to n decimal digits.
func digits(x float64, n int, round func(float64) float64) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, float64(n-1)-math.Floor(math.Log10(math.Abs(x))))
	return round(x*scale) / scale
}

// maxRounds bounds the rounds of fitLongest, which end when no observation changes its term.
const maxRounds = 20

// fitLongest fits times of several terms. The longest counts, so each observation belongs to the term that is the
// longest by the rates so far, which begin as the base's.
func fitLongest(seen []sample, b Backend, base Times) (Times, float64, bool) {
	ts := slices.Clone(base)
	for range maxRounds {
		parts := make([][]sample, len(ts))
		for _, s := range seen {
			at := longest(&s, ts)
			parts[at] = append(parts[at], s)
		}
		before := slices.Clone(ts)
		for i := range ts {
			if len(parts[i]) == 0 {
				continue
			}
			giga, _, ok := fitTerm(parts[i], b, ts[i].Work)
			if !ok {
				return nil, 0, false
			}
			ts[i].Giga = giga
		}
		if slices.Equal(before, ts) {
			break
		}
	}
	worst := 0.0
	for _, s := range seen {
		t := ts[longest(&s, ts)]
		worst = max(worst, math.Abs(s.rateOf(b, t.Work)/t.Giga-1))
	}
	return ts, worst, true
}

// longest returns the term that takes the longest.
func longest(s *sample, ts Times) int {
	at := 0
	for i, t := range ts {
		if s.work[t.Work]/t.Giga > s.work[ts[at].Work]/ts[at].Giga {
			at = i
		}
	}
	return at
}

// edgeMeasures are the measures whose intervals may have rates of their own.
var edgeMeasures = []Measure{Intensity, Columns, Depth, Rows, Elements, Bytes}

// minDistinct is the number of different values that an interval must have on average, so that intervals do not
// follow single observations.
const minDistinct = 3

// intervals divides the observations at the values of one measure where the rates change; nil if no measure does in
// few intervals.
func intervals(all []sample, base []*Rate) (best []class) {
	for _, edge := range edgeMeasures {
		sorted := slices.Clone(all)
		slices.SortStableFunc(sorted, func(a, b sample) int { return cmp.Compare(a.work[edge], b.work[edge]) })
		if len(sorted) == 0 || math.IsNaN(sorted[0].work[edge]) {
			continue
		}
		for _, m := range candidates(first0(base), Engine) {
			cuts, ok := changes(sorted, edge, m)
			if ok && len(cuts) > 1 && (best == nil || len(cuts) < len(best)) {
				best = classesOf(cuts, edge, base)
			}
		}
	}
	return best
}

// changes divides sorted observations where the rate on any backend changes; ok is false if it changes between
// observations with the same value, or too often.
func changes(sorted []sample, edge, m Measure) (cuts [][]sample, ok bool) {
	distinct, begin := 1, 0
	var low, high [NumBackends]float64
	for i := range sorted {
		s := &sorted[i]
		if w := s.work[m]; !(w > 0) {
			return nil, false
		}
		same := i > 0 && sorted[i-1].work[edge] == s.work[edge]
		if i > 0 && !same {
			distinct++
		}
		if i > 0 && extends(s, m, &low, &high) {
			continue
		}
		if same {
			return nil, false
		}
		if i > 0 {
			cuts = append(cuts, sorted[begin:i])
			begin = i
		}
		low, high = [NumBackends]float64{}, [NumBackends]float64{}
		extends(s, m, &low, &high)
	}
	cuts = append(cuts, sorted[begin:])
	return cuts, len(cuts)*minDistinct <= distinct
}

// extends widens the rates of an interval by an observation, and reports whether they are still one rate.
func extends(s *sample, m Measure, low, high *[NumBackends]float64) bool {
	l, h := *low, *high
	for b := range NumBackends {
		if !(s.MS[b] > 0) {
			continue
		}
		r := s.rateOf(b, m)
		if h[b] == 0 {
			l[b], h[b] = r, r
		}
		l[b], h[b] = min(l[b], r), max(h[b], r)
		if h[b] > l[b]*(1+2*FitTolerance) {
			return false
		}
	}
	*low, *high = l, h
	return true
}

// classesOf returns the classes of intervals of a measure. Where an edge is between two observed values is not known.
func classesOf(cuts [][]sample, edge Measure, base []*Rate) []class {
	classes := make([]class, len(cuts))
	for i, c := range cuts {
		low, high := c[0].work[edge], c[len(c)-1].work[edge]
		about := fmt.Sprintf("%s %.4g to %.4g", edge, low, high)
		x := class{samples: c, base: applying(base, &c[len(c)/2]), about: about}
		if i > 0 {
			before := cuts[i-1]
			x.maybe = append(x.maybe, Condition{edge, ">", digits(before[len(before)-1].work[edge], 5, math.Floor)})
		}
		if i < len(cuts)-1 {
			next := cuts[i+1][0].work[edge]
			x.when = Conditions{{edge, "<", between(high, next)}}
			x.maybe = append(x.maybe, Condition{edge, "<", digits(next, 5, math.Ceil)})
		}
		classes[i] = x
	}
	return classes
}

// applying returns the first of the rates that applies to an observation, or nil.
func applying(rates []*Rate, s *sample) *Rate {
	for _, r := range rates {
		if r.When.holds(&s.Row.work) {
			return r
		}
	}
	return nil
}

// between returns a number between two, with few digits.
func between(low, high float64) float64 {
	middle := math.Sqrt(low * high)
	for n := 2; n < 17; n++ {
		if x := digits(middle, n, math.Round); x > low && x < high {
			return x
		}
	}
	return high
}

// rest returns the rates of operations that have none of their own in the base: one for all of them, and one for each
// whose estimates are elsewhere. The base's rates of operations that were not observed come first.
func (f *fitter) rest(others []kindSamples) (out []Rate) {
	seen := map[string]bool{"*": true}
	for _, r := range f.fit.Rules.Rates {
		seen[r.Operation] = true
	}
	for i := range f.base.Rates {
		if r := &f.base.Rates[i]; !seen[r.Operation] {
			out = append(out, f.kept([]*Rate{r}, "not")...)
		}
	}
	shared := f.shared(others)
	for _, k := range others {
		if !follows(k.samples, shared) {
			out = append(out, f.kind(k.operation, k.samples, nil)...)
		}
	}
	return append(out, *shared)
}

// shared fits the rate of all other operations: the middle of the rates by bytes, so that an operation that has another
// one does not move it.
func (f *fitter) shared(others []kindSamples) *Rate {
	any := *f.table.any[len(f.table.any)-1]
	var all []sample
	for _, k := range others {
		all = append(all, k.samples...)
	}
	if len(all) == 0 {
		return &f.kept([]*Rate{&any}, "not")[0]
	}
	any.When, any.Maybe = nil, nil
	for b := range NumBackends {
		var rates []float64
		for _, s := range all {
			if r := s.rateOf(b, Bytes); s.MS[b] > 0 && r > 0 {
				rates = append(rates, r)
			}
		}
		if len(rates) > 0 {
			slices.Sort(rates)
			middle := rates[(len(rates)-1)/2]
			any.Times[b] = Times{{Giga: digits(middle, rateDigits, math.Round), Work: Bytes}}
		}
	}
	g := FitGroup{Rate: &any}
	most := 0.0
	for b := range g.Worst {
		g.Worst[b] = math.NaN()
	}
	for _, k := range others {
		if !follows(k.samples, &any) {
			continue
		}
		g.Count += len(k.samples)
		for b := range NumBackends {
			if x := worstOf(k.samples, &any, b); !math.IsNaN(x) {
				most, g.Worst[b] = max(most, x), max(x, nanAs(g.Worst[b], 0))
			}
		}
	}
	if g.Count == 0 {
		return &f.kept([]*Rate{f.table.any[len(f.table.any)-1]}, "not")[0]
	}
	any.Source = fmt.Sprintf("%s of other operations: within %s", diag.Count(g.Count, "estimate", "estimates"),
		percentText(most))
	f.fit.Groups = append(f.fit.Groups, g)
	return &any
}

// nanAs returns x, or another number for NaN.
func nanAs(x, other float64) float64 {
	if math.IsNaN(x) {
		return other
	}
	return x
}

// follows reports whether observations follow a rate on every backend.
func follows(all []sample, r *Rate) bool {
	for b := range NumBackends {
		if x := worstOf(all, r, b); x > FitTolerance {
			return false
		}
	}
	return true
}

// worstOf is the largest relative error of a rate on a backend, NaN without observations.
func worstOf(all []sample, r *Rate, b Backend) float64 {
	worst := math.NaN()
	for _, s := range all {
		if ms := r.estimate(&s.Row.work)[b]; s.MS[b] > 0 && !math.IsNaN(ms) {
			worst = max(nanAs(worst, 0), math.Abs(ms/s.MS[b]-1))
		}
	}
	return worst
}

// summarise computes the residual of each observation under the fitted rules.
func (f *fitter) summarise(observed []Observation) {
	t := newTable(f.fit.Rules)
	worst := map[string]float64{}
	for _, o := range observed {
		r := Residual{Observation: o}
		rate, _ := t.find(o.Row.Operator(), &o.Row.work)
		r.Fitted = rate.estimate(&o.Row.work)
		for b := range NumBackends {
			if !(o.MS[b] > 0) {
				r.Fitted[b] = math.NaN()
			} else if ms := r.Fitted[b]; !math.IsNaN(ms) {
				worst[o.Row.Operator()] = max(worst[o.Row.Operator()], math.Abs(ms/o.MS[b]-1))
			}
		}
		f.fit.Residuals = append(f.fit.Residuals, r)
	}
	for i := range f.fit.Unfitted {
		u := &f.fit.Unfitted[i]
		if x, ok := worst[u.Operation]; ok {
			u.Worst = x
		}
	}
}
