package e5

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

var hash = strings.Repeat("0123456789abcdef", 4)

// surface is an engine layout: rows on multiples of 64 bytes.
func surface(port string, va uint64, dim ...uint64) Operand {
	d := HostDescriptor(FP16, dim...)
	run := (dim[len(dim)-1]*2 + 63) / 64 * 64
	for i := len(dim) - 2; i >= 0; i-- {
		d.Stride[i] = run
		run *= dim[i]
	}
	return Operand{Name: port, Desc: d, Aperture: Surface, Port: IOPort{port, run, va}}
}

func host(name string, a Aperture, t StorageType, dim ...uint64) Operand {
	d := HostDescriptor(t, dim...)
	n, err := d.Extent()
	if err != nil {
		panic(err)
	}
	return Operand{Name: name, Desc: d, Aperture: a, Port: IOPort{Name: name, ByteSize: n}}
}

// fused is a function that one dispatch computes, over an inner extent.
func fused(states int, inner uint64) *Program {
	f := Function{Name: "main"}
	var ins, outs []uint32
	in := func(o Operand, va uint64) {
		h := f.AddOperand(o)
		s := f.AddOperand(surface("t"+o.Name, va, 1, 1, 1, inner))
		f.AddOp([]uint32{h}, []uint32{s}, &CastAttrs{SrcDType: o.Desc.Storage, DstDType: FP16, ComponentPack: 1})
		ins = append(ins, s)
		if o.Aperture == HostInput {
			f.Inputs = append(f.Inputs, h)
		} else {
			f.States = append(f.States, h)
		}
	}
	in(host("x", HostInput, FP32, 1, inner), 0x30008000)
	for i := range states {
		in(host(fmt.Sprintf("s%d", i), HostState, FP16, 1, inner), 0x30010000+uint64(i)*StateStride)
	}
	outs = append(outs, f.AddOperand(surface("ty", 0x3000c000, 1, 1, 1, inner)))
	for i := range states {
		outs = append(outs, f.AddOperand(surface(fmt.Sprintf("ts%d@output", i), 0x30100000+uint64(i)*StateStride, 1, 1,
			1, inner)))
	}
	f.AddOp(ins, outs, &AneInferenceAttrs{ProcedureName: "main_ane", AneHash: hash, ProgramSymbol: "main"})
	y := f.AddOperand(host("y", HostOutput, FP16, 1, inner))
	f.Outputs = []uint32{y}
	for i, s := range outs {
		to := y
		if i > 0 {
			to = f.States[i-1]
		}
		f.AddOp([]uint32{s}, []uint32{to}, &CastAttrs{SrcDType: FP16, DstDType: FP16})
	}
	return &Program{
		BuildInfo: []KV{{KeyInputFilePath, "model.mil"}, {"zinc", "0"}, {KeyTarget, "h13"}},
		Functions: []Function{f},
	}
}

// every is a Program with each type of operation, each aperture, constants,
// aliases and a section of an unknown kind.
func every() *Program {
	p := fused(1, 64)
	f := &p.Functions[0]
	mid := f.AddOperand(host("mid", Intermediate, Bool, 1, 2, 3, 4, 5))
	f.AddOp(f.Inputs, []uint32{mid}, &CpuInferenceAttrs{
		Entry: "cpu0", Program: "func cpu0() {\n}\n",
		Constants: []Constant{
			{"w", bytes.Repeat([]byte{1, 2, 3}, 1000)}, {"none", nil}, {"b", []byte{7}},
		}})
	for _, a := range []Attrs{
		&EirInferenceAttrs{"eir", []byte{1, 2, 3}}, &BnnsCpuInferenceAttrs{"f", "b"},
		&MlcCpuInferenceAttrs{"g", bytes.Repeat([]byte{9}, 100)}, &MpsGraphInferenceAttrs{"p", "e"},
		&E5MinimalCpuAttrs{"k", nil},
		&QuantAttrs{SrcDType: FP16, DstDType: Int8, Axis: -1, Scales: []float32{0.5, 2}, ZeroPoints: []int32{0, -3}},
		&DequantAttrs{SrcDType: Int8, DstDType: FP16, Axis: 0, Scales: []float32{0.25}, ZeroPoints: []int32{1}},
		&BarrierAttrs{[]uint32{1, 2, 1 << 31}}, &JitCallAttrs{"sym", "lib"},
	} {
		f.AddOp([]uint32{mid}, nil, a)
	}
	p.Functions = append(p.Functions, Function{Name: "other", AneHashPath: "ab/cd.hwx"})
	p.Aliases = []Alias{{"in", 1, 0}, {"out", 2, 64}}
	p.Extra = []Section{{"note", 77, []byte("kept as it is")}, {"empty", -1, nil}}
	return p
}

