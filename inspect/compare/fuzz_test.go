package compare

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/target"
)

// FuzzPairs compares a pair of any bytes with one that is right. It must end, with a
// result or an error, and must call equal bytes the same.
func FuzzPairs(f *testing.F) {
	x, err := target.Lookup("h13")
	if err != nil {
		f.Fatal(err)
	}
	// A small model, since each execution opens a whole pair.
	path := filepath.Join(f.TempDir(), "m.mil")
	if err := os.WriteFile(path, []byte(`program(1.3) { func main<ios18>(tensor<fp16, [1, 2]> x) {
		tensor<fp16, [2, 2]> w = const()[val = tensor<fp16, [2, 2]>([[0x1p+0, 0x1.8p+0], [-0x1p-1, 0x1p+1]])];
		tensor<fp16, [1, 2]> p = linear(x = x, weight = w);
		tensor<fp16, [1, 2]> y = softmax(x = p, axis = int32(1));
	} -> (y); }`), 0o666); err != nil {
		f.Fatal(err)
	}
	m, err := Open(context.Background(), Request{
		Path:    path,
		Compile: compile.Options{Target: x, SplitKernel: true},
	})
	if err != nil {
		f.Fatal(err)
	}
	defer m.Close()
	// A change at a place instead of whole files: their length would keep the fuzzer
	// from ever coming to the comparison.
	f.Add(uint32(0), uint64(0), false)
	f.Add(uint32(0x10), uint64(0xff), false)
	f.Add(uint32(0x900), uint64(1)<<40, false)
	f.Add(uint32(100), uint64(3), true)
	for at := uint32(0); int(at) < len(m.pair.Container); at += uint32(len(m.pair.Container) / 50) {
		f.Add(at, uint64(1)<<(at%61), false)
	}
	right, err := OpenPair("right", m.pair, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, at uint32, mask uint64, second bool) {
		p := m.pair
		change := func(b []byte) []byte {
			b = append([]byte(nil), b...)
			for i := range 8 {
				b[(int(at)+i)%len(b)] ^= byte(mask >> (8 * i))
			}
			return b
		}
		if second {
			p.Descriptor = change(p.Descriptor)
		} else {
			p.Container = change(p.Container)
		}
		s, err := OpenPair("fuzzed", p, nil)
		if err != nil {
			return
		}
		r, err := Compare(t.Context(), right, s, Options{})
		if err == nil && !r.Same && string(p.Container) == string(m.pair.Container) &&
			string(p.Descriptor) == string(m.pair.Descriptor) {
			t.Errorf("equal bytes differ: %q", lines(r.Changes))
		}
		if err == nil && r.Same && s.file.Banner() == m.file.Banner() &&
			string(p.Container) != string(m.pair.Container) {
			t.Error("a container that differs is called the same")
		}
		Bytes(right, s)
	})
}
