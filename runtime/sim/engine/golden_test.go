package engine

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/lower/td"
)

// Containers that Apple's compiler wrote run with random inputs: task words,
// coefficients and tables are all from the file.
func TestGoldenContainers(t *testing.T) {
	// The kernels of conv and conv3 are all 2 and all 3.
	kernel := func(w float64) func(in [][]float64) []float64 {
		return func(in [][]float64) []float64 {
			s := w * (in[0][0] + in[0][1] + in[0][2])
			return []float64{s, s, s}
		}
	}
	each := func(f func(float64) float64) func([][]float64) []float64 {
		return func(in [][]float64) []float64 {
			return unary(f)(in, nil)
		}
	}
	for _, c := range []struct {
		name        string
		want        func(in [][]float64) []float64
		ulps, slack float64
	}{
		{name: "relu", want: each(func(v float64) float64 { return math.Max(0, v) }), ulps: 0, slack: 0},
		// 0.0034 is the error measured for this table on the engine.
		{name: "sigmoid", want: each(func(v float64) float64 {
			return 1 / (1 + math.Exp(-v))
		}), ulps: 1, slack: 0.0034},
		{name: "conv", want: kernel(2), ulps: 0.51, slack: 0},
		{name: "conv3", want: kernel(3), ulps: 0.51, slack: 0},
		{name: "sum", want: func(in [][]float64) []float64 {
			return binary2(plus)(in, [][4]int{{1, 1, 1, 64}, {1, 1, 1, 64}})
		}, ulps: 0.5, slack: 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(shareddir.Find(t), "golden", "apple-h13", c.name+".hwx"))
			if err != nil {
				t.Fatal(err)
			}
			f, err := hwx.Read(data)
			if err != nil {
				t.Fatal(err)
			}
			p := f.Procedures()[0]
			text, off, ok := f.Text().Of(p)
			if !ok {
				t.Fatal("the program's text is not in the file")
			}
			tasks, err := td.V7.DecodeChain(text, off, p.FirstWords)
			if err != nil {
				t.Fatal(err)
			}
			mem := buffers{1: f.ConstantBytes()}
			// Inputs take registers 5 and up, the output register 4.
			bar := 5
			var in [][]float64
			var out *surface
			for _, d := range f.Tensors() {
				s := newSurface(int(d.Dims[0]), int(d.Dims[1]), int(d.Dims[2]), int(d.Dims[3]))
				if d.Binding == hwx.BindOutput {
					out = s
					mem[4] = s.buf
					continue
				}
				s.set(random(uint64(bar), int(d.Dims[0]*d.Dims[1]*d.Dims[2]*d.Dims[3]), 12))
				mem[bar] = s.buf
				bar++
				in = append(in, s.values())
			}
			if err := New(Options{L2Bytes: l2Bytes}).Run(context.Background(), tasks, mem); err != nil {
				t.Fatal(err)
			}
			near(t, c.name, out.values(), c.want(in), c.ulps, c.slack)
		})
	}
}
