package protocol

import (
	"fmt"
	"slices"
)

// Procedure describes one procedure of a loaded program.
type Procedure struct {
	Content       ContentType
	IOBuffers     uint32 // numIoBuffers
	StatArrayBase uint64 // pStatArrayBaseOrig, device address
}

// Programs is the firmware's table of loaded programs, against which calls are checked. Its methods may be called from
// several goroutines.
type Programs interface {
	// Procedures returns procNbr; ok is false if the slot is empty.
	Procedures(programID int32) (procNbr uint32, ok bool)
	// Running reports whether the process of the program runs.
	Running(programID, processID int32) bool
	// Procedure returns a procedure whose index is below procNbr.
	Procedure(programID int32, procedureID uint32) Procedure
}

// CheckCall validates a call against its program. The call is dropped if the process does not run, and rejected if the
// procedure, its type, the statistics buffer or the number of buffers is wrong. in is nil except for an inference.
// Offsets in errors are as in a message on the control channel.
func CheckCall(p Programs, h Header, v *Variant, call *ProcedureCall, in *Inference) error {
	name := Rows[v.ID].command()
	if h.ProgramID == Unbound || h.ProcessID == Unbound {
		return of(bad(0x0c, "programId", h.ProgramID, "a loaded program and its process", "a call needs both"), name, 0)
	}
	procNbr, ok := p.Procedures(h.ProgramID)
	if !ok {
		return notRunning(name, h)
	}
	if h.ProcedureID >= procNbr {
		return of(bad(0x14, "procedureId", h.ProcedureID,
			fmt.Sprintf("getProcedureCallType(): invalid procedureId=%d, tot=%d", h.ProcedureID, procNbr),
			"procedureId < pProg->pProgram->procNbr"), name, 0)
	}
	proc := p.Procedure(h.ProgramID, h.ProcedureID)
	if !slices.Contains(v.Contents, proc.Content) {
		return of(bad(0x14, "procedureId", h.ProcedureID,
			fmt.Sprintf("getProcedureCallType() is ContentType_%d, want one of %v", proc.Content, v.Contents),
			""), name, 0)
	}
	if !p.Running(h.ProgramID, h.ProcessID) {
		return notRunning(name, h)
	}
	if s := call.Stats; s.Buffer != 0 && s.Size != 0 && s.Buffer < proc.StatArrayBase {
		at := HeaderSize // offset of the call's body
		switch {
		case in != nil:
			at += inferenceLayout.Size + len(in.Buffers)*BufferSize
		case v.Cache:
			at += installLayout.Size
		}
		return of(bad(callLayout.Fields[callStatsBuffer].Off, "stats.buffer", s.Buffer,
			fmt.Sprintf(">= pProc->pStatArrayBaseOrig (%#x)", proc.StatArrayBase), ""), name, at)
	}
	if n := uint64(proc.IOBuffers) + 1; in != nil && uint64(len(in.Buffers))+1 != n {
		return of(bad(inferenceLayout.Fields[1].Off, "bufNbr", len(in.Buffers)+1,
			fmt.Sprintf("pMsg->bufNbr == 1 + pAneProgramDesc2->procedures[procedureId].numIoBuffers = %d", n), ""),
			name, HeaderSize)
	}
	return nil
}

// notRunning returns the firmware's message for a call to a process that does not run.
func notRunning(command string, h Header) error {
	return fmt.Errorf("%w: %s dropped. prog %d process %d not running", ErrDropped, command, h.ProgramID, h.ProcessID)
}
