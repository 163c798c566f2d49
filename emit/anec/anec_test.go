package anec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// converted has the SHA-256 of the files that the public converter (eiln/anecc 1.0.9) made of recorded containers.
var converted = map[string]string{
	"conv":    "559ee823d48528a1ffe7ebb8d43198767eb16c71ab564d24e2d4ac5ddf204df3",
	"conv3":   "87658782f4c3774cd8ecce3e5162473846a40be408506dfa6c92b58f2dc59ea0",
	"relu":    "d4bff03e805ac7292c4cb608fdc339a133b527066d0a5f5f837179282020950b",
	"sigmoid": "ad31385c3ee6cb9d7a71335dfcbe2b483db1f0046f751931e410126d32fc8580",
	"sum":     "012e092cf4701754364e6ad7e5853841107d05bf8db2702db8365e14c4c5af8f",
}

// recorded returns a recorded container.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(shareddir.Find(t), "golden", "apple-h13", name+".hwx"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// written returns the bytes of a file.
func written(t testing.TB, f *File) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestRecordedContainersBecomeTheConvertersFiles converts containers that Apple's compiler wrote.
func TestRecordedContainersBecomeTheConvertersFiles(t *testing.T) {
	for name, want := range converted {
		f, err := FromContainer(recorded(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b := written(t, f)
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s: other bytes than the converter's", name)
		}
		again, err := Read(b)
		if err != nil || !bytes.Equal(written(t, again), b) {
			t.Errorf("%s: reading and writing it changes it: %v", name, err)
		}
	}
}

// sample is a small file with a header of n bytes.
func sample(t testing.TB, n int) []byte {
	f := &File{
		Size: 0x2c0, TaskSize: taskSize, Tasks: 1, TasksSize: taskSize, Constants: 0x40, Inputs: 1, Outputs: 1,
		Tiles: [Tiles]uint32{RegTasks: 1, RegScratch: 2, RegFirst: 1, RegFirst + 1: 3},
		Rest:  header(n), Data: make([]byte, 0x2c0),
	}
	f.Tensors[RegFirst] = Tensor{N: 1, C: 2, H: 3, W: 4, Plane: 192, Row: 64}
	return written(t, f)
}

// TestReadChecksEveryField reads files with one fault each.
func TestReadChecksEveryField(t *testing.T) {
	for _, n := range []int{HeaderSize, ShortSize} {
		f, err := Read(sample(t, n))
		if err != nil || f.Buffer(3) != "scratch0" || f.Buffer(4) != "output0" || f.Buffer(5) != "input0" {
			t.Fatalf("header of %#x bytes: %+v, %v", n, f, err)
		}
	}
	for _, c := range []struct {
		name   string
		change func(b []byte) []byte
		want   string
	}{
		{"empty", func(b []byte) []byte { return nil }, "byte 0x0: header needs 0x800 bytes"},
		{"short", func(b []byte) []byte { return b[:len(b)-4] }, "size is 0x2c0; the file has 0x12bc bytes"},
		{"task", func(b []byte) []byte { b[8] = 1; return b }, "byte 0x8: td_size"},
		{"count", func(b []byte) []byte { b[12] = 0; return b }, "byte 0xc: td_count"},
		{"constants", func(b []byte) []byte { b[24]++; return b }, "byte 0x18: krn_size"},
		{"inputs", func(b []byte) []byte { b[32] = 0; return b }, "byte 0x20: src_count"},
		{"many", func(b []byte) []byte { b[36] = 200; return b }, "src_count"},
		{"tiles", func(b []byte) []byte { b[40] = 9; return b }, "byte 0x28: tiles[0]"},
		{"size", func(b []byte) []byte { b[7] = 0xff; return b }, "byte 0x0: size"},
	} {
		if _, err := Read(c.change(sample(t, HeaderSize))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// FuzzRead reads any bytes: what is accepted is written back as it is.
func FuzzRead(f *testing.F) {
	f.Add(sample(f, HeaderSize))
	f.Add(sample(f, ShortSize))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Read(data)
		if err == nil && !bytes.Equal(written(t, x), data) {
			t.Error("reading and writing changes the file")
		}
	})
}

// FuzzFromContainer converts any bytes: a file that can be read, or an error.
func FuzzFromContainer(f *testing.F) {
	for name := range converted {
		f.Add(recorded(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := FromContainer(data)
		if err != nil {
			return
		}
		if _, err := Read(written(t, x)); err != nil {
			t.Error(err)
		}
	})
}