func mustBytes(t testing.TB, p *Program) []byte {
	t.Helper()
	b, err := Bytes(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustRead(t testing.TB, b []byte) *Program {
	t.Helper()
	p, err := Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRoundTrip(t *testing.T) {
	for name, p := range map[string]*Program{
		"empty": {}, "fused": fused(0, 64), "states": fused(5, 64), "every": every(),
		"explicit symbols": {Symbols: []string{}, BuildInfo: []KV{{"", "ü\x00"}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := mustBytes(t, p)
			got := mustRead(t, b)
			want := *p
			if want.Symbols == nil {
				want.Symbols = p.DeriveSymbols()
			}
			if !reflect.DeepEqual(got, &want) {
				t.Errorf("read back\n%+v\nwant\n%+v", got, &want)
			}
			if again := mustBytes(t, got); !bytes.Equal(again, b) {
				t.Errorf("written again: other bytes")
			}
			var w bytes.Buffer
			if err := Write(&w, p); err != nil || !bytes.Equal(w.Bytes(), b) {
				t.Errorf("Write: %v, equal to Bytes %v", err, bytes.Equal(w.Bytes(), b))
			}
		})
	}
}

// The root has the vtable of a real descriptor.
// Table 23.2.
func TestRootVtable(t *testing.T) {
	for _, p := range []*Program{{}, fused(0, 64), every()} {
		b := mustBytes(t, p)
		root := int(binary.LittleEndian.Uint32(b))
		vt := root - int(int32(binary.LittleEndian.Uint32(b[root:])))
		if got, want := hex.EncodeToString(b[vt:vt+12]), "0c001400040008000c001000"; got != want {
			t.Errorf("root vtable %s, want %s", got, want)
		}
		if v := binary.LittleEndian.Uint32(b[root+16:]); v != 4 {
			t.Errorf("format_version %d at root + 16, want 4", v)
		}
	}
}

func opNames(p *Program) string {
	var names []string
	for _, b := range p.Functions[0].Blocks {
		for _, op := range b.Operations {
			names = append(names, op.Name)
		}
	}
	return strings.Join(names, " ")
}

func TestChainShape(t *testing.T) {
	p := mustRead(t, mustBytes(t, fused(0, 64)))
	if got, want := opNames(p), "Op0_Cast Op1_AneInference Op2_Cast"; got != want {
		t.Errorf("chain %s, want %s", got, want)
	}
	// One input and five states.
	p = mustRead(t, mustBytes(t, fused(5, 64)))
	want := "Op0_Cast Op1_Cast Op2_Cast Op3_Cast Op4_Cast Op5_Cast Op6_AneInference " +
		"Op7_Cast Op8_Cast Op9_Cast Op10_Cast Op11_Cast Op12_Cast"
	if got := opNames(p); got != want {
		t.Errorf("chain %s, want %s", got, want)
	}
	f := &p.Functions[0]
	inf := f.Blocks[0].Operations[6]
	for _, side := range [][]uint32{inf.Inputs, inf.Outputs} {
		for i := 2; i < len(side); i++ {
			if d := f.Operands[side[i]].Port.ApertureVA - f.Operands[side[i-1]].Port.ApertureVA; d != 0x4000 {
				t.Errorf("states %d and %d are 0x%x apart, want 0x4000", i-2, i-1, d)
			}
		}
	}
}

// Two engine parts around a CPU segment: two inferences.
func TestCutChain(t *testing.T) {
	f := Function{Name: "main"}
	x := f.AddOperand(host("x", HostInput, FP16, 1, 64))
	y := f.AddOperand(host("y", HostOutput, FP16, 1, 64))
	f.Inputs, f.Outputs = []uint32{x}, []uint32{y}
	engine := func(from, to uint32, proc string) {
		in := f.AddOperand(surface(proc+"_in", 0x30008000, 1, 1, 1, 64))
		out := f.AddOperand(surface(proc+"_out", 0x3000c000, 1, 1, 1, 64))
		f.AddOp([]uint32{from}, []uint32{in}, &CastAttrs{FP16, FP16, 1})
		f.AddOp([]uint32{in}, []uint32{out}, &AneInferenceAttrs{ProcedureName: proc, AneHash: hash})
		f.AddOp([]uint32{out}, []uint32{to}, &CastAttrs{FP16, FP16, 1})
	}
	a := f.AddOperand(host("a", Intermediate, FP16, 1, 64))
	b := f.AddOperand(host("b", Intermediate, FP16, 1, 64))
	engine(x, a, "main_ane_0")
	f.AddOp([]uint32{a}, []uint32{b}, &CpuInferenceAttrs{Entry: "cpu0", Program: "func cpu0() {}"})
	engine(b, y, "main_ane_1")
	p := mustRead(t, mustBytes(t, &Program{Functions: []Function{f}}))
	want := "Op0_Cast Op1_AneInference Op2_Cast Op3_CpuInference Op4_Cast Op5_AneInference Op6_Cast"
	if got := opNames(p); got != want {
		t.Errorf("chain %s, want %s", got, want)
	}
}

// The size follows the operations, not the shapes.
func TestSizeIndependentOfShape(t *testing.T) {
	want := len(mustBytes(t, fused(0, 64)))
	t.Logf("three operations: %d bytes", want)
	for _, inner := range []uint64{0, 1, 32, 256, 65536, 1 << 40} {
		if got := len(mustBytes(t, fused(0, inner))); got != want {
			t.Errorf("inner extent %d: %d bytes, 64: %d", inner, got, want)
		}
	}
	p := fused(0, 64)
	for i := range p.Functions[0].Operands {
		o := &p.Functions[0].Operands[i]
		o.Port.ApertureVA, o.Port.ByteSize = 0, 1<<50
	}
	if got := len(mustBytes(t, p)); got != want {
		t.Errorf("other addresses: %d bytes, want %d", got, want)
	}
	if got := len(mustBytes(t, fused(1, 64))); got <= want {
		t.Errorf("a state more: %d bytes, not more than %d", got, want)
	}
}

// The bytes depend neither on the run nor on the builder's first buffer, and the first buffer of Bytes is large enough.
func TestDeterministicBytes(t *testing.T) {
	want := mustBytes(t, every())
	for _, size := range []int64{0, 1, 100, 4096, 1 << 20} {
		root, err := programNode(every())
		if err != nil {
			t.Fatal(err)
		}
		got, err := encode(root, size)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("first buffer of %d: other bytes", size)
		}
	}
	for name, p := range map[string]*Program{"empty": {}, "fused": fused(3, 8), "every": every()} {
		root, err := programNode(p)
		if err != nil {
			t.Fatal(err)
		}
		b, err := encode(root, root.Bound())
		if err != nil {
			t.Fatal(err)
		}
		// The bytes end where the buffer ends: a buffer that has grown would have twice the size.
		if int64(cap(b)) > root.Bound() {
			t.Errorf("%s: the bound of %d was too small for %d bytes", name, root.Bound(), len(b))
		}
	}
}

// Constants are aligned in the file and read in place; writing copies them once.
func TestConstantsInPlace(t *testing.T) {
	p := every()
	b := mustBytes(t, p)
	for _, op := range mustRead(t, b).Functions[0].Blocks[0].Operations {
		a, ok := op.Attrs.(*CpuInferenceAttrs)
		if !ok {
			continue
		}
		for _, c := range a.Constants {
			if len(c.Data) == 0 {
				continue
			}
			off := bytes.Index(b, c.Data)
			for off >= 0 && &b[off] != &c.Data[0] {
				next := bytes.Index(b[off+1:], c.Data)
				if next < 0 {
					t.Fatalf("constant %s is not in the buffer", c.Name)
				}
				off += 1 + next
			}
			if off < 0 || off%ConstantAlign != 0 {
				t.Errorf("constant %s at 0x%x, want a multiple of %d", c.Name, off, ConstantAlign)
			}
		}
	}

	const big = 8 << 20
	f := Function{Name: "main"}
	f.AddOp(nil, nil, &CpuInferenceAttrs{
		Entry:     "f",
		Constants: []Constant{{"w", bytes.Repeat([]byte{3}, big)}, {"v", bytes.Repeat([]byte{5}, big)}},
	})
	q := &Program{Functions: []Function{f}}
	var out []byte
	if n := allocated(func() { out = mustBytes(t, q) }); n > 2*big+big/4 {
		t.Errorf("writing 2 constants of %d bytes allocates %d", big, n)
	}
	if n := allocated(func() { mustRead(t, out) }); n > 1<<16 {
		t.Errorf("reading allocates %d bytes", n)
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestModelErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		edit func(*Program)
		want string
	}{
		{"no attributes", func(p *Program) { p.Functions[0].Blocks[0].Operations[1].Attrs = nil }, "no attributes"},
		{"nil pointer", func(p *Program) {
			p.Functions[0].Blocks[0].Operations[1].Attrs = (*CastAttrs)(nil)
		}, "no attributes"},
		{"attributes of another type", func(p *Program) {
			p.Functions[0].Blocks[0].Operations[1].Attrs = &BarrierAttrs{}
		}, "attributes of a Barrier in a AneInference"},
		{"hash", func(p *Program) {
			p.Functions[0].Blocks[0].Operations[1].Attrs.(*AneInferenceAttrs).AneHash = "xyz"
		}, "64 lower-case hex digits"},
		{"index", func(p *Program) {
			p.Functions[0].Blocks[0].Operations[0].Inputs[0] = 99
		}, "input 0 is operand 99, but there are 4"},
		{"order", func(p *Program) {
			p.Functions[0].Blocks[0].Operations[0].Inputs = []uint32{3}
		}, "is not filled yet"},
		{"writes an input", func(p *Program) {
			p.Functions[0].Blocks[0].Operations[2].Outputs = []uint32{0}
		}, "an input of the model"},
		{"buffer too small", func(p *Program) {
			p.Functions[0].Operands[0].Port.ByteSize--
		}, "buffer of 255 bytes, but the layout reaches byte 256"},
		{"storage", func(p *Program) { p.Functions[0].Operands[0].Desc.Storage = 11 }, "storage type 11"},
		{"overflow", func(p *Program) {
			p.Functions[0].Operands[0].Desc.Dim = []uint64{1 << 60, 1 << 60}
		}, "past 2^63"},
		{"overlap", func(p *Program) {
			d := &p.Functions[0].Operands[0].Desc
			d.Dim, d.Stride = []uint64{2, 64}, []uint64{0, 4}
		}, "128 elements of fp32 do not fit 256 bytes"},
		{"rank", func(p *Program) {
			p.Functions[0].Operands[0].Desc.Dim = make([]uint64, 3)
		}, "3 extents but 2 strides"},
		{"aperture", func(p *Program) { p.Functions[0].Operands[0].Aperture = 5 }, "unknown aperture 5"},
		{"signature", func(p *Program) { p.Functions[0].Inputs = []uint32{1} }, "must be host_input"},
		{"listed twice", func(p *Program) { p.Functions[0].Inputs = []uint32{0, 0} }, "listed twice"},
		{"not listed", func(p *Program) {
			p.Functions[0].Outputs = nil
		}, "do not list port \"y\" of a host_output operand"},
		{"cast type", func(p *Program) {
			p.Functions[0].Blocks[0].Operations[0].Attrs.(*CastAttrs).DstDType = Int8
		}, "cast from fp32 to int8"},
		{"cast pack", func(p *Program) {
			p.Functions[0].Blocks[0].Operations[0].Attrs.(*CastAttrs).ComponentPack = 4
		}, "component pack 4"},
		{"cast extent", func(p *Program) {
			p.Functions[0].Operands[0].Desc = HostDescriptor(FP32, 2, 16)
		}, "cast of 32 elements to 64"},
		{"inference on the host", func(p *Program) {
			p.Functions[0].Blocks[0].Operations[1].Inputs = []uint32{0}
		}, "works on surfaces"},
		{"same function twice", func(p *Program) {
			p.Functions = append(p.Functions, p.Functions[0])
		}, "two sections of kind 0"},
		{"same operation twice", func(p *Program) {
			p.Functions[0].Blocks[0].Operations[2].Name = "Op0_Cast"
		}, "two sections of kind 2"},
		{"long name", func(p *Program) {
			p.Functions[0].Name = strings.Repeat("x", 1025)
		}, "name of 1025 bytes, limit 1024"},
		{"no name", func(p *Program) { p.Functions[0].Name = "" }, "name is empty"},
		{"not UTF-8", func(p *Program) { p.BuildInfo[0].Value = "\xff" }, "BuildInfoEntry.value"},
		{"not UTF-8, nested", func(p *Program) { p.Functions[0].Operands[0].Name = "\xff" }, "not UTF-8"},
		{"alias", func(p *Program) { p.Aliases = []Alias{{"a", 1000, 0}} }, "1000, but there are"},
		{"extra of a known kind", func(p *Program) { p.Extra = []Section{{"a", 6, nil}} }, "the known kind 6"},
		{"scales", func(p *Program) {
			p.Functions[0].AddOp(nil, nil, &QuantAttrs{SrcDType: FP16, DstDType: Int8, Axis: 0, Scales: []float32{1}})
		}, "1 scales and 0 zero points"},
		{"constant named twice", func(p *Program) {
			p.Functions[0].AddOp(nil, nil, &CpuInferenceAttrs{Constants: []Constant{{"c", nil}, {"c", nil}}})
		}, "is taken"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := fused(0, 64)
			tc.edit(p)
			_, err := Bytes(p)
			var me *ModelError
			if !errors.As(err, &me) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want a ModelError with %q", err, tc.want)
			}
		})
	}
}

