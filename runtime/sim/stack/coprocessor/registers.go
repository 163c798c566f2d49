package coprocessor

import "github.com/zinc-compiler/zinc/compile/cost"

// registers are the contents of the apertures. Only registers of the bring-up and the doorbell have an effect; the
// others keep what was written.
type registers struct {
	words   [NumBanks]map[uint32]uint32
	scratch [NumScratch]uint32
	rvbar   uint64
	cpu     bool // released from reset
	irq     bool // interrupts to the host
	bells   uint32
	power   bool
	gate    bool
	fast    bool // the clock has its full rate
	counts  [NumCounters]uint32
	armed   bool
}

// The counters of the performance-counter block; which it has is modelled.
const (
	CountTasks       = iota // tasks of the engine
	CountNanoseconds        // of them
	CountDMA                // tasks that DMA limits
	NumCounters      = iota
)

// countTask adds a task to the counters that the kernel has armed.
func (d *Device) countTask(t cost.Time, bound cost.Term) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := &d.regs; r.armed {
		r.counts[CountTasks]++
		r.counts[CountNanoseconds] += uint32(t)
		r.counts[CountDMA] += bit(bound == cost.DMA)
	}
}

// maxHeld bounds the number of written registers of a bank.
const maxHeld = 1024

func (r *registers) up() bool { return r.power && r.gate }

// reset clears the registers, as loss of power does.
func (r *registers) reset() {
	power, gate := r.power, r.gate
	*r = registers{power: power, gate: gate}
}

// Read32 reads a register. An aperture without power reads zero, except the
// power registers.
func (d *Device) Read32(b Bank, off uint32) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &d.regs
	switch {
	case b >= NumBanks || off%4 != 0 || off >= Banks[b].Size:
		return 0
	case b == PS && off == RegPower:
		return bit(r.power)
	case b == PS && off == RegClock:
		return bit(r.fast)
	case b == PWGATE && off == RegGate:
		return bit(r.gate)
	case !r.up():
		return 0
	case b == ANE && off >= RegScratch && off < RegScratch+4*NumScratch:
		return r.scratch[(off-RegScratch)/4]
	case b == ANE && off == RegRVBAR:
		return uint32(r.rvbar)
	case b == ANE && off == RegRVBAR+4:
		return uint32(r.rvbar >> 32)
	case b == ANE && off == RegCPU:
		return bit(r.cpu)
	case b == ANE && off == RegIRQ:
		return bit(r.irq)
	case b == ANE && off == RegDoorbell:
		return r.bells
	case b == ANEHAL2 && off == RegSaved:
		return d.saved
	case b == ANEHAL2 && off == RegCapture:
		return d.captured
	case b == ANEHAL1 && off >= RegCounters && off < RegCounters+4*NumCounters:
		return r.counts[(off-RegCounters)/4]
	case b == ANE && off >= fileBase && off < fileEnd && d.boot != nil:
		return d.boot.file.Read(off)
	}
	return r.words[b][off]
}

// Write32 writes a register. Writes to apertures that do not exist or have no power are lost.
func (d *Device) Write32(b Bank, off uint32, v uint32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &d.regs
	switch {
	case b >= NumBanks || off%4 != 0 || off >= Banks[b].Size:
	case b == PS && off == RegPower, b == PWGATE && off == RegGate:
		on, was := v&1 == 1, r.up()
		if b == PS {
			r.power = on
		} else if on || !was || d.fabric.gate() { // a link that is not ready keeps its clock
			r.gate = on
		}
		switch {
		case !r.up():
			if was && d.boot != nil {
				d.saved = RegisterValid | uint32(d.boot.loop.State())
			}
			r.reset()
			d.hold()
		case !was:
			d.fabric.up(d.cfg.bootValue("fabric", linkUp))
		}
	case !r.up():
	case b == ANE && off >= RegScratch && off < RegScratch+4*NumScratch:
		r.scratch[(off-RegScratch)/4] = v
	case b == ANE && off == RegRVBAR:
		r.rvbar = r.rvbar&^0xffff_ffff | uint64(v)
	case b == ANE && off == RegRVBAR+4:
		r.rvbar = r.rvbar&0xffff_ffff | uint64(v)<<32
	case b == ANE && off == RegCPU:
		d.releaseCPU(v&1 == 1)
	case b == ANE && off == RegIRQ:
		r.irq = v&1 == 1
	case b == ANE && off == RegDoorbell:
		r.bells |= v
	case b == PS && off == RegClock:
		r.fast = v&1 == 1
	case b == ANEHAL1 && off == RegArm:
		if r.armed = v&1 == 1; r.armed {
			clear(r.counts[:])
		}
	case len(r.words[b]) < maxHeld:
		if r.words[b] == nil {
			r.words[b] = map[uint32]uint32{}
		}
		r.words[b][off] = v
	}
}

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
