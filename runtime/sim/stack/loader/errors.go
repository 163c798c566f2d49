package loader

import (
	"fmt"
	"strings"
)

// Error is a container that is not loaded, and why.
type Error struct {
	Where string // the place, as "procedure \"net\", task 3 at text byte 0x600, Header.RBase0"
	Rule  string // the rule that is broken, and what to do where that helps; "" where Err says it
	Val   any    // the value found, or nil
	Limit any    // the bound or the value expected, or nil
	Err   error  // the cause, when another error is behind this one
}

// Error gives the place first, then rule, value and limit.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("loader: " + e.Where)
	if e.Rule != "" {
		b.WriteString(": " + e.Rule)
	}
	if e.Val != nil {
		fmt.Fprintf(&b, " (found %s", shown(e.Val))
		if e.Limit != nil {
			fmt.Fprintf(&b, ", limit %s", shown(e.Limit))
		}
		b.WriteString(")")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// shown prints addresses and sizes, which are unsigned here, as hexadecimal.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case uint32, uint64:
		return fmt.Sprintf("%#x", v)
	}
	return fmt.Sprint(v)
}
