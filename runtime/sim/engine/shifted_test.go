package engine

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
)

// TestShifted: on a small image the shifted sum gives the bits of the gathered
// one, whatever the window, the padding and what of it lies outside.
func TestShifted(t *testing.T) {
	for _, c := range []struct{ g, cin, cout, h, w, kw, kh, px, py, oh, ow int }{
		{1, 8, 8, 8, 8, 3, 3, 1, 1, 8, 8},
		{1, 3, 5, 5, 7, 3, 1, 1, 0, 5, 7},
		{2, 4, 3, 6, 6, 5, 5, 2, 2, 6, 6},
		{1, 2, 2, 4, 4, 3, 3, 0, 0, 2, 2},
		{1, 2, 2, 3, 9, 4, 2, 3, 1, 3, 9},
		{1, 1, 1, 2, 2, 7, 7, 3, 3, 3, 2}, // taps and rows outside on both sides
		{1, 2, 1, 3, 3, 3, 3, 9, 9, 3, 3}, // padding that hides the image
		{1, 2, 1, 9, 9, 3, 3, 1, 1, 4, 5}, // rows and columns that no window reaches
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			g := &geometry{in: shape{c.g, 1, c.cin, c.h, c.w}, out: shape{c.g, 1, c.cout, c.oh, c.ow},
				kw: c.kw, kh: c.kh, sx: 1, sy: 1, px: c.px, py: c.py, red: c.cin * c.kw * c.kh}
			values := func(seed, n int) []float32 {
				v := make([]float32, n)
				for i, h := range random(uint64(seed), n, 1) {
					v[i] = widen(h)
				}
				return v
			}
			v := values(1, int(g.in.count()))
			k := &kernel{w: values(2, c.g*c.cout*g.red), bias: values(3, c.g*c.cout)}
			k.w[len(k.w)/2] = 0
			e := New(Options{Workers: 1})
			x := &exec{Engine: e, run: run{ctx: context.Background(), workers: 1}, t: td.New().Set(td.PostScale, 0x3c00)}
			p := newPost(x.t, ANE, k, true)
			got, want := make([]uint16, g.out.count()), make([]uint16, g.out.count())
			if err := x.shifted(p, g, k, v, got); err != nil {
				t.Fatal(err)
			}
			if err := x.gathered(p, g, k, v, want, false, false); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("shifted   %04x\ngathered %04x", got, want)
			}
		})
	}
}
