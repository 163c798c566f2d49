package sim_test

import (
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim"
)

// A descriptor of a few kilobytes that names terabytes is refused before
// anything of that size is asked for.
func TestBuffersAreBounded(t *testing.T) {
	task := td.New().SetBool(td.TDSkip, true)
	task.Spans = []td.Span{}
	text, _, err := td.EncodeChain([]*td.Task{task}, 0)
	if err != nil {
		t.Fatal(err)
	}
	surface := func(name string, binding uint32) hwx.Surface {
		return hwx.Surface{Name: name, Procedure: "net", Binding: binding, Element: 5, Dims: [4]uint32{1, 1, 1, 1},
			Strides: [4]uint64{64, 64, 64, 2}, BatchBytes: 64, Size: 64}
	}
	f, _, err := hwx.Build(&hwx.Image{
		CPUSubtype: hwx.SubtypeH13, Split: true, Text: text,
		Surfaces:   []hwx.Surface{surface("x", hwx.BindInput), surface("y", hwx.BindOutput)},
		Procedures: []hwx.Entry{{Name: "net", FirstWords: uint32(task.Words()), Tasks: 1, Bars: map[int]hwx.BarRef{0: {Kind: hwx.BarText}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	container, err := hwx.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	fn := e5.Function{Name: "main"}
	var ids []uint32
	for _, a := range []e5.Aperture{e5.HostInput, e5.HostOutput} {
		d := e5.HostDescriptor(e5.FP16, 1<<20, 1<<20)
		size, err := d.Extent()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, fn.AddOperand(e5.Operand{Name: a.String(), Desc: d, Aperture: a, Port: e5.IOPort{Name: a.String(), ByteSize: size}}))
	}
	fn.AddOp(ids[:1], ids[1:], &e5.CastAttrs{SrcDType: e5.FP16, DstDType: e5.FP16, ComponentPack: 1})
	fn.Inputs, fn.Outputs = ids[:1], ids[1:]
	descriptor, err := e5.Bytes(&e5.Program{Functions: []e5.Function{fn}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sim.Load(container, descriptor); err == nil || !strings.Contains(err.Error(), "past the limit") {
		t.Errorf("a descriptor of %d bytes with operands of 2 TiB loads: %v", len(descriptor), err)
	}
}
