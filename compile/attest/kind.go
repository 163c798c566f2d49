package attest

import (
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/lower/td"
)

// part appends to a kind what one property of a task contributes, if anything.
type part struct {
	name string
	add  func(b []byte, t *td.Task) []byte
}

// parts is what makes a kind. Sizes are told by the classes that the rules in
// docs/registers.md distinguish, never by value.
var parts = []part{
	{"work", work},
	{"from", sources},
	{"to", destination},
	{"broadcast", func(b []byte, t *td.Task) []byte {
		return flags(b, t, td.Bcast1W, td.Bcast1H, td.Bcast1D, td.Bcast1C, td.Bcast2W, td.Bcast2H, td.Bcast2D,
			td.Bcast2C)
	}},
	{"transposed", func(b []byte, t *td.Task) []byte {
		return flags(b, t, td.Swap1, td.Swap2, td.SwapResult, td.SwapNE)
	}},
	{"window", window},
	{"kernel", kernel},
	{"after", after},
	{"image", func(b []byte, t *td.Task) []byte {
		b = append(pixels(b, t.Int(td.Hin), t.Int(td.Win)), '/')
		return pixels(b, t.Int(td.Hout), t.Int(td.Wout))
	}},
	{"channels", func(b []byte, t *td.Task) []byte {
		return append(append(append(b, channels(t.Int(td.Cin))...), '/'), channels(t.Int(td.Cout))...)
	}},
	{"repeats", func(b []byte, t *td.Task) []byte {
		return some(some(b, t.Int(td.NumGroups) > 1, "groups"), t.Int(td.Din) > 1, "depth")
	}},
	{"tile", func(b []byte, t *td.Task) []byte {
		return some(b, t.Int(td.TileHeight) != 0 && t.Int(td.TileHeight) < t.Int(td.Hout), "partial")
	}},
}

// Kind returns the kind of task i of a chain of n: words name=value in the order
// of parts, and its place in the chain.
func Kind(t *td.Task, i, n int) string { return string(AppendKind(nil, t, i, n)) }

// AppendKind appends the kind of a task.
func AppendKind(b []byte, t *td.Task, i, n int) []byte {
	for _, p := range parts {
		before := len(b)
		if before > 0 {
			b = append(b, ' ')
		}
		b = append(append(b, p.name...), '=')
		value := len(b)
		if b = p.add(b, t); len(b) == value {
			b = b[:before]
		}
	}
	switch {
	case n == 1:
	case i == 0:
		b = append(b, " step=first"...)
	case i == n-1:
		b = append(b, " step=last"...)
	default:
		b = append(b, " step=middle"...)
	}
	return b
}

func some(b []byte, on bool, s string) []byte {
	if on {
		b = append(b, s...)
	}
	return b
}

// number appends the value of a field behind a text.
func number(b []byte, text string, t *td.Task, f td.Field) []byte {
	return strconv.AppendInt(append(b, text...), int64(t.Int(f)), 10)
}

// flags lists the fields that are set, by their names without the block.
func flags(b []byte, t *td.Task, fs ...td.Field) []byte {
	sep := ""
	for _, f := range fs {
		if t.On(f) {
			_, name, _ := strings.Cut(f.String(), ".")
			b = append(append(b, sep...), name...)
			sep = "+"
		}
	}
	return b
}

func work(b []byte, t *td.Task) []byte {
	p := t.Planar()
	if p == td.NotPlanar {
		return number(b, "neural", t, td.NEOp)
	}
	b = strconv.AppendInt(append(b, "planar"...), int64(p), 10)
	return some(number(number(b, "/", t, td.PEOp), "", t, td.PoolMode), t.On(td.PESquare), "s")
}

func sources(b []byte, t *td.Task) []byte {
	if td.Streams[td.StreamSource1].Moved(t) {
		b = number(b, "dram", t, td.SrcInterleave)
	} else {
		b = append(b, "l2"...)
	}
	return some(some(b, t.On(td.Source2DMA), "+dram"), !t.On(td.Source2DMA) && t.On(td.PETwo), "+l2")
}

func destination(b []byte, t *td.Task) []byte {
	if t.On(td.DstEn) {
		return number(b, "dram", t, td.DstInterleave)
	}
	return append(b, "l2"...)
}

func window(b []byte, t *td.Task) []byte {
	kh, kw := t.Int(td.Kh), t.Int(td.Kw)
	if kh <= 1 && kw <= 1 && t.Int(td.Sy) <= 1 && t.Int(td.Sx) <= 1 {
		return b
	}
	side := func(n int) byte {
		if n <= 1 {
			return '1'
		}
		return 'n'
	}
	b = append(b, side(kh), 'x', side(kw))
	b = number(number(b, "/", t, td.Sy), ",", t, td.Sx)
	b = number(number(b, "/", t, td.Oy), ",", t, td.Ox)
	if t.Int(td.Px) != 0 || t.Int(td.Py) != 0 {
		return append(b, "/padded"...)
	}
	return append(b, "/valid"...)
}

func kernel(b []byte, t *td.Task) []byte {
	switch {
	case !t.On(td.KernelOn):
		return b
	case t.LiveKernel():
		b = append(b, "surface"...)
	default:
		b = append(b, "constant"...)
	}
	if t.NeuralOp() != td.NEMultiply {
		return b // a table alone
	}
	skips := t.On(td.SparseFmt)
	b = some(b, t.On(td.UnicastEn), "+depthwise")
	b = some(b, skips, "+skipping")
	b = some(b, skips && !t.On(td.SparseBinary) && t.Int(td.Sx) == 1 && t.Int(td.Sy) == 1, "+sparse")
	b = some(b, t.On(td.PalettizedEn), "+palette")
	b = some(b, t.On(td.PostScaleMode), "+scales")
	return strconv.AppendInt(append(b, "+cores"...), 1<<t.Int(td.ActiveNE), 10)
}

func after(b []byte, t *td.Task) []byte {
	b = flags(b, t, td.NEBias, td.AccBias, td.PERelu, td.InputReLU, td.Input2ReLU, td.PECond, td.PEEpsilon)
	for _, f := range []td.Field{td.Nonlinear, td.PENonlinear} {
		if t.Int(f) != 0 {
			b = number(b, "/", t, f)
		}
	}
	return b
}

// pixels classes an image: one pixel, one row, an image of at most 8x8 (small
// source mode), one 128-pixel work unit, or more; and whether a row fills its
// 64 bytes of DRAM.
func pixels(b []byte, h, w int) []byte {
	h, w = max(h, 1), max(w, 1)
	switch {
	case h*w == 1:
		b = append(b, '1')
	case h == 1 && w <= 128:
		b = append(b, "row"...)
	case h == 1:
		b = append(b, "wide"...)
	case h <= 8 && w <= 8:
		b = append(b, "small"...)
	case h*w <= 128:
		b = append(b, "unit"...)
	default:
		b = append(b, "large"...)
	}
	return some(b, w > 1 && w*2%64 != 0, "p")
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
