package npy

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// sample returns an array of the type with bytes that count up.
func sample(typ string, shape ...int64) Array {
	n, _ := elems(shape, 1<<20)
	a := Array{Type: typ, Shape: append([]int64{}, shape...), Data: make([]byte, int(n)*Size(typ))}
	for i := range a.Data {
		if a.Data[i] = byte(i + 1); typ == "b1" {
			a.Data[i] = byte(i & 1)
		}
	}
	return a
}

func equal(a, b Array) bool {
	return a.Type == b.Type && slices.Equal(a.Shape, b.Shape) && bytes.Equal(a.Data, b.Data)
}

func TestEncodeAndDecodeRoundTrip(t *testing.T) {
	for _, typ := range Types {
		for _, shape := range [][]int64{{}, {3}, {2, 3}, {1, 10, 1, 1}, {0}, {2, 0, 5}} {
			a := sample(typ, shape...)
			file, err := Encode(a)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(file)
			if err != nil || !equal(got, a) {
				t.Errorf("%s %v came back as %v, %v", typ, shape, got, err)
			}
			if data := len(file) - len(a.Data); data%dataAlign != 0 {
				t.Errorf("%s %v: data at byte %d, not a multiple of %d", typ, shape, data, dataAlign)
			}
		}
	}
}

// TestEncodeWritesKnownBytes compares a file byte by byte with the one that other readers of the format accept:
// the header's text, its padding to a multiple of 64 bytes and the elements.
func TestEncodeWritesKnownBytes(t *testing.T) {
	a, err := FromFloats("f4", []int64{2, 2}, []float32{1, -2.5, 3, 4})
	if err != nil {
		t.Fatal(err)
	}
	want := "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" +
		strings.Repeat(" ", 58) + "\n\x00\x00\x80?\x00\x00 \xc0\x00\x00@@\x00\x00\x80@"
	if got, err := Encode(a); err != nil || string(got) != want {
		t.Errorf("Encode: %v\n%q, want\n%q", err, got, want)
	}
}

// TestEncodeWritesWhatNumpyWrites decodes and encodes files that numpy wrote.
func TestEncodeWritesWhatNumpyWrites(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "conformance", "cases", "*", "*.npy"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Decode(want)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := Encode(a); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, %d other bytes than the file's %d", name, err, len(got), len(want))
		}
	}
}

// TestDecodeReadsAnotherWritersFile reads a file that github.com/sbinet/npyio v0.6.0 wrote: version 2, with less
// padding than zinc's files have.
func TestDecodeReadsAnotherWritersFile(t *testing.T) {
	got, err := Decode([]byte("\x93NUMPY\x02\x00@\x00\x00\x00{'descr': '<i4', 'fortran_order': False, " +
		"'shape': (3,), }      \n\x05\x00\x00\x00\xfa\xff\xff\xff\a\x00\x00\x00"))
	want := Array{Type: "i4", Shape: []int64{3}, Data: []byte("\x05\x00\x00\x00\xfa\xff\xff\xff\x07\x00\x00\x00")}
	if err != nil || !equal(got, want) {
		t.Errorf("Decode: %v, %v, want %v", got, err, want)
	}
}

func TestFloatsReturnsWhatFromFloatsStores(t *testing.T) {
	for _, typ := range []string{"f2", "f4"} {
		a, err := FromFloats(typ, []int64{3}, []float32{0.5, -65504, 1})
		if err != nil {
			t.Fatal(err)
		}
		if vs, err := a.Floats(); err != nil || !slices.Equal(vs, []float32{0.5, -65504, 1}) {
			t.Errorf("%s: %v, %v", typ, vs, err)
		}
	}
	if _, err := FromFloats("f4", []int64{2}, []float32{1}); err == nil {
		t.Error("one value for a shape of two: no error")
	}
	if _, err := sample("i4", 2).Floats(); err == nil {
		t.Error("Floats of integers: no error")
	}
}

// file builds a file around a header that may be wrong.
func file(version byte, header string, data ...byte) []byte {
	out := append([]byte(Magic), version, 0, byte(len(header)), byte(len(header)>>8))
	if version >= 2 {
		out = append(out, 0, 0)
	}
	return append(append(out, header...), data...)
}

func header1(descr, fortran, shape string) string {
	return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }"
}

