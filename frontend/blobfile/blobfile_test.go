package blobfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

type blobCase struct {
	elem ElemType
	n    int
	data []byte
}

var writerCases = []blobCase{
	{Float16, 3, []byte{0, 0x3c, 0, 0x40, 0, 0x42}},
	{Uint3, 5, []byte{0x88, 0xc6}}, // 15 bits, one unused
	{Int4, 0, nil},
	{Uint1, 13, []byte{0xff, 0x1f}},
	{Float32, 17, bytes.Repeat([]byte{1, 2, 3, 4}, 17)},
	{Uint6, 3, []byte{1, 2, 3}},
	{Float8E5M2, 1, []byte{7}},
}

func writeCases(t testing.TB, cases []blobCase) (file []byte, records []uint64) {
	t.Helper()
	var buf bytes.Buffer
	w := NewWriter(&buf, len(cases))
	for _, c := range cases {
		at, err := w.Append(c.elem, c.n, c.data)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, at)
	}
	return buf.Bytes(), records
}

func TestWrittenBlobsAreReadBack(t *testing.T) {
	file, records := writeCases(t, writerCases)
	f, err := fromBytes("w.bin", file)
	if err != nil {
		t.Fatal(err)
	}
	if int(f.Count()) != len(writerCases) {
		t.Errorf("count is %d, want %d", f.Count(), len(writerCases))
	}
	list, err := f.List()
	if err != nil || len(list) != len(writerCases) {
		t.Fatalf("List found %d blobs, want %d: %v", len(list), len(writerCases), err)
	}
	for i, c := range writerCases {
		b, err := f.Blob(records[i])
		if err != nil {
			t.Fatal(err)
		}
		if b.Type != c.elem || b.Len() != uint64(c.n) || !bytes.Equal(b.Data, c.data) {
			t.Errorf("blob %d is %s[%d] %x, want %s[%d] %x", i, b.Type, b.Len(), b.Data, c.elem, c.n, c.data)
		}
		if b.Record%Alignment != 0 || b.Offset%Alignment != 0 {
			t.Errorf("blob %d: record at %#x, data at %#x, want multiples of %d", i, b.Record, b.Offset, Alignment)
		}
		if list[i].Record != records[i] {
			t.Errorf("List found record %#x, want %#x", list[i].Record, records[i])
		}
	}
}

func TestWriterRefusesWrongBlobs(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf, 0)
	for _, c := range []blobCase{
		{0, 1, []byte{0}}, {99, 1, []byte{0}}, {Float16, 2, []byte{0}}, {Int4, 3, []byte{0}}, {Uint8, -1, nil},
		{Float32, math.MaxInt, nil},
	} {
		if _, err := w.Append(c.elem, c.n, c.data); err == nil {
			t.Errorf("%s[%d] of %d bytes was accepted", c.elem, c.n, len(c.data))
		}
	}
	if buf.Len() != HeaderSize {
		t.Errorf("the file has %d bytes after refusals", buf.Len())
	}
}

