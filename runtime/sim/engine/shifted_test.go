package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// TestShiftedSumsEqualGatheredOnes compares the bits of both sums on a small image for all windows and paddings.
func TestShiftedSumsEqualGatheredOnes(t *testing.T) {
	for _, c := range []struct{ g, cin, cout, h, w, kw, kh, px, py, oh, ow int }{
		{g: 1, cin: 8, cout: 8, h: 8, w: 8, kw: 3, kh: 3, px: 1, py: 1, oh: 8, ow: 8},
		{g: 1, cin: 3, cout: 5, h: 5, w: 7, kw: 3, kh: 1, px: 1, py: 0, oh: 5, ow: 7},
		{g: 2, cin: 4, cout: 3, h: 6, w: 6, kw: 5, kh: 5, px: 2, py: 2, oh: 6, ow: 6},
		{g: 1, cin: 2, cout: 2, h: 4, w: 4, kw: 3, kh: 3, px: 0, py: 0, oh: 2, ow: 2},
		{g: 1, cin: 2, cout: 2, h: 3, w: 9, kw: 4, kh: 2, px: 3, py: 1, oh: 3, ow: 9},
		// taps and rows outside on both sides
		{g: 1, cin: 1, cout: 1, h: 2, w: 2, kw: 7, kh: 7, px: 3, py: 3, oh: 3, ow: 2},
		{g: 1, cin: 2, cout: 1, h: 3, w: 3, kw: 3, kh: 3, px: 9, py: 9, oh: 3, ow: 3}, // padding that hides the image
		// rows and columns that no window reaches
		{g: 1, cin: 2, cout: 1, h: 9, w: 9, kw: 3, kh: 3, px: 1, py: 1, oh: 4, ow: 5},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			g := &geometry{in: shape{c.g, 1, c.cin, c.h, c.w}, out: shape{c.g, 1, c.cout, c.oh, c.ow},
				kw: c.kw, kh: c.kh, sx: 1, sy: 1, px: c.px, py: c.py, red: c.cin * c.kw * c.kh}
			values := func(seed, n int) []float32 {
				v := make([]float32, n)
				for i, h := range random(uint64(seed), n, 1) {
					v[i] = port.Widen(h)
				}
				return v
			}
			v := values(1, int(g.in.count()))
			k := &kernel[float32]{w: values(2, c.g*c.cout*g.red), bias: values(3, c.g*c.cout)}
			k.w[len(k.w)/2] = 0
			e := New(Options{L2Bytes: l2Bytes, Workers: 1})
			x := &exec[float32, uint16]{
				machine: &e.machine,
				run:     run{ctx: context.Background(), workers: 1},
				t:       td.New().Set(td.PostScale, 0x3c00),
			}
			p := newPost(x.t, ANE, nil, true)
			got, want := make([]uint16, g.out.count()), make([]uint16, g.out.count())
			if err := x.shifted(p, g, k, v, got); err != nil {
				t.Fatal(err)
			}
			if err := x.gathered(p, g, k, v, want, false); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("shifted   %04x\ngathered %04x", got, want)
			}
		})
	}
}
