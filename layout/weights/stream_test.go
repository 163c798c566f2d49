package weights

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// TestWriteToPacksWhatPackDoes adds a kernel of several windows, a surface with padded rows, a small and a large piece
// of memory, and compares what is written with the bytes that Pack writes at once.
func TestWriteToPacksWhatPackDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	k := &Kernel{Out: 515, In: 2050, KH: 1, KW: 1, Groups: 1, W: random(2 * 515 * 2050), Bias: make([]uint16, 515)}
	plan, err := PlanMatmul(k.Out)
	if err != nil {
		t.Fatal(err)
	}
	n, err := plan.Size(k)
	if err != nil {
		t.Fatal(err)
	}
	packed := make([]byte, n)
	if err := plan.Pack(packed, k, 1); err != nil {
		t.Fatal(err)
	}
	rows, small, large := random(70000*6), random(64), random(3<<20)
	want := bytes.Clone(packed)
	for i := 0; i < len(rows); i += 6 {
		want = append(append(want, rows[i:i+6]...), make([]byte, Granule-6)...)
	}
	want = append(append(want, small...), large...)
	for _, workers := range []int{1, 2, 8} {
		s := &Section{Workers: workers}
		_, err := s.AddSlice(k, plan, 0)
		if err == nil {
			_, err = s.AddSurface(len(rows)/6, 6, rows)
		}
		if err == nil {
			_, err = s.AddSurface(1, len(small), small)
		}
		if err == nil {
			_, err = s.AddSurface(1, len(large), large)
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := s.bytes(); !bytes.Equal(got, want) {
				t.Fatalf("%d workers: the section's %d bytes differ from the %d that Pack writes", workers, len(got),
					len(want))
			}
		}
		var w, also bytes.Buffer
		if n, err := s.WriteBoth(&w, &also); err != nil || n != int64(len(want)) ||
			!bytes.Equal(w.Bytes(), want) || !bytes.Equal(also.Bytes(), want) {
			t.Errorf("%d workers: two writers get %d and %d bytes, not the %d that Pack writes: %d, %v", workers,
				w.Len(), also.Len(), len(want), n, err)
		}
		full := errors.New("full")
		if _, err := s.WriteTo(failing{full}); !errors.Is(err, full) {
			t.Errorf("%d workers: error %v, want that of the writer", workers, err)
		}
		for _, f := range [][2]io.Writer{{failing{full}, io.Discard}, {io.Discard, failing{full}}} {
			if _, err := s.WriteBoth(f[0], f[1]); !errors.Is(err, full) {
				t.Errorf("%d workers: error %v, want that of the writer that fails", workers, err)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestTransposedKernelsPackLikeTheirTransposes packs matrices [K, N] and their transposes.
func TestTransposedKernelsPackLikeTheirTransposes(t *testing.T) {
	for _, tc := range []struct {
		out, in int
		bias    bool
	}{
		{out: 1, in: 1},
		{out: 16, in: 3, bias: true},
		{out: 37, in: 64},
		{out: 515, in: 129, bias: true},
		{out: 4096, in: 5},
	} {
		name := fmt.Sprintf("%d by %d", tc.out, tc.in)
		k := Kernel{Out: tc.out, In: tc.in, KH: 1, KW: 1, Groups: 1, W: make([]byte, 2*tc.out*tc.in)}
		for i := range k.W {
			k.W[i] = byte(i * 31 >> 3)
		}
		if tc.bias {
			k.Bias = make([]uint16, tc.out)
		}
		transposed := k
		transposed.W, transposed.Transposed = make([]byte, len(k.W)), true
		for o := range tc.out {
			for i := range tc.in {
				copy(transposed.W[2*(i*tc.out+o):][:2], k.W[2*(o*tc.in+i):])
			}
		}
		plans := []Plan{{}}
		var err error
		if plans[0], err = PlanMatmul(tc.out); err != nil {
			t.Fatal(err)
		}
		if tc.out > 40 {
			p, err := PlanSlice(Slice{First: 32, Count: tc.out - 40})
			if err != nil {
				t.Fatal(err)
			}
			plans = append(plans, p)
		}
		for _, p := range plans {
			n, err := p.Size(&k)
			if err != nil {
				t.Fatal(err)
			}
			want, got := make([]byte, n), make([]byte, n)
			if err := p.Pack(want, &k, 1); err != nil {
				t.Fatal(err)
			}
			if err := p.Pack(got, &transposed, 2); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s from output %d: the packed bytes differ", name, p.First)
			}
		}
		transposed.Groups = 2
		if err := transposed.Check(); tc.out%2 == 0 && tc.in%2 == 0 && err == nil {
			t.Errorf("%s: a transposed kernel of two groups passes its check", name)
		}
	}
}

// TestSectionEndsAtItsLimit adds constants to a section that is full but for 64 bytes.
func TestSectionEndsAtItsLimit(t *testing.T) {
	s := &Section{size: limit - 2*Granule}
	if _, err := s.AddSurface(1, Granule, make([]byte, Granule)); err != nil {
		t.Error(err)
	}
	_, err := s.AddSurface(1, 1, []byte{1})
	var full *LimitError
	if !errors.As(err, &full) || full.Bytes != Granule || full.Offset != limit-Granule {
		t.Errorf("error %v, want one about %d bytes at %#x", err, Granule, int64(limit-Granule))
	}
}
