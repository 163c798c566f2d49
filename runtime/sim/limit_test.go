package sim_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// idle returns a container of one procedure, net, that does nothing between two
// ports, x and y, of 64 bytes.
func idle(t *testing.T) []byte { return idleOver(t, 0) }

// idleOver is idle with so many bytes of scratch.
func idleOver(t *testing.T, scratch uint64) []byte {
	t.Helper()
	task := td.New().SetBool(td.TDSkip, true)
	task.Spans = []td.Span{}
	text, _, err := td.V7.AppendChain(nil, []*td.Task{task})
	if err != nil {
		t.Fatal(err)
	}
	surface := func(name string, binding uint32) hwx.Surface {
		return hwx.Surface{Name: name, Procedure: "net", Binding: binding, Element: 5, Dims: [4]uint32{1, 1, 1, 1},
			Strides: [4]uint64{64, 64, 64, 2}, BatchBytes: 64, Size: 64}
	}
	bars := map[int]hwx.BarRef{0: {Kind: hwx.BarText}}
	if scratch > 0 {
		bars[4] = hwx.BarRef{Kind: hwx.BarSurface, Surface: "x"}
		bars[5] = hwx.BarRef{Kind: hwx.BarSurface, Surface: "y"}
		bars[3] = hwx.BarRef{Kind: hwx.BarScratch}
	}
	f, _, err := hwx.Build(&hwx.Image{
		CPUSubtype: target.H13.Subtype, Split: scratch == 0, Scratch: scratch, Text: text,
		Surfaces:   []hwx.Surface{surface("x", hwx.BindInput), surface("y", hwx.BindOutput)},
		Procedures: []hwx.Entry{{Name: "net", FirstWords: uint32(td.V7.Words(task)), Tasks: 1, Bars: bars}},
	})
	if err != nil {
		t.Fatal(err)
	}
	container, err := hwx.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	return container
}

// castPair returns the descriptor of a function that only casts a host tensor to
// another.
func castPair(t *testing.T, src, dst e5.TensorDescriptor) []byte {
	t.Helper()
	fn := e5.Function{Name: "main"}
	var ids []uint32
	for i, d := range []e5.TensorDescriptor{src, dst} {
		a := []e5.Aperture{e5.HostInput, e5.HostOutput}[i]
		size, err := d.Extent()
		if err != nil {
			t.Fatal(err)
		}
		size = max(size, d.Elements()*uint64(max(d.Storage.Bits(), 8))/8)
		ids = append(ids, fn.AddOperand(e5.Operand{
			Name:     a.String(),
			Desc:     d,
			Aperture: a,
			Port:     e5.IOPort{Name: a.String(), ByteSize: size},
		}))
	}
	fn.AddOp(ids[:1], ids[1:], &e5.CastAttrs{
		SrcDType:      src.Storage,
		DstDType:      dst.Storage,
		ComponentPack: max(src.ComponentPack, dst.ComponentPack, 1),
	})
	fn.Inputs, fn.Outputs = ids[:1], ids[1:]
	descriptor, err := e5.Bytes(&e5.Program{Functions: []e5.Function{fn}})
	if err != nil {
		t.Fatal(err)
	}
	return descriptor
}

// A descriptor of a few kilobytes that names terabytes is refused before
// anything of that size is requested.
func TestBuffersAreBounded(t *testing.T) {
	d := e5.HostDescriptor(e5.FP16, 1<<20, 1<<20)
	descriptor := castPair(t, d, d)
	if _, err := sim.Open(pair.Pair{
		Container:  idle(t),
		Descriptor: descriptor,
	}); err == nil || !strings.Contains(err.Error(), "exceed the limit") {
		t.Errorf("a descriptor of %d bytes with operands of 2 TiB loads: %v", len(descriptor), err)
	}
}

