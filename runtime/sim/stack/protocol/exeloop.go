package protocol

import (
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/wire"
)

// LoopRow is one line of ExeLoop.
type LoopRow struct {
	Wire    uint16
	Meaning string
	VTable  string // target of the compare tree
	Does    string
	Body    ID // the command whose body the message has
}

// ExeLoop lists the nine identifiers that CAneEngineExeLoop::dispatch implements (table 30.6). Bodies follow from the
// identifiers' names; the body of 0x212 is modelled as the plain call's.
var ExeLoop = []LoopRow{
	{Wire: 0x002d, Meaning: "CH_DATA_FILE_LOAD2", VTable: "+0x250", Does: "guarded by the engine flag at [x19,#0x2bb]",
		Body: 0x2b},
	{Wire: 0x0204, Meaning: "procedure call", VTable: "+0x200",
		Does: "validate (programId, procId) then dispatch, the inference trigger", Body: IDProcedureCall},
	{Wire: 0x0209, Meaning: "cache-request trigger", VTable: "+0x218", Does: "logs cacheHandler", Body: IDCacheTrigger},
	{Wire: 0x020a, Meaning: "cache-request submit", VTable: "cache path", Does: "cache-request submission",
		Body: IDCacheRecycle},
	{Wire: 0x020c, Meaning: "procedure call with bars", VTable: "+0x208 region",
		Does: "custom buffer-address-register call", Body: IDCallBars},
	{Wire: 0x0211, Meaning: "procedure call with events", VTable: "events path",
		Does: "event-signalled call, force-disable-cache arm", Body: IDCallEvents},
	{Wire: 0x0212, Meaning: "procedure-call variant", VTable: "+0x210", Does: "shared reply and verify path",
		Body: IDProcedureCall},
	{Wire: 0x0404, Meaning: "RETURN_PROCESS_ID", VTable: "+0x190", Does: "process-id handshake reply", Body: 0x59},
	{Wire: 0xff00, Meaning: "BACK_CHANNEL_RPC", VTable: "func 0x47818",
		Does: "length-and-magic guarded host-to-firmware payload", Body: IDBackChannel},
}

// LoopRowOf returns the line of a wire identifier, or nil for one that the loop does not implement.
func LoopRowOf(wire uint16) *LoopRow {
	for i := range ExeLoop {
		if ExeLoop[i].Wire == wire {
			return &ExeLoop[i]
		}
	}
	return nil
}

// LoopHeader is the header on the execution loop's channel. Its offsets in chapter 30 differ from the control
// channel's: the identifier, 16 bits wide, at 4, then program, process, procedure and priority. The contents at 0 and 6
// are modelled as the body's length and zero.
type LoopHeader struct {
	Size        uint32 `at:"0x00" name:"size"` // bytes of the body
	Wire        uint16 `at:"0x04" name:"id"`
	Zero        uint16 `at:"0x06" name:"padding"`
	ProgramID   int32  `at:"0x08" name:"programId"`
	ProcessID   int32  `at:"0x0c" name:"processId"`
	ProcedureID uint32 `at:"0x10" name:"procedureId"`
	Priority    uint32 `at:"0x14" name:"priority"`
}

var loopLayout = wire.New[LoopHeader](HeaderSize)

// Append appends the header's 24 bytes.
func (h *LoopHeader) Append(p []byte) []byte { return loopLayout.Append(p, h) }

// LoopMessage is a decoded message of the execution loop's channel.
type LoopMessage struct {
	Row    *LoopRow
	Header LoopHeader
	Body   Body
}

// Unsupported reports a wire identifier that the execution loop does not implement.
type Unsupported struct{ Wire uint16 }

func (u *Unsupported) Error() string {
	return fmt.Sprintf("protocol: byte 0x4: Cmd %#x is not supported through ExeLoop cmd channel", u.Wire)
}

// Is makes it an unsupported command.
func (u *Unsupported) Is(target error) bool { return target == ErrUnsupported }

// Bytes returns the message's bytes, with the body's length filled in.
func (m *LoopMessage) Bytes() []byte {
	body := m.Body.Append(nil)
	h := m.Header
	h.Size = uint32(len(body))
	return append(h.Append(make([]byte, 0, HeaderSize+len(body))), body...)
}

// DecodeLoop reads one message of the execution loop's channel and returns its length in bytes.
func DecodeLoop(msg []byte) (*LoopMessage, int, error) {
	if len(msg) < HeaderSize {
		return nil, 0, bad(0, "header", len(msg), "24 bytes", "send the whole header")
	}
	var h LoopHeader
	loopLayout.Decode(msg, &h)
	row := LoopRowOf(h.Wire)
	if row == nil {
		return nil, 0, &Unsupported{h.Wire}
	}
	check := Header{ID: uint32(h.Wire), Priority: h.Priority, ProgramID: h.ProgramID, ProcessID: h.ProcessID}
	var err error
	switch {
	case uint64(h.Size) > uint64(len(msg)-HeaderSize):
		err = bad(0, "size", h.Size, "maxCmdBufSize >= sizeof(*pMsg) + size", "the buffer is shorter than the body")
	case h.Zero != 0:
		err = bad(6, "padding", h.Zero, "0", "")
	default:
		// The check reports offsets of the control header; the loop's differ.
		err = loopOffset(check.check())
	}
	if err != nil {
		return nil, 0, of(err, row.Meaning, 0)
	}
	end := HeaderSize + int(h.Size)
	body, err := DecodeBody(&Rows[row.Body], msg[HeaderSize:end:end])
	if err != nil {
		return nil, 0, of(err, row.Meaning, HeaderSize)
	}
	return &LoopMessage{row, h, body}, end, nil
}

// loopOffset replaces the offset of a header's field in an error by that in the execution loop's header.
func loopOffset(err error) error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		for _, f := range loopLayout.Fields {
			if f.Name == e.Field && f.Offset >= 0x08 {
				e.Off = f.Offset
			}
		}
	}
	return err
}

// control returns the header in the form of the control channel, with the logger's number of the body.
func (m *LoopMessage) control() Header {
	h := m.Header
	return Header{
		ID:          uint32(m.Row.Body),
		Size:        h.Size,
		Priority:    h.Priority,
		ProgramID:   h.ProgramID,
		ProcessID:   h.ProcessID,
		ProcedureID: h.ProcedureID,
	}
}
