package weights

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestSectionStoresEqualConstantsOnce(t *testing.T) {
	s := new(Section)
	k := &Kernel{Out: 16, In: 32, KH: 1, KW: 1, Groups: 1, W: bytes.Repeat([]byte{1, 2}, 512)}
	p, err := PlanMatmul(16)
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.addKernel(k, 1, p)
	if err != nil {
		t.Fatal(err)
	}
	size := s.Size()
	b, err := s.addKernel(k, 2, p)
	if err != nil {
		t.Fatal(err)
	}
	if a[0] != b[0] || s.Size() != size {
		t.Errorf("the same kernel again moved to %+v and grew the section to %d", b[0], s.Size())
	}
	// Equal bytes as a raw surface are another constant: it has no tiles.
	if off, err := s.AddSurface(16, 64, s.bytes()); err != nil || int64(off) != size {
		t.Errorf("surface at %#x (%v), want %#x", off, err, size)
	}
	sy := s.Symbols()
	if len(sy) != MaxCores {
		t.Fatalf("%d symbols, want %d", len(sy), MaxCores)
	}
	name := fmt.Sprintf("K%X_ne_3", sha256.Sum256(s.bytes()[:size]))
	if sy[3] != (Symbol{name, 3 * 64, true}) {
		t.Errorf("symbol 3 is %+v, want %s at 0xc0", sy[3], name)
	}
}

