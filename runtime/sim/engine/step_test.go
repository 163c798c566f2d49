package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// l2Bytes is the size of L2 on h13.
const l2Bytes = 2 << 20

func step(t testing.TB, e *Engine, task *td.Task, mem Memory) {
	t.Helper()
	if err := e.Step(context.Background(), td.Placed{Task: task}, mem); err != nil {
		t.Fatal(err)
	}
}

// passTask copies a [1, c, h, w] tensor from register 5 to register 4.
func passTask(c, h, w int) (*td.Task, *surface, *surface) {
	in, out := newSurface(1, c, h, w), newSurface(1, c, h, w)
	t := td.New().Set(td.InFmt, 2).Set(td.OutFmt, 2).Set(td.Win, w).Set(td.Hin, h).Set(td.Cin, c).
		Set(td.Wout, w).Set(td.Hout, h).Set(td.Cout, c).Set(td.NEOp, 12).Set(td.UnicastEn, 1).Set(td.PostScale, 0x3c00).
		Set(td.SrcEn, 1).Set(td.SrcMemFmt, 2).Set(td.SrcRow, in.stride[2]).Set(td.SrcPlane, in.stride[1]).
		Set(td.DstEn, 1).Set(td.DstMemFmt, 2).Set(td.DstRow, out.stride[2]).Set(td.DstPlane, out.stride[1]).
		Set(td.RBase0, 5).Set(td.RBE0, 1).Set(td.WBase, 4).Set(td.WBE, 1)
	in.set(random(7, c*h*w, 4))
	return t, in, out
}

func TestSwapAndInterleave(t *testing.T) {
	const c, h, w = 6, 3, 5
	task, in, _ := passTask(c, h, w)
	// In the result, channels and columns are exchanged: w planes of h rows of c elements, then four such planes in a
	// row.
	for _, inter := range []int{1, 4} {
		out := make([]byte, 1<<12)
		row := (2*c*inter + 63) &^ 63
		task.Set(td.SwapNE, 1).Set(td.DstInterleave, inter).Set(td.DstRow, row).Set(td.DstPlane, row*h)
		step(t, New(Options{L2Bytes: l2Bytes}), task, buffers{5: in.buf, 4: out})
		i := 0
		for _, v := range in.bits() {
			ci, y, x := i/(h*w), i/w%h, i%w
			at := x/inter*row*h + y*row + (ci*inter+x%inter)*2
			if got := binary.LittleEndian.Uint16(out[at:]); got != v {
				t.Fatalf("interleave %d: element (%d, %d, %d) is %#x, want %#x", inter, ci, y, x, got, v)
			}
			i++
		}
		// And back, by a source that is exchanged and interleaved.
		back, _, to := passTask(c, h, w)
		back.Set(td.Swap1, 1).Set(td.SrcInterleave, inter).Set(td.SrcRow, row).Set(td.SrcPlane, row*h)
		step(t, New(Options{L2Bytes: l2Bytes}), back, buffers{5: out, 4: to.buf})
		if !bytes.Equal(to.buf, in.buf) {
			t.Errorf("interleave %d: the way back gives another tensor", inter)
		}
	}
}

func TestPixelOffsetMovesTheRow(t *testing.T) {
	task, in, out := passTask(2, 2, 20)
	task.Set(td.Win, 12).Set(td.Wout, 12).Set(td.PixelOffset, 5)
	step(t, New(Options{L2Bytes: l2Bytes}), task, buffers{5: in.buf, 4: out.buf})
	src, dst := in.bits(), out.bits()
	for i := range dst {
		want := uint16(0)
		if i%20 < 12 {
			want = src[i+5]
		}
		if dst[i] != want {
			t.Fatalf("element %d is %#x, want %#x", i, dst[i], want)
		}
	}
}

