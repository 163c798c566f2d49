package compile

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/cost/opwork"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/blobfile/blobfiletest"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// graph writes the MIL text of a published graph and its weights.
func graph(t *testing.T, m *cost.Measured) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	shape, elems := "", 0
	if m.Kernel > 0 {
		shape = fmt.Sprintf("[%d, %d, %d, %d]", m.Channels, m.Channels, m.Kernel, m.Kernel)
		elems = m.Channels * m.Channels * m.Kernel * m.Kernel
	} else {
		shape = fmt.Sprintf("[%d, %d]", m.Outer, m.Inner)
		elems = m.Outer * m.Inner
	}
	data := make([]byte, 2*elems)
	r := rand.New(rand.NewPCG(7, 7))
	for i := range elems {
		binary.LittleEndian.PutUint16(data[2*i:], uint16(0x2000+r.Uint32()%0x1000))
	}
	blobfiletest.Write(t, filepath.Join(dir, "weights.bin"),
		blobfiletest.Blob{Type: blobfile.Float16, Elems: elems, Data: data})
	x := fmt.Sprintf("[1, %d, %d, %d]", m.Channels, m.Image, m.Image)
	y := x
	pad := "same"
	if m.Valid {
		pad = "valid"
		y = fmt.Sprintf("[1, %d, %d, %d]", m.Channels, m.Image-m.Kernel+1, m.Image-m.Kernel+1)
	}
	if m.Kernel == 0 {
		x, y = fmt.Sprintf("[%d, %d]", m.Rows, m.Inner), fmt.Sprintf("[%d, %d]", m.Rows, m.Outer)
	}
	fmt.Fprintf(&b, "program(1.3)\n{\n    func main<ios18>(tensor<fp16, %s> v0) {\n", x)
	fmt.Fprintf(&b, "        tensor<fp16, %s> w = const()[val = tensor<fp16, %s>(BLOBFILE(path = "+
		"string(\"@model_path/weights.bin\"), offset = uint64(64)))];\n", shape, shape)
	for i := range m.Count {
		if m.Kernel > 0 {
			fmt.Fprintf(&b, "        tensor<fp16, %s> v%d = conv(x = v%d, weight = w, strides = tensor<int32, "+
				"[2]>([1, 1]), pad_type = string(\"%s\"), pad = tensor<int32, [4]>([0, 0, 0, 0]), dilations = "+
				"tensor<int32, [2]>([1, 1]), groups = int32(1));\n", y, i+1, i, pad)
		} else {
			fmt.Fprintf(&b, "        tensor<fp16, %s> v%d = matmul(x = v%d, y = w, transpose_x = bool(false), "+
				"transpose_y = bool(true));\n", y, i+1, i)
		}
	}
	fmt.Fprintf(&b, "    } -> (v%d);\n}\n", m.Count)
	path := filepath.Join(dir, "m.mil")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// publishedForm is the published form of the model, in microseconds: one maximum for
// the whole graph of products by peak (3.25e12 operations a second) and bytes by bandwidth
// (9e9 a second), and a dispatch of 230 us, as it was fitted with.
func publishedForm(macs, bytes int64) float64 {
	return max(2*float64(macs)/3.25e12, float64(bytes)/9e9)*1e6 + 230
}

