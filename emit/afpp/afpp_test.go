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

var update = flag.Bool("update", false, "write the expected dump anew")

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
		Generic:    afpp.Generic{Identity: identity, Image: td.VersionV10, Base: 0x30000000, Size: 0x1c000},
		Kernel:     bytes.Repeat([]byte{0x00, 0x3c}, kernel/2),
		Text:       afpp.Text{Records: records, Images: images},
		Operations: []afpp.Operation{{Name: "convert", Class: 4, Tasks: 1}, {Name: "product", Class: 18, FirstTask: 1, Tasks: 1}},
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
	if err := afpp.DumpHeaders(w, p); err != nil {
		t.Fatal(err)
	}
	for i, g := range p.Programs {
		if err := afpp.DumpRecords(w, i, g); err != nil {
			t.Fatal(err)
		}
	}
}

// holds checks what holds for any bytes.
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
	if _, err := afpp.HeadersJSON(p); err != nil {
		t.Fatal(err)
	}
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
		if !reflect.DeepEqual(p.Text, q.Text) || !reflect.DeepEqual(p.Generic, q.Generic) || !bytes.Equal(p.Kernel, q.Kernel) {
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

// TestInPlace: a container is written into memory that holds its coefficients
// already, whatever else is there.
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

// TestPlaced: bodies stand where the file has them, in any order.
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
	js, err := afpp.HeadersJSON(p)
	if err != nil || !json.Valid(js) {
		t.Fatal("not JSON", err)
	}
	got := &txtar.Archive{Comment: []byte("The container of a linear layer, as text and as JSON.\n"), Files: []txtar.File{
		{Name: "dump.txt", Data: text.Bytes()}, {Name: "dump.json", Data: js},
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

// resum writes the checksums of records and bodies anew, so that a change
// reaches the check behind them.
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

// TestRefused names every rule of the bytes once. Offsets of the one program,
// which begins at 0x40: bodies at 0x120 generic, 0x180 kernel, 0x1c0 text; all
// are taken from the headers.
func TestRefused(t *testing.T) {
	good := encode(t, small(1))
	le := binary.LittleEndian
	body := func(k int) int { return 64 + int(le.Uint64(good[64+16+40*k+0x14:])) }
	const head = 64 + 16 // of the first section header
	record := func(i, at int) int { return body(2) + 8 + 44*i + at }
	inputs := body(4) + 20 + 8 // behind counts and "net"
	bars := inputs + 12*2      // input, output, weights, scratch
	tests := []struct {
		name  string
		at    int
		val   uint64
		width int
		sums  bool // write checksums anew
		want  string
	}{
		{"package magic", 0, 0, 4, false, "byte 0x0, package.magic"},
		{"package version", 4, 2 << 16, 4, false, "byte 0x4, package.version"},
		{"no programs", 8, 0, 4, false, "byte 0x8, package.count"},
		{"145 programs", 8, 145, 4, false, "limit 144"},
		{"two programs", 8, 2, 4, false, "program 1"},
		{"package size", 12, 1 << 20, 4, false, "byte 0xc, package.size"},
		{"padding", 20, 1, 1, false, "byte 0x14, program 0.padding before: must be zero"},
		{"program magic", 64, 1, 4, false, "byte 0x40, program 0.magic"},
		{"program version", 64 + 4, 0, 4, false, "program 0.version"},
		{"four sections", 64 + 8, 4, 4, false, "program 0.count"},
		{"program size small", 64 + 12, 16, 4, false, "the headers do not fit"},
		{"program size large", 64 + 12, 1 << 30, 4, false, "past the end of the container"},
		{"program size short", 64 + 12, uint64(len(good) - 64 - 8), 4, false, "past the end of the program"},
		{"section magic", head, 1, 4, false, "generic.magic"},
		{"section version", head + 4, 9 << 16, 4, false, "generic.version"},
		{"section count", head + 8, 2, 4, false, "one generic entry"},
		{"section count large", head + 8, 1 << 31, 4, false, "than the body has bytes"},
		{"section total", head + 12, 1, 4, false, "generic.total size"},
		{"section kind", head + 16, 2, 4, false, "generic.kind"},
		{"offset in headers", head + 0x14, 64, 8, false, "overlaps the headers"},
		{"offset odd", head + 0x14, 0x201, 8, false, "multiple of the alignment"},
		{"offset past end", head + 0x14, 1 << 63, 8, false, "past the end of the program"},
		{"size past end", head + 0x1c, 1<<64 - 1, 8, false, "past the end of the program"},
		{"crc", head + 0x24, 1, 4, false, "generic.crc"},
		{"body changed", body(1), 9, 1, false, "kernel.crc"},
		{"image version", body(0) + 8, 7, 4, true, "image version"},
		{"tasks", body(0) + 12, 3, 4, true, "text.size"},
		{"no tasks", body(0) + 12, 0, 4, true, "generic.tasks"},
		{"operations", body(0) + 16, 3, 4, true, "operation.count"},
		{"procedures", body(0) + 20, 2, 4, true, "procedure.count"},
		{"window base", body(0) + 0x18, 0x30000040, 8, true, "multiple of the page"},
		{"window base high", body(0) + 0x18, 0xe0000000, 8, true, "below the limit"},
		{"window size", body(0) + 0x20, 1 << 40, 8, true, "limit 0xb0000000"},
		{"kernel count", head + 40 + 8, 3, 4, false, "number of tiles"},
		{"stream magic", body(2), 0, 4, true, "stream.magic"},
		{"stream version", body(2) + 4, 2, 2, true, "stream.version: record stream version 2 is not known"},
		{"stream record size", body(2) + 6, 45, 2, true, "stream.record size"},
		{"records", head + 80 + 8, 7, 4, false, "text.size"},
		{"record operands", record(0, 0), 3, 1, true, "record 0.operand count"},
		{"record group", record(0, 1), 7, 1, true, "record 0.group"},
		{"record task", record(7, 2), 2, 2, true, "record 7.task: no such task"},
		{"record order", record(0, 2), 1, 2, true, "record 1.order"},
		{"record register", record(0, 4), 2, 8, true, "record 0.register"},
		{"record aperture", record(3, 4), registers*2 + 0x4d10, 8, true, "record 3.register: a load has one aperture"},
		{"value aperture", record(2, 8), 7, 4, true, "record 2.register: a load has one aperture"},
		{"record high address", record(0, 12), 0x1_30008000, 8, true, "high 32 bits"},
		{"record odd address", record(0, 12), 0x30008004, 8, true, "wanted a multiple of 64"},
		{"record outside bar", record(0, 12), 0x30008080, 8, true, "not its offset behind bar 5"},
		{"record operand 1", record(0, 20), 1, 8, true, "the record counts one operand"},
		{"record pending", record(0, 28), 0x80001344, 4, true, "record 0.register: 0x200004d10: input tile (0x1344), unresolved"},
		{"record slot", record(0, 28), 0x1554, 4, true, "bias (0x1554) lies in G0"},
		{"record field", record(0, 32), 1, 1, true, "record 0.placement"},
		{"record no bits", record(0, 33), 0, 1, true, "record 0.placement"},
		{"record shift", record(0, 34), 64, 1, true, "record 0.placement"},
		{"record reserved", record(0, 35), 1, 1, true, "bits 31:24 are zero"},
		{"record bar", record(0, 36), 32, 2, true, "holds 0..31"},
		{"record bar unbound", record(0, 36), 9, 2, true, "has no such bar"},
		{"record no bar", record(0, 36), 0xffff, 2, true, "has no such bar"},
		{"record bar offset", record(0, 38), 2, 2, true, "bar offset: lies outside bar 5"},
		{"record value bar", record(2, 36), 1, 2, true, "a value has none"},
		{"operation class", body(3), 79, 4, true, "limit 78"},
		{"operation overlap", body(3) + 24 + 4, 0, 4, true, "begins where the one before it ends"},
		{"operation tasks", body(3) + 8, 3, 4, true, "entry 0.tasks"},
		{"operation no tasks", body(3) + 8, 0, 4, true, "entry 0.tasks"},
		{"name length", body(3) + 12, 256, 4, true, "1 to 255"},
		{"name control", body(3) + 16, 7, 1, true, "printing characters"},
		{"name utf-8", body(3) + 16, 0xff, 1, true, "UTF-8"},
		{"name padding", body(3) + 23, 1, 1, true, "name.padding"},
		{"procedure operations", body(4) + 4, 1, 4, true, "every operation belongs"},
		{"procedure past", body(4) + 4, 3, 4, true, "operations of the program"},
		{"procedure first", body(4), 1, 4, true, "first operation"},
		{"inputs", body(4) + 8, 1 << 31, 4, true, "entry 0.inputs: entries of 12 bytes"},
		{"bars", body(4) + 16, 1 << 20, 4, true, "entry 0.bars: entries of 24 bytes"},
		{"fewer bars", body(4) + 16, 3, 4, true, "bytes behind the last entry"},
		{"input bar", inputs, 4, 4, true, "no input bar"},
		{"port twice", inputs + 12 + 8, 't' | '0'<<8, 2, true, "stands twice"},
		{"bar id", bars, 32, 4, true, "bar 0.id"},
		{"bar twice", bars, 4, 4, true, "bound twice"},
		{"bar usage", bars + 4, 3, 4, true, "no such usage"},
		{"bar address", bars + 8, 0x30008001, 8, true, "multiple of the tile"},
		{"bar of scratch at 0", bars + 3*24 + 8, 0, 8, true, "that is an input or an output"},
		{"input by call", bars + 8, 0, 8, true, "each call brings the buffer of bar 5"},
		{"bar window", bars + 8, 0x20008000, 8, true, "outside the program's window"},
		{"bar size", bars + 16, 1 << 62, 8, true, "bar 0.size"},
		{"bar empty", bars + 16, 0, 8, true, "bar 0.size"},
		{"weights past kernel", bars + 2*24 + 16, 129, 8, true, "past the kernel section"},
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

// TestOverlap: two bodies in one place, and one inside another.
func TestOverlap(t *testing.T) {
	for _, off := range [][afpp.NumKinds]uint64{{0x140, 0x140}, {0x240, 0x140, 0x180}} {
		p := small(1)
		p.Offsets = off
		_, err := afpp.Encode(&afpp.Package{Programs: []*afpp.Program{p}})
		if err == nil || !strings.Contains(err.Error(), "overlaps the one before it") && !strings.Contains(err.Error(), "crc") {
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

// TestEncodeRefuses what bytes cannot say.
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

// TestEveryByte changes each byte and keeps the checksums right, so that the
// rules behind them are reached.
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

// FuzzRead: no bytes make Read panic, and what it takes it writes again, equal.
// Checksums are written anew before a second reading.
func FuzzRead(f *testing.F) {
	for _, ps := range [][]*afpp.Program{{small(1)}, {small(1), small(2)}, {byCall(1)}} {
		for _, p := range ps {
			// The coefficients close behind the headers: a page of padding is too
			// much to change.
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
