package coprocessor

import (
	"fmt"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// callCache is the engine's memory for the calls of one process to one procedure. Every access goes through the
// translation windows of the client. The tasks of a procedure access the same addresses in the same order in each call,
// so translations are kept from call to call as long as the register has the same base and its client has lost no
// mapping and no stream.
type callCache struct {
	b    *boot
	job  *job
	bars [afpp.MaxBars]window
	seq  []access
	next int
}

// window is a buffer-access register during a call.
type window struct {
	ctx    *translation.Context
	addr   uint64 // device address
	size   uint64 // bytes
	set    bool
	epoch  uint32 // changes when cached translations become invalid
	losses uint64 // of ctx at the start of the epoch
}

// access is a translated access.
type access struct {
	bar    int32
	write  bool
	epoch  uint32
	off, n int64
	mem    []byte
}

// maxAccesses bounds the cached translations of a call.
const maxAccesses = 1 << 16

// begin binds the registers to the values in the queue's register file.
func (m *callCache) begin(b *boot, queue int, j *job) error {
	m.b, m.job, m.next = b, j, 0
	for i := range m.bars {
		w := &m.bars[i]
		if j.bound>>i&1 == 0 {
			if w.set {
				*w = window{epoch: w.epoch + 1}
			}
			continue
		}
		addr, err := b.d.window.Device(translation.FirmwareHigh<<32|uint64(b.file.Read(firmware.QueueAddress(queue,
			firmware.RegBars+4*uint32(i)))), j.proc.name)
		if err != nil {
			return err
		}
		ctx := j.process.ctx
		if j.own>>i&1 == 1 {
			ctx = j.program.ctx
		}
		if losses := ctx.Losses(); !w.set || w.ctx != ctx || w.addr != addr || w.size != j.size[i] ||
			w.losses != losses {
			*w = window{ctx: ctx, addr: addr, size: j.size[i], set: true, epoch: w.epoch + 1, losses: losses}
		}
	}
	return nil
}

// Window implements engine.Memory.
func (m *callCache) Window(i int, off, n int64, write bool) ([]byte, error) {
	if in := m.b.d.cfg.Inject; in != nil {
		if _, ok := in.At(inject.Access); ok {
			return nil, m.injectedFault(i, off, n, write)
		}
	}
	if m.next < len(m.seq) {
		a := &m.seq[m.next]
		if int(a.bar) == i && a.off == off && a.n == n && a.write == write && a.epoch == m.bars[i].epoch {
			m.next++
			return a.mem, nil
		}
	}
	return m.translate(i, off, n, write)
}

// translate is an access that is not cached.
func (m *callCache) translate(i int, off, n int64, write bool) ([]byte, error) {
	if i < 0 || i >= len(m.bars) || !m.bars[i].set {
		return nil, fmt.Errorf("buffer-access register %d does not point at a buffer", i)
	}
	w := &m.bars[i]
	if off < 0 || n < 0 || uint64(off) > w.size || uint64(n) > w.size-uint64(off) {
		return nil, fmt.Errorf("bytes %#x to %#x of buffer-access register %d are outside its buffer of %#x bytes", off,
			off+n, i,
			w.size)
	}
	dir := translation.Read
	if write {
		dir = translation.Write
	}
	mem, err := w.ctx.Window(w.addr+uint64(off), uint64(n), dir, m.job.proc.name)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return mem, nil
	}
	a := access{bar: int32(i), write: write, epoch: w.epoch, off: off, n: n, mem: mem}
	switch {
	case m.next < len(m.seq):
		m.seq[m.next] = a
	case m.next < maxAccesses:
		m.seq = append(m.seq, a)
	default:
		return mem, nil
	}
	m.next++
	return mem, nil
}

// injectedFault returns the error of an access to an unmapped page.
func (m *callCache) injectedFault(i int, off, n int64, write bool) error {
	f := &translation.Fault{
		Stream: translation.NoSlot,
		Task:   m.job.proc.name,
		Len:    uint64(n),
		Access: translation.Read,
		Reason: translation.Unmapped,
		Limit:  translation.ApertureSize,
		Advice: "the fault was injected",
	}
	if write {
		f.Access = translation.Write
	}
	if i >= 0 && i < len(m.bars) && m.bars[i].set {
		f.Stream, f.Client, f.Addr = m.bars[i].ctx.Stream(), m.bars[i].ctx.Client(), m.bars[i].addr+uint64(off)
	}
	return f
}
