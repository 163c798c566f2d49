package coreml

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// dumped returns the observations of the dumped graphs of an M4.
func dumped(t *testing.T) (seen []Observation) {
	t.Helper()
	for _, g := range readEstimates(t) {
		plan, err := Forecast(t.Context(), write(g).program(t, "ios18"), Options{Units: CPUEngine})
		if err != nil {
			t.Fatalf("%s: %v", g[0].model, err)
		}
		for i, r := range g {
			if r.op == "lstm" || r.op == "gru" {
				continue // whose work is not known
			}
			o := Observation{Row: &plan.Rows[i]}
			o.MS[Engine], o.MS[BNNS], o.MS[ClassicCPU] = r.ms[0], r.ms[1], r.ms[2]
			seen = append(seen, o)
		}
	}
	return seen
}

// TestFitReproducesTheRatesOfTheM4 fits the dumped estimates of an M4, with its own rules as the base and with the
// rules of another chip.
func TestFitReproducesTheRatesOfTheM4(t *testing.T) {
	seen := dumped(t)
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			base, err := Named(name)
			if err != nil {
				t.Fatal(err)
			}
			fit := FitRates(base, seen)
			if len(fit.Unfitted) > 0 {
				t.Errorf("not fitted: %+v", fit.Unfitted)
			}
			if n := far(fit, 0.001); n > 0 {
				t.Errorf("%d estimates are off by more than 0.1 %%", n)
			}
			var b strings.Builder
			fit.Rules.Name = "fitted"
			if err := fit.Rules.Write(&b); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(strings.NewReader(b.String()), "fitted"); err != nil {
				t.Errorf("%v in\n%s", err, b.String())
			}
		})
	}
}

// far counts the estimates that the fit has not within a relative error.
func far(fit *Fit, tolerance float64) (n int) {
	for _, r := range fit.Residuals {
		for b := range NumBackends {
			if r.MS[b] > 0 && !(math.Abs(r.Fitted[b]/r.MS[b]-1) <= tolerance) {
				n++
			}
		}
	}
	return n
}

// TestFitSaysWhatFollowsNoRate changes the estimates of one operation at random: the rates of the base stay, and the
// rates of the others do not change.
func TestFitSaysWhatFollowsNoRate(t *testing.T) {
	seen := dumped(t)
	r := rand.New(rand.NewPCG(1, 2))
	changed := 0
	for i := range seen {
		if seen[i].Row.Operator() == "relu" {
			seen[i].MS[Engine] *= 1 + r.Float64()
			changed++
		}
	}
	fit := FitRates(Default(), seen)
	if len(fit.Unfitted) != 1 || fit.Unfitted[0].Operation != "relu" || fit.Unfitted[0].Count != changed ||
		!(fit.Unfitted[0].Worst > 0.1) {
		t.Errorf("not fitted: %+v, want %d of relu", fit.Unfitted, changed)
	}
	if n := far(fit, FitTolerance); n == 0 || n > changed {
		t.Errorf("%d estimates are off, want the %d that were changed", n, changed)
	}
}

// TestFitFollowsAnotherChip doubles the speed of the engine and moves the edges of convolutions to where the intensity
// is twice as high: the fit finds both.
func TestFitFollowsAnotherChip(t *testing.T) {
	base := Default()
	other := *base
	other.Rates = nil
	for _, r := range base.Rates {
		r.Times[Engine] = slices.Clone(r.Times[Engine])
		for i := range r.Times[Engine] {
			r.Times[Engine][i].Giga *= 2
		}
		r.When = slices.Clone(r.When)
		if r.Operation == "conv" {
			for i := range r.When {
				r.When[i].Value *= 2
			}
		}
		other.Rates = append(other.Rates, r)
	}
	seen := dumped(t)
	table := newTable(&other)
	for i := range seen {
		o := &seen[i]
		rate, _ := table.find(o.Row.Operator(), &o.Row.work)
		ms := rate.estimate(&o.Row.work)
		for b := range o.MS {
			if o.MS[b] > 0 {
				o.MS[b] = ms[b]
			}
		}
	}
	fit := FitRates(base, seen)
	if len(fit.Unfitted) > 0 || far(fit, 0.001) > 0 {
		t.Errorf("not fitted: %+v; %d are off", fit.Unfitted, far(fit, 0.001))
	}
}
