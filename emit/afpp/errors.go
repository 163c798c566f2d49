package afpp

import (
	"fmt"
	"strings"
)

// FormatError reports an error in the bytes of a container and its position.
type FormatError struct {
	Off   int64  // absolute byte offset of the field at fault
	Field string // the field, as "program 0.text.record 3.slot"
	Rule  string // the rule that is broken, and what to do about it if that helps
	Val   any    // the value found, nil if the rule has none
	Limit any    // the bound or the value expected, nil if the rule has none
}

// Error returns the position first, then rule, value and limit.
func (e *FormatError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "afpp: byte %#x, %s: %s", e.Off, e.Field, e.Rule)
	if e.Val != nil {
		b.WriteString(" (found " + shown(e.Val))
		if e.Limit != nil {
			b.WriteString(", limit " + shown(e.Limit))
		}
		b.WriteString(")")
	}
	return b.String()
}

// shown prints numbers as hexadecimal where they are addresses or bits, which
// are unsigned here, and counts, which are ints, as decimal.
func shown(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case uint8, uint16, uint32, uint64:
		return fmt.Sprintf("%#x", v)
	default:
		return fmt.Sprint(v)
	}
}