// Groups and depth are loops around the rest, with strides of their own.
func TestLoopsOfGroupsAndDepth(t *testing.T) {
	in, out := newSurface(6, 2, 3, 4), newSurface(6, 2, 3, 4)
	in.set(random(1, 6*2*3*4, 2))
	task, _, _ := passTask(2, 3, 4)
	for _, f := range []struct {
		f td.Field
		v int
	}{
		{td.NumGroups, 3}, {td.Din, 2}, {td.Dout, 2},
		// Group g, depth d is batch 2g+d of the source; 5-(2g+d) cannot be expressed. In the result, depth is the outer
		// axis.
		{td.SrcGroup, 2 * in.stride[0]}, {td.SrcDepth, in.stride[0]},
		{td.DstGroup, in.stride[0]}, {td.DstDepth, 3 * in.stride[0]},
	} {
		task.Set(f.f, f.v)
	}
	step(t, New(Options{L2Bytes: l2Bytes}), task, buffers{5: in.buf, 4: out.buf})
	n := in.stride[0]
	for g := range 3 {
		for d := range 2 {
			if !bytes.Equal(in.buf[(2*g+d)*n:][:n], out.buf[(3*d+g)*n:][:n]) {
				t.Errorf("group %d, depth %d is not in its place", g, d)
			}
		}
	}
}

// A source whose L2 rows overlap passes a few columns at a time: its size is bounded
// by the window that it comes from, and in L2 it leaves no defined content where the
// columns passed, and nothing elsewhere.
func TestSourceInPartsPassesThroughL2(t *testing.T) {
	const c, w = 64, 8192
	task, in, out := passTask(c, 1, w)
	task.Set(td.L2Src, 4096).Set(td.L2SrcCh, 256).Set(td.L2SrcRow, c*256)
	e := New(Options{L2Bytes: l2Bytes})
	step(t, e, task, buffers{5: in.buf, 4: out.buf})
	if !bytes.Equal(out.buf, in.buf) {
		t.Error("the result is not the source")
	}
	for i := 0; i < l2Bytes; i += 2 {
		want := uint16(0)
		if i >= 4096 && i < 4096+c*256 {
			want = stale
		}
		if got := binary.LittleEndian.Uint16(e.L2[i:]); got != want {
			t.Fatalf("L2 at %#x holds %#x, want %#x", i, got, want)
		}
	}
	task.Set(td.L2Src, l2Bytes-c*256+16)
	err := e.Step(context.Background(), td.Placed{Task: task}, buffers{5: in.buf, 4: out.buf})
	const want = "source 1 in L2 at 0x1fc010: 16384 bytes end past the 2097152 bytes of L2"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a part that ends past L2: %v", err)
	}
}

