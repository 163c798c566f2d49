package digits

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNPYRoundTrip(t *testing.T) {
	for _, shape := range [][]int{{}, {3}, {2, 3}, {1, 10, 1, 1}, {0}} {
		count := 1
		for _, d := range shape {
			count *= d
		}
		values := make([]float32, count)
		for i := range values {
			values[i] = float32(i)/4 - 1
		}
		file := EncodeNPY(shape, values)
		gotShape, gotValues, err := DecodeNPY(file)
		if err != nil {
			t.Errorf("%v: %v", shape, err)
			continue
		}
		if !slices.Equal(gotShape, shape) || !slices.Equal(gotValues, values) {
			t.Errorf("%v %v came back as %v %v", shape, values, gotShape, gotValues)
		}
		if data := len(file) - 2*count; data%64 != 0 {
			t.Errorf("%v: data at byte %d, not a multiple of 64", shape, data)
		}
	}
}

// npyFile builds a file around a header that may be wrong.
func npyFile(version byte, header string, data int) []byte {
	out := append([]byte(npyMagic), version, 0, byte(len(header)), byte(len(header)>>8))
	if version == 2 {
		out = append(out, 0, 0)
	}
	return append(append(out, header...), make([]byte, data)...)
}

func TestDecodeNPY(t *testing.T) {
	header := func(descr, fortran, shape string) string {
		return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }"
	}
	for _, c := range []struct {
		name string
		file []byte
		want string // part of the error, empty for none
	}{
		{"f2", npyFile(1, header("<f2", "False", "2, 3"), 12), ""},
		{"f4", npyFile(1, header("<f4", "False", "2, 3"), 24), ""},
		{"version 2", npyFile(2, header("<f4", "False", "1,"), 4), ""},
		{"scalar", npyFile(1, header("<f2", "False", ""), 2), ""},
		{"empty", nil, "at byte 0"},
		{"magic", []byte("\x93NUMPX\x01\x00\x00\x00\x00\x00"), "at byte 0"},
		{"version 9", npyFile(9, header("<f2", "False", "1,"), 2), "version 9"},
		{"header too long", append([]byte(npyMagic), 1, 0, 255, 255, 0, 0), "header of 65535 bytes"},
		{"no shape", npyFile(1, "{'descr': '<f2', 'fortran_order': False}", 0), "lacks"},
		{"column-major", npyFile(1, header("<f2", "True", "2, 3"), 12), "column-major"},
		{"type", npyFile(1, header("<f8", "False", "2, 3"), 48), `"<f8"`},
		{"too little data", npyFile(1, header("<f2", "False", "2, 3"), 10), "needs 12"},
		{"too much data", npyFile(1, header("<f2", "False", "2, 3"), 14), "needs 12"},
		{"huge dimension", npyFile(1, header("<f2", "False", "99999999999999999999"), 2), "more than the 2 bytes"},
		{"overflowing shape", npyFile(1, header("<f2", "False", "60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60"), 120), "more elements"},
		{"overflow after zero", npyFile(1, header("<f2", "False", "0, 4"), 4), "needs 0"},
	} {
		_, _, err := DecodeNPY(c.file)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func FuzzDecodeNPY(f *testing.F) {
	for _, name := range []string{"0.npy", "7.npy"} {
		file, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file)
	}
	f.Add(npyFile(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4))
	f.Fuzz(func(t *testing.T, file []byte) {
		shape, values, err := DecodeNPY(file)
		if err != nil {
			return
		}
		again := EncodeNPY(shape, values)
		shape2, values2, err := DecodeNPY(again)
		if err != nil {
			t.Fatalf("what was decoded does not decode again: %v", err)
		}
		if !slices.Equal(shape, shape2) || !bytes.Equal(again, EncodeNPY(shape2, values2)) {
			t.Fatalf("shape %v came back as %v, or values changed", shape, shape2)
		}
	})
}