// TestEstimatesOfMeasuredGraphs compiles the graphs whose times on the M1 were published, and compares the estimates,
// and those of the published form of the model, with the table in package cost. It fits the only fitted constant again.
func TestEstimatesOfMeasuredGraphs(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles 34 MB of weights")
	}
	hand := 0.0
	for _, c := range cost.Constants(target.H13) {
		if c.Name == "bandwidth of inputs and outputs" {
			hand = c.Value
		}
	}
	var rates []float64 // that make the estimate of a fitted graph exact
	for i := range cost.MeasuredGraphs {
		m := &cost.MeasuredGraphs[i]
		f, err := frontend.Open(graph(t, m), frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := All(context.Background(), f.Program, Options{Target: target.H13})
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		e := *r.Report.Estimate
		if r.Report.CPUOps > 0 || r.Report.Dispatches != 1 {
			t.Errorf("%s: %d operations on the CPU, %d dispatches", m.Name, r.Report.CPUOps, r.Report.Dispatches)
		}
		time := e.Time
		if m.ZeroCopy {
			time -= e.Terms[cost.Hand]
		}
		us := float64(time) / float64(cost.Microsecond)
		bytes := r.Report.Weights - r.Report.Padding
		for _, p := range r.Functions[0].Procedures {
			for _, s := range append(p.Inputs[:len(p.Inputs):len(p.Inputs)], p.Outputs...) {
				bytes += s.Size
			}
		}
		form := publishedForm(r.Report.EngineMACs, bytes)
		if m.Fitted {
			rates = append(rates, float64(e.Terms[cost.Hand])/(m.US*1000-float64(e.Time-e.Terms[cost.Hand]))*hand)
		}
		t.Logf("%s: measured %.0f us, estimate %.1f (%+.0f %%), published form %.1f (%+.0f %%); %.1f MB of DMA", m.Name,
			m.US, us, 100*(us/m.US-1), form, 100*(form/m.US-1), float64(e.DMABytes)/1e6)
		if math.Abs(us-m.Estimate) > .06 || math.Abs(form-m.Published) > .06 {
			t.Errorf("%s: the table says %.1f and %.1f us, computed are %.1f and %.1f", m.Name, m.Estimate, m.Published,
				us, form)
		}
	}
	slices.Sort(rates)
	if got := math.Round(rates[len(rates)/2]/1e8) * 1e8; got != hand {
		t.Errorf("the bandwidth of inputs and outputs is %.3g B/s, of the graphs it is fitted to the median asks "+
			"for %.3g: %.3g", hand, got, rates)
	}
}

// TestLargeProductsGoToTheEngine checks that, as published, a square product of 384 runs on the CPU and one of 512 on
// the engine, with a constant or a runtime operand.
func TestLargeProductsGoToTheEngine(t *testing.T) {
	for _, n := range []int64{384, 512} {
		for _, constant := range []bool{true, false} {
			g := irbuild.New(1)
			x, y := g.Input(n, n), (*ir.Value)(nil)
			if constant {
				y = g.Weights(n, n)
			} else {
				y = g.Input(n, n)
			}
			g.Output(g.Op("matmul", "x", x, "y", y))
			r, err := All(context.Background(), g.Program(), Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			var cpu cost.Time
			for _, op := range r.Placed.Body.Ops {
				cpu += opwork.CPU(op)
			}
			if engine := r.Report.Estimate.Time; (engine < cpu) != (n == 512) {
				t.Errorf("product of %d, constant %t: %s us on the engine, %s us on the CPU", n, constant, engine, cpu)
			}
		}
	}
}

// TestPartOfAStepGoesToTheEngine compiles a step whose movement of single elements takes longer on the engine than the
// product that needs it takes on the CPU: the product is on the engine, the movement is not.
func TestPartOfAStepGoesToTheEngine(t *testing.T) {
	g := irbuild.New(1)
	x := g.Op("sin", "x", g.Input(1, 511, 1024, 2)) // on no M1's engine
	matrix := g.Op("reshape", "x", x, "shape", []int{511, 2048})
	product := g.Op("matmul", "x", matrix, "y", g.Weights(2048, 2048))
	g.Output(product)
	r, err := All(context.Background(), g.Program(), Options{Target: target.H13, Place: passes.PlaceAuto})
	if err != nil {
		t.Fatal(err)
	}
	if u := product.Def.Place.Unit; u != ir.Engine {
		t.Errorf("the product is on the %s: %s", u, product.Def.Place.Reason)
	}
	if u := matrix.Def.Place.Unit; u != ir.CPU {
		t.Errorf("the reshape is on the %s", u)
	}
	if n := r.Report.Dispatches; n != 1 {
		t.Errorf("%d dispatches, want 1", n)
	}
}
