package provenance

import "fmt"

// FormatError reports an invalid .zdb file.
type FormatError struct {
	Off   int64  // byte offset in the file, or -1 if the fault is not at a single offset
	Field string // the invalid part
	Msg   string // the value and the rule
}

// Error returns the place, the field and the rule.
func (e *FormatError) Error() string {
	if e.Off < 0 {
		return fmt.Sprintf("debug database: %s: %s", e.Field, e.Msg)
	}
	return fmt.Sprintf("debug database byte %#x: %s: %s", e.Off, e.Field, e.Msg)
}

func badf(off int64, field, format string, args ...any) error {
	return &FormatError{Off: off, Field: field, Msg: fmt.Sprintf(format, args...)}
}
