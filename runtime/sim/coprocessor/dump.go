package coprocessor

// Section is one part of a dump.
type Section struct {
	Name string
	Text string
}

// CoreDump is the post-mortem of a fault, in its fixed order. The firmware
// blocks while the host drains it.
type CoreDump struct {
	Sections []Section
	next     int
}

// Next drains the next section.
func (c *CoreDump) Next() (Section, bool) {
	if c == nil || c.next >= len(c.Sections) {
		return Section{}, false
	}
	c.next++
	return c.Sections[c.next-1], true
}

// Fault is why the firmware has stopped: it takes nothing until the host has
// reset it.
type Fault struct {
	Class string // exception class
	Task  string // faulting task
	Err   error
}

// Error names class, task and cause.
func (f *Fault) Error() string {
	return "firmware fault: " + f.Class + " in " + f.Task + ": " + f.Err.Error()
}

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Dump returns the staged dump, nil when there is none.
func (d *Device) Dump() *CoreDump { return nil }