// TestRunsCoverTheBytesOfALayout compares the runs of a layout with the bytes of its rows. No run is longer than the
// layout, for any number of rows that share bytes.
func TestRunsCoverTheBytesOfALayout(t *testing.T) {
	for _, c := range []struct {
		name string
		l    layout
		want [][2]int64 // first byte, bytes
	}{
		{"one row", layout{base: 64, dim: shape{1, 1, 1, 1, 8}}, [][2]int64{{64, 16}}},
		{"rows that meet", layout{row: 16, plane: 64, dim: shape{1, 1, 3, 4, 8}}, [][2]int64{{0, 192}}},
		{"rows apart", layout{row: 32, dim: shape{1, 1, 1, 3, 8}}, [][2]int64{{0, 16}, {32, 16}, {64, 16}}},
		{"planes apart", layout{row: 16, plane: 96, dim: shape{1, 1, 2, 4, 8}}, [][2]int64{{0, 64}, {96, 64}}},
		{"rows cut to a part", layout{row: 16, dim: shape{1, 1, 1, 4, 100}}, [][2]int64{{0, 64}}},
		{"rows between rows", layout{row: 64, plane: 96, dim: shape{1, 1, 2, 4, 8}}, [][2]int64{{0, 304}}},
		{"all in one place", layout{dim: shape{1 << 12, 1 << 14, 1 << 16, 1 << 14, 8}}, [][2]int64{{0, 16}}},
		{"many rows that share bytes", layout{
			row:   16,
			plane: 16,
			depth: 16,
			group: 16,
			dim:   shape{1 << 12, 1 << 14, 1 << 16, 1 << 14, 8},
		}, [][2]int64{{0, 16 * (1<<12 + 1<<14 + 1<<16 + 1<<14 - 3)}}},
	} {
		c.l.inter = 1
		var got [][2]int64
		cover := c.l.cover()
		cover.runs(func(at, n int64) { got = append(got, [2]int64{at, n}) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if last := got[len(got)-1]; cover.first+cover.reach != last[0]+last[1] {
			t.Errorf("%s: reaches %d bytes from %d, want the end of %v", c.name, cover.reach, cover.first, last)
		}
	}
}

// A source that came by DMA is in L2 afterwards when its tile is whole or
// SrcType keeps it; a smaller tile leaves no defined content.
func TestStagedResultsOverlapNothing(t *testing.T) {
	for _, c := range []struct {
		name       string
		tile, kind int
		want       bool
	}{{name: "whole", tile: 4, kind: 2, want: true}, {name: "no tile", tile: 0, kind: 2, want: true},
		{name: "smaller", tile: 2, kind: 2, want: false}, {name: "smaller, kept", tile: 2, kind: 1, want: true}} {
		e := New(Options{L2Bytes: l2Bytes})
		task, in, out := passTask(3, 4, 8)
		task.Set(td.TileHeight, c.tile).Set(td.SrcType, c.kind).Set(td.L2Src, 256).Set(td.L2SrcCh, 64).
			Set(td.L2SrcRow, 16)
		step(t, e, task, buffers{5: in.buf, 4: out.buf})
		read, _, got := passTask(3, 4, 8)
		read.Set(td.SrcEn, 0).Set(td.L2Src, 256).Set(td.L2SrcCh, 64).Set(td.L2SrcRow, 16)
		step(t, e, read, buffers{4: got.buf})
		if bytes.Equal(got.buf, in.buf) != c.want {
			t.Errorf("%s: source stands in L2 afterwards: %v, want %v", c.name, !c.want, c.want)
		}
		if h := got.bits()[0]; !c.want && h != 0x7c00 {
			t.Errorf("%s: stale element reads %#x, want a NaN read as infinity", c.name, h)
		}
	}
}

func TestArithmeticAfterTheSum(t *testing.T) {
	task, mem := kernelTask(3, 16, 1, 1, 1)
	copy(mem[5], make([]byte, len(mem[5])))
	for c, v := range []float32{1, 2, -1} {
		binary.LittleEndian.PutUint16(mem[5][64*c:], port.Narrow(v))
	}
	// Core c computes output c: bias 10*c, weights 1, 2, 3, so 2 + 10*c.
	for c := range 16 {
		copy(mem[1][64*c:], halves(port.Narrow(float32(10*c)), 0x3c00, 0x4000, 0x4200))
	}
	task.Set(td.NEBias, 1).Set(td.AccBias, int(port.Narrow(-30))).
		Set(td.PostScale, int(port.Narrow(0.5))).Set(td.Nonlinear, 1)
	step(t, New(Options{L2Bytes: l2Bytes}), task, mem)
	for c := range 16 {
		want := math.Max(0, (2+10*float64(c)-30)*0.5)
		if got := float64(port.Widen(binary.LittleEndian.Uint16(mem[4][64*c:]))); got != want {
			t.Errorf("output %d is %g, want %g", c, got, want)
		}
	}
}

func TestChannelSumAndMaximum(t *testing.T) {
	for _, c := range []struct {
		op, span int
		f        func(a, b float64) float64
	}{{8, 0, plus}, {11, 0, math.Max}, {11, 2, math.Max}, {8, 3, plus}, {8, 1, plus}} {
		task, in, _ := passTask(6, 2, 3)
		span, unicast := c.span, 1
		if span == 0 {
			span, unicast = 6, 0
		}
		out := newSurface(1, 6/span, 2, 3)
		task.Set(td.NEOp, c.op).Set(td.UnicastEn, unicast).Set(td.UnicastCin, c.span).Set(td.Cout, 6/span)
		step(t, New(Options{L2Bytes: l2Bytes}), task, buffers{5: in.buf, 4: out.buf})
		v := in.values()
		want := make([]float64, 6/span*6)
		for i := range want {
			ch, p := i/6, i%6
			want[i] = v[ch*span*6+p]
			for s := 1; s < span; s++ {
				want[i] = c.f(want[i], v[(ch*span+s)*6+p])
			}
		}
		near(t, opNames[uint32(c.op)], out.values(), want, 0.5, 0)
	}
}

// rowsAreSingleResults compares a row of all numbers of fp16, and of numbers between them, with the results of each
// one.
func rowsAreSingleResults(t *testing.T, name string, l *lut) {
	t.Helper()
	var in []float32
	for h := range 1 << 16 {
		x := port.Widen(uint16(h))
		in = append(in, x, x*1.0003)
	}
	out := slices.Clone(in)
	l.row(out)
	for i, y := range out {
		if want := l.eval(in[i]); math.Float32bits(y) != math.Float32bits(want) && (y == y || want == want) {
			t.Fatalf("%s: in a row, table(%g) = %g, alone %g", name, in[i], y, want)
		}
	}
}

func TestRowsOfARecordedTable(t *testing.T) {
	l, err := newLUT("table", 0, halves(geluTable...))
	if err != nil {
		t.Fatal(err)
	}
	rowsAreSingleResults(t, "gelu", l)
}

func TestTablesInterpolate(t *testing.T) {
	uniform := func(step, mode int, start float64, f func(float64) float64) []uint16 {
		v := make([]uint16, 64)
		for i := range knots {
			v[4+i] = port.Narrow(float32(f(start + float64(i)*math.Ldexp(1, -step))))
		}
		v[0], v[1], v[2], v[3] = 0, 0x7c00, port.Narrow(-7), port.Narrow(9)
		v[41], v[42] = uint16(step), uint16(mode)
		return v
	}
	plain := uniform(1, 1, -8, func(x float64) float64 { return x * x })
	plain[0], plain[1] = port.Narrow(-20), port.Narrow(20)
	plain[37], plain[38], plain[39], plain[40] = port.Narrow(-2), port.Narrow(3), port.Narrow(4), port.Narrow(5)
	tanh := uniform(3, 0x60, 0, math.Tanh)
	tanh[1], tanh[2], tanh[3], tanh[40] = port.Narrow(4), 0, port.Narrow(1), port.Narrow(1)
	leaky := make([]uint16, 64)
	leaky[0], leaky[1], leaky[2], leaky[3], leaky[37], leaky[39], leaky[41], leaky[42] = 0xfc00, 0x7c00, 0xfc00, 0x7c00,
		port.Narrow(0.125), port.Narrow(1), 64, 1
	rsqrtTable := uniform(4, 0xc6, 0, func(x float64) float64 { return 1 / math.Sqrt(max(x, 0.5)) })
	for _, c := range []struct {
		name  string
		v     []uint16
		x, y  float64
		slack float64
	}{
		{name: "below", v: plain, x: -20, y: -7, slack: 0}, {name: "above", v: plain, x: 20, y: 9, slack: 0},
		{name: "low tail", v: plain, x: -10, y: 23, slack: 0}, {name: "high tail", v: plain, x: 10, y: 45, slack: 0},
		{name: "knot", v: plain, x: 3, y: 9, slack: 0}, {name: "between knots", v: plain, x: 3.25, y: 10.625, slack: 0},
		{name: "last knot", v: plain, x: 8, y: 64, slack: 0},
		{name: "2^x", v: expTable(), x: 3.5, y: math.Exp2(3.5), slack: 0.01}, {name: "2^-x", v: expTable(), x: -7.3,
			y: math.Exp2(-7.3), slack: 1e-5}, {name: "2^x out", v: expTable(), x: 16, y: math.Inf(1), slack: 0},
		{name: "1/x", v: reciprocalTable(), x: 3, y: 1. / 3, slack: 2e-4}, {name: "1/x large", v: reciprocalTable(),
			x: 1000, y: 1e-3, slack: 1e-6}, {name: "1/0", v: reciprocalTable(), x: 0, y: math.Inf(1), slack: 0},
		{name: "1/inf", v: reciprocalTable(), x: math.Inf(1), y: 0, slack: 0},
		{name: "sqrt", v: uniform(4, 0xc5, 0, math.Sqrt), x: 7, y: math.Sqrt(7), slack: 2e-3},
		{name: "sqrt small", v: uniform(4, 0xc5, 0, math.Sqrt), x: 0.02, y: math.Sqrt(0.02), slack: 2e-4},
		{name: "sqrt -1", v: uniform(4, 0xc5, 0, math.Sqrt), x: -1, y: math.NaN(), slack: 0},
		{name: "rsqrt", v: rsqrtTable, x: 7, y: 1 / math.Sqrt(7), slack: 2e-3}, {name: "rsqrt 2^-24", v: rsqrtTable,
			x: 0x1p-24, y: 4096, slack: 0}, {name: "rsqrt -1", v: rsqrtTable, x: -1, y: math.NaN(), slack: 0},
		{name: "log2", v: uniform(6, 0xc9, 0.5, math.Log2), x: 50, y: math.Log2(50), slack: 4e-3},
		{name: "log2 small", v: uniform(6, 0xc9, 0.5, math.Log2), x: 0.01, y: math.Log2(0.01), slack: 4e-3},
		{name: "log2 -1", v: uniform(6, 0xc9, 0.5, math.Log2), x: -1, y: math.NaN(), slack: 0},
		{name: "tanh", v: tanh, x: 0.7, y: math.Tanh(0.7), slack: 2e-3}, {name: "tanh odd", v: tanh, x: -0.7,
			y: -math.Tanh(0.7), slack: 2e-3}, {name: "tanh out", v: tanh, x: -4, y: -1, slack: 0},
		{name: "tanh 0", v: tanh, x: 0, y: 0, slack: 0}, {name: "-1/3", v: reciprocalTable(), x: -3, y: -1. / 3,
			slack: 2e-4},
		{name: "leaky", v: leaky, x: -3, y: -0.375, slack: 0}, {name: "leaky up", v: leaky, x: 0.25, y: 0.25, slack: 0},
		{name: "leaky 0", v: leaky, x: 0, y: 0, slack: 0},
	} {
		l, err := newLUT("table", 0, halves(c.v...))
		if err != nil {
			t.Fatal(err)
		}
		x := float64(port.Widen(port.Narrow(float32(c.x))))
		y := float64(l.eval(float32(x)))
		rowsAreSingleResults(t, c.name, l)
		if same := y == c.y || y != y && c.y != c.y; !same && !(math.Abs(y-c.y) <= c.slack+ulp(c.y)) {
			t.Errorf("%s: table(%g) = %g, want %g", c.name, x, y, c.y)
		}
	}
	if _, err := newLUT("table", 0, halves(uniform(1, 2, 0, math.Exp)...)); err == nil || !strings.Contains(err.Error(),
		"mode 0x2") {
		t.Errorf("unknown mode: %v", err)
	}
}

func TestPoolingSkipsPadding(t *testing.T) {
	for mode, f := range []func(v []float64) float64{
		func(v []float64) float64 { s := 0.0; return fold1(v, s, plus) },
		func(v []float64) float64 { return fold1(v, 0, plus) / float64(len(v)) },
		func(v []float64) float64 { return fold1(v, math.Inf(-1), math.Max) },
		func(v []float64) float64 { return fold1(v, math.Inf(1), math.Min) },
	} {
		task, in, _ := passTask(2, 5, 7)
		out := newSurface(1, 2, 3, 4)
		task.Set(td.PlanarType, 5).Set(td.UnicastEn, 0).Set(td.PEScale, 0x3c00).Set(td.PEPreScale, 0x3c00).
			Set(td.PEFinal, 0x3f800000).
			Set(td.PoolMode, mode).Set(td.Kw, 3).Set(td.Kh, 3).Set(td.Sx, 2).Set(td.Sy, 2).Set(td.Px, 1).Set(td.Py, 1).
			Set(td.Hout, 3).Set(td.Wout, 4).Set(td.DstPlane, out.stride[1])
		step(t, New(Options{L2Bytes: l2Bytes}), task, buffers{5: in.buf, 4: out.buf})
		v := in.values()
		var want []float64
		for i := range 2 * 3 * 4 {
			var w []float64
			for y := max(0, i/4%3*2-1); y <= min(4, i/4%3*2+1); y++ {
				for x := max(0, i%4*2-1); x <= min(6, i%4*2+1); x++ {
					w = append(w, v[i/12*35+y*7+x])
				}
			}
			want = append(want, f(w))
		}
		near(t, "pooling", out.values(), want, 0.51, 0)
	}
}

func fold1(v []float64, s float64, f func(a, b float64) float64) float64 {
	for _, x := range v {
		s = f(s, x)
	}
	return s
}

// The planar arithmetic, in the order that the contract states.
func TestPlanarStepsAreInOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*td.Task)
		f    func(a, b float64) float64
	}{
		{"minimum", func(t *td.Task) { t.Set(td.PEOp, 3) }, math.Min},
		{"negated", func(t *td.Task) { t.Set(td.PENeg1, 1) }, func(a, b float64) float64 { return b - a }},
		{"scale, bias, absolute, square", func(t *td.Task) {
			t.Set(td.PEScale, int(port.Narrow(2))).Set(td.PEBias, int(port.Narrow(-3)))
			t.Set(td.PECond, 1).Set(td.PESquare, 1)
		}, func(a, b float64) float64 { return ((a+b)*2 - 3) * ((a+b)*2 - 3) }},
		{"clamped sources", func(t *td.Task) { t.Set(td.InputReLU, 1).Set(td.Input2ReLU, 1).Set(td.PENeg2, 1) },
			func(a, b float64) float64 { return math.Max(a, 0) - math.Max(b, 0) }},
		{"clamped result", func(t *td.Task) {
			t.Set(td.PERelu, 1)
		}, func(a, b float64) float64 { return math.Max(0, a+b) }},
	} {
		task, mem := planarTask2()
		c.set(task)
		a, b, out := newSurface(1, 4, 3, 5), newSurface(1, 4, 3, 5), newSurface(1, 4, 3, 5)
		a.set(random(1, 60, 2))
		b.set(random(2, 60, 2))
		mem[4], mem[5], mem[6] = out.buf, a.buf, b.buf
		step(t, New(Options{L2Bytes: l2Bytes}), task, mem)
		want := make([]float64, 60)
		for i := range want {
			want[i] = c.f(a.values()[i], b.values()[i])
		}
		near(t, c.name, out.values(), want, 0.51, 1e-6)
	}
}

