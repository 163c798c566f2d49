package engine

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// TestSumsAreMeasured checks, through a task, what was measured of the accumulator's first stage. In sixteen triples
// (B, -B, 1) all ones survive for B up to 4090 and four of them from 4096 on; 4096 followed by 1024 ones results in
// 5116. A running sum past 32768 stays infinite.
func TestSumsAreMeasured(t *testing.T) {
	triples := func(b float32) (v []float32) {
		for range 16 {
			v = append(v, b, -b, 1)
		}
		return v
	}
	ones := append([]float32{4096}, make([]float32, 1024)...)
	for i := range ones[1:] {
		ones[i+1] = 1
	}
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name      string
		in        []float32
		ane, wide float32
	}{
		{name: "1024", in: triples(1024), ane: 16, wide: 16}, {name: "3000", in: triples(3000), ane: 16, wide: 16},
		{name: "4090", in: triples(4090), ane: 16, wide: 16},
		{name: "4096", in: triples(4096), ane: 4, wide: 16}, {name: "8000", in: triples(8000), ane: 4, wide: 16},
		{name: "16000", in: triples(16000), ane: 4, wide: 16}, {name: "30000", in: triples(30000), ane: 4, wide: 16},
		{name: "long sum", in: ones, ane: 5116, wide: 5120},
		{name: "passes 32768 and comes back", in: []float32{20000, 14000, 0, 0, -30000, 0, 0, 0}, ane: inf,
			wide: 4000},
		{name: "passes it within a group", in: []float32{20000, 14000, -30000, 0}, ane: 4000, wide: 4000},
	} {
		for num, want := range map[Numerics]float32{ANE: c.ane, ANEWide: c.wide} {
			task, mem := kernelTask(len(c.in), 16, 1, 1, 1)
			for ch, f := range c.in {
				copy(mem[5][64*ch:], halves(port.Narrow(f)))
			}
			for i := range len(mem[1]) / 2 {
				binary.LittleEndian.PutUint16(mem[1][2*i:], port.Narrow(1))
			}
			step(t, New(Options{L2Bytes: l2Bytes, Numerics: num}), task, mem)
			if got := port.Widen(binary.LittleEndian.Uint16(mem[4])); got != want {
				t.Errorf("%s, mode %d: %g, want %g", c.name, num, got, want)
			}
		}
	}
}

// TestSumsAgreeWithTheModel compares the first stage with the model in package numerics, which shares no code with it,
// on random sums, some with infinities, in every order of size.
func TestSumsAgreeWithTheModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, special := range []bool{false, true} {
		for trial := range 3000 {
			red := 1 + rng.IntN(23)
			w, b := make([]float32, red), make([]float32, red)
			for i := range red {
				for _, v := range [][]float32{w, b} {
					v[i] = port.Widen(port.Narrow(float32(math.Ldexp(rng.Float64()*2-1, rng.IntN(10)-4))))
					if special && rng.IntN(8) == 0 {
						v[i] = float32(math.Inf(1 - 2*rng.IntN(2)))
					}
					if math.Abs(float64(v[i])) < 0x1p-14 {
						v[i] = 0
					}
				}
			}
			var acc numerics.Accumulator
			for i := range red {
				acc.Add(w[i], b[i])
			}
			got := make([]float32, 1)
			at := make([]int, red)
			for i := range at {
				at[i] = i
			}
			ANE.add(got, 1, w, red, 1, b, at, 1)
			if want := acc.Sum(); got[0] != want {
				t.Fatalf("trial %d: %v and %v sum to %g, the model says %g", trial, w, b, got[0], want)
			}
		}
	}
}

// BenchmarkSums measures the cost of the first stage compared with sums in fp32.
func BenchmarkSums(b *testing.B) {
	for num, name := range map[Numerics]string{ANEWide: "ane-wide", ANE: "ane"} {
		b.Run(name, func(b *testing.B) {
			task, mem := kernelTask(256, 256, 1, 256, 1)
			e := New(Options{L2Bytes: l2Bytes, Numerics: num})
			for b.Loop() {
				step(b, e, task, mem)
			}
		})
	}
}
