package interp

import (
	"math"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

// lstmScalar computes one direction, written out number by number.
func lstmScalar(x, h0, c0, wih, whh, bias, peep []float32, steps, batch, in, n int, clipAt float64,
	back bool) (seq [][]float64, h, c []float64) {
	sg := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	h, c = make([]float64, batch*n), make([]float64, batch*n)
	for i := range h {
		h[i], c[i] = float64(h0[i]), float64(c0[i])
	}
	for s := range steps {
		t := s
		if back {
			t = steps - 1 - s
		}
		nh := make([]float64, batch*n)
		for b := range batch {
			for j := range n {
				g := [4]float64{}
				for k := range g {
					g[k] = float64(bias[k*n+j])
					for q := range in {
						g[k] += float64(wih[(k*n+j)*in+q]) * float64(x[(t*batch+b)*in+q])
					}
					for q := range n {
						g[k] += float64(whh[(k*n+j)*n+q]) * h[b*n+q]
					}
				}
				old := c[b*n+j]
				i, f := sg(g[0]+float64(peep[j])*old), sg(g[1]+float64(peep[n+j])*old)
				next := math.Max(-clipAt, math.Min(clipAt, f*old+i*math.Tanh(g[3])))
				o := sg(g[2] + float64(peep[2*n+j])*next)
				c[b*n+j] = next
				nh[b*n+j] = o * math.Tanh(next)
			}
		}
		h = nh
		seq = append(seq, append([]float64(nil), nh...))
	}
	return seq, h, c
}

func TestLSTMFollowsItsEquations(t *testing.T) {
	const steps, batch, in, n = 5, 2, 3, 4
	half := func(k int, s uint64) []float32 {
		v := seq(k, s)
		for i := range v {
			v[i] /= 4
		}
		return v
	}
	for _, dir := range []string{"forward", "reverse", "bidirectional"} {
		for _, sequence := range []bool{true, false} {
			dirs := 1
			if dir == "bidirectional" {
				dirs = 2
			}
			x, h0, c0 := half(steps*batch*in, 1), half(batch*dirs*n, 2), half(batch*dirs*n, 3)
			b := newBld(t, "ios15")
			a := args{"x": b.input("x", floats(t, ir.FP32, []int64{steps, batch, in}, x...)),
				"initial_h": b.input("h", floats(t, ir.FP32, []int64{batch, int64(dirs) * n}, h0...)),
				"initial_c": b.input("c", floats(t, ir.FP32, []int64{batch, int64(dirs) * n}, c0...)),
				"direction": str(dir), "output_sequence": truth(sequence), "clip": scalar(ir.FP32, 0.3)}
			var wih, whh, bias, peep [2][]float32
			for d, suffix := range []string{"", "_back"}[:dirs] {
				wih[d], whh[d] = half(4*n*in, uint64(10+d)), half(4*n*n, uint64(20+d))
				bias[d], peep[d] = half(4*n, uint64(30+d)), half(3*n, uint64(40+d))
				a["weight_ih"+suffix] = constant(floats(t, ir.FP32, []int64{4 * n, in}, wih[d]...))
				a["weight_hh"+suffix] = constant(floats(t, ir.FP32, []int64{4 * n, n}, whh[d]...))
				a["bias"+suffix] = constant(floats(t, ir.FP32, []int64{4 * n}, bias[d]...))
				a["peephole"+suffix] = constant(floats(t, ir.FP32, []int64{3 * n}, peep[d]...))
			}
			rs := b.opAs("lstm", a)
			got := b.run(Options{}, rs...)
			for d := range dirs {
				part := func(v []float32) []float32 {
					var out []float32
					for i := range batch {
						out = append(out, v[(i*dirs+d)*n:(i*dirs+d+1)*n]...)
					}
					return out
				}
				back := dir == "reverse" || d == 1
				ys, h, c := lstmScalar(x, part(h0), part(c0), wih[d], whh[d], bias[d], peep[d], steps, batch, in, n,
					0.3, back)
				gotSeq, gotH, gotC := got[0].Floats32(), part(got[1].Floats32()), part(got[2].Floats32())
				for i := range gotH {
					if !near(gotH[i], float32(h[i]), 1e-5) || !near(gotC[i], float32(c[i]), 1e-5) {
						t.Fatalf("%s: last state %v %v, want %v %v", dir, gotH, gotC, h, c)
					}
				}
				count := 1
				if sequence {
					count = steps
				}
				for s := range count {
					want := ys[steps-1] // the direction's own last step
					if sequence {
						want = ys[s]
						if dir == "bidirectional" && back {
							want = ys[steps-1-s] // time order
						}
					}
					row := part(gotSeq[s*batch*dirs*n:])
					for i := range row {
						if !near(row[i], float32(want[i]), 1e-5) {
							t.Fatalf("%s, sequence %v, direction %d, place %d: %v, want %v", dir, sequence, d, s, row,
								want)
						}
					}
				}
			}
		}
	}
}

func TestGRUAndRNNOneStep(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{1, 1, 1}, 1))
	h := b.input("h", floats(t, ir.FP32, []int64{1, 1}, 0.5))
	g := b.opAs("gru", args{"x": x, "initial_h": h, "weight_ih": constant(floats(t, ir.FP32, []int64{3, 1}, 0.1, 0.2,
		0.3)),
		"weight_hh": constant(floats(t, ir.FP32, []int64{3, 1}, 0.4, 0.5, 0.6)),
		"bias":      constant(floats(t, ir.FP32, []int64{3}, 0.7, 0.8, 0.9))})
	n := b.opAs("rnn", args{"x": x, "initial_h": h, "weight_ih": constant(floats(t, ir.FP32, []int64{1, 1}, 0.1)),
		"weight_hh": constant(floats(t, ir.FP32, []int64{1, 1}, 0.4)),
		"bias":      constant(floats(t, ir.FP32, []int64{1}, 0.7))})
	got := b.run(Options{}, g[1], n[1])
	sg := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	r, z := sg(0.1+0.4*0.5+0.7), sg(0.3+0.6*0.5+0.9)
	o := math.Tanh(0.2 + 0.5*(r*0.5) + 0.8)
	wantFloats(t, got[0], 1e-6, []int64{1, 1}, float32((1-z)*o+z*0.5))
	wantFloats(t, got[1], 1e-6, []int64{1, 1}, float32(math.Tanh(0.1+0.4*0.5+0.7)))
}
