package protocol

import (
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/wire"
)

// Limits of the header.
const (
	HeaderSize   = 24
	Priorities   = 8   // fwPriority < 8
	MaxPrograms  = 144 // program slots; programId is less
	MaxProcesses = 288 // processId is less
	Unbound      = -1  // programId or processId of no slot
)

// Header is sCSneControllerCmdHdr, the six fields before every body (table
// 30.1). ID is in the numbering of the channel that carries the message.
type Header struct {
	ID          uint32 `at:"0x00" name:"id"`
	Size        uint32 `at:"0x04" name:"size"`        // bytes of the body that follows
	Priority    uint32 `at:"0x08" name:"priority"`    // 0 to 7
	ProgramID   int32  `at:"0x0c" name:"programId"`   // slot of a loaded program, or Unbound
	ProcessID   int32  `at:"0x10" name:"processId"`   // process of the program, or Unbound
	ProcedureID uint32 `at:"0x14" name:"procedureId"` // index into the program's procedure table
}

var headerLayout = wire.New[Header](HeaderSize)

// Append appends the header's 24 bytes.
func (h *Header) Append(p []byte) []byte { return headerLayout.Append(p, h) }

// check refuses values outside the ranges of the header.
func (h *Header) check() error {
	switch {
	case h.Priority >= Priorities:
		return bad(0x08, "priority", h.Priority, "fwPriority < 8", "0 and 1 are real time, 2 to 7 normal")
	case h.ProgramID < Unbound || h.ProgramID >= MaxPrograms:
		return bad(0x0c, "programId", h.ProgramID, "want -1 to 143", "name a loaded program")
	case h.ProcessID < Unbound || h.ProcessID >= MaxProcesses:
		return bad(0x10, "processId", h.ProcessID, "want -1 to 287", "name a process of the program")
	}
	return nil
}

// DecodeHeader reads and checks the header of a message in a buffer of
// maxCmdBufSize = len(msg) bytes: maxCmdBufSize >= sizeof(*pMsg) + pCmdHdr->size.
func DecodeHeader(msg []byte) (Header, error) {
	if len(msg) < HeaderSize {
		return Header{}, bad(0, "header", len(msg), "24 bytes", "send the whole header")
	}
	var h Header
	headerLayout.Decode(msg, &h)
	if uint64(h.Size) > uint64(len(msg)-HeaderSize) {
		return h, bad(0x04, "size", h.Size, "maxCmdBufSize >= sizeof(*pMsg) + pCmdHdr->size",
			"the buffer is shorter than the body")
	}
	return h, h.check()
}

// Class is one of the two scheduling classes.
type Class uint8

// The scheduling classes.
const (
	Realtime Class = iota + 1 // high, separately admitted
	Normal                    // the queue
)

func (c Class) String() string {
	switch c {
	case Realtime:
		return "realtime"
	case Normal:
		return "normal"
	}
	return "unknown class"
}

// PriorityBand is one line of PriorityBands.
type PriorityBand struct {
	First, Last uint32
	Class       Class
	Gate        string
}

// PriorityBands maps the eight levels onto the two classes (table 30.2).
var PriorityBands = []PriorityBand{
	{First: 0, Last: 1, Class: Realtime, Gate: "(priority >= 0 && priority <= 1)"},
	{First: 2, Last: 7, Class: Normal, Gate: "(priority >= 2 && priority <= 7)"},
}

// ClassOf returns the class of a priority level, or 0 for an invalid level.
func ClassOf(priority uint32) Class {
	for _, b := range PriorityBands {
		if priority >= b.First && priority <= b.Last {
			return b.Class
		}
	}
	return 0
}

// QueueKey is the scheduler's key of a submission.
type QueueKey struct {
	UserID, JobID       uint32
	Priority            uint32 // below Priorities
	HWQueue, TaskQueue  uint32
	ScheduleInfoQueueID uint32 // queueId < priorityQCount
}

// String lists the key's parts in the order of chapter 30.
func (k *QueueKey) String() string {
	return fmt.Sprintf("(userId %d, jobId %d, fwPriority %d, hwqId %d, tqId %d, queueId %d)", k.UserID, k.JobID,
		k.Priority, k.HWQueue, k.TaskQueue, k.ScheduleInfoQueueID)
}
