package plandiff

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/coreml"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/computeplan"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// forecastOf returns a forecast of operations: name, kind, device, and whether the engine can run it.
func forecastOf(rows ...coreml.Row) *coreml.Plan {
	p := &coreml.Plan{Rules: coreml.Default(), Units: coreml.CPUEngine, Function: "main"}
	for _, r := range rows {
		r.Outputs = []string{r.Name}
		for b := range r.Estimates {
			if r.Estimates[b] == 0 {
				r.Estimates[b] = math.NaN()
			}
		}
		p.Rows = append(p.Rows, r)
	}
	return p
}

// cpu and engine are rows of a forecast.
func cpu(name, kind string, can bool) coreml.Row {
	r := coreml.Row{Name: name, Kind: kind, Chosen: coreml.BNNS, Supported: coreml.BackendsOf(coreml.BNNS), Weight: 0.1}
	if can {
		r.Supported |= coreml.BackendsOf(coreml.Engine)
	} else {
		r.Reasons[coreml.Engine] = "not there"
	}
	return r
}

func engine(name, kind string) coreml.Row {
	return coreml.Row{Name: name, Kind: kind, Chosen: coreml.Engine, Weight: 0.1,
		Supported: coreml.BackendsOf(coreml.BNNS, coreml.Engine)}
}

// planOf reads rows of a table: kind, output, preferred, supported, weight.
func planOf(t *testing.T, rows ...string) *computeplan.Plan {
	t.Helper()
	var b strings.Builder
	for i, r := range rows {
		fmt.Fprintf(&b, "m\t%d\t%s\n", i, strings.ReplaceAll(r, " ", "\t"))
	}
	p, err := computeplan.Parse("plan.tsv", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDifferencesHaveTheirClasses compares operations that differ in each way, and some that do not.
func TestDifferencesHaveTheirClasses(t *testing.T) {
	tie := engine("tie", "relu")
	tie.Ties = []coreml.Device{coreml.CPU}
	r := Compare(planOf(t,
		"ios17.conv same ANE CPU,ANE 0.1",
		"ios17.conv denied ANE CPU,ANE 0.2",
		"ios17.conv unknown CPU CPU 0.3",
		"ios17.conv choice CPU CPU,ANE 0.1",
		"relu tie CPU CPU,ANE 0.05",
		"softmax gpu GPU CPU,GPU 0.1",
		"tile none - - -",
		"ios17.exp renamed CPU CPU,ANE 0.05",
		"ios17.cast x_to_fp16 CPU CPU 0.1",
	), forecastOf(engine("same", "ios17.conv"), cpu("denied", "ios17.conv", false), engine("unknown", "ios17.conv"),
		engine("choice", "ios17.conv"), tie, cpu("gpu", "softmax", true), cpu("none", "tile", true),
		cpu("renamed", "exp2", true), cpu("missing", "tanh", true)))
	if r.Joined != 8 || r.Inserted != 1 || r.OnlyInModel != 1 || r.GPU != 1 || r.NoDevice != 1 {
		t.Errorf("%+v", r)
	}
	if r.Compared != 6 || r.Agree != 3 || r.Ties != 1 || r.Engine != (EngineShare{Plan: 2, Forecast: 4}) {
		t.Errorf("%+v", r)
	}
	if r.AgreeWeight == nil || math.Abs(*r.AgreeWeight-0.2/0.8) > 1e-9 {
		t.Errorf("agreement by weight is %v", r.AgreeWeight)
	}
	want := []struct{ name, class string }{{"unknown", PlanCannot}, {"denied", ForecastCannot}, {"choice", Choice}}
	if len(r.Differences) != len(want) {
		t.Fatalf("differences are %+v", r.Differences)
	}
	for i, w := range want {
		if d := r.Differences[i]; d.Name != w.name || d.Class != w.class {
			t.Errorf("difference %d is %s, %s, want %+v", i, d.Name, d.Class, w)
		}
	}
	if d := r.Differences[1]; d.ForecastReason != "not there" {
		t.Errorf("reason is %q", d.ForecastReason)
	}
	var b strings.Builder
	if err := r.WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"same device: 3 of 6 operations, 50 %", "not compared: 1 on the GPU",
		"dump it again with the compute units cpuAndNeuralEngine", "renamed the kinds of 1 operation",
		"the engine can run it, which the forecast denies; forecast: not there"} {
		if !strings.Contains(b.String(), s) {
			t.Errorf("text is without %q:\n%s", s, b.String())
		}
	}
}

// TestWeightsAreComparedAsRatios has the dump's weights half of the forecast's, but for one.
func TestWeightsAreComparedAsRatios(t *testing.T) {
	rows := []coreml.Row{cpu("a", "exp", true), cpu("b", "exp", true), cpu("c", "exp", true), cpu("d", "exp", true)}
	r := Compare(planOf(t, "exp a CPU CPU 0.05", "exp b CPU CPU 0.05", "exp c CPU CPU 0.05", "exp d CPU CPU 0.2"),
		forecastOf(rows...))
	if w := r.Weights; w == nil || w.Count != 4 || w.Within1 != 3 || w.Name != "d" || math.Abs(w.Worst-4) > 1e-9 {
		t.Errorf("weights are %+v", w)
	}
}

// TestEstimatesAreComparedByBackend reads estimates that are 2 times and 1.005 times the forecast's.
func TestEstimatesAreComparedByBackend(t *testing.T) {
	row := engine("y", "conv")
	row.Estimates[coreml.Engine], row.Estimates[coreml.BNNS] = 1, 3
	p, err := computeplan.Parse("plan.csv", []byte("OpType, SelectedBackend, backend_0, backend_1, est_time_0, "+
		"est_time_1\nios17.conv, \"ane\", ane, bnns, 2, 3.015\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := Compare(p, forecastOf(row))
	if len(r.Estimates) != 2 || r.Estimates[0].Median != 2 || r.Estimates[0].Within10 != 0 ||
		r.Estimates[1].Within1 != 1 {
		t.Errorf("estimates are %+v", r.Estimates)
	}
}

// TestPublishedFormsGiveTheSameComparison compares each published example with the forecast for its model.
func TestPublishedFormsGiveTheSameComparison(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "coreml", "plan-forms")
	m, err := frontend.Open(filepath.Join(dir, "model.mil"), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := coreml.Forecast(t.Context(), m.Program, coreml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, pattern := range []string{"*.*", "coremlprofiler/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if filepath.Base(path) == "model.mil" {
				continue
			}
			p, err := computeplan.Read(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			found++
			r := Compare(p, f)
			if s := r.Summary; s != nil {
				if s.Plan != (EngineCount{Engine: 1, Total: 3}) {
					t.Errorf("%s: %+v", path, s)
				}
				continue
			}
			devices := []string{"CPU", "engine", "CPU"}
			if len(r.Rows) != len(devices) {
				t.Fatalf("%s: %+v", path, r)
			}
			for i, x := range r.Rows {
				if x.Plan != devices[i] {
					t.Errorf("%s: %s is on %s, want %s", path, x.Name, x.Plan, devices[i])
				}
			}
		}
	}
	if found != 20 {
		t.Errorf("%d examples, want 20", found)
	}
}
