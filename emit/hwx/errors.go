package hwx

import (
	"fmt"
	"strings"
)

// FormatError reports an error in the bytes of a container and its position.
type FormatError struct {
	Off   int64  // absolute byte offset, in the file, of the field at fault
	Field string // the field, as "segment 2.section 0.size"
	Msg   string // the rule that is broken, with its limit and what to do about it if that helps
	Val   any    // the value found, or nil
	Err   error  // the wrapped error, or nil
}

// Error returns the place first, then rule and value.
func (e *FormatError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hwx: byte %#x", e.Off)
	if e.Field != "" {
		b.WriteString(", " + e.Field)
	}
	b.WriteString(": " + e.Msg)
	switch v := e.Val.(type) {
	case nil:
	case string:
		fmt.Fprintf(&b, " (found %q)", v)
	case uint32, uint64, int, int64, uint8, uint16:
		fmt.Fprintf(&b, " (found %#x)", v)
	default:
		fmt.Fprintf(&b, " (found %v)", v)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// BuildError reports an error in an Image passed to Build.
type BuildError struct {
	Field string // the part of the Image, as "Surfaces[1].Size"
	Msg   string // the rule, its limit, and what to do
	Val   any    // the value at fault, or nil
}

// Error names the part of the image, the rule and the value.
func (e *BuildError) Error() string {
	s := "hwx: image " + e.Field + ": " + e.Msg
	switch v := e.Val.(type) {
	case nil:
		return s
	case string:
		return s + fmt.Sprintf(" (got %q)", v)
	default:
		return s + fmt.Sprintf(" (got %#x)", v)
	}
}

// SpaceError reports an image whose parts take more than the engine's addresses from Base to AddrLimit.
type SpaceError struct {
	Bytes uint64 // that scratch, surfaces, text and constants take together
}

// Error returns the bytes and the limit.
func (e *SpaceError) Error() string {
	return fmt.Sprintf("scratch, surfaces, tasks and constants take %d bytes of the engine's address space, which "+
		"has %d; split the model or use smaller tensors", e.Bytes, uint64(AddrLimit-Base))
}
