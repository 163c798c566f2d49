// Package addition writes the containers of a small program, an addition of two tensors in one task, for targets from
// h15 on: tests and seeds of fuzz targets use them.
//
// In: a target whose tasks have a switch for each source. Out: a container.
//
// Invariants: the container is valid, and its program runs and has no hazard.
package addition

import (
	"math"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Names of the inputs and of the output, each 1x4x3x5 of fp16.
const (
	X = "x"
	Z = "z"
	Y = "y"
)

// Extents of the tensors, and bytes of a row and of a channel.
const (
	channels, rows, columns = 4, 3, 5

	row   = 64
	plane = rows * row
)

// Buffer-access registers.
const (
	barTag = 4
	barX   = 6
	barY   = 7
	barZ   = 8
)

// Targets are the first target of each version whose tasks have a switch for each source.
var Targets = targets()

func targets() (firsts []*target.Table) {
	for _, t := range target.All {
		same := func(o *target.Table) bool { return o.Version == t.Version }
		c, err := td.CodecOf(t.Version)
		if err == nil && td.Source2DMA.Row().Place(c).Block == nil && !slices.ContainsFunc(firsts, same) {
			firsts = append(firsts, t)
		}
	}
	return firsts
}

// Container returns the container of the program for a target.
func Container(on *target.Table) ([]byte, error) {
	codec, err := td.CodecOf(on.Version)
	if err != nil {
		return nil, err
	}
	text, offs, err := codec.AppendChain(nil, []*td.Task{task(codec)})
	if err != nil {
		return nil, err
	}
	first := uint32(codec.SizeAt(text, offs[0], 0))
	bars := map[int]hwx.BarRef{td.BarText: {Kind: hwx.BarText}, barX: surface(X), barY: surface(Y), barZ: surface(Z)}
	f, _, err := hwx.Build(&hwx.Image{
		CPUSubtype: on.Subtype, Text: text, Banner: []string{"zinc", "\t-t " + on.Name},
		Surfaces:   []hwx.Surface{window(X, hwx.BindInput), window(Y, hwx.BindOutput), window(Z, hwx.BindInput)},
		Procedures: []hwx.Entry{{Name: "net", Offset: uint64(offs[0]), FirstWords: first, Tasks: 1, Bars: bars}},
	})
	if err != nil {
		return nil, err
	}
	return hwx.Encode(f)
}

func surface(name string) hwx.BarRef { return hwx.BarRef{Kind: hwx.BarSurface, Surface: name} }

func window(name string, binding uint32) hwx.Surface {
	const size = channels * plane
	return hwx.Surface{Name: name, Procedure: "net", Binding: binding, Element: 5,
		Dims: [4]uint32{1, channels, rows, columns}, Strides: [4]uint64{size, plane, row, 2},
		BatchBytes: size, Size: size}
}

// task returns the addition of the surfaces of registers 6 and 8 to the surface of register 7.
func task(codec *td.Codec) *td.Task {
	t := td.New().Set(td.InFmt, int(td.FmtFP16)).Set(td.In2Fmt, int(td.FmtFP16)).Set(td.OutFmt, int(td.FmtFP16)).
		Set(td.Din, 1).Set(td.Dout, 1).Set(td.Win, columns).Set(td.Hin, rows).Set(td.Cin, channels).
		Set(td.Wout, columns).Set(td.Hout, rows).Set(td.Cout, channels).Set(td.TileHeight, rows).Set(td.NumGroups, 1).
		Set(td.PlanarType, int(td.PlanarTwo)).Set(td.PETwo, 1).Set(td.PEScale32, int(math.Float32bits(1))).
		Set(td.DstEn, 1).Set(td.DstFmtMode, 1).Set(td.DstMemFmt, int(td.FmtFP16)).Set(td.DstInterleave, 1).
		Set(td.DstRow, row).Set(td.DstPlane, plane).Set(td.RBase0, barX).Set(td.RBE0, 1).Set(td.RBase1, barZ).
		Set(td.RBE1, 1).Set(td.WBase, barY).Set(td.WBE, 1).Set(td.TSR, 1)
	t.Set(td.SrcEn, 1).Set(td.SrcFmtMode, 1).Set(td.SrcMemFmt, int(td.FmtFP16)).Set(td.SrcInterleave, 1).
		Set(td.SrcRow, row).Set(td.SrcPlane, plane)
	t.Set(td.Src2En, 1).Set(td.Src2FmtMode, 1).Set(td.Src2MemFmt, int(td.FmtFP16)).Set(td.Src2Interleave, 1).
		Set(td.Src2Row, row).Set(td.Src2Plane, plane)
	for i := range 3 { // of both sources and the result
		t.Set(td.TagBar.At(i), barTag).Set(td.TagOn.At(i), 1)
	}
	if codec.Version >= td.V20.Version {
		t.Set(td.DstCmpVec, 15)
	}
	return t
}

// Containers returns the containers of all targets, for seeds.
func Containers(t testing.TB) (all [][]byte) {
	t.Helper()
	for _, on := range Targets {
		b, err := Container(on)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}
