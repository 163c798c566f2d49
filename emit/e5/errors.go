package e5

import "fmt"

// FormatError reports an error in a descriptor's bytes and its position.
type FormatError struct {
	// Off is the byte offset in the file.
	Off int
	// Table and Field name the position in the schema; Field may be empty.
	Table, Field string
	// Msg states the rule, the value found and the limit.
	Msg string
}

func (e *FormatError) Error() string {
	at := e.Table
	if e.Field != "" {
		at += "." + e.Field
	}
	return fmt.Sprintf("e5: byte 0x%x: %s: %s", e.Off, at, e.Msg)
}

// ModelError reports what in a Program cannot be written.
type ModelError struct {
	// Path leads to the value, as in "function main: operation Op1_AneInference".
	Path string
	// Msg states the rule, the value found and the limit.
	Msg string
}

func (e *ModelError) Error() string {
	if e.Path == "" {
		return "e5: " + e.Msg
	}
	return "e5: " + e.Path + ": " + e.Msg
}
