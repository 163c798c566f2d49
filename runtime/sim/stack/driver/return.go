package driver

import "fmt"

// Return is a return code of a call into the kernel.
type Return uint32

// The return codes. If public notes and IOKit's headers differ, IOKit's value is used and the row's note has the other
// (Returns).
const (
	Success       Return = 0
	GeneralError  Return = 0xe00002bc
	NoMemory      Return = 0xe00002bd
	NoResources   Return = 0xe00002be
	NotPrivileged Return = 0xe00002c1
	BadArgument   Return = 0xe00002c2
	Closed        Return = 0xe00002c5
	Unsupported   Return = 0xe00002c7
	Busy          Return = 0xe00002d5
	Timeout       Return = 0xe00002d6
	NotReady      Return = 0xe00002d8
	NotPermitted  Return = 0xe00002e2
	Aborted       Return = 0xe00002eb
	NotFound      Return = 0xe00002f0
)

// ReturnRow is a line of Returns.
type ReturnRow struct {
	Code Return
	Name string
	Use  string
	Note string // the sources of the value
}

// Returns lists the codes.
var Returns = []ReturnRow{
	{Code: Success, Name: "kIOReturnSuccess", Use: "done", Note: "IOKit"},
	{Code: GeneralError, Name: "kIOReturnError", Use: "a firmware status that has no code of its own",
		Note: "IOKit; public notes have 0xe0000001"},
	{Code: NoMemory, Name: "kIOReturnNoMemory", Use: "the address space has no room", Note: "IOKit"},
	{Code: NoResources, Name: "kIOReturnNoResources", Use: "slots, queues or ports are full", Note: "IOKit"},
	{Code: NotPrivileged, Name: "kIOReturnNotPrivileged", Use: "an entitlement or the identity is missing",
		Note: "IOKit"},
	{Code: NotPermitted, Name: "kIOReturnNotPermitted", Use: "a container is not signed",
		Note: "chapter 8 of the guide"},
	{Code: BadArgument, Name: "kIOReturnBadArgument", Use: "a size or a null pointer, or a value out of range",
		Note: "chapter 27"},
	{Code: Closed, Name: "kIOReturnExclusiveAccess", Use: "the client is closed or closing",
		Note: "chapter 27; the name is IOKit's"},
	{Code: Unsupported, Name: "kIOReturnUnsupported", Use: "a disabled path or a stub", Note: "chapter 27"},
	{Code: Busy, Name: "kIOReturnBusy", Use: "in use, so it cannot go", Note: "IOKit"},
	{Code: Timeout, Name: "kIOReturnTimeout", Use: "the deadline passed", Note: "IOKit; public notes have 0xe0000404"},
	{Code: NotReady, Name: "kIOReturnNotReady", Use: "the channel is not ready",
		Note: "IOKit; public notes have 0xe00002d0"},
	{Code: Aborted, Name: "kIOReturnAborted", Use: "the request was cancelled", Note: "IOKit"},
	{Code: NotFound, Name: "kIOReturnNotFound", Use: "no such handle or surface", Note: "IOKit"},
}

// String returns the code's name and value.
func (r Return) String() string {
	for i := range Returns {
		if Returns[i].Code == r {
			return fmt.Sprintf("%s (%#x)", Returns[i].Name, uint32(r))
		}
	}
	return fmt.Sprintf("IOReturn %#x", uint32(r))
}

// Error returns String; a Return other than Success is an error.
func (r Return) Error() string { return r.String() }

// failure returns the return as an error, nil for Success.
func (r Return) failure() error {
	if r == Success {
		return nil
	}
	return r
}

// Error reports a failed call of a front end.
type Error struct {
	Call   string // the front end's call
	Return Return
	// Status is the framework's own status, if any: 24 for an unsupported usage type.
	Status int
	Cause  error // from the driver's log
}

// Error returns the call, the code and the cause.
func (e *Error) Error() string {
	s := fmt.Sprintf("driver: %s: %v", e.Call, e.Return)
	if e.Status != 0 {
		s += fmt.Sprintf(", status %d", e.Status)
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap returns the code and the cause.
func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Return}
	}
	return []error{e.Return, e.Cause}
}
