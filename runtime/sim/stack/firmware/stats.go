package firmware

import (
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/wire"
)

// StatsSizes are the sizes that the size query returns to the host (listing 29.4).
type StatsSizes struct {
	Header, Event, Debug, Engine int // bytes
}

// QueryStatsSizes answers the size query.
func QueryStatsSizes() StatsSizes {
	return StatsSizes{Header: StatsHeaderSize, Event: 0x14, Debug: 0x10, Engine: engineRecord}
}

// The statistics buffer.
const (
	StatsMagic      = 0x0101
	StatsHeaderSize = 0x28
	MaxStatsEngines = 32

	// The engine table, from which counters are copied.
	EngineStride   = 0x48
	engineCounters = 0x30 // of the 16-byte quad in an engine's block

	engineRecord = 0x20
)

// StatsHeader is the head of a statistics buffer (table 29.9).
type StatsHeader struct {
	Magic    uint16 `at:"0x00" name:"magic"`
	Timing   uint64 `at:"0x04" name:"per-call timing"` // from the kernel's timebase
	Word0    uint32 `at:"0x0c" name:"word from the call object"`
	reserved uint64 `at:"0x10" name:"reserved"`
	Word1    uint32 `at:"0x18" name:"word from the call object"`
	Counter  uint64 `at:"0x1c" name:"per-call counter"`
	Area     uint32 `at:"0x24" name:"descriptor-area length"` // bytes of descriptors, without the header
}

var (
	statsHeader = wire.New[StatsHeader](StatsHeaderSize)
	engineStats = wire.New[EngineStats](engineRecord)
)

// EngineStats is the descriptor of one engine.
type EngineStats struct {
	ID       uint32    `at:"0x00" name:"engine"`
	Type     uint32    `at:"0x04" name:"type"`
	Call     uint32    `at:"0x08" name:"call"`
	Index    uint32    `at:"0x0c" name:"index"`
	Counters [4]uint32 `at:"0x10" name:"counters"`
}

// Totals are the running totals of a buffer, in its last bytes if there is room after the descriptors (the place is
// modelled).
type Totals struct {
	Valid      uint64 `at:"0x00" name:"validCount"`
	LogEvents  uint64 `at:"0x08" name:"logEvents"`
	StatEvents uint64 `at:"0x10" name:"statEvents"`
}

const totalsSize = 0x18

var statsTotals = wire.New[Totals](totalsSize)

// ReadTotals is the host's side: it reads the totals of a buffer, zero if it has no room for them.
func ReadTotals(b []byte) (t Totals) {
	if len(b) >= StatsHeaderSize+totalsSize {
		statsTotals.Decode(b[len(b)-totalsSize:], &t)
	}
	return t
}

// CallStats holds the statistics of a completed call.
type CallStats struct {
	Timing, Counter       uint64
	Word0, Word1          uint32
	Call                  uint32
	Engines               []EngineID // the active ones, at most 32
	Table                 []byte     // engine blocks, EngineStride apart
	LogEvents, StatEvents uint64
}

// EngineID names an active engine.
type EngineID struct{ ID, Type, Index uint32 }

// StatsBuffer is the firmware's side of a buffer that the host supplies.
type StatsBuffer struct {
	memory []byte // nil while nothing is mapped
	totals Totals

	addr, size uint64 // of the last Remap
}

// PreMap maps the host's buffer through m. If the address or the size is zero, nothing is mapped or written (listing
// 29.5); this is not an error.
func (b *StatsBuffer) PreMap(addr, size uint64, m func(addr, size uint64) ([]byte, error)) error {
	*b = StatsBuffer{}
	if addr == 0 || size == 0 {
		return nil
	}
	mem, err := m(addr, size)
	if err != nil {
		return fmt.Errorf("firmware: statistics buffer %#x of %d bytes: %w", addr, size, err)
	}
	if uint64(len(mem)) != size {
		return fmt.Errorf("firmware: statistics buffer %#x: only %d of %d bytes are mapped", addr, len(mem), size)
	}
	b.memory = mem
	return nil
}

