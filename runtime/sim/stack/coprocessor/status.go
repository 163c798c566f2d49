package coprocessor

import "fmt"

// Status is the status word of a completion: the status of PROGRAM_EVENT and DATA_CHAINING_EVENT and the error index of
// CH_ERROR_NOTIFICATION. The chapters say only that it is not a flat enumeration; these numbers are modelled.
type Status uint32

// The statuses.
const (
	StatusOK          Status = iota
	StatusNotReady           // the channel is not ready, or START is missing
	StatusIntegrity          // the message's checksum is wrong
	StatusMalformed          // a field is out of bounds
	StatusUnsupported        // no handler on this channel
	StatusDropped            // process not running, or cache handle in the wrong state
	StatusFull               // a queue or pool is full
	StatusProgram            // the firmware container failed validation
	StatusBusy               // the program has processes, the process runs
	StatusBuffer             // a buffer or register override does not fit the procedure
	StatusTranslation        // a translation fault
	StatusEngine             // a task broke a rule of the engine
	StatusAborted            // the task queue was aborted
	StatusReset              // a reset ends the call
	StatusPreempted          // a more urgent call aborted it; it starts again
	NumStatuses       = iota
)

// Disposition is one of the four ways in which the firmware treats a fault
// (chapter 29).
type Disposition uint8

// The dispositions.
const (
	NoFault   Disposition = iota
	Warn                  // a version-minor mismatch warns and continues
	Drop                  // torn-down process, wrong-state handle: dropped and counted
	Reject                // integrity, section or argument validation: rejected without running
	FaultDump             // failed invariant, exception, uncorrectable cache error: dump and reset
)

// String names the disposition.
func (d Disposition) String() string {
	return [...]string{"none", "warn", "drop", "reject", "fault", "?"}[min(d, 5)]
}

// StatusRow describes one status.
type StatusRow struct {
	Status      Status
	Name        string
	Disposition Disposition
}

// Statuses lists the statuses.
var Statuses = [NumStatuses]StatusRow{
	{StatusOK, "ok", NoFault},
	{StatusNotReady, "not ready", Reject},
	{StatusIntegrity, "integrity", Reject},
	{StatusMalformed, "malformed", Reject},
	{StatusUnsupported, "unsupported", Drop},
	{StatusDropped, "dropped", Drop},
	{StatusFull, "full", Reject},
	{StatusProgram, "program refused", Reject},
	{StatusBusy, "busy", Reject},
	{StatusBuffer, "buffer refused", Reject},
	{StatusTranslation, "translation fault", Reject},
	{StatusEngine, "engine fault", Reject},
	{StatusAborted, "aborted", Reject},
	{StatusReset, "reset", FaultDump},
	{StatusPreempted, "preempted", NoFault},
}

// String names the status.
func (s Status) String() string {
	if s < NumStatuses {
		return Statuses[s].Name
	}
	return fmt.Sprintf("status %d", uint32(s))
}