func TestExtent(t *testing.T) {
	for _, tc := range []struct {
		d    TensorDescriptor
		want uint64
	}{
		{HostDescriptor(FP32), 4},
		{HostDescriptor(FP32, 2, 3), 24},
		{HostDescriptor(FP32, 2, 0, 3), 0},
		{HostDescriptor(Int4, 3, 5), 9},
		{HostDescriptor(Uint3, 3), 2},
		{HostDescriptor(Uint1), 1},
		{HostDescriptor(String, 3), 0},
		{HostDescriptor(Bool, 1, 2, 3, 4, 5), 120},
		{TensorDescriptor{
			Dim:           []uint64{1, 5, 2, 3},
			Stride:        []uint64{0, 100, 64, 8},
			Storage:       FP16,
			ComponentPack: 4,
		}, 100 + 64 + 16 + 8},
		{TensorDescriptor{Dim: []uint64{8, 2}, Stride: []uint64{0, 2}, Storage: FP16}, 4},
	} {
		if got, err := tc.d.Extent(); err != nil || got != tc.want {
			t.Errorf("%s: %d, %v, want %d", tc.d.String(), got, err, tc.want)
		}
	}
}

func TestOffset(t *testing.T) {
	planar := HostDescriptor(FP16, 2, 3, 4)
	packed := TensorDescriptor{
		Dim:           []uint64{1, 5, 2, 3},
		Stride:        []uint64{0, 100, 64, 8},
		Storage:       FP16,
		ComponentPack: 4,
	}
	for _, tc := range []struct {
		d     TensorDescriptor
		index []uint64
		want  uint64
	}{
		{planar, []uint64{1, 2, 3}, 46},
		{packed, []uint64{0, 3, 1, 2}, 6 + 64 + 16},
		{packed, []uint64{0, 4, 1, 2}, 100 + 64 + 16},
		{HostDescriptor(Int4, 3, 5), []uint64{2, 4}, 6},
		{HostDescriptor(FP32), nil, 0},
	} {
		if got := tc.d.Offset(tc.index...); got != tc.want {
			t.Errorf("%s at %d: byte %d, want %d", tc.d.String(), tc.index, got, tc.want)
		}
	}
	if n := packed.Elements(); n != 30 {
		t.Errorf("%d elements, want 30", n)
	}
}

