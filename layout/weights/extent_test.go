package weights

import (
	"bytes"
	"slices"
	"testing"
)

// roleBytes expands an extent's layout to one role per byte.
func roleBytes(x Extent) (rs []Role) {
	for _, r := range x.Layout {
		for range r.Times {
			for _, run := range r.Runs {
				rs = append(rs, slices.Repeat([]Role{run.Role}, int(run.Size))...)
			}
		}
	}
	return rs
}

// marked is a kernel whose weights are all 0x1111 and whose biases are all 0x2222, so that the bytes of a packed kernel
// show what they are.
func marked(out, in, kh, kw, groups int, bias bool) *Kernel {
	k := &Kernel{Out: out, In: in, KH: kh, KW: kw, Groups: groups}
	k.W = bytes.Repeat([]byte{0x11}, 2*out*k.Red())
	if bias {
		k.Bias = slices.Repeat([]uint16{0x2222}, out)
	}
	return k
}

// TestLayoutsNameTheBytes checks for every form of packing that each byte's role agrees with its value.
func TestLayoutsNameTheBytes(t *testing.T) {
	table := Table{}
	for i := range table {
		table[i] = 0x3333
	}
	kernels := map[string]*Kernel{
		"dense":           marked(48, 24, 3, 3, 1, true),
		"dense no bias":   marked(100, 7, 1, 1, 1, false),
		"uneven":          marked(37, 5, 1, 3, 1, true),
		"grouped":         marked(64, 32, 1, 5, 4, true),
		"depthwise":       marked(40, 40, 3, 3, 40, true),
		"depthwise plain": marked(5, 5, 1, 9, 5, false),
	}
	for name, k := range kernels {
		for _, withTable := range []bool{false, true} {
			k := *k
			if withTable {
				k.Table = &table
			}
			plan, err := planFor(&k, false)
			if err != nil {
				t.Fatal(err)
			}
			check := func(form string, add func(s *Section) error) {
				var s Section
				s.Track()
				if err := add(&s); err != nil {
					t.Fatalf("%s %s: %v", name, form, err)
				}
				x := s.Extents()[0]
				data := s.bytes()
				rs := roleBytes(x)
				if len(rs) != len(data) || x.Size != uint32(len(data)) {
					t.Fatalf("%s %s: the layout has %d bytes, the constant %d", name, form, len(rs), len(data))
				}
				for i, r := range rs {
					// Masks and lengths may have any value.
					want := map[Role]byte{Bias: 0x22, Lookup: 0x33, Padding: 0, Reserved: 0}
					if form == "dense" {
						want[Values] = 0x11
					}
					b, ok := want[r]
					ok = !ok || data[i] == b
					if !ok {
						t.Fatalf("%s %s table %t: byte %#x is %#x, the layout says %s", name, form, withTable, i,
							data[i], r)
					}
				}
			}
			check("dense", func(s *Section) error { _, err := s.AddSlice(&k, plan, 0); return err })
			check("skipping", func(s *Section) error {
				data, sizes, err := plan.PackSkipping(&k, false)
				if err != nil {
					return err
				}
				_, err = s.AddParts(data, sizes, func() []Repeat { return plan.BodiesLayout(&k, data, sizes, false) })
				return err
			})
			if plan.Form == Depthwise && k.KH == 1 {
				check("paired", func(s *Section) error {
					data, sizes, err := plan.PackPaired(&k)
					if err != nil {
						return err
					}
					_, err = s.AddParts(data, sizes, func() []Repeat { return plan.PairedLayout(&k) })
					return err
				})
			}
		}
	}
}

// TestExtentsOfASection checks that extents follow one another without gaps, that a constant stored once has one
// extent, and that Last returns it again.
func TestExtentsOfASection(t *testing.T) {
	var s Section
	s.Track()
	if _, err := s.AddSurface(3, 10, bytes.Repeat([]byte{7}, 30)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddTable(&Table{}, 4); err != nil {
		t.Fatal(err)
	}
	at := s.Last()
	rows, err := PairRows(make([]uint16, 40), make([]uint16, 40))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddRow(rows, func() []Repeat { return PairLayout(40) }); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddTable(&Table{}, 4); err != nil || s.Last() != at {
		t.Errorf("the table again: last %#x, want %#x (%v)", s.Last(), at, err)
	}
	end := int64(0)
	for i, x := range s.Extents() {
		if x.Offset != end {
			t.Errorf("extent %d begins at %#x, the one before ends at %#x", i, x.Offset, end)
		}
		end += int64(x.Size)
	}
	if end != s.Size() || len(s.Extents()) != 3 {
		t.Errorf("%d extents end at %#x, the section at %#x", len(s.Extents()), end, s.Size())
	}
	if got := roleBytes(s.Extents()[0])[8:12]; !slices.Equal(got, []Role{Values, Values, Padding, Padding}) {
		t.Errorf("a row of 10 bytes ends as %v", got)
	}
	if _, err := s.AddParts(make([]byte, 64), [MaxCores]int{64}, func() []Repeat { return PairLayout(1) }); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a layout of 128 bytes is taken for a constant of 64")
		}
	}()
	defer s.Extents()
	var plain Section
	if _, err := plain.AddSurface(1, 64, make([]byte, 64)); err != nil || plain.Extents() != nil {
		t.Error("a section that is not tracked has extents")
	}
}