// The measured behaviour of numbers, mode by mode: a op b of one element.
func TestNumericsOfTasks(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	negZero := math.Copysign(0, -1)
	for _, c := range []struct {
		name      string
		op        int // PEOp, or -1 for a product by a 1x1 kernel, -2 for two products
		a, b      float64
		ane, ieee float64
	}{
		{name: "inf - inf", op: 0, a: inf, b: -inf, ane: 0, ieee: nan},
		{name: "0 * inf", op: 1, a: 0, b: inf, ane: 0, ieee: nan},
		{name: "NaN reads as infinity", op: 0, a: nan, b: 1, ane: inf, ieee: nan},
		{name: "-0 + -0", op: 0, a: negZero, b: negZero, ane: 0, ieee: negZero},
		{name: "elementwise range", op: 0, a: 32768, b: 16384, ane: 49152, ieee: 49152},
		{name: "elementwise subnormal", op: 1, a: math.Ldexp(1, -20), b: 1, ane: math.Ldexp(1, -20),
			ieee: math.Ldexp(1, -20)},
		{name: "single product range", op: -1, a: 49152, b: 1, ane: 49152, ieee: 49152},
		{name: "product sum saturates", op: -2, a: 16384, b: 1, ane: inf, ieee: 32768},
		{name: "product sum below", op: -2, a: 16376, b: 1, ane: 32752, ieee: 32752},
		{name: "product sum saturates below zero", op: -2, a: -16384, b: 1, ane: -inf, ieee: -32768},
		{name: "product subnormal", op: -1, a: math.Ldexp(1, -20), b: 1, ane: 0, ieee: math.Ldexp(1, -20)},
		{name: "product of 0 and inf", op: -2, a: 0, b: inf, ane: 0, ieee: nan},
	} {
		for _, num := range []Numerics{ANE, IEEE} {
			var task *td.Task
			var mem buffers
			a, b := port.Narrow(float32(c.a)), port.Narrow(float32(c.b))
			if c.op >= 0 {
				task, mem = planarTask2()
				task.Set(td.PEOp, c.op)
				copy(mem[5], halves(a))
				copy(mem[6], halves(b))
			} else {
				task, mem = kernelTask(-c.op, 16, 1, 1, 1)
				for ch := range -c.op {
					copy(mem[5][64*ch:], halves(a))
				}
				copy(mem[1], halves(b, b))
			}
			step(t, New(Options{L2Bytes: l2Bytes, Numerics: num}), task, mem)
			got, want := binary.LittleEndian.Uint16(mem[4]), c.ane
			if num == IEEE {
				want = c.ieee
			}
			if w := port.Narrow(float32(want)); got != w && !(want != want && port.Widen(got) != port.Widen(got)) {
				t.Errorf("%s, mode %d: %#x (%g), want %#x (%g)", c.name, num, got, port.Widen(got), w, want)
			}
		}
	}
}

