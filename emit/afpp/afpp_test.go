package afpp_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/lower/td"
)

var update = flag.Bool("update", false, "rewrite the expected dump")

// registers is where the engine's registers begin in the loads of these tests.
const registers = 0x2_0000_0000

// bars of the identity layer of table 23.6 and the scratch between its tasks.
var bars = []afpp.Bar{
	{ID: 5, Usage: afpp.UsageInput, Address: 0x30008000, Size: 0x80},
	{ID: 4, Usage: afpp.UsageOutput, Address: 0x3000c000, Size: 0x80},
	{ID: 1, Usage: afpp.UsageWeights, Address: 0x30018000, Size: 0x2000},
	{ID: 3, Usage: afpp.UsageIntermediate, Address: 0x30014000, Size: 0x80},
}

// linear is a program of the shape of chapter 23's identity layer: a layout
// conversion and a product, 64 channels, at the addresses of table 23.6.
func linear(identity uint64) *afpp.Program { return program(identity, 0x2000, 0x400) }

// program has kernel bytes of coefficients with the bias at an offset.
func program(identity uint64, kernel, bias int) *afpp.Program {
	first := td.New().Set(td.Win, 64).Set(td.SrcEn, 1).Set(td.SrcFmtMode, 1).Set(td.RBase0, 5).Set(td.RBE0, 1).
		Set(td.DstEn, 1).Set(td.WBase, 3).Set(td.WBE, 1)
	second := td.New().Set(td.Win, 64).Set(td.LNID, 1).Set(td.EON, 1).
		Set(td.SrcEn, 1).Set(td.SrcBase, 0x40).Set(td.RBase0, 3).Set(td.RBE0, 1).
		Set(td.KernelOn, 1).Set(td.KBase0, 1).Set(td.KBE0, 1).Set(td.StreamConfig, 0x81).Set(td.StreamBase, bias).
		Set(td.DstEn, 1).Set(td.DstFmtMode, 1).Set(td.WBase, 4).Set(td.WBE, 1)
	images, records, err := td.Split([]*td.Task{first, second})
	if err != nil {
		panic(err)
	}
	p := &afpp.Program{
		Generic: afpp.Generic{Identity: identity, Image: uint32(td.V10.Version), Base: 0x30000000, Size: 0x1c000},
		Kernel:  bytes.Repeat([]byte{0x00, 0x3c}, kernel/2),
		Text:    afpp.Text{Records: records, Images: images},
		Operations: []afpp.Operation{{Name: "convert", Class: 4, Tasks: 1}, {Name: "product", Class: 18, FirstTask: 1,
			Tasks: 1}},
		Procedures: []afpp.Procedure{{
			Name: "net", Operations: 2,
			Inputs: []afpp.Port{{Name: "t0", Bar: 5}}, Outputs: []afpp.Port{{Name: "t2", Bar: 4}},
			Bars: slices.Clone(bars),
		}},
	}
	p.Procedures[0].Bars[2].Size = uint64(kernel)
	for i := range records {
		r := &records[i]
		for _, b := range bars {
			if r.Slot == 0 || int(b.ID) == r.Bar {
				if err := r.Resolve(registers, b.Address); err != nil {
					panic(err)
				}
				break
			}
		}
	}
	p.Generic.Container[0] = 0xaa
	return p
}

func small(identity uint64) *afpp.Program { return program(identity, 128, 64) }

// byCall is small with ports that each call binds.
func byCall(identity uint64) *afpp.Program {
	p := small(identity)
	for _, k := range []int{0, 1} {
		p.Procedures[0].Bars[k].Address = 0
	}
	for i := range p.Text.Records {
		if r := &p.Text.Records[i]; r.Bar == 4 || r.Bar == 5 {
			r.Resolved, r.Operand, r.Register = false, 0, r.Register%td.RegisterWindow
		}
	}
	return p
}

