package port

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// hostile are numbers at which rows could differ: special values, limits of fp16 and what lies beside them.
func hostile() []float32 {
	inf := float32(math.Inf(1))
	l := []float32{0, 1, 0.1, 3, 16384, 32751, 32752, 32760, 65504, 65519, 65520, 1e30, inf, 0x1p-14, 0x1p-24, 0x1p-25,
		0x1.8p-25, 0x1p-126, 0x1p-149, float32(math.NaN()), math.Float32frombits(0x7f800001)}
	for _, f := range l {
		b := math.Float32bits(f)
		l = append(l, -f, math.Float32frombits(b+1), math.Float32frombits(b-1))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1 << 12 {
		l = append(l, math.Float32frombits(r.Uint32()), float32(r.NormFloat64()))
	}
	return l
}

// same reports whether two rows have the same bits.
func same(a, b []float32) error {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return fmt.Errorf("element %d of %d: %g (%#08x), want %g (%#08x)", i, len(a), a[i],
				math.Float32bits(a[i]), b[i], math.Float32bits(b[i]))
		}
	}
	return nil
}

func TestReadReadsEveryPattern(t *testing.T) {
	src := make([]byte, 0, 2<<16)
	for h := range 1 << 16 {
		src = binary.LittleEndian.AppendUint16(src, uint16(h))
	}
	for _, products := range []bool{false, true} {
		got := make([]float32, 1<<16)
		Read(got, src, products)
		if err := same(got, Values(products)[:]); err != nil {
			t.Errorf("products %t: %v", products, err)
		}
	}
	if v := Values(true); v[1] != 0 || math.Signbit(float64(v[0x83ff])) || v[0x0400] != 0x1p-14 ||
		!math.IsInf(float64(v[0xfe00]), 1) || !math.IsInf(float64(v[0xfc00]), -1) || Values(false)[1] != 0x1p-24 {
		t.Error("the values of subnormal numbers, NaN or infinity are wrong")
	}
}

func TestWriteRoundsEachNumber(t *testing.T) {
	v := hostile()
	for from := range 9 { // every place in a group of eight
		got := make([]uint16, len(v)-from)
		Write(got, v[from:])
		bytes := make([]byte, 2*len(got))
		Store(bytes, got)
		for i, f := range v[from:] {
			if stored := binary.LittleEndian.Uint16(bytes[2*i:]); got[i] != Round(f) || stored != got[i] {
				t.Fatalf("%g (%#08x) is %#04x, stored as %#04x, want %#04x", f, math.Float32bits(f), got[i], stored,
					Round(f))
			}
		}
	}
}

func TestRowsAreThePortableOnes(t *testing.T) {
	v := hostile()
	for from := range 9 {
		v := v[from:]
		got, want := make([]float32, len(v)), make([]float32, len(v))
		for _, f := range []Finish{
			{Scale: 1, Limit: float32(math.Inf(1)), Floor: NoFloor},
			{Bias: 1, Add: -1, Scale: 0.5, Limit: 32752, Floor: 0},
			{Bias: float32(math.Inf(1)), Add: float32(math.Inf(-1)), Scale: -3, Limit: 32752, Floor: NoFloor},
			{Bias: -65504, Scale: 0, Limit: float32(math.Inf(1)), Floor: 0},
		} {
			f.Row(got, v)
			finishPortable(want, v, f)
			if err := same(got, want); err != nil {
				t.Errorf("%+v: %v", f, err)
			}
		}
		rows := map[string][2]func([]float32){
			"zeroNaN": {ZeroNaN, zeroNaNPortable},
		}
		for _, sign := range []float32{1, -1} {
			for _, b := range [][]float32{v[len(v)/2:][:1], {float32(math.Inf(1))}, {0}, reversed(v)} {
				name := fmt.Sprintf(" %g times %d numbers, the first %g", sign, len(b), b[0])
				rows["add"+name] = [2]func([]float32){
					func(v []float32) { Add(v, b, sign) }, func(v []float32) { addPortable(v, b, sign) }}
				rows["multiply"+name] = [2]func([]float32){
					func(v []float32) { Multiply(v, b, sign) }, func(v []float32) { multiplyPortable(v, b, sign) }}
			}
		}
		for name, run := range rows {
			copy(got, v)
			copy(want, v)
			run[0](got)
			run[1](want)
			if err := same(got, want); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestExtremesAreThoseOfTheRow(t *testing.T) {
	v := slices.DeleteFunc(hostile(), func(f float32) bool { return f != f })
	for n := 1; n < 40; n++ {
		for from := 0; from+n < len(v); from += 7 {
			row := v[from:][:n]
			if Max(row) != slices.Max(row) || Min(row) != slices.Min(row) {
				t.Fatalf("%v: %g and %g", row, Max(row), Min(row))
			}
		}
	}
}

func reversed(v []float32) []float32 {
	out := make([]float32, len(v))
	for i, f := range v {
		out[len(v)-1-i] = f
	}
	return out
}

func BenchmarkRows(b *testing.B) {
	const n = 1500
	v, out, bytes, halves := make([]float32, n), make([]float32, n), make([]byte, 2*n), make([]uint16, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	Write(halves, v)
	Store(bytes, halves)
	f := Finish{Bias: 1, Scale: 0.5, Limit: 32752, Floor: NoFloor}
	for _, c := range []struct {
		name string
		run  [2]func()
	}{
		{"finish", [2]func(){func() { finishPortable(v, v, f) }, func() { f.Row(v, v) }}},
		{"read", [2]func(){func() { readPortable(out, bytes, true) }, func() { Read(out, bytes, true) }}},
		{"write", [2]func(){func() { writePortable(halves, v) }, func() { Write(halves, v) }}},
		{"add", [2]func(){func() { addPortable(out, v, -1) }, func() { Add(out, v, -1) }}},
	} {
		for i, kernel := range []string{"portable", "assembly"} {
			b.Run(c.name+"/"+kernel, func(b *testing.B) {
				b.SetBytes(4 * n)
				for b.Loop() {
					c.run[i]()
				}
			})
		}
	}
}
