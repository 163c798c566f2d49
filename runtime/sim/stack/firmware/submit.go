package firmware

import "fmt"

// The hardware queues, in the engine's register aperture (table 29.7).
const (
	NumHardwareQueues = 8
	QueueStride       = 0x148 // bytes
	BlockWords        = 35    // of the task-descriptor register block

	RegDoorbell = 0x24000 // submit doorbell
	RegSize     = 0x24004 // size and count
	RegPriority = 0x24008 // priority and network identifier
	RegEnable   = 0x25000 // queue enable
	RegStatus   = 0x2500c // queue status and vacancy
	RegBars     = 0x250a0 // buffer-access-register file
)

// QueueOf returns the hardware queue of a priority: each level has its own (modelled).
func QueueOf(priority int) int { return priority }

// QueueAddress returns the address of a queue's register.
func QueueAddress(queue int, offset uint32) uint32 { return offset + uint32(queue)*QueueStride }

// Registers is an engine's register aperture.
type Registers interface {
	Read(addr uint32) uint32
	Write(addr, v uint32)
}

// Submission is the work for a hardware queue.
type Submission struct {
	Queue    int    // hardware queue, below 8
	Priority int    // below 8
	Network  int    // 1 to 255
	Words    uint16 // size of the first task, in words
	Count    uint16 // tasks
	Block    [BlockWords]uint32
}

// vacancyPolls bounds the polls for a vacancy of a queue; modelled.
const vacancyPolls = 64

// Submit starts work as the submit path does: it checks the identifiers, polls the queue for vacancy, enables it,
// copies the register block and rings the doorbell. For a full queue it writes nothing and returns a *CapacityError.
//
// Modelled: any set bit of the status register means a vacancy; size and count, and priority and network, are the high
// and low halves of their words.
func Submit(r Registers, s Submission) error {
	for _, c := range []struct {
		field       string
		v, min, max int
	}{
		{field: "hardware queue", v: s.Queue, min: 0, max: NumHardwareQueues - 1},
		{field: "priority", v: s.Priority, min: 0, max: NumPriorities - 1},
		{field: "network identifier", v: s.Network, min: 1, max: NumTaskQueues},
	} {
		if err := between(c.field, int64(c.v), int64(c.min), int64(c.max)); err != nil {
			return err
		}
	}
	if !vacant(r, s.Queue) {
		return &CapacityError{fmt.Sprintf("hardware queue %d", s.Queue), 1}
	}
	write := func(offset, v uint32) { r.Write(QueueAddress(s.Queue, offset), v) }
	write(RegEnable, 1)
	for i, v := range s.Block {
		write(RegBars+4*uint32(i), v)
	}
	write(RegSize, uint32(s.Words)<<16|uint32(s.Count))
	write(RegPriority, uint32(s.Priority)<<16|uint32(s.Network))
	write(RegDoorbell, 1)
	return nil
}

func vacant(r Registers, queue int) bool {
	for range vacancyPolls {
		if r.Read(QueueAddress(queue, RegStatus)) != 0 {
			return true
		}
	}
	return false
}