func encode(t testing.TB, ps ...*afpp.Program) []byte {
	t.Helper()
	b, err := afpp.Encode(&afpp.Package{Programs: ps})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// printAll prints the headers and the records of a container.
func printAll(t testing.TB, w io.Writer, p *afpp.Package) {
	t.Helper()
	n, err := afpp.Describe(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.WriteText(w); err != nil {
		t.Fatal(err)
	}
	for i, g := range p.Programs {
		if err := afpp.DumpRecords(w, i, g); err != nil {
			t.Fatal(err)
		}
	}
}

// holds checks what must be true for any bytes.
func holds(t *testing.T, b []byte) *afpp.Package {
	t.Helper()
	p, err := afpp.Read(b)
	if err != nil {
		var fe *afpp.FormatError
		if !errors.As(err, &fe) || fe.Off < 0 || fe.Off > int64(len(b)) || fe.Field == "" || fe.Rule == "" {
			t.Fatalf("error without a place in the file: %v", err)
		}
		return nil
	}
	again, err := afpp.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, b) {
		t.Fatal("the written container differs")
	}
	printAll(t, io.Discard, p)
	return p
}

func TestRoundTrip(t *testing.T) {
	in := &afpp.Package{Programs: []*afpp.Program{linear(1), small(2)}}
	b, err := afpp.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(b[:4]) + string(b[64:68]) + string(b[80:84]); got != "HENAPENASENA" {
		t.Errorf("magic numbers on disk are %q", got)
	}
	out := holds(t, b)
	if out == nil {
		t.Fatal("not read")
	}
	for i, p := range in.Programs {
		q := out.Programs[i]
		if !reflect.DeepEqual(p.Text, q.Text) || !reflect.DeepEqual(p.Generic, q.Generic) ||
			!bytes.Equal(p.Kernel, q.Kernel) {
			t.Errorf("program %d differs", i)
		}
		if !reflect.DeepEqual(p.Operations, q.Operations) || !reflect.DeepEqual(p.Procedures, q.Procedures) {
			t.Errorf("program %d: tables differ", i)
		}
	}
}

// TestBoundByCall: an input or output without an address keeps its size, and its
// records stay open for the firmware to close.
func TestBoundByCall(t *testing.T) {
	p := holds(t, encode(t, byCall(3)))
	if p == nil {
		t.Fatal("not read")
	}
	g := p.Programs[0]
	for _, b := range g.Procedures[0].Bars {
		port := b.Usage == afpp.UsageInput || b.Usage == afpp.UsageOutput
		if b.ByCall() != port || b.Size == 0 {
			t.Errorf("%+v", b)
		}
	}
	base, ok := g.Text.RegisterBase()
	if !ok || base != registers {
		t.Errorf("register base %#x, %v", base, ok)
	}
	open := 0
	for i := range g.Text.Records {
		r := g.Text.Records[i]
		if r.Slot == 0 || r.Resolved {
			continue
		}
		open++
		if err := r.Resolve(base, 0x40000); err != nil || r.Operand != 0x40000+uint64(r.Offset) {
			t.Errorf("%v %+v", err, r)
		}
	}
	if open != 2 {
		t.Errorf("%d records are open, want those of input and output", open)
	}
	tasks, err := td.Join(g.Text.Images, g.Text.Records)
	if err != nil || len(tasks) != 2 {
		t.Errorf("%d tasks, %v", len(tasks), err)
	}
	var b bytes.Buffer
	if printAll(t, &b, p); !strings.Contains(b.String(), "bound by the call") {
		t.Errorf("%s", b.String())
	}
}

// TestInPlace checks that a container is written into memory that already contains its coefficients, regardless of the
// other content.
func TestInPlace(t *testing.T) {
	p := &afpp.Package{Programs: []*afpp.Program{small(1), small(2)}}
	want, err := afpp.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	l, err := afpp.Place(p)
	if err != nil || l.Size != uint64(len(want)) {
		t.Fatalf("size %d, want %d: %v", l.Size, len(want), err)
	}
	mem := bytes.Repeat([]byte{0xa5}, len(want))
	for i, g := range p.Programs {
		k := l.Programs[i].Bodies[afpp.KindKernel-1]
		if k.At%afpp.PageSize != 0 {
			t.Errorf("coefficients at %#x, on no page", k.At)
		}
		own := mem[k.At : k.At+k.Size]
		copy(own, g.Kernel)
		g.Kernel = own
	}
	if err := afpp.EncodeInto(mem, p); err != nil || !bytes.Equal(mem, want) {
		t.Errorf("differs: %v", err)
	}
	if err := afpp.EncodeInto(mem[1:], p); err == nil {
		t.Error("memory of another size is taken")
	}
}

// TestPlaced checks that bodies stay where the file has them, in any order.
func TestPlaced(t *testing.T) {
	p := small(1)
	p.Offsets = [afpp.NumKinds]uint64{0x2000, 0x140, 0x200, 0x1000, 0x1800}
	if got := holds(t, encode(t, p)); got == nil || got.Programs[0].Offsets != p.Offsets {
		t.Error("the offsets are not kept")
	}
}

func TestMinorVersionWarns(t *testing.T) {
	b := encode(t, small(1))
	b[4] = 7
	p := holds(t, b)
	if p == nil || !reflect.DeepEqual(p.Warnings(), []string{"package.version: version 1.7 is read as version 1.0"}) {
		t.Errorf("warnings: %v", p.Warnings())
	}
}

// TestGolden compares the dumps with testdata.
func TestGolden(t *testing.T) {
	p, err := afpp.Read(encode(t, linear(0x1234)))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	printAll(t, &text, p)
	n, err := afpp.Describe(p)
	if err != nil {
		t.Fatal(err)
	}
	js, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got := &txtar.Archive{Comment: []byte("The container of a linear layer, as text and as JSON.\n"),
		Files: []txtar.File{
			{Name: "dump.txt", Data: text.Bytes()}, {Name: "dump.json", Data: append(js, '\n')},
		}}
	path := filepath.Join("testdata", "linear.txtar")
	if *update {
		if err := os.WriteFile(path, txtar.Format(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, txtar.Format(got)) {
		t.Errorf("%s differs from what is printed; run with -update and read the difference", path)
	}
}

// resum computes the checksums of records and bodies again, so that a change reaches the check after them.
func resum(b []byte) {
	le := binary.LittleEndian
	for k := range afpp.NumKinds {
		h := b[64+16+40*k:]
		off, size := le.Uint64(h[0x14:]), le.Uint64(h[0x1c:])
		if n := uint64(len(b)) - 64; off > n || size > n-off {
			continue
		}
		body := b[64+off:][:size]
		if k == 2 && len(body) > 8 {
			for i := range min(int(le.Uint32(h[8:])), 8, (len(body)-8)/44) {
				r := body[8+44*i:][:44]
				le.PutUint32(r[40:], crc32.ChecksumIEEE(r[:40]))
			}
		}
		le.PutUint32(h[0x24:], crc32.ChecksumIEEE(body))
	}
}

// TestRefused names every rule of the bytes once. The one program begins at 0x40. Its bodies are at 0x120 generic,
// 0x180 kernel, 0x1c0 text; all offsets are taken from the headers.
func TestRefused(t *testing.T) {
	good := encode(t, small(1))
	le := binary.LittleEndian
	body := func(k int) int { return 64 + int(le.Uint64(good[64+16+40*k+0x14:])) }
	const head = 64 + 16 // after counts and "net"
	record := func(i, at int) int { return body(2) + 8 + 44*i + at }
	inputs := body(4) + 20 + 8 // behind counts and "net"
	bars := inputs + 12*2      // input, output, weights, scratch
	tests := []struct {
		name  string
		at    int
		val   uint64
		width int
		sums  bool // write checksums again
		want  string
	}{
		{name: "package magic", at: 0, val: 0, width: 4, sums: false, want: "byte 0x0, package.magic"},
		{name: "package version", at: 4, val: 2 << 16, width: 4, sums: false, want: "byte 0x4, package.version"},
		{name: "no programs", at: 8, val: 0, width: 4, sums: false, want: "byte 0x8, package.count"},
		{name: "145 programs", at: 8, val: 145, width: 4, sums: false, want: "limit 144"},
		{name: "two programs", at: 8, val: 2, width: 4, sums: false, want: "program 1"},
		{name: "package size", at: 12, val: 1 << 20, width: 4, sums: false, want: "byte 0xc, package.size"},
		{name: "padding", at: 20, val: 1, width: 1, sums: false,
			want: "byte 0x14, program 0.padding before: must be zero"},
		{name: "program magic", at: 64, val: 1, width: 4, sums: false, want: "byte 0x40, program 0.magic"},
		{name: "program version", at: 64 + 4, val: 0, width: 4, sums: false, want: "program 0.version"},
		{name: "four sections", at: 64 + 8, val: 4, width: 4, sums: false, want: "program 0.count"},
		{name: "program size small", at: 64 + 12, val: 16, width: 4, sums: false, want: "the headers do not fit"},
		{name: "program size large", at: 64 + 12, val: 1 << 30, width: 4, sums: false,
			want: "past the end of the container"},
		{name: "program size short", at: 64 + 12, val: uint64(len(good) - 64 - 8), width: 4, sums: false,
			want: "past the end of the program"},
		{name: "section magic", at: head, val: 1, width: 4, sums: false, want: "generic.magic"},
		{name: "section version", at: head + 4, val: 9 << 16, width: 4, sums: false, want: "generic.version"},
		{name: "section count", at: head + 8, val: 2, width: 4, sums: false, want: "one generic entry"},
		{name: "section count large", at: head + 8, val: 1 << 31, width: 4, sums: false,
			want: "than the body has bytes"},
		{name: "section total", at: head + 12, val: 1, width: 4, sums: false, want: "generic.total size"},
		{name: "section kind", at: head + 16, val: 2, width: 4, sums: false, want: "generic.kind"},
		{name: "offset in headers", at: head + 0x14, val: 64, width: 8, sums: false, want: "overlaps the headers"},
		{name: "offset odd", at: head + 0x14, val: 0x201, width: 8, sums: false, want: "multiple of the alignment"},
		{name: "offset past end", at: head + 0x14, val: 1 << 63, width: 8, sums: false,
			want: "past the end of the program"},
		{name: "size past end", at: head + 0x1c, val: 1<<64 - 1, width: 8, sums: false,
			want: "past the end of the program"},
		{name: "crc", at: head + 0x24, val: 1, width: 4, sums: false, want: "generic.crc"},
		{name: "body changed", at: body(1), val: 9, width: 1, sums: false, want: "kernel.crc"},
		{name: "image version", at: body(0) + 8, val: 7, width: 4, sums: true, want: "image version"},
		{name: "tasks", at: body(0) + 12, val: 3, width: 4, sums: true, want: "text.size"},
		{name: "no tasks", at: body(0) + 12, val: 0, width: 4, sums: true, want: "generic.tasks"},
		{name: "operations", at: body(0) + 16, val: 3, width: 4, sums: true, want: "operation.count"},
		{name: "procedures", at: body(0) + 20, val: 2, width: 4, sums: true, want: "procedure.count"},
		{name: "window base", at: body(0) + 0x18, val: 0x30000040, width: 8, sums: true, want: "multiple of the page"},
		{name: "window base high", at: body(0) + 0x18, val: 0xe0000000, width: 8, sums: true, want: "below the limit"},
		{name: "window size", at: body(0) + 0x20, val: 1 << 40, width: 8, sums: true, want: "limit 0xb0000000"},
		{name: "kernel count", at: head + 40 + 8, val: 3, width: 4, sums: false, want: "number of tiles"},
		{name: "stream magic", at: body(2), val: 0, width: 4, sums: true, want: "stream.magic"},
		{name: "stream version", at: body(2) + 4, val: 3, width: 2, sums: true,
			want: "stream.version: record stream version 3 is not known"},
		{name: "stream record size", at: body(2) + 6, val: 45, width: 2, sums: true, want: "stream.record size"},
		{name: "records", at: head + 80 + 8, val: 7, width: 4, sums: false, want: "text.size"},
		{name: "record operands", at: record(0, 0), val: 3, width: 1, sums: true, want: "record 0.operand count"},
		{name: "record group", at: record(0, 1), val: 7, width: 1, sums: true, want: "record 0.group"},
		{name: "record task", at: record(7, 2), val: 2, width: 2, sums: true, want: "record 7.task: no such task"},
		{name: "record order", at: record(0, 2), val: 1, width: 2, sums: true, want: "record 1.order"},
		{name: "record register", at: record(0, 4), val: 2, width: 8, sums: true, want: "record 0.register"},
		{name: "record aperture", at: record(3, 4), val: registers*2 + 0x4d10, width: 8, sums: true,
			want: "record 3.register: all registers of a load must have one aperture"},
		{name: "value aperture", at: record(2, 8), val: 7, width: 4, sums: true,
			want: "record 2.register: all registers of a load must have one aperture"},
		{name: "record high address", at: record(0, 12), val: 0x1_30008000, width: 8, sums: true, want: "high 32 bits"},
		{name: "record odd address", at: record(0, 12), val: 0x30008004, width: 8, sums: true,
			want: "wanted a multiple of 64"},
		{name: "record outside bar", at: record(0, 12), val: 0x30008080, width: 8, sums: true,
			want: "does not match its offset in bar 5"},
		{name: "record operand 1", at: record(0, 20), val: 1, width: 8, sums: true,
			want: "the record counts one operand"},
		{name: "record pending", at: record(0, 28), val: 0x80001344, width: 4, sums: true,
			want: "record 0.register: 0x200004d10: input tile (0x1344), unresolved"},
		{name: "record slot", at: record(0, 28), val: 0x1554, width: 4, sums: true, want: "bias (0x1554) is in G0"},
		{name: "record field", at: record(0, 32), val: 1, width: 1, sums: true, want: "record 0.placement"},
		{name: "record no bits", at: record(0, 33), val: 0, width: 1, sums: true, want: "record 0.placement"},
		{name: "record shift", at: record(0, 34), val: 64, width: 1, sums: true, want: "record 0.placement"},
		{name: "record reserved", at: record(0, 35), val: 1, width: 1, sums: true, want: "bits 31:24 are zero"},
		{name: "record bar", at: record(0, 36), val: 32, width: 2, sums: true, want: "holds 0..31"},
		{name: "record bar unbound", at: record(0, 36), val: 9, width: 2, sums: true, want: "has no such bar"},
		{name: "record no bar", at: record(0, 36), val: 0xffff, width: 2, sums: true, want: "has no such bar"},
		{name: "record bar high", at: record(0, 38), val: 2, width: 2, sums: true, want: "bits 31:16 are zero"},
		{name: "record value bar", at: record(2, 36), val: 1, width: 2, sums: true, want: "a value has none"},
		{name: "operation class", at: body(3), val: 80, width: 2, sums: true, want: "limit 79"},
		{name: "micro-operation", at: body(3) + 2, val: 126, width: 2, sums: true, want: "limit 125"},
		{name: "operation overlap", at: body(3) + 24 + 4, val: 0, width: 4, sums: true,
			want: "begins where the one before it ends"},
		{name: "operation tasks", at: body(3) + 8, val: 3, width: 4, sums: true, want: "entry 0.tasks"},
		{name: "operation no tasks", at: body(3) + 8, val: 0, width: 4, sums: true, want: "entry 0.tasks"},
		{name: "name length", at: body(3) + 12, val: 256, width: 4, sums: true, want: "1 to 255"},
		{name: "name control", at: body(3) + 16, val: 7, width: 1, sums: true, want: "printable characters"},
		{name: "name utf-8", at: body(3) + 16, val: 0xff, width: 1, sums: true, want: "UTF-8"},
		{name: "name padding", at: body(3) + 23, val: 1, width: 1, sums: true, want: "name.padding"},
		{name: "procedure operations", at: body(4) + 4, val: 1, width: 4, sums: true, want: "every operation belongs"},
		{name: "procedure past", at: body(4) + 4, val: 3, width: 4, sums: true, want: "operations of the program"},
		{name: "procedure first", at: body(4), val: 1, width: 4, sums: true, want: "first operation"},
		{name: "inputs", at: body(4) + 8, val: 1 << 31, width: 4, sums: true,
			want: "entry 0.inputs: entries of 12 bytes"},
		{name: "bars", at: body(4) + 16, val: 1 << 20, width: 4, sums: true, want: "entry 0.bars: entries of 24 bytes"},
		{name: "fewer bars", at: body(4) + 16, val: 3, width: 4, sums: true, want: "bytes after the last entry"},
		{name: "input bar", at: inputs, val: 4, width: 4, sums: true, want: "no input bar"},
		{name: "port twice", at: inputs + 12 + 8, val: 't' | '0'<<8, width: 2, sums: true, want: "duplicate name"},
		{name: "bar id", at: bars, val: 32, width: 4, sums: true, want: "bar 0.id"},
		{name: "bar twice", at: bars, val: 4, width: 4, sums: true, want: "duplicate register"},
		{name: "bar usage", at: bars + 4, val: 3, width: 4, sums: true, want: "no such usage"},
		{name: "bar address", at: bars + 8, val: 0x30008001, width: 8, sums: true, want: "multiple of the tile"},
		{name: "bar of scratch at 0", at: bars + 3*24 + 8, val: 0, width: 8, sums: true,
			want: "which is an input or an output"},
		{name: "input by call", at: bars + 8, val: 0, width: 8, sums: true,
			want: "each call brings the buffer of bar 5"},
		{name: "bar window", at: bars + 8, val: 0x20008000, width: 8, sums: true, want: "outside the program's window"},
		{name: "bar size", at: bars + 16, val: 1 << 62, width: 8, sums: true, want: "bar 0.size"},
		{name: "bar empty", at: bars + 16, val: 0, width: 8, sums: true, want: "bar 0.size"},
		{name: "weights past kernel", at: bars + 2*24 + 16, val: 129, width: 8, sums: true,
			want: "past the kernel section"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := bytes.Clone(good)
			var v [8]byte
			le.PutUint64(v[:], tt.val)
			copy(b[tt.at:], v[:tt.width])
			if tt.sums {
				resum(b)
			}
			if holds(t, b) != nil {
				t.Fatal("taken")
			}
			if _, err := afpp.Read(b); !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\nwant %q", err, tt.want)
			}
		})
	}
	t.Run("record crc", func(t *testing.T) {
		b := bytes.Clone(good)
		b[record(1, 40)]++
		h := b[head+80:]
		le.PutUint32(h[0x24:], crc32.ChecksumIEEE(b[body(2):][:le.Uint64(h[0x1c:])]))
		if _, err := afpp.Read(b); err == nil || !strings.Contains(err.Error(), "record 1.CRC-32") {
			t.Errorf("%v", err)
		}
	})
	for n := range good {
		if holds(t, good[:n]) != nil {
			t.Errorf("%d of %d bytes are taken", n, len(good))
		}
	}
}

// TestOverlap checks two bodies at one position, and one inside another.
func TestOverlap(t *testing.T) {
	for _, off := range [][afpp.NumKinds]uint64{{0x140, 0x140}, {0x240, 0x140, 0x180}} {
		p := small(1)
		p.Offsets = off
		_, err := afpp.Encode(&afpp.Package{Programs: []*afpp.Program{p}})
		if err == nil || !strings.Contains(err.Error(), "overlaps the one before it") && !strings.Contains(err.Error(),
			"crc") {
			t.Errorf("%v: %v", off, err)
		}
	}
	b := encode(t, small(1))
	// The header of the kernel section names the first 64 bytes of the generic
	// body: its own checksum is right.
	le := binary.LittleEndian
	off := le.Uint64(b[64+16+0x14:])
	le.PutUint64(b[64+16+40+0x14:], off)
	resum(b)
	if _, err := afpp.Read(b); err == nil || !strings.Contains(err.Error(), "overlaps the one before it") {
		t.Errorf("%v", err)
	}
}

// TestEncodeRefuses checks that values that cannot be encoded are errors.
func TestEncodeRefuses(t *testing.T) {
	for name, change := range map[string]func(*afpp.Program){
		"image size":   func(p *afpp.Program) { p.Text.Images[1] = nil },
		"kernel tiles": func(p *afpp.Program) { p.Kernel = append(bytes.Clone(p.Kernel), 0) },
		"no procedure": func(p *afpp.Program) { p.Procedures = nil },
		"long name":    func(p *afpp.Program) { p.Procedures[0].Name = strings.Repeat("x", 256) },
		"far offset":   func(p *afpp.Program) { p.Offsets[1] = 1 << 40 },
		"low offset":   func(p *afpp.Program) { p.Offsets[1] = 64 },
		"pending": func(p *afpp.Program) {
			r := &p.Text.Records[0]
			r.Resolved, r.Operand, r.Register = false, 0, uint64(r.Slot.Register())
		},
		"record of no slot": func(p *afpp.Program) { p.Text.Records[0].Slot = 0x1345 },
		"constants": func(p *afpp.Program) {
			p.Procedures[0].Bars[2].Usage = afpp.UsageConstants
			p.Procedures[0].Bars[2].Size++
		},
	} {
		p := small(1)
		change(p)
		if _, err := afpp.Encode(&afpp.Package{Programs: []*afpp.Program{p}}); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	if _, err := afpp.Encode(&afpp.Package{Programs: []*afpp.Program{nil}}); err == nil {
		t.Error("no program: written")
	}
	if _, err := afpp.Encode(&afpp.Package{}); err == nil {
		t.Error("no programs: written")
	}
}

// TestEveryByte changes each byte and keeps the checksums valid, so that the rules after them are reached.
func TestEveryByte(t *testing.T) {
	good := encode(t, small(1))
	l, err := afpp.Place(&afpp.Package{Programs: []*afpp.Program{small(1)}})
	if err != nil {
		t.Fatal(err)
	}
	b := l.Programs[0].Bodies
	end := int(b[afpp.KindProcedure-1].At + b[afpp.KindProcedure-1].Size)
	for i := range good {
		if i > end && i < int(b[afpp.KindKernel-1].At) && i%61 != 0 {
			continue // the padding before the coefficients, all alike
		}
		for _, v := range []byte{0xff, good[i] + 1} {
			b := bytes.Clone(good)
			b[i] = v
			holds(t, b)
			resum(b)
			holds(t, b)
		}
	}
}

// FuzzRead checks that no bytes make Read panic, and that what it accepts is written again equal. Checksums are
// computed again before a second reading.
func FuzzRead(f *testing.F) {
	for _, ps := range [][]*afpp.Program{{small(1)}, {small(1), small(2)}, {byCall(1)}} {
		for _, p := range ps {
			// The coefficients come right after the headers: a page of padding is too much to change.
			p.Offsets = [afpp.NumKinds]uint64{0x180, 0x100, 0x200, 0xb00, 0xb80}
		}
		f.Add(encode(f, ps...))
	}
	f.Add(make([]byte, 300))
	f.Fuzz(func(t *testing.T, b []byte) {
		holds(t, b)
		if len(b) >= 64+16+40*afpp.NumKinds {
			b = bytes.Clone(b)
			resum(b)
			holds(t, b)
		}
	})
}