func TestWrongTasksAreFaults(t *testing.T) {
	for _, c := range []struct {
		set  func(*td.Task)
		want string
	}{
		{func(t *td.Task) { t.Set(td.InFmt, 1) }, "Common.InFmt = 1: only uint8 (0) and fp16 (2) sources are executed"},
		{func(t *td.Task) { t.Set(td.PlanarType, 9) }, "Common.PlanarType = 9: 0 and 2 to 6 are known"},
		{func(t *td.Task) { t.Set(td.NEOp, 5) }, "NE.Op = 5: 0 kernel, 8 sum, 11 maximum, 12 pass through are known"},
		{func(t *td.Task) {
			t.Set(td.SparseBinary, 1)
		}, "NE.SparseBinary = 1: masks alone tell the weights only with a codebook"},
		{func(t *td.Task) { t.Set(td.Src2En, 1) }, "TileDMASrc.Src2En = 1: Common.Source2DMA says"},
		{func(t *td.Task) { t.Set(td.RBE0, 0) }, "Header.RBE0 = 0: the DMA is on but names no buffer-access register"},
		{func(t *td.Task) { t.Set(td.SrcBase, 64) }, "source 1 at 0x40: window refused: bytes 0x40 to"},
		{func(t *td.Task) { t.Set(td.DstPlane, 128) }, "result at 0x0: window refused"},
		{func(t *td.Task) { t.Set(td.CoeffEn.At(3), 0) }, "KernelDMA.CoeffEn[3] = 0: core 3 has outputs to compute"},
		{func(t *td.Task) {
			t.Set(td.CoeffSize.At(3), 64)
			t.Set(td.Cin, 60).Set(td.SrcPlane, 0)
		}, "kernel lane 3 at 0xc0: coefficients need 120 more bytes, 64 of the part's 64 are left"},
		{func(t *td.Task) {
			t.Set(td.SrcEn, 0).Set(td.L2Src, l2Bytes-16).Set(td.L2SrcCh, 16)
		}, "source 1 in L2 at 0x1ffff0:"},
		{func(t *td.Task) { t.Set(td.Cin, 1<<17-1).Set(td.SrcPlane, 0) }, "extents [1 1 131071 1 1]"},
		{func(t *td.Task) {
			t.Set(td.Cout, 1<<17-1).Set(td.Wout, 1<<15-1).Set(td.Hout, 1<<15-1).Set(td.Cin, 1<<17-1)
		}, "the task asks for more than"},
	} {
		task, mem := kernelTask(8, 16, 1, 1, 1)
		for i := range td.Lanes {
			if c.want[:6] == "kernel" {
				task.Set(td.CoeffSize.At(i), 128).Set(td.CoeffBase.At(i), 64*i)
			}
		}
		mem[1] = append(mem[1], make([]byte, 256)...)
		c.set(task)
		err := New(Options{L2Bytes: l2Bytes}).Run(context.Background(), []td.Placed{{Task: td.New().Set(td.TDSkip, 1)},
			{Task: task, Off: 0x300}}, mem)
		var f *Fault
		if !errors.As(err, &f) || f.Task != 1 || f.Off != 0x300 || !strings.HasPrefix(err.Error(),
			"task 1 at 0x300: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %q, want %q", err, c.want)
		}
	}
}

