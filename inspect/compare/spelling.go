package compare

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
)

// maxAtoms bounds the number of elements of a literal that are written.
const maxAtoms = 64

// maxBytes bounds the bytes of a value in a line.
const maxBytes = 96

// brief shortens a value to fit in a line.
func brief(s string) string {
	if len(s) <= maxBytes {
		return s
	}
	return strings.ToValidUTF8(s[:maxBytes], "") + " ..."
}

// spelled returns a value as text, with names replaced according to renamed.
func spelled(v mil.Value, renamed map[string]string) string {
	list := func(elems []mil.Value, open, end string) string {
		parts := make([]string, len(elems))
		for i, e := range elems {
			parts[i] = spelled(e, renamed)
		}
		return open + strings.Join(parts, ", ") + end
	}
	switch v := v.(type) {
	case *mil.Ref:
		if n, ok := renamed[v.Name]; ok {
			return n
		}
		return v.Name
	case *mil.Literal:
		var b strings.Builder
		n := 0
		for a := range v.Atoms() {
			if n++; n > maxAtoms {
				fmt.Fprintf(&b, ", ... %d in all", v.Len())
				break
			}
			if n > 1 {
				b.WriteString(", ")
			}
			b.WriteString(a)
		}
		if v.IsList() {
			return "[" + b.String() + "]"
		}
		return b.String()
	case *mil.BlobRef:
		return fmt.Sprintf("%s@%d", v.Path, v.Offset)
	case *mil.List:
		return list(v.Elems, "[", "]")
	case *mil.Tuple:
		return list(v.Elems, "(", ")")
	case *mil.Dict:
		parts := make([]string, len(v.Entries))
		for i, e := range v.Entries {
			parts[i] = spelled(e.Key, renamed) + ": " + spelled(e.Value, renamed)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(v)
}
