package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/zinc-compiler/zinc/lower/td"
)

// planarTask2 is a sum of two 4x3x5 sources from registers 5 and 6 to
// register 4.
func planarTask2() (*td.Task, buffers) {
	t := td.New().Set(td.InFmt, 2).Set(td.In2Fmt, 2).Set(td.OutFmt, 2).
		Set(td.Win, 5).Set(td.Hin, 3).Set(td.Cin, 4).Set(td.Wout, 5).Set(td.Hout, 3).Set(td.Cout, 4).
		Set(td.PlanarType, 3).Set(td.PETwo, 1).Set(td.PEScale, 0x3c00).Set(td.PEPreScale, 0x3c00).
		Set(td.PEFinal, 0x3f800000).
		Set(td.Source1, 1).Set(td.SrcEn, 1).Set(td.SrcMemFmt, 2).Set(td.SrcRow, 64).Set(td.SrcPlane, 192).
		Set(td.Source2DMA, 1).Set(td.Src2MemFmt, 2).Set(td.Src2Row, 64).Set(td.Src2Plane, 192).
		Set(td.DstEn, 1).Set(td.DstMemFmt, 2).Set(td.DstRow, 64).Set(td.DstPlane, 192).
		Set(td.RBase0, 5).Set(td.RBE0, 1).Set(td.RBase1, 6).Set(td.RBE1, 1).Set(td.WBase, 4).Set(td.WBE, 1)
	return t, buffers{4: make([]byte, 4*192), 5: make([]byte, 4*192), 6: make([]byte, 4*192)}
}

// Any register image leads to a result or a fault, without a panic and without work or memory beyond what small windows
// justify.
func FuzzStep(f *testing.F) {
	kernel, _ := kernelTask(8, 16, 2, 4, 1)
	depthwise, _ := kernelTask(16, 16, 2, 4, 3)
	depthwise.Set(td.UnicastEn, 1).Set(td.NEBias, 1)
	skipping, _ := kernelTask(8, 16, 4, 4, 1)
	skipping.Set(td.SparseFmt, 1).Set(td.Sx, 2).Set(td.Sy, 2).Set(td.Wout, 2).Set(td.Hout, 2)
	indexed, _ := kernelTask(8, 16, 2, 4, 1)
	indexed.Set(td.PalettizedEn, 1).Set(td.PalettizeBits, 2).Set(td.Cin, 4)
	masks := skipping.Clone().Set(td.PalettizedEn, 1).Set(td.PalettizeBits, 1).Set(td.SparseBinary, 1)
	planar, _ := planarTask2()
	reduction := planar.Clone().Set(td.PlanarType, 6)
	pooling := planar.Clone().Set(td.PlanarType, 5).Set(td.PETwo, 0).Set(td.Kw, 2).Set(td.Kh, 2)
	pair := planar.Clone().Set(td.PlanarType, 4)
	l2 := planar.Clone().Set(td.SrcEn, 0).Set(td.DstEn, 0).Set(td.L2SrcRow, 16).Set(td.L2ResRow, 16)
	seeds := []*td.Task{kernel, depthwise, skipping, planar, reduction, pooling, pair, l2, indexed, masks}
	codecs := []*td.Codec{td.V7, td.V11, td.V8, td.V17, td.V20, td.V24}
	for i := range len(codecs) * len(seeds) {
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte{0x60, 0, 3, 0, 0, 0})
	}
	rows := td.Fields()
	buf := make([]byte, 1<<13)
	for i := range buf {
		buf[i] = byte(i * 37)
	}
	e := New(Options{L2Bytes: l2Bytes, MaxWork: 1 << 18, Workers: 2})
	f.Fuzz(func(t *testing.T, seed uint8, edits []byte) {
		task := seeds[int(seed)%len(seeds)].Clone()
		for ; len(edits) >= 6; edits = edits[6:] {
			i := int(binary.LittleEndian.Uint16(edits)) % len(rows)
			v := uint64(binary.LittleEndian.Uint32(edits[2:]))
			task.Set(td.Field(i), int(v&(1<<rows[i].Home().Width-1)*uint64(rows[i].Unit)))
		}
		mem := buffers{}
		for i := range 32 {
			mem[i] = buf
		}
		codec := codecs[int(seed)/len(seeds)%len(codecs)]
		err := e.Step(context.Background(), td.Placed{Task: task, Codec: codec}, mem)
		var fault *Fault
		if err != nil && (!errors.As(err, &fault) || fault.Msg == "") {
			t.Fatalf("%T: %v", err, err)
		}
	})
}