func TestSectionSlicesKeepTheirNames(t *testing.T) {
	s := new(Section)
	k := &Kernel{Out: 96, In: 16384, KH: 1, KW: 1, Groups: 1, W: make([]byte, 2*96*16384)}
	ss, err := Cut(k.Out, k.Red(), false, 256)
	if err != nil {
		t.Fatal(err)
	}
	var ps []Plan
	for _, sl := range ss {
		p, err := PlanSlice(sl)
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	if _, err := s.addKernel(k, 0, ps...); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, sy := range s.Symbols() {
		if seen[sy.Name] {
			t.Fatalf("two tiles are named %s", sy.Name)
		}
		seen[sy.Name] = true
	}
	if len(seen) != 3*MaxCores || s.Size() != int64(len(k.W)) {
		t.Errorf("%d names and %d bytes, want 48 and %d", len(seen), s.Size(), len(k.W))
	}
}

func TestSectionDeadTilesPointAtTheEnd(t *testing.T) {
	s := new(Section)
	k := &Kernel{Out: 3, In: 3, KH: 1, KW: 1, Groups: 1, W: make([]byte, 18)}
	p, err := PlanDense(3, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.addKernel(k, 1, p); err != nil {
		t.Fatal(err)
	}
	for i, sy := range s.Symbols() {
		want := uint32(64 * min(i, 3))
		if sy.Live != (i < 3) || sy.Offset != want || !strings.HasSuffix(sy.Name, fmt.Sprintf("_ne_%d", i)) {
			t.Errorf("tile %d is %+v, want offset %#x", i, sy, want)
		}
	}
}

func TestSurfaceRowsArePadded(t *testing.T) {
	s := new(Section)
	if _, err := s.AddRow([]byte{9}, nil); err != nil {
		t.Fatal(err)
	}
	off, err := s.AddSurface(2, 3, []byte{1, 2, 3, 4, 5, 6})
	if err != nil || off != 64 {
		t.Fatalf("surface at %d (%v), want 64", off, err)
	}
	want := make([]byte, 192)
	want[0] = 9
	copy(want[64:], []byte{1, 2, 3})
	copy(want[128:], []byte{4, 5, 6})
	if !bytes.Equal(s.bytes(), want) {
		t.Errorf("section is %x", s.bytes())
	}
	for _, bad := range [][3]int{{0, 3, 6}, {2, 0, 6}, {2, 4, 6}, {3, 3, 6}, {math.MaxInt, math.MaxInt, 6}} {
		if _, err := s.AddSurface(bad[0], bad[1], make([]byte, bad[2])); err == nil {
			t.Errorf("surface of %d rows of %d bytes out of %d is taken", bad[0], bad[1], bad[2])
		}
	}
	if _, err := s.AddTable(new(Table), 17); err == nil {
		t.Error("a table on 17 lanes is taken")
	}
	if _, err := s.AddParts(make([]byte, 65), [16]int{65}, nil); err == nil {
		t.Error("a part of 65 bytes is taken")
	}
}

// TestCut contains the recorded numbers of channels per core and task.
func TestCut(t *testing.T) {
	for _, tc := range []struct {
		out, red int
		bias     bool
		pixels   int
		want     string // slices and, a slice, lanes of each group
	}{
		{out: 64, red: 9216, bias: false, pixels: 256, want: "[{0 32} {32 32}] [2] [2]"},
		{out: 128, red: 9216, bias: false, pixels: 256, want: "[{0 32} {32 32} {64 32} {96 32}] [2] [2] [2] [2]"},
		{out: 128, red: 4608, bias: false, pixels: 256, want: "[{0 96} {96 32}] [6] [2]"},
		{out: 256, red: 2304, bias: true, pixels: 4096, want: "[{0 224} {224 32}] [14] [2]"},
		{out: 1024, red: 1024, bias: false, pixels: 256, want: "[{0 512} {512 512}] [16 16] [16 16]"},
		{out: 2048, red: 1024, bias: false, pixels: 375,
			want: "[{0 512} {512 512} {1024 512} {1536 512}] [16 16] [16 16] [16 16] [16 16]"},
		{out: 1024, red: 1024, bias: false, pixels: 128, want: "[{0 1024}] [16 16 16 16]"},
	} {
		ss, err := Cut(tc.out, tc.red, tc.bias, tc.pixels)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(ss)
		for _, s := range ss {
			p, err := PlanSlice(s)
			if err != nil {
				t.Fatal(err)
			}
			var lanes []int
			for _, g := range p.Groups {
				lanes = append(lanes, g.Lanes)
			}
			got += " " + fmt.Sprint(lanes)
		}
		if got != tc.want {
			t.Errorf("Cut(%d, %d, %v, %d) is %s, want %s", tc.out, tc.red, tc.bias, tc.pixels, got, tc.want)
		}
	}
	if _, err := Cut(16, 40000, false, 256); err == nil {
		t.Error("a kernel of 80000 bytes an output is resident")
	}
}

// bytes writes the section into one slice.
func (s *Section) bytes() []byte {
	var b bytes.Buffer
	if n, err := s.WriteTo(&b); err != nil || n != s.Size() {
		panic(fmt.Sprintf("wrote %d of %d bytes: %v", n, s.Size(), err))
	}
	return b.Bytes()
}

// addKernel packs k task by task, with one plan per task in the order in which the tasks run, and adds the parts of
// each. The same kernel under the same plans is stored once; equal slices of one kernel are not merged (recorded).
// workers is as for Plan.Pack.
func (s *Section) addKernel(k *Kernel, workers int, plans ...Plan) ([]Parts, error) {
	var all []Parts
	s.Workers = workers
	for i := range plans {
		ps, err := s.AddSlice(k, plans[i], i)
		if err != nil {
			return nil, err
		}
		all = append(all, ps)
	}
	return all, nil
}

// TestConstantsThatBeginEqualAreToldApart adds constants whose first bytes are the same, in memory and as rows that are
// padded: each different one is stored, once.
func TestConstantsThatBeginEqualAreToldApart(t *testing.T) {
	const size = 4 * beginningBytes
	of := func(at int) []byte {
		b := make([]byte, size)
		b[at] = 1
		return b
	}
	s := new(Section)
	add := func(at int, padded bool) uint32 {
		t.Helper()
		rows := 1
		if padded {
			rows = size / 32 // half a granule
		}
		off, err := s.AddSurface(rows, size/rows, of(at))
		if err != nil {
			t.Fatal(err)
		}
		return off
	}
	for _, padded := range []bool{false, true} {
		seen := map[uint32]bool{}
		var first []uint32
		ends := []int{0, size - 1, size - 2, size / 2, beginningBytes}
		for _, at := range ends {
			off := add(at, padded)
			if seen[off] {
				t.Errorf("the constant that differs at byte %d is stored at %#x as another one", at, off)
			}
			seen[off] = true
			first = append(first, off)
		}
		end := s.Size()
		for i, at := range ends {
			if off := add(at, padded); off != first[i] || s.Size() != end {
				t.Errorf("the constant with byte %d again is at %#x of %d bytes, want %#x of %d", at, off, s.Size(),
					first[i], end)
			}
		}
	}
}

// TestEndlessSectionGoesOnBeyondTheLimit adds more than a container has room for.
func TestEndlessSectionGoesOnBeyondTheLimit(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("constants of 1 GiB need addresses of 64 bits")
	}
	const rows, bytes = 1 << 15, 1 << 15
	data := make([]byte, rows*bytes) // the system gives no memory for what nobody reads or writes
	add := func(s *Section, i int) error {
		data[0] = byte(i)
		_, err := s.AddSurface(rows, bytes, data)
		return err
	}
	endless, ended := Section{Endless: true}, Section{}
	endless.Track()
	for i := range 5 {
		if err := add(&endless, i); err != nil {
			t.Fatal(err)
		}
		if want := int64(i) * rows * bytes; endless.Last() != want || endless.Size() != want+rows*bytes {
			t.Errorf("constant %d is at %#x of %#x, want %#x", i, endless.Last(), endless.Size(), want)
		}
		err := add(&ended, i)
		if (err != nil) != (i > 2) || (err != nil) != (endless.Exceeds() != nil) {
			t.Fatalf("constant %d: %v, endless %v", i, err, endless.Exceeds())
		}
		if err != nil && i == 3 && err.Error() != endless.Exceeds().Error() {
			t.Errorf("%v, endless %v", err, endless.Exceeds())
		}
	}
}

// TestTakeIsAdd takes the constants of one section into another, in another order and one of them twice, and compares
// it with a section to which they were added.
func TestTakeIsAdd(t *testing.T) {
	k := &Kernel{Out: 16, In: 32, KH: 1, KW: 1, Groups: 1, W: bytes.Repeat([]byte{1, 2}, 512)}
	p, err := PlanMatmul(16)
	if err != nil {
		t.Fatal(err)
	}
	rows := bytes.Repeat([]byte{3}, 160)
	adds := []func(s *Section) (uint32, error){
		func(s *Section) (uint32, error) { return s.AddSurface(10, 16, rows) },
		func(s *Section) (uint32, error) { ps, err := s.AddSlice(k, p, 0); return ps.Offset[0], err },
		func(s *Section) (uint32, error) { ps, err := s.AddTable(&Table{}, 4); return ps.Offset[0], err },
		func(s *Section) (uint32, error) {
			return s.AddRow(rows[:128], func() []Repeat { return PairLayout(16) })
		},
	}
	var from, taken, added Section
	for _, s := range []*Section{&from, &taken, &added} {
		s.Track()
	}
	offsets := make([]int64, len(adds))
	for i, add := range adds {
		if _, err := add(&from); err != nil {
			t.Fatal(err)
		}
		offsets[i] = from.Last()
	}
	for _, i := range []int{2, 0, 3, 0, 1} {
		if err := taken.Take(&from, offsets[i]); err != nil {
			t.Fatal(err)
		}
		if _, err := adds[i](&added); err != nil || taken.Last() != added.Last() {
			t.Errorf("constant %d is at %#x, want %#x (%v)", i, taken.Last(), added.Last(), err)
		}
	}
	if !bytes.Equal(taken.bytes(), added.bytes()) || !slices.Equal(taken.Symbols(), added.Symbols()) {
		t.Error("bytes or symbols differ")
	}
	for i, x := range added.Extents() {
		if got := taken.Extents()[i]; fmt.Sprint(got) != fmt.Sprint(x) {
			t.Errorf("extent %v, want %v", got, x)
		}
	}
	// What is added later finds what was taken, at its place.
	for i, add := range adds {
		got, err := add(&taken)
		if want, _ := add(&added); err != nil || got != want || taken.Size() != added.Size() {
			t.Errorf("constant %d again is at %#x, want %#x (%v)", i, got, want, err)
		}
	}
	if err := taken.Take(&from, 1); err == nil {
		t.Error("a constant is taken that is not stored")
	}
}