// Remap is PreMap for a buffer that may be the previous one. It maps again, since the host may have moved the buffer,
// but keeps the running totals if address and size are the same.
func (b *StatsBuffer) Remap(addr, size uint64, m func(addr, size uint64) ([]byte, error)) error {
	totals, same := b.totals, b.addr == addr && b.size == size
	if err := b.PreMap(addr, size, m); err != nil {
		return err
	}
	b.addr, b.size = addr, size
	if same {
		b.totals = totals
	}
	return nil
}

// Complete writes the record of a call: header, then a descriptor for each active engine. Without a mapping, or on an
// error, it writes nothing.
func (b *StatsBuffer) Complete(c CallStats) error {
	if b.memory == nil {
		return nil
	}
	if err := between("active engines", int64(len(c.Engines)), 0, MaxStatsEngines); err != nil {
		return err
	}
	need := StatsHeaderSize + engineRecord*len(c.Engines)
	if err := between("statistics buffer's size", int64(len(b.memory)), int64(need), 1<<62); err != nil {
		return err
	}
	records := make([]EngineStats, len(c.Engines))
	for i, e := range c.Engines {
		at := int64(e.Index)*EngineStride + engineCounters
		if err := between("engine index", int64(e.Index), 0, MaxStatsEngines-1); err != nil {
			return err
		}
		if err := between("engine table's size", int64(len(c.Table)), at+16, 1<<62); err != nil {
			return err
		}
		records[i] = EngineStats{ID: e.ID, Type: e.Type, Call: c.Call, Index: e.Index}
		for k := range records[i].Counters {
			records[i].Counters[k] = binary.LittleEndian.Uint32(c.Table[at+4*int64(k):])
		}
	}
	h := &StatsHeader{
		Magic: StatsMagic, Timing: c.Timing, Word0: c.Word0, Word1: c.Word1, Counter: c.Counter,
		Area: uint32(need - StatsHeaderSize),
	}
	clear(b.memory[:StatsHeaderSize])
	statsHeader.Encode(b.memory, h)
	for i := range records {
		engineStats.Encode(b.memory[StatsHeaderSize+engineRecord*i:], &records[i])
	}
	b.totals.Valid++
	b.totals.LogEvents += c.LogEvents
	b.totals.StatEvents += c.StatEvents
	if end := len(b.memory) - totalsSize; end >= need {
		statsTotals.Encode(b.memory[end:], &b.totals)
	}
	return nil
}

// Totals returns the running totals, all zero if no buffer was mapped.
func (b *StatsBuffer) Totals() Totals { return b.totals }

// ReadStats is the host's side: it reads a record from a buffer.
func ReadStats(b []byte) (*StatsHeader, []EngineStats, error) {
	if len(b) < StatsHeaderSize {
		return nil, nil, fmt.Errorf("firmware: the statistics buffer has %d bytes; the header alone takes %d", len(b),
			StatsHeaderSize)
	}
	h := new(StatsHeader)
	statsHeader.Decode(b, h)
	at := "firmware: statistics buffer: "
	switch room := len(b) - StatsHeaderSize; {
	case h.Magic != StatsMagic:
		return nil, nil, fmt.Errorf("%sbyte 0x0, magic is %#x, want %#x", at, h.Magic, StatsMagic)
	case h.reserved != 0:
		return nil, nil, fmt.Errorf("%sbyte 0x10, reserved is %#x, want 0", at, h.reserved)
	case int64(h.Area) > int64(room) || h.Area%engineRecord != 0 || h.Area > MaxStatsEngines*engineRecord:
		return nil, nil, fmt.Errorf("%sbyte 0x24, descriptor-area length is %d, want a multiple of %d, at most %d",
			at, h.Area, engineRecord, min(room, MaxStatsEngines*engineRecord))
	}
	out := make([]EngineStats, h.Area/engineRecord)
	for i := range out {
		engineStats.Decode(b[StatsHeaderSize+engineRecord*i:], &out[i])
	}
	return h, out, nil
}
