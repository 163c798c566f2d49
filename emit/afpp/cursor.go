package afpp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cursor takes fields off a section's body. The first fault is kept; values read after it are zero.
type cursor struct {
	b     []byte
	size  uint64 // of the body, b being the part that is present
	base  int64  // of b in the file
	at    int    // of the next field
	last  int    // of the field taken last
	where string
	err   *FormatError

	// note, if set, is called for a rule that a value breaks, and the value is accepted. Only a body that ends early is
	// then still a fault.
	note func(*FormatError)
}

// fail keeps the first fault, at an offset of the body.
func (c *cursor) fail(at int, field, rule string, val, limit any) {
	c.keep(&FormatError{Off: c.base + int64(at), Field: c.where + "." + field, Rule: rule, Val: val, Limit: limit})
}

func (c *cursor) keep(e *FormatError) {
	if c.err == nil {
		c.err = e
	}
}

// tell reports a fault after which reading can continue, or keeps it if there is no note.
func (c *cursor) tell(e *FormatError) {
	if c.note == nil || c.err != nil {
		c.keep(e)
		return
	}
	c.note(e)
}

func (c *cursor) left() int { return len(c.b) - c.at }

// take returns the next n bytes.
func (c *cursor) take(n int, field string) []byte {
	c.last = c.at
	if c.err == nil && n > c.left() {
		c.fail(c.at, field, "the section's body is truncated here", n, c.left())
	}
	if c.err != nil {
		return nil
	}
	c.at += n
	return c.b[c.last:c.at:c.at]
}

func (c *cursor) u32(field string) uint32 {
	if b := c.take(4, field); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64(field string) uint64 {
	if b := c.take(8, field); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count reads the number of entries of at least size bytes each, which must fit into the remaining bytes.
func (c *cursor) count(field string, size int) int {
	n := c.u32(field)
	if int64(n) > int64(c.left()/size) {
		c.fail(c.last, field, fmt.Sprintf("entries of %d bytes do not fit into the rest of the body", size), int64(n),
			c.left()/size)
		return 0
	}
	return int(n)
}

// check fails with the field taken last unless ok.
func (c *cursor) check(ok bool, field, rule string, val, limit any) {
	c.checkAt(ok, c.last, field, rule, val, limit)
}

func (c *cursor) checkAt(ok bool, at int, field, rule string, val, limit any) {
	if !ok {
		c.tell(&FormatError{Off: c.base + int64(at), Field: c.where + "." + field, Rule: rule, Val: val, Limit: limit})
	}
}

// name takes a name.
func (c *cursor) name(field string) string {
	n := c.u32(field + ".length")
	c.check(n >= 1 && n <= MaxName, field+".length", "a name has 1 to 255 bytes", int64(n), MaxName)
	if c.err != nil {
		return ""
	}
	s := string(c.take(int(n), field))
	if why := badName(s); why != "" {
		c.fail(c.last, field, why, s, nil)
	}
	if pad := c.take(-int(n)&3, field+".padding"); len(bytes.Trim(pad, "\x00")) > 0 {
		c.fail(c.last, field+".padding", "must be zero", fmt.Sprintf("%x", pad), nil)
	}
	return s
}

// badName returns why a name is invalid, or "".
func badName(s string) string {
	if !utf8.ValidString(s) {
		return "a name is UTF-8"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "a name has only printable characters"
	}
	return ""
}

// done fails when bytes are left.
func (c *cursor) done() {
	if c.err == nil && c.left() > 0 {
		c.fail(c.at, "end", "bytes after the last entry", c.left(), 0)
	}
}

// CheckName says why a container cannot contain a name; nil if it can.
func CheckName(s string) error {
	why := badName(s)
	switch {
	case len(s) == 0 || len(s) > MaxName:
		why = fmt.Sprintf("want a name of 1 to %d bytes, got %d", MaxName, len(s))
	case why == "":
		return nil
	}
	return fmt.Errorf("afpp: name %q: %s", s[:min(len(s), MaxName)], why)
}
