package netplist

import (
	"fmt"
	"strings"
)

// An Error is an invalid description, or one that zinc does not support.
type Error struct {
	File    string // of the property list or the weight file
	Network string // "" for the list itself
	Unit    string // unit, input or output; "" for the network itself
	Key     string // with the keys that lead to it, separated by dots
	Rule    string // the rule
	Value   string // the value found, "" if something is missing
	Hint    string // what to do
}

// Error returns the place, the rule, the value and what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	for _, p := range []struct{ what, name string }{{"network", e.Network}, {"unit", e.Unit}} {
		if p.name != "" {
			fmt.Fprintf(&b, ": %s %q", p.what, p.name)
		}
	}
	if e.Key != "" {
		fmt.Fprintf(&b, ": %s", e.Key)
	}
	fmt.Fprintf(&b, ": %s", e.Rule)
	if e.Value != "" {
		fmt.Fprintf(&b, "; got %s", e.Value)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "; %s", e.Hint)
	}
	return b.String()
}

// maxShown is the number of bytes of a value that an error shows.
const maxShown = 80

// shown returns a property in the form for errors.
func shown(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return fmt.Sprintf("a dictionary of %d", len(v))
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	case []byte:
		return fmt.Sprintf("data of %d bytes", len(v))
	case string:
		if len(v) > maxShown {
			return fmt.Sprintf("%q and %d bytes more", v[:maxShown], len(v)-maxShown)
		}
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprint(v)
}