// The bytes do not depend on the number of workers.
func TestResultsDoNotDependOnWorkers(t *testing.T) {
	task, mem := kernelTask(96, 160, 3, 301, 3)
	var want []byte
	for _, n := range []int{1, 2, 7} {
		clear(mem[4])
		step(t, New(Options{L2Bytes: l2Bytes, Workers: n}), task, mem)
		if want == nil {
			want = bytes.Clone(mem[4])
		} else if !bytes.Equal(mem[4], want) {
			t.Errorf("%d workers give other bytes than one", n)
		}
	}
}

func TestCancelStopsARun(t *testing.T) {
	task, mem := kernelTask(384, 384, 1, 1500, 3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	run := New(Options{L2Bytes: l2Bytes}).Run
	if err := run(ctx, []td.Placed{{Task: task}}, mem); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestNarrowResultsAreRounded(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		v := port.Widen(h)
		if v != v {
			continue
		}
		if got := port.Narrow(v); got != h {
			t.Fatalf("%#x widens to %g and narrows to %#x", h, v, got)
		}
		// The midpoint to the next pattern rounds to the even one.
		if next := port.Widen(h + 1); h&0x7fff < 0x7bff {
			mid := float32((float64(v) + float64(next)) / 2)
			if got := port.Narrow(mid); got != (h+1)&^1 {
				t.Fatalf("%g, between %#x and the next, narrows to %#x", mid, h, got)
			}
		}
	}
	if got := port.Narrow(65520); got != 0x7c00 {
		t.Errorf("65520 narrows to %#x", got)
	}
	if got := port.Narrow(65519); got != 0x7bff {
		t.Errorf("65519 narrows to %#x", got)
	}
}
