package interp

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// TestRowsLeaveThePortAsSingleNumbersDo writes every pattern of fp16, what is next to it in fp32 and random numbers as
// a row and by numerics.Out and OutMAC.
func TestRowsLeaveThePortAsSingleNumbersDo(t *testing.T) {
	var vals []float32
	for h := range 1 << 16 {
		u := math.Float32bits(numerics.Widen(uint16(h)))
		vals = append(vals, math.Float32frombits(u-1), math.Float32frombits(u), math.Float32frombits(u+1),
			math.Float32frombits(u+1<<12))
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 1 << 18 {
		vals = append(vals, math.Float32frombits(r.Uint32()))
	}
	for _, mac := range []bool{false, true} {
		port := numerics.Out
		if mac {
			port = numerics.OutMAC
		}
		want := make([]float32, len(vals))
		for i, v := range vals {
			want[i] = port(v)
		}
		b, single := make([]byte, 2*len(vals)), make([]byte, 2*len(vals))
		packFloats(single, ir.FP16, want)
		writePort(b, vals, mac)
		if !bytes.Equal(b, single) {
			for i := range vals {
				if !bytes.Equal(b[2*i:2*i+2], single[2*i:2*i+2]) {
					t.Fatalf("mac %v: %g (%#x) is written as %x, want %x", mac, vals[i], math.Float32bits(vals[i]),
						b[2*i:2*i+2], single[2*i:2*i+2])
				}
			}
		}
	}
}

// TestFunctionsOfManyHalvesAreThoseOfFew compares functions of a tensor that is large enough for a table with the
// function of its parts, on every pattern, with the engine's rules and without.
func TestFunctionsOfManyHalvesAreThoseOfFew(t *testing.T) {
	const parts = manyHalves >> 16
	data := make([]byte, 0, 2*manyHalves)
	for range parts {
		for h := range 1 << 16 {
			data = append(data, byte(h), byte(h>>8))
		}
	}
	for _, op := range []string{"gelu", "exp", "softplus", "erf"} {
		for _, mode := range []numerics.Mode{numerics.IEEE, numerics.ANE} {
			run := func(n int) []byte {
				b := newBld(t, "ios15")
				x, err := NewTensor(ir.TensorOf(ir.FP16, int64(n)), data[:2*n])
				if err != nil {
					t.Fatal(err)
				}
				r := b.op(op, args{"x": b.input("x", x)})
				return b.onEngine().run(Options{Numerics: mode}, r)[0].Data
			}
			few, many := run(1<<16), run(manyHalves)
			for p := range parts {
				if !bytes.Equal(many[2*p<<16:][:2<<16], few) {
					t.Errorf("%s in the mode %s: part %d of a large tensor differs from a small one", op, mode, p)
				}
			}
		}
	}
}
