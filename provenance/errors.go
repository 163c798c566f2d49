package provenance

import "fmt"

// FormatError is a .zdb file that breaks a rule.
type FormatError struct {
	Off   int64  // byte offset in the file, -1 where the fault is in no one place
	Field string // what is wrong
	Msg   string // the rule
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
