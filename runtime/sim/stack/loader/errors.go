package loader

import (
	"fmt"
	"strings"
)

// Error reports why a container cannot be loaded.
type Error struct {
	Where string // the place, such as "procedure \"net\", task 3 at text byte 0x600, Header.RBase0"
	Rule  string // the broken rule, and what to do; "" if Err says it
	Val   any    // the value found, or nil
	Limit any    // the bound or the value expected, or nil
	Err   error  // the cause, if any
}

// Error returns the place, then rule, value and limit.
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

// shown formats addresses and sizes, which are unsigned here, in hexadecimal.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case uint32, uint64:
		return fmt.Sprintf("%#x", v)
	}
	return fmt.Sprint(v)
}
