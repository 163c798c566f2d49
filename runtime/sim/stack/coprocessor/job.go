package coprocessor

import (
	"time"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// numJobs is the direct procedure-call event pool (modelled).
const numJobs = 64

// job is one procedure call from its acceptance to its completion.
type job struct {
	slot    int
	row     *protocol.Row
	header  protocol.Header
	call    protocol.ProcedureCall
	program *program
	process *process
	proc    *procedure
	key     protocol.QueueKey
	chain   *chain // of a trigger
	handler uint64 // of a trigger
	stamp   uint64 // of a trigger
	began   time.Duration
	logged  uint64 // lines of the firmware's log
	step    trace.Step
	status  Status
	err     error
	waiting bool
	signal  int  // the kernel's, while it waits
	queued  bool // in the scheduler

	// next is the following sub-packet of an inference call, which starts when this job has ended without an error;
	// follows is set for all but the first. reply is the header of the completion.
	next    *job
	follows bool
	reply   protocol.Header

	// The buffer-access registers of the call.
	addr  [afpp.MaxBars]uint64
	size  [afpp.MaxBars]uint64
	own   uint32 // registers of the program's own buffers
	bound uint32 // registers with a buffer
}

// jobTable holds the jobs.
type jobTable struct {
	pool   *firmware.Pool
	jobs   [numJobs]job
	parked []*job // waiting for shared events
}

func (t *jobTable) init(n int) (err error) {
	t.pool, err = firmware.NewPool("direct procedure-call event", n)
	return err
}

func (t *jobTable) take() (*job, error) {
	i, err := t.pool.Take()
	if err != nil {
		return nil, err
	}
	j := &t.jobs[i]
	*j = job{slot: i}
	return j, nil
}

func (t *jobTable) free(j *job) {
	_ = t.pool.Release(j.slot) // never fails: completion frees a job once
	j.call, j.process, j.program, j.proc, j.chain = protocol.ProcedureCall{}, nil, nil, nil, nil
	j.next = nil
}

// bind sets the registers' buffers: the container's, then the call's, then its custom bars.
func (b *boot) bind(j *job) error {
	p := j.proc
	for i := range p.bars {
		if r := &p.bars[i]; r.usage != 0 && r.addr != 0 {
			j.addr[i], j.size[i] = r.addr, r.size
			j.own |= 1 << i
			j.bound |= 1 << i
		}
	}
	set := func(what string, i int, id uint32, addr, size uint64, usage translation.Usage) error {
		if id >= afpp.MaxBars || p.bars[id].usage == 0 {
			return refusef(StatusBuffer, "%s[%d]: procedure %q has no buffer-access register %d", what, i, p.name, id)
		}
		if usage != 0 && p.bars[id].usage != usage {
			return refusef(StatusBuffer, "%s[%d]: register %d of procedure %q takes %s, got %s", what, i, id, p.name,
				p.bars[id].usage, usage)
		}
		if addr == 0 || addr%translation.DMAAlign != 0 || size == 0 {
			return refusef(StatusBuffer,
				"%s[%d]: register %d: got %d bytes at %#x, want a nonzero multiple of %d and at least one byte", what,
				i, id, size, addr, translation.DMAAlign)
		}
		if _, err := b.runtime(addr, p.name); err != nil {
			return &refusal{StatusTranslation, err}
		}
		j.addr[id], j.size[id] = addr, size
		j.own &^= 1 << id
		j.bound |= 1 << id
		return nil
	}
	for i, x := range j.call.Inputs {
		if err := set("inputBuffer", i, x.BarID, x.Buffer, x.Size, translation.Input); err != nil {
			return err
		}
	}
	for i, x := range j.call.Outputs {
		if err := set("outputBuffer", i, x.BarID, x.Buffer, x.Size, translation.Output); err != nil {
			return err
		}
	}
	for i, x := range j.call.Bars {
		if err := set("bar", i, x.BarID, x.Value, x.BufferSize, 0); err != nil {
			return err
		}
	}
	if open := p.ports &^ j.bound; open != 0 {
		for i := range p.bars {
			if open>>i&1 == 1 {
				return refusef(StatusBuffer, "register %d of procedure %q, an %s, has no buffer; bind it in the call",
					i,
					p.name, p.bars[i].usage)
			}
		}
	}
	for i, k := range j.call.Order {
		if int(k) >= len(p.ops) {
			return refusef(StatusMalformed, "customExecuteOrder[%d] is %d; procedure %q has %d operations", i, k,
				p.name,
				len(p.ops))
		}
	}
	return nil
}
