package td

import (
	"slices"
	"testing"
)

// The engine's tests compare Accesses with the engine's own table, for recorded and for random tasks; here are the
// cases that the documentation of Accesses names.

// convolution is a 3x3 convolution of 64 channels to 128 over 16x16 pixels in DRAM.
func convolution() *Task {
	return New().Set(Win, 16).Set(Hin, 16).Set(Cin, 64).Set(Wout, 16).Set(Hout, 16).Set(Cout, 128).Set(Kw, 3).
		Set(Kh, 3).
		Set(InFmt, int(FmtFP16)).Set(OutFmt, int(FmtFP16)).Set(SrcMemFmt, int(FmtFP16)).Set(DstMemFmt, int(FmtFP16)).
		SetBool(SrcEn, true).Set(SrcBase, 64).Set(SrcRow, 64).Set(SrcPlane, 1024).
		SetBool(DstEn, true).Set(DstRow, 64).Set(DstPlane, 1024)
}

func TestAccessesOfConvolution(t *testing.T) {
	as := Accesses(convolution())
	if len(as) != 2 || as[0].Stream != &Streams[StreamSource1] || as[1].Stream != &Streams[StreamResult] {
		t.Fatalf("accesses %+v", as)
	}
	src := as[0]
	if from, to := src.Span(); from != 64 || to != 64+63*1024+15*64+32 {
		t.Errorf("source 1 is at %d to %d", from, to)
	}
	if src.Row != 32 || src.Element != 2 || src.Columns != 16 || src.StrideField(AxisChannel) != SrcPlane ||
		src.FirstFrom != SrcBase {
		t.Errorf("source 1 is %+v", src)
	}
	if as := Accesses(convolution().SetBool(TDSkip, true)); as != nil {
		t.Errorf("a task that is passed over has accesses %+v", as)
	}
}

// TestPlaceOnChip checks that a source that comes by DMA passes through L2 if its strides there are not all zero.
func TestPlaceOnChip(t *testing.T) {
	x := convolution()
	src := Accesses(x)[0]
	if l, ok := src.OnChip(x); ok {
		t.Errorf("a source without strides in L2 has a place there, %+v", l)
	}
	x.Set(L2Src, 0x100).Set(L2SrcCh, 32).Set(L2SrcRow, 2048)
	l, ok := src.OnChip(x)
	if from, to := l.Span(); !ok || l.InDRAM || from != 0x100 || to != 0x100+63*32+15*2048+32 ||
		l.StrideField(AxisRow) != L2SrcRow {
		t.Errorf("the place in L2 is %+v", l)
	}
}

// TestInterleavedRows checks rows with interleaved channel positions, where the last row may have fewer.
func TestInterleavedRows(t *testing.T) {
	for _, c := range []struct{ channels, inter, planes, row int }{
		{channels: 6, inter: 4, planes: 2, row: (15*4 + 4) * 2},
		{channels: 3, inter: 4, planes: 1, row: (15*4 + 3) * 2},
		{channels: 6, inter: 0, planes: 6, row: 32},
	} {
		x := convolution().Set(Cin, c.channels).Set(SrcInterleave, c.inter).Set(PixelOffset, 5)
		src := Accesses(x)[0]
		if src.Count[AxisChannel] != int64(c.planes) || src.Row != int64(c.row) {
			t.Errorf("%d channels in %d turns: %d planes of rows of %d bytes", c.channels, c.inter,
				src.Count[AxisChannel], src.Row)
		}
		if want := int64(64 + 5*2*max(1, c.inter)); src.First != want {
			t.Errorf("%d turns: row 0 begins at %d, want %d", c.inter, src.First, want)
		}
	}
}

// TestOutExtents checks tasks whose output registers do not hold the result's extents.
func TestOutExtents(t *testing.T) {
	regs := Extents{1, 1, 128, 16, 16}
	for _, c := range []struct {
		name   string
		change func(x *Task)
		want   Extents
	}{
		{"convolution", func(*Task) {}, regs},
		{"columns at a time", func(x *Task) { x.SetBool(UnicastEn, true).Set(Ox, 2) }, Extents{1, 1, 128, 16, 32}},
		{"columns at a time of a product", func(x *Task) { x.Set(Ox, 2) }, regs},
		{"columns at a time of two kernels", func(x *Task) { x.Set(Ox, 2).Set(Sx, 2).SetBool(SparseFmt, true) },
			Extents{1, 1, 128, 16, 32}},
		{"reduction", func(x *Task) { x.Set(PlanarType, int(PlanarReduce)).Set(Kw, 1).Set(Kh, 1) },
			Extents{1, 1, 128, 1, 1}},
		{"pooling", func(x *Task) { x.Set(PlanarType, int(PlanarReduce)).Set(Kw, 1).Set(Sx, 2) }, regs},
		{"copy", func(x *Task) { x.Set(PlanarType, int(PlanarOne)).Set(Kw, 1).Set(Kh, 1) }, regs},
	} {
		x := convolution()
		c.change(x)
		if got := x.OutExtents(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestKernelPieces checks the lanes of a kernel that tasks have written: 20 outputs of two groups, two of each core.
func TestKernelPieces(t *testing.T) {
	x := New().SetBool(KernelOn, true).Set(OCGSize, 1).Set(ActiveNE, 2).Set(Cout, 20).Set(NumGroups, 2).
		Set(KernelGroup, 0x1000).Set(KernelBlock, 0x400)
	for i := range 4 {
		x.SetBool(CoeffEn.At(i), true).Set(CoeffBase.At(i), 0x100*i).Set(CoeffSize.At(i), 0x100)
	}
	var got [][3]int64
	for p := range x.LaneParts() {
		got = append(got, [3]int64{p.From, p.To, p.Bytes})
	}
	// Ten pairs of outputs: the third round has two cores.
	want := [][3]int64{{0, 0x1900, 0x600}, {0x100, 0x1a00, 0x600}, {0x200, 0x1700, 0x400}, {0x300, 0x1800, 0x400}}
	if !slices.Equal(got, want) {
		t.Errorf("the lanes read %#x, want %#x", got, want)
	}
}

// TestKernelParts checks that only lanes and streams that are on are read.
func TestKernelParts(t *testing.T) {
	x := New().SetBool(CoeffEn.At(3), true).Set(CoeffBase.At(3), 0x400).Set(CoeffSize.At(3), 0xc0)
	x.Set(StreamConfig.At(0), IdleStreamConfig).Set(StreamConfig.At(2), IdleStreamConfig|1).Set(StreamSize.At(2), 64)
	if ps := slices.Collect(x.LaneParts()); ps != nil {
		t.Errorf("without KernelOn the lanes read %+v", ps)
	}
	x.SetBool(KernelOn, true)
	lane := Part{Index: 3, Base: CoeffBase.At(3), Size: CoeffSize.At(3), From: 0x400, To: 0x4c0, Bytes: 0xc0}
	if ps := slices.Collect(x.LaneParts()); len(ps) != 1 || ps[0] != lane {
		t.Errorf("the lanes read %+v", ps)
	}
	stream := Part{Index: 2, Base: StreamBase.At(2), Size: StreamSize.At(2), To: 64, Bytes: 64}
	if ps := slices.Collect(x.StreamParts()); len(ps) != 1 || ps[0] != stream {
		t.Errorf("the streams read %+v", ps)
	}
}
