package translation

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

func unit(t testing.TB, cfg Config) *Unit {
	t.Helper()
	u, err := NewUnit(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func mustMap(t testing.TB, c *Context, b []byte, u Usage) *Mapping {
	t.Helper()
	m, err := c.Map(b, u, "map")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func wantFault(t *testing.T, err error, why Reason) *Fault {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) || f.Reason != why {
		t.Fatalf("got %v, want a fault: %v", err, why)
	}
	return f
}

func TestGeometry(t *testing.T) {
	for _, g := range []struct {
		name      string
		got, want uint64
	}{
		{"page", PageSize, 16 << 10},
		{"aperture", ApertureSize, 7 << 29}, // 3.5 GiB
		{"root entries", RootEntries * TableSpan, ApertureSize},
		{"table", TableEntries * 8, PageSize},
	} {
		if g.got != g.want {
			t.Errorf("%s: %#x, want %#x", g.name, g.got, g.want)
		}
	}
	u := unit(t, Config{})
	c := u.Context(7)
	// The last page of the aperture and the last page of a leaf table.
	for _, addr := range []uint64{ApertureSize - PageSize, TableSpan - PageSize, 0x3000_8000} {
		m, err := c.MapAt(addr, make([]byte, 100), Input, "load")
		if err != nil {
			t.Fatal(err)
		}
		if m.Addr() != addr {
			t.Errorf("mapped at %#x, want %#x", m.Addr(), addr)
		}
	}
	for _, e := range c.Entries() {
		if uint64(e.Root)*TableSpan+uint64(e.Index)*PageSize != e.Addr {
			t.Errorf("%#x is in table %d at %d", e.Addr, e.Root, e.Index)
		}
		if e.Leaf>>63 != 1 || e.Leaf.Frame() == 0 || e.Leaf.Frame()>>63 != 0 {
			t.Errorf("%#x has leaf %#x: bit 63 and a frame are wanted", e.Addr, uint64(e.Leaf))
		}
	}
}

func TestUsagesDecideAccess(t *testing.T) {
	want := map[Usage]Access{1: Read, 2: Write, 7: Read | Write, 8: Read, 9: Read, 11: Read}
	if len(Usages) != len(want) {
		t.Errorf("%d usages, want %d", len(Usages), len(want))
	}
	u := unit(t, Config{})
	c := u.Context(1)
	for code := Usage(0); code < 16; code++ {
		buf := make([]byte, 64)
		m, err := c.Map(buf, code, "load")
		allow, known := want[code]
		if !known {
			wantFault(t, err, BadUsage)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []Access{Read, Write} {
			_, err := c.Window(m.Addr(), 64, a, "task 3")
			if ok := allow&a != 0; ok != (err == nil) {
				t.Errorf("%v, %v: %v", code, a, err)
			} else if !ok {
				wantFault(t, err, Protection)
			}
		}
	}
}

func TestCopies(t *testing.T) {
	u := unit(t, Config{})
	c := u.Context(1)
	a, b := make([]byte, 2*PageSize), make([]byte, PageSize+5)
	ma := mustMap(t, c, a, Intermediate)
	mb := mustMap(t, c, b, Intermediate)
	if mb.Addr() != ma.Addr()+2*PageSize {
		t.Fatalf("first fit: %#x behind %#x", mb.Addr(), ma.Addr())
	}
	// One write over the seam of two mappings.
	p := []byte("over the seam")
	at := mb.Addr() - 5
	if err := c.WriteAt(p, at, "t"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(p))
	if err := c.ReadAt(got, at, "t"); err != nil || !bytes.Equal(got, p) {
		t.Errorf("read %q, %v", got, err)
	}
	if string(a[len(a)-5:]) != "over " || string(b[:8]) != "the seam" {
		t.Errorf("buffers hold %q and %q", a[len(a)-5:], b[:8])
	}
	// A window is zero-copy and cannot grow.
	w, err := c.Window(ma.Addr()+PageSize-1, 2, Write, "t")
	if err != nil || len(w) != 2 || cap(w) != 2 || &w[0] != &a[PageSize-1] {
		t.Errorf("window of %d, capacity %d, %v", len(w), cap(w), err)
	}
	_, err = c.Window(at, 10, Read, "t")
	wantFault(t, err, PastEnd)
	// A faulting write writes nothing.
	before := bytes.Clone(b)
	f := wantFault(t, c.WriteAt(bytes.Repeat([]byte{9}, 20), mb.Addr()+PageSize, "stage 2"), PastEnd)
	if !bytes.Equal(before, b) {
		t.Error("a write that faulted changed the buffer")
	}
	if f.Addr != mb.Addr()+PageSize+5 {
		t.Errorf("fault at %#x, want the first byte behind the buffer", f.Addr)
	}
}

func TestFaultsNameStreamAndAddress(t *testing.T) {
	u := unit(t, Config{Log: 4})
	c := u.Context(0xc1)
	m := mustMap(t, c, make([]byte, PageSize), Input)
	cases := []struct {
		name string
		do   func() error
		why  Reason
		addr uint64
	}{
		{name: "null", do: func() error { return c.ReadAt(make([]byte, 1), 0, "conv1") }, why: Unmapped, addr: 0},
		{name: "behind", do: func() error {
			return c.ReadAt(make([]byte, 9), m.Addr()+PageSize-4, "conv1")
		}, why: Unmapped, addr: m.Addr() + PageSize},
		{name: "high bits", do: func() error {
			return c.ReadAt(make([]byte, 1), 1<<32, "conv1")
		}, why: HighBits, addr: 1 << 32},
		{name: "outside", do: func() error {
			return c.ReadAt(make([]byte, 1), ApertureSize, "conv1")
		}, why: Outside, addr: ApertureSize},
		{name: "wraps", do: func() error {
			_, err := c.Window(m.Addr(), 1<<64-1, Read, "conv1")
			return err
		}, why: Outside, addr: m.Addr()},
		{name: "map unaligned", do: func() error {
			_, err := c.MapAt(0x20, []byte{1}, Input, "conv1")
			return err
		}, why: Unaligned, addr: 0x20},
		{name: "map null", do: func() error {
			_, err := c.MapAt(0, []byte{1}, Input, "conv1")
			return err
		}, why: Outside, addr: 0},
		{name: "map outside", do: func() error {
			_, err := c.MapAt(ApertureSize-PageSize, make([]byte, PageSize+1), Input, "conv1")
			return err
		}, why: Outside, addr: ApertureSize - PageSize},
		{name: "map high", do: func() error {
			_, err := c.MapAt(FirmwareHigh<<32, []byte{1}, Input, "conv1")
			return err
		}, why: HighBits, addr: FirmwareHigh << 32},
		{name: "map over", do: func() error {
			_, err := c.MapAt(m.Addr(), []byte{1}, Input, "conv1")
			return err
		}, why: Overlap, addr: m.Addr()},
		{name: "empty", do: func() error { _, err := c.Map(nil, Input, "conv1"); return err }, why: Empty, addr: 0},
		{name: "in use", do: func() error { return m.Unmap("conv1") }, why: InUse, addr: m.Addr()},
	}
	for _, tc := range cases {
		f := wantFault(t, tc.do(), tc.why)
		if f.Stream != 0 || f.Client != 0xc1 || f.Task != "conv1" || f.Addr != tc.addr {
			t.Errorf("%s: %+v: want stream 0, client 0xc1, task conv1, address %#x", tc.name, f, tc.addr)
		}
		if !errors.Is(error(f), &Fault{Reason: tc.why}) {
			t.Errorf("%s: errors.Is fails", tc.name)
		}
		for _, s := range []string{"stream 0", `task "conv1"`, fmt.Sprintf("address %#x", tc.addr), tc.why.String()} {
			if !strings.Contains(f.Error(), s) {
				t.Errorf("%s: %q does not say %q", tc.name, f, s)
			}
		}
	}
	if got := u.Faults(); len(got) != 4 || got[3].Reason != InUse {
		t.Errorf("the log keeps %d faults", len(got))
	}
	if s := u.Stats(); s.Faults != uint64(len(cases)) {
		t.Errorf("%d faults counted, want %d", s.Faults, len(cases))
	}
}

func TestContextsAreApart(t *testing.T) {
	u := unit(t, Config{})
	a, b := u.Context(1), u.Context(2)
	m := mustMap(t, a, bytes.Repeat([]byte{0x5a}, 3*PageSize), Input)
	_, err := b.Window(m.Addr(), 1, Read, "thief")
	if f := wantFault(t, err, Unmapped); f.Client != 2 || f.Stream != 1 {
		t.Errorf("fault names client %d, stream %d", f.Client, f.Stream)
	}
	mb := mustMap(t, b, make([]byte, PageSize), Input)
	if mb.Addr() != m.Addr() {
		t.Errorf("contexts share addresses: %#x and %#x", mb.Addr(), m.Addr())
	}
	w, err := b.Window(mb.Addr(), PageSize, Read, "t")
	if err != nil || bytes.IndexByte(w, 0x5a) >= 0 {
		t.Errorf("client 2 reads client 1's bytes (%v)", err)
	}
	a.Close()
	_, err = a.Window(m.Addr(), 1, Read, "late")
	wantFault(t, err, Closed)
	if m.Release(); u.Stats().FramesInUse != 1 {
		t.Errorf("%d frames in use after Close, want client 2's one", u.Stats().FramesInUse)
	}
	if u.Context(1) == a {
		t.Error("a closed context came back")
	}
}

func TestEvictMappings(t *testing.T) {
	u := unit(t, Config{Aperture: 5 * PageSize}) // four pages to map
	c := u.Context(1)
	var ms []*Mapping
	var bufs [][]byte
	for range 4 {
		bufs = append(bufs, make([]byte, PageSize))
		ms = append(ms, mustMap(t, c, bufs[len(bufs)-1], Input))
	}
	_, err := c.Map(make([]byte, 1), Input, "full")
	wantFault(t, err, NoSpace)
	// Release in the order 2 0 3 1; use 2 again: the order of leaving is 0 3 1 2.
	for _, i := range []int{2, 0, 3, 1} {
		ms[i].Release()
	}
	if hit := mustMap(t, c, bufs[2], Input); hit != ms[2] {
		t.Error("a mapping that was idle is not found again")
	}
	ms[2].Release()
	for _, i := range []int{0, 3, 1, 2} {
		mustMap(t, c, make([]byte, 1), Input)
		if !ms[i].gone {
			t.Errorf("mapping %d is not evicted in its turn", i)
		}
	}
	s := u.Stats()
	if s.EvictedMappings != 4 || s.Hits != 1 || s.Maps != 8 || s.FramesInUse != 4 {
		t.Errorf("%+v", s)
	}
}

func TestFlushAndUnmap(t *testing.T) {
	u := unit(t, Config{})
	c := u.Context(1)
	a, b := mustMap(t, c, make([]byte, 1), Input), mustMap(t, c, make([]byte, 1), Output)
	a.Release()
	if a.Release() {
		t.Error("released twice")
	}
	if n := c.Flush(); n != 1 {
		t.Errorf("flushed %d, want 1", n)
	}
	b.Release()
	if err := b.Unmap("t"); err != nil {
		t.Error(err)
	}
	if s := u.Stats(); s.FramesInUse != 0 || s.Unmaps != 2 {
		t.Errorf("%+v", s)
	}
	for r, lt := range c.table.root {
		if lt != nil {
			t.Errorf("leaf table %d stays behind", r)
		}
	}
}

func TestEvictContexts(t *testing.T) {
	u := unit(t, Config{Slots: 2})
	buf := make([]byte, 8)
	m1 := mustMap(t, u.Context(1), buf, Input)
	m2 := mustMap(t, u.Context(2), buf, Input)
	_, err := u.Context(3).Map(buf, Input, "t")
	wantFault(t, err, NoStream)
	m2.Release()
	m1.Release()
	if _, err := u.Context(2).Window(m2.Addr(), 8, Read, "t"); err != nil { // 2 is now the later one
		t.Fatal(err)
	}
	mustMap(t, u.Context(3), buf, Input)
	if s1, s2 := u.Context(1).Stream(), u.Context(2).Stream(); s1 != NoSlot || s2 != 1 {
		t.Errorf("streams %d and %d: client 1 was used least recently", s1, s2)
	}
	// Client 1's pages are still there when it comes back.
	if w, err := u.Context(1).Window(m1.Addr(), 8, Read, "t"); err != nil || &w[0] != &buf[0] {
		t.Errorf("%v", err)
	}
	if s := u.Stats(); s.EvictedContexts != 2 || s.ContextsResident != 2 || s.ContextsOpen != 3 {
		t.Errorf("%+v", s)
	}
}

func TestRebase(t *testing.T) {
	r, err := NewRebase(0x1bc4_4000_0000, 0x3000_0000, 0x10_0000)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		addr, want uint64
		why        Reason
	}{
		{0x3000_0000, 0x1bc4_4000_0000, 0},
		{0x3000_8040, 0x1bc4_4000_8040, 0},
		{0x300f_ffff, 0x1bc4_400f_ffff, 0},
		{0x3010_0000, 0, Outside},
		{0x2fff_ffff, 0, Outside},
		{0x1_3000_0000, 0, HighBits},
		{0x1bc4_3000_0000, 0, HighBits},
	} {
		got, err := r.Runtime(tc.addr, "load")
		if tc.why != 0 {
			wantFault(t, err, tc.why)
			continue
		}
		if err != nil || got != tc.want {
			t.Errorf("%#x: %#x, %v, want %#x", tc.addr, got, err, tc.want)
		}
		if back, err := r.Device(got, "load"); err != nil || back != tc.addr {
			t.Errorf("%#x: back %#x, %v", tc.addr, back, err)
		}
	}
	_, err = r.Device(0x1bc4_3fff_ffff, "load")
	wantFault(t, err, Outside)
	for _, bad := range [][3]uint64{
		{0x1bc5_0000_0000, 0x4000, 1}, {0, 0x4000, 1}, {0x1bc4_0000_0000, 0x4000, 0}, {0x1bc4_0000_0001, 0x4000, 1},
		{0x1bc4_0000_0000, 0x1_0000_4000, 1}, {0x1bc4_0000_0000, 0x4000, ApertureSize}, {0x1bc4_ffff_c000, 0x4000,
			PageSize + 1},
	} {
		if _, err := NewRebase(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("window %#x is taken", bad)
		}
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []Config{{Slots: -1}, {Slots: 257}, {Log: -1}, {Aperture: 1}, {Aperture: PageSize},
		{Aperture: ApertureSize + PageSize}} {
		if _, err := NewUnit(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

func TestTrace(t *testing.T) {
	var got []string
	u := unit(t, Config{Slots: 1, Aperture: 3 * PageSize, Trace: func(s Step) {
		got = append(got, fmt.Sprintf("%v %d %#x %s", s.Kind, s.Client, s.Addr, s.Task))
	}})
	c := u.Context(1)
	buf := make([]byte, PageSize)
	a := mustMap(t, c, buf, Input)
	mustMap(t, c, buf, Input).Release()
	a.Release()
	b := mustMap(t, c, make([]byte, 2*PageSize), Input)
	_, err := u.Context(2).Window(PageSize, 1, Read, "peek")
	wantFault(t, err, NoStream)
	b.Release()
	_, err = u.Context(2).Window(PageSize, 1, Read, "peek")
	wantFault(t, err, Unmapped)
	c.Flush()
	want := []string{
		"stream in 1 0x0 ", "map 1 0x4000 map", "found 1 0x4000 map", "evict 1 0x4000 map", "map 1 0x4000 map",
		"fault 2 0x4000 peek", "stream out 1 0x0 ", "stream in 2 0x0 ", "fault 2 0x4000 peek", "unmap 1 0x4000 flush",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestManyClients maps, uses and releases from many goroutines with fewer streams and pages than they request; each
// must find its own bytes.
func TestManyClients(t *testing.T) {
	u := unit(t, Config{Slots: 24, Aperture: 40 * PageSize})
	var wg sync.WaitGroup
	for client := range uint64(12) {
		for g := range uint64(2) {
			wg.Go(func() {
				c := u.Context(client)
				rng := rand.New(rand.NewPCG(client, g))
				for i := range 60 {
					buf := make([]byte, 1+rng.IntN(4*PageSize))
					m, err := c.Map(buf, Intermediate, "t")
					if err != nil {
						t.Error(err)
						return
					}
					tag := []byte{byte(client), byte(g), byte(i)}
					n := min(len(tag), len(buf))
					if err := c.WriteAt(tag[:n], m.Addr(), "t"); err != nil {
						t.Error(err)
					}
					got := make([]byte, n)
					if err := c.ReadAt(got, m.Addr(), "t"); err != nil || !bytes.Equal(got, tag[:n]) ||
						!bytes.Equal(buf[:n], tag[:n]) {
						t.Errorf("client %d reads %v, wants %v: %v", client, got, tag[:n], err)
					}
					m.Release()
				}
			})
		}
	}
	wg.Wait()
	for client := range uint64(12) {
		u.Context(client).Close()
	}
	if s := u.Stats(); s.FramesInUse != 0 || s.ContextsOpen != 0 || s.ContextsResident != 0 || s.EvictedMappings == 0 {
		t.Errorf("%+v", s)
	}
}

// FuzzOperations runs a script of maps, accesses and releases against a plain
// model: a map from address to the byte's owner.
func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 10, 1, 2, 1, 0, 3, 9})
	f.Add([]byte{0, 200, 7, 0, 0, 255, 2, 0, 5, 0, 0, 0, 3, 3, 3, 3})
	f.Fuzz(func(t *testing.T, script []byte) {
		u := unit(t, Config{Slots: 1, Aperture: 8 * PageSize})
		c := u.Context(1)
		var live []*Mapping
		for len(script) >= 3 {
			op, x, y := script[0], script[1], script[2]
			script = script[3:]
			switch op % 5 {
			case 0:
				if m, err := c.Map(make([]byte, int(x)*300), Usage(y), "f"); err == nil {
					live = append(live, m)
				}
			case 1:
				_, _ = c.Window(uint64(x)*1000, uint64(y)*500, Access(y%3), "f")
			case 2:
				if _, err := c.MapAt(uint64(x)*PageSize/2, make([]byte, int(y)*100), Input, "f"); err == nil {
					m, _ := c.MapAt(uint64(x)*PageSize/2, make([]byte, int(y)*100), Input, "f")
					if m != nil {
						t.Error("mapped twice at one address")
					}
				}
			case 3:
				if len(live) > 0 {
					live[0].Release()
					live = live[1:]
				}
			case 4:
				c.Flush()
			}
			end := uint64(PageSize)
			for _, m := range c.maps {
				if m.addr < end || m.end() > 8*PageSize {
					t.Fatalf("mapping at %#x overlaps or leaves the aperture", m.addr)
				}
				end = m.end()
			}
			if got := uint64(len(c.Entries())); got != u.Stats().FramesInUse {
				t.Fatalf("%d entries, %d frames", got, u.Stats().FramesInUse)
			}
		}
	})
}

func BenchmarkWindow(b *testing.B) {
	u := unit(b, Config{})
	c := u.Context(1)
	m := mustMap(b, c, make([]byte, PageSize), Input)
	for b.Loop() {
		if _, err := c.Window(m.Addr(), 64, Read, "t"); err != nil {
			b.Fatal(err)
		}
	}
}
