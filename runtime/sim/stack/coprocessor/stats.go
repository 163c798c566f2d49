package coprocessor

import (
	"encoding/binary"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// statsEngine is the one engine of the M1 as the statistics name it.
var statsEngine = []firmware.EngineID{{ID: 0, Type: 1, Index: 0}}

// writeStats is the completion write of the statistics buffer. Without an
// address or a size there is no mapping, and nothing is written (listing 29.5).
func (b *boot) writeStats(j *job) error {
	s := j.call.Stats
	if s == (protocol.Stats{}) {
		return nil
	}
	p := j.process
	err := p.stats.Remap(s.Buffer, s.Size, func(addr, size uint64) ([]byte, error) {
		if _, err := b.runtime(addr, "stats"); err != nil {
			return nil, err
		}
		return p.ctx.Window(addr, size, translation.Write, "stats")
	})
	if err != nil {
		return err
	}
	var table [firmware.EngineStride]byte
	took := b.now() - j.began
	le := binary.LittleEndian
	// The profiler's accumulators: nanoseconds, tasks, and the calls so far.
	le.PutUint32(table[0x30:], uint32(took))
	le.PutUint32(table[0x34:], uint32(len(j.proc.tasks)))
	le.PutUint32(table[0x38:], uint32(p.stats.Totals().Valid+1))
	return p.stats.Complete(firmware.CallStats{
		Timing: uint64(took), Counter: p.stats.Totals().Valid + 1, Word0: j.call.UserID, Word1: j.call.JobID,
		Call:    j.call.JobID,
		Engines: statsEngine, Table: table[:], LogEvents: j.logged, StatEvents: uint64(len(j.proc.tasks)),
	})
}