// TestStorageTypes checks what the chapter states.
// Table 23.12.
func TestStorageTypes(t *testing.T) {
	for i, name := range []string{"int4", "uint8", "int8", "fp16", "fp32", "int16", "uint16", "int32", "uint32",
		"int64", "uint64"} {
		if st, ok := StorageTypeOf(name); !ok || int(st) != i || st.Extension() {
			t.Errorf("%s is %d (%v), want code %d of the catalog", name, st, ok, i)
		}
	}
	if len(storageByName) != len(storageTypes) {
		t.Errorf("%d names for %d types", len(storageByName), len(storageTypes))
	}
	if !Bool.Extension() || StorageType(11).Valid() {
		t.Error("codes past 10 are extensions, and start at 256")
	}
}

// Extents known at run time only: kept on the way through the file, with no
// strides and no bytes, and never on a surface or a state.
func TestUnknownExtents(t *testing.T) {
	build := func(a Aperture, change func(o *Operand)) *Program {
		f := Function{Name: "main"}
		o := Operand{Name: "x", Desc: HostDescriptor(FP16, 2, UnknownDim), Aperture: HostInput, Port: IOPort{Name: "x"}}
		x := f.AddOperand(o)
		o.Name, o.Port.Name, o.Aperture = "y", "y", a
		change(&o)
		y := f.AddOperand(o)
		f.Inputs = []uint32{x}
		switch a {
		case HostOutput:
			f.Outputs = []uint32{y}
		case HostState:
			f.States = []uint32{y}
		}
		f.AddOp([]uint32{x}, []uint32{y}, &CastAttrs{SrcDType: FP16, DstDType: o.Desc.Storage, ComponentPack: 1})
		return &Program{Functions: []Function{f}}
	}
	p := mustRead(t, mustBytes(t, build(HostOutput, func(*Operand) {})))
	d := &p.Functions[0].Operands[1].Desc
	if !d.Unknown() || d.Dim[0] != 2 || d.Stride[0] != 0 || d.Elements() != 0 {
		t.Errorf("read back as %s", d)
	}
	if got := d.String(); got != "fp16[2 ?] strides [0 0]" {
		t.Errorf("prints as %s", got)
	}
	for what, p := range map[string]*Program{
		"descriptor: an extent is unknown":     build(Surface, func(*Operand) {}),
		"not allowed for a host_state operand": build(HostState, func(*Operand) {}),
		"must be 0":                            build(HostOutput, func(o *Operand) { o.Port.ByteSize = 64 }),
		"stride 2 of a tensor":                 build(HostOutput, func(o *Operand) { o.Desc.Stride = []uint64{0, 2} }),
		"can only be copied to another one":    build(HostOutput, func(o *Operand) { o.Desc.Storage = FP32 }),
		"unknown extents can only": build(HostOutput, func(o *Operand) {
			o.Desc = HostDescriptor(FP16, 2, 0)
		}),
	} {
		if _, err := Bytes(p); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want %q", err, what)
		}
	}
}