// TestCastShapesMustMatch checks that casts between different shapes, and tensors of the host with gaps, are refused.
func TestCastShapesMustMatch(t *testing.T) {
	container := idle(t)
	host := e5.HostDescriptor
	padded := e5.TensorDescriptor{Dim: []uint64{2, 3}, Stride: []uint64{64, 2}, Storage: e5.FP16}
	spread := e5.TensorDescriptor{Dim: []uint64{2, 3}, Stride: []uint64{2, 64}, Storage: e5.FP16}
	packed := host(e5.FP16, 2, 3, 1)
	packed.ComponentPack = 2
	for _, c := range []struct {
		name     string
		src, dst e5.TensorDescriptor
		refused  string // "" when it runs
	}{
		{name: "same", src: host(e5.FP16, 2, 3), dst: host(e5.FP32, 2, 3)},
		{name: "vector of one to scalar", src: host(e5.FP16, 1), dst: host(e5.FP32)},
		{name: "scalar to ones", src: host(e5.FP16), dst: host(e5.FP32, 1, 1, 1)},
		{name: "ones dropped", src: host(e5.FP16, 2, 1, 3, 1), dst: host(e5.FP32, 1, 2, 3)},
		{name: "ones dropped, nothing converted", src: host(e5.FP16, 2, 1, 3, 1), dst: host(e5.FP16, 1, 2, 3)},
		{name: "padded source", src: padded, dst: host(e5.FP32, 2, 3)},
		{name: "padded result", src: host(e5.FP32, 2, 3), dst: padded},
		{name: "elements apart", src: spread, dst: host(e5.FP32, 2, 3)},
		{name: "packed", src: packed, dst: host(e5.FP32, 2, 3)},
		{name: "empty", src: host(e5.FP16, 0, 3), dst: host(e5.FP32, 0, 3)},
		{name: "rows to columns", src: host(e5.FP16, 2, 3), dst: host(e5.FP32, 3, 2), refused: "must be equal"},
		{name: "rank raised", src: host(e5.FP16, 6), dst: host(e5.FP32, 2, 3), refused: "must be equal"},
		{name: "rank lowered", src: host(e5.FP16, 2, 3), dst: host(e5.FP32, 6), refused: "must be equal"},
		{name: "halves of bytes", src: host(e5.Int4, 2, 3), dst: host(e5.Int8, 2, 3), refused: "cannot convert"},
		{name: "strings", src: host(e5.String, 2, 3), dst: host(e5.String, 3, 2), refused: "must be equal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := sim.Open(pair.Pair{Container: container, Descriptor: castPair(t, c.src, c.dst)})
			var load *sim.LoadError
			if c.refused != "" {
				if !errors.As(err, &load) || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("loads with %v, want a refusal with %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			in := m.Inputs()[0]
			var data []byte
			for i := range in.Type.Elems() {
				data = ir.AppendElem(data, in.Type.DType, float64(i+1))
			}
			x, err := interp.NewTensor(in.Type, data)
			if err != nil {
				t.Fatal(err)
			}
			out, err := m.Run(context.Background(), map[string]interp.Tensor{in.Name: x}, sim.Options{})
			if err != nil {
				t.Fatal(err)
			}
			y := out[m.Outputs()[0].Name]
			if !y.Type.Equal(m.Outputs()[0].Type) {
				t.Fatalf("gives %s, want %s", y.Type, m.Outputs()[0].Type)
			}
			for i := range y.Type.Elems() {
				if got := (&ir.Const{Type: y.Type, Data: y.Data}).Float(i); got != float64(i+1) {
					t.Fatalf("element %d is %v", i, got)
				}
			}
		})
	}
}

// Scratch and operands count together: either alone is within the limit.
func TestScratchIsCounted(t *testing.T) {
	sum := func(b []byte) string { h := sha256.Sum256(b); return hex.EncodeToString(h[:]) }
	for _, c := range []struct {
		scratch, host uint64
		refused       bool
	}{
		{1 << 20, 1 << 20, false},
		{3 << 30, 4 << 30, false},
		{3 << 30, 6 << 30, true},
		{1 << 20, 9 << 30, true},
	} {
		container := idleOver(t, c.scratch)
		fn := e5.Function{Name: "main"}
		add := func(name string, a e5.Aperture, d e5.TensorDescriptor, size uint64) uint32 {
			return fn.AddOperand(e5.Operand{
				Name:     name,
				Desc:     d,
				Aperture: a,
				Port:     e5.IOPort{Name: name, ByteSize: size},
			})
		}
		one := e5.HostDescriptor(e5.FP16, 1, 1, 1, 1)
		big := add("big", e5.HostInput, e5.HostDescriptor(e5.FP16, 1<<15, c.host>>16), c.host)
		in, x := add("in", e5.HostInput, one, 64), add("x", e5.Surface, one, 64)
		y, out := add("y", e5.Surface, one, 64), add("out", e5.HostOutput, one, 64)
		cast := &e5.CastAttrs{SrcDType: e5.FP16, DstDType: e5.FP16, ComponentPack: 1}
		fn.AddOp([]uint32{in}, []uint32{x}, cast)
		fn.AddOp([]uint32{x}, []uint32{y}, &e5.AneInferenceAttrs{ProcedureName: "net", AneHash: sum(container)})
		fn.AddOp([]uint32{y}, []uint32{out}, cast)
		fn.Inputs, fn.Outputs = []uint32{big, in}, []uint32{out}
		descriptor, err := e5.Bytes(&e5.Program{Functions: []e5.Function{fn}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = sim.Open(pair.Pair{Container: container, Descriptor: descriptor})
		if c.refused != (err != nil && strings.Contains(err.Error(), "exceed the limit")) || !c.refused && err != nil {
			t.Errorf("scratch of %d and a tensor of %d bytes: %v", c.scratch, c.host, err)
		}
	}
}
