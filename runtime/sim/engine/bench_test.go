package engine

import (
	"context"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
)

// kernelTask is a convolution of c channels of h x w to n channels from
// register 5 to register 4, coefficients in register 1, dense, with sixteen
// cores and output groups of sixteen.
func kernelTask(c, n, h, w, k int) (*td.Task, buffers) {
	row := (2*w + 63) &^ 63
	t := td.New().Set(td.InFmt, 2).Set(td.OutFmt, 2).Set(td.Win, w).Set(td.Hin, h).Set(td.Din, 1).Set(td.Cin, c).
		Set(td.Cout, n).
		Set(td.Wout, w).Set(td.Hout, h).Set(td.Dout, 1).Set(td.Kw, k).Set(td.Kh, 1).Set(td.Sx, 1).Set(td.Sy, 1).
		Set(td.Px, k/2).
		Set(td.NumGroups, 1).Set(td.TileHeight, h).Set(td.ActiveNE, 4).Set(td.OCGSize, 4).
		Set(td.SrcEn, 1).Set(td.SrcMemFmt, 2).Set(td.SrcRow, row).Set(td.SrcPlane, row*h).Set(td.SrcInterleave, 1).
		Set(td.DstEn, 1).Set(td.DstMemFmt, 2).Set(td.DstRow, row).Set(td.DstPlane, row*h).Set(td.DstInterleave, 1).
		Set(td.RBase0, 5).Set(td.RBE0, 1).Set(td.WBase, 4).Set(td.WBE, 1).Set(td.KBase0, 1).Set(td.KBE0, 1).
		Set(td.KernelOn, 1).Set(td.KernelFmt, 2).Set(td.PostScale, 0x3c00)
	size := (2*n*c*k/16 + 63) &^ 63
	for i := range td.Lanes {
		t.Set(td.CoeffEn.At(i), 1).Set(td.CoeffBase.At(i), i*size).Set(td.CoeffSize.At(i), size)
	}
	return t, buffers{
		1: halves(random(1, 8*size, 0.05)...),
		4: make([]byte, row*h*n),
		5: halves(random(2, row/2*h*c, 1)...),
	}
}

func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name          string
		c, n, h, w, k int
	}{
		{name: "c384_n1536_w1500", c: 384, n: 1536, h: 1, w: 1500, k: 1},
		{name: "c384_n384_w1500_k3", c: 384, n: 384, h: 1, w: 1500, k: 3},
		{name: "c1024_n4096_w1", c: 1024, n: 4096, h: 1, w: 1, k: 1},
	} {
		b.Run(c.name, func(b *testing.B) {
			t, mem := kernelTask(c.c, c.n, c.h, c.w, c.k)
			if err := t.Err(); err != nil {
				b.Fatal(err)
			}
			var macs int64
			e := New(Options{L2Bytes: l2Bytes, Trace: func(ev Event) { macs = ev.MACs }})
			for b.Loop() {
				if err := e.Step(context.Background(), td.Placed{Task: t}, mem); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(macs)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
		})
	}
}
