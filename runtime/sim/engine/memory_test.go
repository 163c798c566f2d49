package engine

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// buffers is a Memory with one byte slice per buffer-access register.
type buffers map[int][]byte

func (b buffers) Window(bar int, off, n int64, _ bool) ([]byte, error) {
	buf := b[bar]
	if off < 0 || n < 0 || off > int64(len(buf)) || n > int64(len(buf))-off {
		return nil, fmt.Errorf("bytes %#x to %#x of register %d, which has %#x", off, off+n, bar, len(buf))
	}
	return buf[off : off+n : off+n], nil
}

// surface is a tensor in a buffer: n, c, h, w with byte strides.
type surface struct {
	buf    []byte
	shape  [4]int
	stride [4]int
}

func newSurface(n, c, h, w int) *surface {
	row := (2*w + 63) &^ 63
	s := &surface{shape: [4]int{n, c, h, w}, stride: [4]int{row * h * c, row * h, row, 2}}
	s.buf = make([]byte, n*c*h*row)
	return s
}

func (s *surface) each(f func(i int, at int)) {
	i := 0
	for n := range s.shape[0] {
		for c := range s.shape[1] {
			for h := range s.shape[2] {
				for w := range s.shape[3] {
					f(i, n*s.stride[0]+c*s.stride[1]+h*s.stride[2]+w*s.stride[3])
					i++
				}
			}
		}
	}
}

// set fills the tensor, in row-major order.
func (s *surface) set(v []uint16) {
	s.each(func(i, at int) { binary.LittleEndian.PutUint16(s.buf[at:], v[i]) })
}

// bits returns the tensor's patterns in row-major order.
func (s *surface) bits() []uint16 {
	var out []uint16
	s.each(func(_, at int) { out = append(out, binary.LittleEndian.Uint16(s.buf[at:])) })
	return out
}

// values returns the tensor's values in row-major order.
func (s *surface) values() []float64 { return values(s.bits()) }

func values(b []uint16) []float64 {
	out := make([]float64, len(b))
	for i, h := range b {
		out[i] = float64(port.Widen(h))
	}
	return out
}

// random returns n patterns of values in [-scale, scale).
func random(seed uint64, n int, scale float64) []uint16 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]uint16, n)
	for i := range out {
		out[i] = port.Narrow(float32((2*r.Float64() - 1) * scale))
	}
	return out
}

// halves packs patterns, padded with zeros to a multiple of 64 bytes.
func halves(v ...uint16) []byte {
	out := make([]byte, (2*len(v)+63)&^63)
	for i, h := range v {
		binary.LittleEndian.PutUint16(out[2*i:], h)
	}
	return out
}

// ulp is the fp16 spacing at x.
func ulp(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-11, -24))
}

// near compares a result with exact values: at most ulps spacings, plus slack.
func near(t *testing.T, name string, got, want []float64, ulps, slack float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", name, len(got), len(want))
	}
	worst, at := 0.0, -1
	for i := range got {
		if got[i] == want[i] {
			continue
		}
		d := (math.Abs(got[i]-want[i]) - slack) / ulp(want[i])
		if !(d <= ulps) && !(d <= worst) {
			worst, at = d, i
		}
	}
	if at >= 0 {
		t.Errorf("%s: element %d is %g, want %g (%.1f ulp, allowed %g and %g)", name, at, got[at], want[at], worst,
			ulps, slack)
	}
}
