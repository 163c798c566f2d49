package attest

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/lower/td"
)

// part adds to a kind what one property of a task contributes, "" for nothing.
type part struct {
	name string
	of   func(t *td.Task) string
}

// parts is what makes a kind. Sizes are told by the classes that the rules in
// docs/registers.md distinguish, never by value.
var parts = []part{
	{"work", work},
	{"from", sources},
	{"to", destination},
	{"broadcast", func(t *td.Task) string {
		return flags(t, td.Bcast1W, td.Bcast1H, td.Bcast1D, td.Bcast1C, td.Bcast2W, td.Bcast2H, td.Bcast2D, td.Bcast2C)
	}},
	{"transposed", func(t *td.Task) string { return flags(t, td.Swap1, td.Swap2, td.SwapResult, td.SwapNE) }},
	{"window", window},
	{"kernel", kernel},
	{"after", after},
	{"image", func(t *td.Task) string {
		return fmt.Sprintf("%s/%s", pixels(t.Int(td.Hin), t.Int(td.Win)), pixels(t.Int(td.Hout), t.Int(td.Wout)))
	}},
	{"channels", func(t *td.Task) string {
		return fmt.Sprintf("%s/%s", channels(t.Int(td.Cin)), channels(t.Int(td.Cout)))
	}},
	{"repeats", func(t *td.Task) string {
		return some(t.Int(td.NumGroups) > 1, "groups") + some(t.Int(td.Din) > 1, "depth")
	}},
	{"tile", func(t *td.Task) string {
		return some(t.Int(td.TileHeight) != 0 && t.Int(td.TileHeight) < t.Int(td.Hout), "partial")
	}},
}

// Kind returns the kind of task i of a chain of n: words name=value in the order
// of parts, and its place in the chain.
func Kind(t *td.Task, i, n int) string {
	var b strings.Builder
	for _, p := range parts {
		if v := p.of(t); v != "" {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(p.name + "=" + v)
		}
	}
	switch {
	case n == 1:
	case i == 0:
		b.WriteString(" step=first")
	case i == n-1:
		b.WriteString(" step=last")
	default:
		b.WriteString(" step=middle")
	}
	return b.String()
}

func some(on bool, s string) string {
	if on {
		return s
	}
	return ""
}

// flags lists the fields that are set, by their names without the block.
func flags(t *td.Task, fs ...td.Field) string {
	var on []string
	for _, f := range fs {
		if t.On(f) {
			_, name, _ := strings.Cut(f.String(), ".")
			on = append(on, name)
		}
	}
	return strings.Join(on, "+")
}

func work(t *td.Task) string {
	if p := t.Planar(); p != td.NotPlanar {
		return fmt.Sprintf("planar%d/%d%d%s", p, t.Int(td.PEOp), t.Int(td.PoolMode), some(t.On(td.PESquare), "s"))
	}
	return fmt.Sprintf("neural%d", t.Int(td.NEOp))
}

func sources(t *td.Task) string {
	s := "l2"
	if td.Streams[td.StreamSource1].Moved(t) {
		s = fmt.Sprintf("dram%d", t.Int(td.SrcInterleave))
	}
	switch {
	case t.On(td.Source2DMA):
		s += "+dram"
	case t.On(td.PETwo):
		s += "+l2"
	}
	return s
}

func destination(t *td.Task) string {
	if t.On(td.DstEn) {
		return fmt.Sprintf("dram%d", t.Int(td.DstInterleave))
	}
	return "l2"
}

func window(t *td.Task) string {
	kh, kw := t.Int(td.Kh), t.Int(td.Kw)
	sh, sw := t.Int(td.Sy), t.Int(td.Sx)
	if kh <= 1 && kw <= 1 && sh <= 1 && sw <= 1 {
		return ""
	}
	side := func(n int) string {
		if n <= 1 {
			return "1"
		}
		return "n"
	}
	pad := "valid"
	if t.Int(td.Px) != 0 || t.Int(td.Py) != 0 {
		pad = "padded"
	}
	return fmt.Sprintf("%sx%s/%d,%d/%d,%d/%s", side(kh), side(kw), sh, sw, t.Int(td.Oy), t.Int(td.Ox), pad)
}

func kernel(t *td.Task) string {
	if !t.On(td.KernelOn) {
		return ""
	}
	s := "constant"
	if t.LiveKernel() {
		s = "surface"
	}
	if t.NeuralOp() != td.NEMultiply {
		return s // a table alone
	}
	if t.On(td.UnicastEn) {
		s += "+depthwise"
	}
	for _, form := range []struct {
		on   bool
		name string
	}{
		{t.On(td.SparseFmt), "+skipping"},
		{t.On(td.SparseFmt) && !t.On(td.SparseBinary) && t.Int(td.Sx) == 1 && t.Int(td.Sy) == 1, "+sparse"},
		{t.On(td.PalettizedEn), "+palette"},
		{t.On(td.PostScaleMode), "+scales"},
	} {
		if form.on {
			s += form.name
		}
	}
	return fmt.Sprintf("%s+cores%d", s, 1<<t.Int(td.ActiveNE))
}

func after(t *td.Task) string {
	fs := []td.Field{td.NEBias, td.AccBias, td.PERelu, td.InputReLU, td.Input2ReLU, td.PECond, td.PEEpsilon}
	s := flags(t, fs...)
	for _, f := range []td.Field{td.Nonlinear, td.PENonlinear} {
		if v := t.Int(f); v != 0 {
			s += fmt.Sprintf("/%d", v)
		}
	}
	return s
}

// pixels classes an image: one pixel, one row, an image of at most 8x8 (small
// source mode), one 128-pixel work unit, or more; and whether a row fills its
// 64 bytes of DRAM.
func pixels(h, w int) string {
	h, w = max(h, 1), max(w, 1)
	pad := ""
	if w > 1 && w*2%64 != 0 {
		pad = "p"
	}
	switch {
	case h*w == 1:
		return "1"
	case h == 1 && w <= 128:
		return "row" + pad
	case h == 1:
		return "wide" + pad
	case h <= 8 && w <= 8:
		return "small" + pad
	case h*w <= 128:
		return "unit" + pad
	}
	return "large" + pad
}

// channels classes a number of channels by how they fall on sixteen cores.
func channels(n int) string {
	switch {
	case n <= 1:
		return "1"
	case n < 16:
		return "few"
	case n%16 != 0:
		return "ragged"
	case n > 4096:
		return "many"
	}
	return "16n"
}
