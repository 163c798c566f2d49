package e5

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// readAny reads any bytes and checks what must be true for all: the result is an error with an offset in the file, or a
// Program that survives a round trip. It reports whether the bytes are accepted.
func readAny(t *testing.T, b []byte) bool {
	t.Helper()
	p, err := Read(b)
	if err != nil {
		var fe *FormatError
		if !errors.As(err, &fe) {
			t.Fatalf("error %v is a %T, want a *FormatError", err, err)
		}
		if fe.Off < 0 || fe.Off > len(b) || fe.Table == "" || fe.Msg == "" {
			t.Fatalf("error %+v has no place in a file of %d bytes", fe, len(b))
		}
		return false
	}
	again, err := Bytes(p)
	if err != nil {
		t.Fatalf("read, but cannot be written: %v", err)
	}
	q, err := Read(again)
	if err != nil {
		t.Fatalf("read and written, but cannot be read again: %v", err)
	}
	if !reflect.DeepEqual(p, q) {
		t.Fatalf("read, written and read again:\n%+v\nwas\n%+v", q, p)
	}
	if err := Describe(p).WriteText(discard{}); err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(Describe(p)); err != nil {
		t.Fatal(err)
	}
	return true
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func TestTruncated(t *testing.T) {
	b := mustBytes(t, every())
	for n := range b {
		if readAny(t, b[:n:n]) {
			t.Errorf("the first %d of %d bytes are accepted", n, len(b))
		}
	}
}

func TestBitFlips(t *testing.T) {
	b := mustBytes(t, fused(0, 64))
	rejected, tried := 0, 0
	for i := range b {
		for bit := range 8 {
			if testing.Short() && bit != i%8 {
				continue // each byte is flipped in one bit
			}
			b[i] ^= 1 << bit
			if tried++; !readAny(t, b) {
				rejected++
			}
			b[i] ^= 1 << bit
		}
	}
	if rejected < tried/8 {
		t.Errorf("%d of %d single flips are rejected, far too few", rejected, tried)
	}
}

// Words of a real file replaced by numbers that offsets and lengths get wrong.
func TestHostileWords(t *testing.T) {
	b := mustBytes(t, fused(0, 64))
	step := 2
	if testing.Short() {
		step = 14
	}
	for i := 0; i+4 <= len(b); i += step {
		var was [4]byte
		copy(was[:], b[i:])
		for _, w := range []uint32{0, 1, 4, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffc, uint32(len(b)),
			uint32(len(b) - i), uint32(-i)} {
			binary.LittleEndian.PutUint32(b[i:], w)
			readAny(t, b)
		}
		copy(b[i:], was[:])
	}
}

func TestRandomBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		b := make([]byte, r.IntN(400))
		for i := range b {
			b[i] = byte(r.Uint32())
			if n%2 == 1 {
				b[i] &= 0x0c // small aligned offsets get further in
			}
		}
		if readAny(t, b) {
			t.Errorf("random bytes %x are accepted", b)
		}
	}
}

// A vector whose entries all lead to one table must not be expanded.
func TestSharedObjects(t *testing.T) {
	const n = 1 << 18
	b := make([]byte, 0, 4*n+200)
	put := func(w ...uint32) {
		for _, x := range w {
			b = binary.LittleEndian.AppendUint32(b, x)
		}
	}
	put(16)                                               // root offset
	b = append(b, 12, 0, 20, 0, 4, 0, 8, 0, 12, 0, 16, 0) // root vtable
	put(12, 0, 0, 0, 4)                                   // root at 16; fields at 20 to 32
	vec := uint32(len(b))
	put(n)
	str := vec + 4 + 4*n
	for i := range uint32(n) {
		put(str - (vec + 4 + 4*i))
	}
	put(8)
	b = append(b, "12345678\x00\x00\x00\x00"...)
	binary.LittleEndian.PutUint32(b[20:], vec-20) // symbol_names
	// build_info and sections have no entry.
	copy(b[4:], []byte{12, 0, 20, 0, 4, 0, 0, 0, 0, 0, 16, 0})
	var err error
	spent := allocated(func() { _, err = Read(b) })
	if err == nil || !strings.Contains(err.Error(), "share bytes") {
		t.Errorf("error %v, want one about shared bytes", err)
	}
	if spent > uint64(len(b)) {
		t.Errorf("allocated %d bytes for a file of %d", spent, len(b))
	}
}

// An error leads to the byte, the table and the field.
func TestErrorPlaces(t *testing.T) {
	find := func(b []byte, s string) int {
		i := bytes.Index(b, []byte(s))
		if i < 0 {
			t.Fatalf("no %q in the file", s)
		}
		return i
	}
	for _, tc := range []struct {
		name string
		edit func(b []byte) (off int)
		want string
	}{
		{"version", func(b []byte) int {
			root := int(binary.LittleEndian.Uint32(b))
			b[root+16] = 5
			return root + 16
		}, "E5Program.format_version: 5, must be 4"},
		{"text", func(b []byte) int {
			i := find(b, "input-file-path")
			b[i] = 0xff
			return i
		}, "BuildInfoEntry.key: string of 15 bytes is not UTF-8"},
		{"terminator", func(b []byte) int {
			i := find(b, "input-file-path\x00") + 15
			b[i] = 1
			return i
		}, "BuildInfoEntry.key: string of 15 bytes does not end in a zero byte"},
		{"length", func(b []byte) int {
			i := find(b, "input-file-path") - 4
			b[i+3] = 0x7f
			return i
		}, "do not fit the buffer"},
		{"hash", func(b []byte) int {
			b[find(b, hash)] = 'x'
			return -1
		}, "not 64 lower-case hex digits"},
		{"root", func(b []byte) int {
			binary.LittleEndian.PutUint32(b, 0x7ffffff0)
			return len(b)
		}, "table at 0x7ffffff0 is past the buffer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := mustBytes(t, fused(0, 64))
			off := tc.edit(b)
			_, err := Read(b)
			var fe *FormatError
			if !errors.As(err, &fe) || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
			if off >= 0 && fe.Off != off {
				t.Errorf("error at 0x%x, want 0x%x: %v", fe.Off, off, err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, p := range []*Program{{}, fused(0, 64), fused(2, 256), every()} {
		f.Add(mustBytes(f, p))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) { readAny(t, b) })
}