// TestFormatErrorsNameTheField breaks one field at a time of a valid file.
func TestFormatErrorsNameTheField(t *testing.T) {
	good, records := writeCases(t, writerCases)
	put32 := func(off uint64, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[off:], v); return b }
	}
	put64 := func(off, v uint64) func([]byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint64(b[off:], v); return b }
	}
	size := uint64(len(good))
	r0, r1, r4 := records[0], records[1], records[4]
	for _, c := range []struct {
		name   string
		breakf func([]byte) []byte
		at     uint64
		offset uint64 // of the field that the error names
		field  string
	}{
		{name: "empty", breakf: func(b []byte) []byte { return nil }, at: r0, offset: 0, field: "header"},
		{name: "version 1", breakf: put32(4, 1), at: r0, offset: 4, field: "version"},
		{name: "record in header", breakf: put32(0, 1), at: 0, offset: 0, field: "metadata record"},
		{name: "record past end", breakf: put32(0, 1), at: size, offset: size, field: "metadata record"},
		{name: "record far past end", breakf: put32(0, 1), at: 1<<64 - 1, offset: 1<<64 - 1, field: "metadata record"},
		{name: "sentinel", breakf: put32(r0, 0xdeadbeee), at: r0, offset: r0, field: "sentinel"},
		{name: "type 0", breakf: put32(r0+4, 0), at: r0, offset: r0 + 4, field: "element type"},
		{name: "type 18", breakf: put32(r0+4, 18), at: r0, offset: r0 + 4, field: "element type"},
		{name: "data in header", breakf: put64(r0+16, 63), at: r0, offset: r0 + 16, field: "data offset"},
		{name: "data past end", breakf: put64(r0+16, size+1), at: r0, offset: r0 + 16, field: "data offset"},
		{name: "data far past end", breakf: put64(r0+16, 1<<64-1), at: r0, offset: r0 + 16, field: "data offset"},
		{name: "data on the record", breakf: put64(r0+16, r0+32), at: r0, offset: r0 + 16, field: "data offset"},
		{name: "size past end", breakf: put64(r0+8, size-r0-RecordSize+2), at: r0, offset: r0 + 8, field: "data size"},
		{name: "size wraps", breakf: put64(r0+8, 1<<64-2), at: r0, offset: r0 + 8, field: "data size"},
		{name: "odd size of fp16", breakf: put64(r0+8, 5), at: r0, offset: r0 + 8, field: "data size"},
		{name: "odd size of fp32", breakf: put64(r4+8, 66), at: r4, offset: r4 + 8, field: "data size"},
		{name: "8 padding bits", breakf: put64(r1+24, 8), at: r1, offset: r1 + 24, field: "padding bits"},
		{name: "padding splits an element", breakf: put64(r1+24, 2), at: r1, offset: r1 + 24, field: "padding bits"},
		{name: "truncated", breakf: func(b []byte) []byte {
			return b[:r1+10]
		}, at: r1, offset: r1, field: "metadata record"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := fromBytes("w.bin", c.breakf(bytes.Clone(good)))
			if err == nil {
				_, err = f.Blob(c.at)
			}
			var fe *FormatError
			if !errors.As(err, &fe) {
				t.Fatalf("error is %v, want a FormatError", err)
			}
			if fe.Offset != c.offset || fe.Field != c.field || fe.Limit == "" || fe.File != "w.bin" {
				t.Errorf("error is %v, want field %s at %#x", fe, c.field, c.offset)
			}
		})
	}
}

// TestListContinuesPastTheCount reads the form of a real file whose header counts one blob although the text names a
// second, which follows the first and is not aligned.
func TestListContinuesPastTheCount(t *testing.T) {
	file, _ := writeCases(t, []blobCase{{Float16, 24, make([]byte, 48)}})
	second := recordOf(Float16, 176, 2, 0).encode()
	file = append(append(file, second[:]...), 1, 2)
	f, err := fromBytes("w.bin", file)
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.List()
	if err != nil || len(list) != 2 || list[1].Record != 176 || list[1].Offset != 240 {
		t.Fatalf("List is %v, %v; want a second blob at 176", list, err)
	}
}

func TestListReportsMissingBlobs(t *testing.T) {
	file, records := writeCases(t, writerCases)
	binary.LittleEndian.PutUint32(file[records[2]:], 0)
	f, err := fromBytes("w.bin", file)
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.List()
	if err == nil || len(list) != 2 || !strings.Contains(err.Error(), "blob 3 of 7") {
		t.Fatalf("List found %d blobs, %v; want 2 and an error about blob 3", len(list), err)
	}
}

func TestPaddingOfWholeBytesIsIgnored(t *testing.T) {
	file, records := writeCases(t, writerCases)
	binary.LittleEndian.PutUint64(file[records[0]+paddingField:], 5104411984)
	f, err := fromBytes("w.bin", file)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := f.Blob(records[0]); err != nil || b.PaddingBits != 0 || b.Len() != 3 {
		t.Errorf("blob is %v, %v; the field means nothing for fp16", b, err)
	}
}

func TestResolveRefusesPathsOutsideTheFolder(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"@model_path/weights/weight.bin", "weights/weight.bin"},
		{"@model_path/./weights//w.bin", "weights/w.bin"},
		{"@model_path/w..bin", "w..bin"},
		{"weights/weight.bin", ""},
		{"/etc/passwd", ""},
		{"", ""},
		{"@model_path/", ""},
		{"@model_path/.", ""},
		{"@model_path//etc/passwd", ""},
		{"@model_path/../w.bin", ""},
		{"@model_path/weights/../w.bin", ""},
		{"@model_path/weights/..", ""},
		{`@model_path/..\w.bin`, ""},
		{"@model_path/C:w.bin", ""},
		{"@model_path/w.bin\x00", ""},
	} {
		out, err := Resolve(c.in)
		var pe *PathError
		if out != c.out || (err != nil) != (c.out == "") || err != nil && !errors.As(err, &pe) {
			t.Errorf("Resolve(%q) = %q, %v; want %q", c.in, out, err, c.out)
		}
	}
}

