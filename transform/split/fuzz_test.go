package split_test

import (
	"testing"

	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/internal/test/irgen"
	"github.com/zinc-compiler/zinc/transform/split"
)

// FuzzCut cuts programs that bytes determine: the parts can be written as text, and compute what the program does.
func FuzzCut(f *testing.F) {
	f.Add([]byte{2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, uint8(2), uint16(0))
	f.Add([]byte("parts of a program"), uint8(3), uint16(0))
	f.Add([]byte("constants of parts"), uint8(0), uint16(64))
	f.Fuzz(func(t *testing.T, b []byte, parts uint8, limit uint16) {
		p := irgen.FromBytes(b).IR
		fn := p.Funcs[0]
		ps, err := split.Cut(p, fn, split.Options{Parts: int(parts % 6), Bytes: int64(limit)})
		if err != nil {
			return
		}
		for i := range ps {
			if limit > 0 && ps[i].Bytes > int64(limit) {
				t.Errorf("part %d has %d bytes of constants, the limit is %d", i+1, ps[i].Bytes, limit)
			}
			if _, err := unbuild.Program(ps[i].Program, "w.bin"); err != nil {
				t.Fatal(err)
			}
		}
		compare(t, fn, ps)
	})
}
