package firmware

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"testing"
)

func call(engines int) CallStats {
	c := CallStats{
		Timing:     0x1122334455667788,
		Counter:    0xa1a2a3a4a5a6a7a8,
		Word0:      0xb0b1b2b3,
		Word1:      0xc0c1c2c3,
		Call:       5,
		LogEvents:  3,
		StatEvents: 2,
	}
	c.Table = make([]byte, MaxStatsEngines*EngineStride)
	for i := range engines {
		c.Engines = append(c.Engines, EngineID{uint32(100 + i), 2, uint32(i)})
		for k := range 4 {
			binary.LittleEndian.PutUint32(c.Table[i*0x48+0x30+4*k:], uint32(i*10+k))
		}
	}
	return c
}

func mapped(t *testing.T, size int) (*StatsBuffer, []byte) {
	t.Helper()
	mem := bytes.Repeat([]byte{0xee}, size)
	b := new(StatsBuffer)
	must(t, b.PreMap(0x1000, uint64(size), func(addr, n uint64) ([]byte, error) { return mem[:n], nil }))
	return b, mem
}

// TestStatisticsHeaderLayout: the fields of the header, byte by byte.
// Table 29.9.
func TestStatisticsHeaderLayout(t *testing.T) {
	want := [][2]int{{0, 2}, {4, 8}, {0xc, 4}, {0x10, 8}, {0x18, 4}, {0x1c, 8}, {0x24, 4}}
	for i, f := range statsHeader.Fields {
		if f.Offset != want[i][0] || f.Width != want[i][1] {
			t.Errorf("%s at %#x, %d bytes", f.Name, f.Offset, f.Width)
		}
	}
	b, mem := mapped(t, 0x28+0x40)
	must(t, b.Complete(call(2)))
	head := []byte{
		0x01, 0x01, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xb3, 0xb2, 0xb1, 0xb0,
		0, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0xc2, 0xc1, 0xc0,
		0xa8, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, 0x40, 0, 0, 0,
	}
	if !bytes.Equal(mem[:0x28], head) {
		t.Errorf("% x", mem[:0x28])
	}
	h, es, err := ReadStats(mem)
	must(t, err)
	if h.Magic != 0x0101 || h.Area != 0x40 || h.Timing != 0x1122334455667788 {
		t.Errorf("%+v", h)
	}
	if want := []EngineStats{{ID: 100, Type: 2, Call: 5, Index: 0, Counters: [4]uint32{0, 1, 2, 3}},
		{ID: 101, Type: 2, Call: 5, Index: 1, Counters: [4]uint32{10, 11, 12, 13}}}; !reflect.DeepEqual(es, want) {
		t.Errorf("%+v", es)
	}
	for name, change := range map[string]func(b []byte){
		"magic":    func(b []byte) { b[0] = 2 },
		"reserved": func(b []byte) { b[0x10] = 1 },
		"area":     func(b []byte) { b[0x24] = 0x60 },
		"odd area": func(b []byte) { b[0x24] = 0x21 },
		"huge":     func(b []byte) { b[0x27] = 0xff },
	} {
		bad := bytes.Clone(mem)
		change(bad)
		if _, _, err := ReadStats(bad); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	if _, _, err := ReadStats(mem[:0x27]); err == nil {
		t.Error("half a header is read")
	}
}

// TestStatisticsBufferContents: the four sizes, the descriptors, the totals and the bounds.
// Listing 29.4.
func TestStatisticsBufferContents(t *testing.T) {
	if got := QueryStatsSizes(); got != (StatsSizes{Header: 0x28, Event: 0x14, Debug: 0x10, Engine: 0x20}) {
		t.Errorf("%+v", got)
	}
	b, mem := mapped(t, 0x28+32*0x20)
	must(t, b.Complete(call(32)))
	must(t, b.Complete(call(1)))
	if got := b.Totals(); got != (Totals{2, 6, 4}) {
		t.Errorf("%+v", got)
	}
	if _, es, err := ReadStats(mem); err != nil || len(es) != 1 {
		t.Error(es, err)
	}
	before := bytes.Clone(mem)
	for name, c := range map[string]CallStats{
		"33 engines":  {Engines: make([]EngineID, 33), Table: make([]byte, 4096)},
		"no table":    {Engines: make([]EngineID, 1)},
		"short table": {Engines: []EngineID{{Index: 1}}, Table: make([]byte, 0x48+0x3f)},
		"index":       {Engines: []EngineID{{Index: 32}}, Table: make([]byte, 4096)},
		"far index":   {Engines: []EngineID{{Index: 1<<32 - 1}}, Table: make([]byte, 4096)},
	} {
		if b.Complete(c) == nil || !bytes.Equal(before, mem) {
			t.Errorf("%s is written", name)
		}
	}
	small, mem := mapped(t, 0x28+0x1f)
	var bound *ValueError
	if err := small.Complete(call(1)); !errors.As(err, &bound) || bound.Min != 0x48 || mem[0] != 0xee {
		t.Error(err)
	}
	if small.Totals() != (Totals{}) {
		t.Error("a refused completion is counted")
	}
}

// TestNullStatisticsBufferIsSkipped: a null address or size skips the map, and every value that
// the host observes is zero.
// Listing 29.5.
func TestNullStatisticsBufferIsSkipped(t *testing.T) {
	for _, in := range [][2]uint64{{0, 0}, {0, 64}, {0x1000, 0}} {
		b := new(StatsBuffer)
		must(t, b.PreMap(in[0], in[1], func(uint64, uint64) ([]byte, error) {
			t.Errorf("%#x is mapped", in)
			return nil, nil
		}))
		must(t, b.Complete(call(2)))
		if b.memory != nil || b.Totals() != (Totals{}) {
			t.Errorf("%#x: %+v", in, b.Totals())
		}
	}
	b, _ := mapped(t, 64)
	fault := errors.New("translation fault")
	if err := b.PreMap(1, 1, func(uint64, uint64) ([]byte, error) {
		return nil, fault
	}); !errors.Is(err, fault) || b.memory != nil {
		t.Error(err)
	}
	if b.PreMap(1, 2, func(uint64, uint64) ([]byte, error) { return make([]byte, 1), nil }) == nil || b.memory != nil {
		t.Error("half a map is taken")
	}
}

// Remap keeps the running totals for the same buffer, and starts again for another.
func TestRemap(t *testing.T) {
	var b StatsBuffer
	m := func(addr, size uint64) ([]byte, error) { return make([]byte, size), nil }
	for i, c := range []struct {
		addr, size, valid uint64
	}{{0x1000, 0x100, 1}, {0x1000, 0x100, 2}, {0x2000, 0x100, 1}, {0x2000, 0x80, 1}, {0, 0x80, 0}, {0x2000, 0x80, 1}} {
		if err := b.Remap(c.addr, c.size, m); err != nil {
			t.Fatal(err)
		}
		if err := b.Complete(CallStats{}); err != nil {
			t.Fatal(err)
		}
		if got := b.Totals().Valid; got != c.valid {
			t.Errorf("%d: %d records, want %d", i, got, c.valid)
		}
	}
}

// Running queries without counting.
func TestRunning(t *testing.T) {
	p := NewPrograms()
	program, err := p.Load()
	if err != nil {
		t.Fatal(err)
	}
	process, err := p.Attach(program)
	if err != nil {
		t.Fatal(err)
	}
	if p.Running(program, process) || p.Running(program, -1) || p.Running(program, NumProcesses) {
		t.Error("an idle process runs")
	}
	if err := p.Fire(process, ProcessStart); err != nil {
		t.Fatal(err)
	}
	if !p.Running(program, process) || p.Running(program+1, process) {
		t.Error("the process does not run, or the question was counted")
	}
}
