package jsonform

import (
	"encoding/json"
	"io"
)

// indent is the indentation of one level.
const indent = "  "

// Write writes v as JSON.
func Write(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}
