package jsonform

import (
	"encoding/json"
	"io"
)

// indent is what each level adds.
const indent = "  "

// Write writes v.
func Write(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}