func TestSetOpensFilesOnceAndOnlyInItsFolder(t *testing.T) {
	top := t.TempDir()
	model := filepath.Join(top, "m.mlmodelc")
	if err := os.MkdirAll(filepath.Join(model, "weights"), 0o777); err != nil {
		t.Fatal(err)
	}
	file, records := writeCases(t, []blobCase{{Uint8, 3, []byte("abc")}})
	at := records[0]
	outside := filepath.Join(top, "outside.bin")
	err := os.WriteFile(filepath.Join(model, "weights", "weight.bin"), file, 0o666)
	if err == nil {
		err = os.WriteFile(outside, file, 0o666)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(model, "short.bin"), []byte("x"), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}

	s, err := OpenSet(model, false)
	if err != nil {
		t.Fatal(err)
	}
	f1, err1 := s.Open("@model_path/weights/weight.bin")
	if err1 != nil {
		t.Fatal(err1)
	}
	b, err := f1.Blob(at)
	if err != nil || string(b.Data) != "abc" {
		t.Fatalf("blob is %q, %v; want abc", b.Data, err)
	}
	f2, err2 := s.Open("@model_path/./weights/weight.bin")
	if f1 != f2 || err2 != nil {
		t.Errorf("one file was opened twice: %v", err2)
	}
	if _, err := s.Open("@model_path/weights/none.bin"); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), model) {
		t.Errorf("missing file: error is %v, want one that names the folder", err)
	}
	if _, err := s.Open("@model_path/weights"); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("folder: error is %v", err)
	}
	if _, err := s.Open("@model_path/short.bin"); err == nil {
		t.Error("a file of one byte was opened")
	}
	if runtime.GOOS != "windows" {
		for link, target := range map[string]string{
			"abs.bin": outside, "up.bin": "../outside.bin", "deep": "..", "in.bin": "weights/weight.bin",
		} {
			if err := os.Symlink(target, filepath.Join(model, link)); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []string{"@model_path/abs.bin", "@model_path/up.bin", "@model_path/deep/outside.bin"} {
			if _, err := s.Open(p); err == nil {
				t.Errorf("%s is outside the folder and was opened", p)
			}
		}
		if _, err := s.Open("@model_path/in.bin"); err != nil {
			t.Errorf("a link inside the folder: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Open("@model_path/weights/weight.bin"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: error is %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// TestRealWeightFilesAreListed lists every weight file of the shared folder.
func TestRealWeightFilesAreListed(t *testing.T) {
	dir := shareddir.Find(t)
	n, blobs := 0, 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(p) != ".bin" {
			return err
		}
		f, err := Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		list, err := f.List()
		if err != nil {
			t.Error(err)
		}
		if len(list) < int(f.Count()) {
			t.Errorf("%s: %d blobs found, %d counted", p, len(list), f.Count())
		}
		n, blobs = n+1, blobs+len(list)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Fatal("no weight files found")
	}
	t.Logf("%d files, %d blobs", n, blobs)
}

// FuzzBlobFile reads any bytes at any offset: it must not panic, and a returned blob must be in the file and have whole
// elements.
func FuzzBlobFile(f *testing.F) {
	file, records := writeCases(f, writerCases)
	for _, r := range records {
		f.Add(file, r)
	}
	f.Add(file[:70], uint64(64))
	f.Add([]byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, off uint64) {
		w, err := fromBytes("fuzz.bin", b)
		if err != nil {
			return
		}
		list, _ := w.List()
		if got, err := w.Blob(off); err == nil {
			list = append(list, got)
		}
		for _, got := range list {
			if got.Offset+uint64(len(got.Data)) > uint64(len(b)) {
				t.Fatalf("blob %v ends outside the file's %d bytes", got, len(b))
			}
			if bits := got.Len()*uint64(got.Type.Bits()) + uint64(got.PaddingBits); bits != uint64(len(got.Data))*8 {
				t.Fatalf("blob of %d bytes has %d bits", len(got.Data), bits)
			}
		}
	})
}

// fromBytes returns a File over b, which must not change while it is in use.
// Errors call it name.
func fromBytes(name string, b []byte) (*File, error) {
	if len(b) < HeaderSize {
		return nil, short(name, int64(len(b)), HeaderSize)
	}
	return newFile(name, memory(b))
}