func TestDecodeReadsAllByteAndElementOrders(t *testing.T) {
	for _, c := range []struct {
		name string
		file []byte
		want Array
	}{
		{"version 2", file(2, header1("<i2", "False", "1,"), 1, 2), Array{"i2", []int64{1}, []byte{1, 2}}},
		{"version 3", file(3, header1("<i2", "False", "1,"), 1, 2), Array{"i2", []int64{1}, []byte{1, 2}}},
		{"big-endian", file(1, header1(">i2", "False", "2,"), 1, 2, 3, 4), Array{"i2", []int64{2}, []byte{2, 1, 4, 3}}},
		{"column-major", file(1, header1("|u1", "True", "2, 3"), 1, 4, 2, 5, 3, 6), Array{"u1", []int64{2, 3},
			[]byte{1, 2, 3, 4, 5, 6}}},
		{"column-major vector", file(1, header1("|u1", "True", "2,"), 1, 2), Array{"u1", []int64{2}, []byte{1, 2}}},
		{"truth values", file(1, header1("|b1", "False", "2,"), 0, 1), Array{"b1", []int64{2}, []byte{0, 1}}},
		{"short name of truth values", file(1, header1("?", "False", "2,"), 0, 1),
			Array{"b1", []int64{2}, []byte{0, 1}}},
		{"scalar", file(1, header1("<u2", "False", ""), 7, 0), Array{"u2", []int64{}, []byte{7, 0}}},
		{"other order of keys", file(1, `{"shape": (2L,), "fortran_order": False, "descr": "|u1"}`+"  \n", 8, 9),
			Array{"u1", []int64{2}, []byte{8, 9}}},
	} {
		if got, err := Decode(c.file); err != nil || !equal(got, c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
		}
	}
}

func TestDecodeRejectsInvalidFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		file []byte
		want string // part of the error
	}{
		{"empty", nil, "byte 0"},
		{"magic", []byte("\x93NUMPX\x01\x00\x00\x00\x00\x00"), "byte 0"},
		{"version 9", file(9, header1("<f2", "False", "1,"), 1, 2), "version 9"},
		{"cut in the length", append([]byte(Magic), 2, 0, 1, 0), "byte 8"},
		{"header too long", append([]byte(Magic), 1, 0, 255, 255, 0, 0), "header of 65535 bytes"},
		{"no shape", file(1, "{'descr': '<f2', 'fortran_order': False}"), `lacks "shape"`},
		{"no dictionary", file(1, "[1]"), "dictionary"},
		{"two shapes", file(1, "{'shape': (), 'shape': ()}"), "twice"},
		{"other key", file(1, "{'size': 3}"), `"size"`},
		{"open string", file(1, "{'shape"), "string in quotes"},
		{"open dictionary", file(1, "{'shape': ()"), "expected , or }"},
		{"text after", file(1, header1("<f2", "False", "0,")+"x"), "after the dictionary"},
		{"records", file(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}"), "records"},
		{"negative", file(1, header1("<f2", "False", "-1,"), 1, 2), "dimension"},
		{"order", file(1, header1("<f2", "0", "1,"), 1, 2), "True or False"},
		{"type", file(1, header1("<c8", "False", "1,"), make([]byte, 8)...), `"<c8"`},
		{"no type", file(1, header1("", "False", "1,"), 1), `""`},
		{"truth value 2", file(1, header1("|b1", "False", "2,"), 0, 2), "truth value 2"},
		{"too little data", file(1, header1("<f2", "False", "2, 3"), make([]byte, 10)...), "needs 12"},
		{"too much data", file(1, header1("<f2", "False", "2, 3"), make([]byte, 14)...), "needs 12"},
		{"huge dimension", file(1, header1("<f2", "False", "99999999999999999999"), 1, 2), "dimension"},
		{"overflowing shape", file(1, header1("<f2", "False", strings.Repeat("60, ", 11)), make([]byte, 120)...),
			"more elements"},
		{"overflow after zero", file(1, header1("<f2", "False", "0, 4"), 1, 2, 3, 4), "needs 0"},
		{"zero after overflow", file(1, header1("<f2", "False", "9223372036854775807, 4, 0"), 1, 2), "needs 0"},
		{"rank", file(1, header1("<f2", "False", strings.Repeat("1, ", 65)), 1, 2), "more than 64"},
	} {
		_, err := Decode(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestEncodeRejectsInvalidArrays(t *testing.T) {
	for _, a := range []Array{
		{Type: "c8", Shape: []int64{1}, Data: make([]byte, 8)},
		{Type: "f4", Shape: []int64{2}, Data: make([]byte, 4)},
		{Type: "f4", Shape: []int64{-1}},
		{Type: "u1", Shape: slices.Repeat([]int64{1}, 65), Data: []byte{1}},
	} {
		if _, err := Encode(a); err == nil {
			t.Errorf("%v: no error", a)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, typ := range Types {
		b, err := Encode(sample(typ, 2, 3))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(file(2, header1(">f4", "True", "1, 1"), 1, 2, 3, 4))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Encode(a)
		if err != nil {
			t.Fatalf("cannot encode a decoded array: %v", err)
		}
		if got, err := Decode(again); err != nil || !equal(got, a) {
			t.Fatalf("%v came back as %v, %v", a, got, err)
		}
	})
}
