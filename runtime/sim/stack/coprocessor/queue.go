package coprocessor

import "github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"

// queueFile holds the registers of the hardware queues in the engine's aperture (table 29.7).
type queueFile struct {
	words [fileWords]uint32
	bell  int // queue whose doorbell has rung; -1 for none
	// see, if not nil, is called with each register that is written.
	see func(addr, v uint32)
}

const (
	fileBase  = firmware.RegDoorbell
	fileEnd   = firmware.RegBars + (firmware.NumHardwareQueues-1)*firmware.QueueStride + 4*firmware.BlockWords
	fileWords = (fileEnd - fileBase) / 4
)

// init marks every queue vacant.
func (f *queueFile) init() {
	f.bell = -1
	for q := range firmware.NumHardwareQueues {
		f.vacate(q, true)
	}
}

func (f *queueFile) vacate(queue int, vacant bool) {
	f.words[(firmware.QueueAddress(queue, firmware.RegStatus)-fileBase)/4] = bit(vacant)
}

// Read implements firmware.Registers.
func (f *queueFile) Read(addr uint32) uint32 {
	if i := (addr - fileBase) / 4; i < fileWords {
		return f.words[i]
	}
	return 0
}

// Write implements firmware.Registers. A write to a queue's doorbell occupies the queue.
func (f *queueFile) Write(addr, v uint32) {
	i := (addr - fileBase) / 4
	if i >= fileWords {
		return
	}
	f.words[i] = v
	if f.see != nil {
		f.see(addr, v)
	}
	if off := addr - firmware.RegDoorbell; v != 0 && off < firmware.NumHardwareQueues*firmware.QueueStride &&
		off%firmware.QueueStride == 0 {
		f.bell = int(off / firmware.QueueStride)
		f.vacate(f.bell, false)
	}
}

// rung returns the queue whose doorbell has rung since the last call.
func (f *queueFile) rung() (int, bool) {
	q := f.bell
	f.bell = -1
	return q, q >= 0
}

// drained marks a queue vacant again.
func (f *queueFile) drained(queue int) { f.vacate(queue, true) }
