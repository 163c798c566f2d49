package netplist

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A dict is a dictionary of the list with its place. The reader keeps the first error; after it accessors return zero
// values.
type dict struct {
	r             *reader
	network, unit string
	path          string // keys that lead to it, with a dot after each
	m             map[string]any
	used          map[string]bool
}

func (r *reader) dict(network, unit, path string, m map[string]any) *dict {
	return &dict{r: r, network: network, unit: unit, path: path, m: m, used: map[string]bool{}}
}

// fail reports an error at a key.
func (d *dict) fail(key, rule, value, hint string) {
	if d.r.err == nil {
		d.r.err = &Error{
			File:    d.r.name,
			Network: d.network,
			Unit:    d.unit,
			Key:     d.path + key,
			Rule:    rule,
			Value:   value,
			Hint:    hint,
		}
	}
}

func (d *dict) get(key string) (any, bool) {
	d.used[key] = true
	v, ok := d.m[key]
	return v, ok
}

// integer returns the integer at key, or def.
func (d *dict) integer(key string, def, low, high int64) int64 {
	v, ok := d.get(key)
	if !ok {
		return def
	}
	return d.asInteger(key, v, low, high)
}

func (d *dict) asInteger(key string, v any, low, high int64) int64 {
	var n int64
	switch v := v.(type) {
	case uint64:
		if v > math.MaxInt64 {
			d.fail(key, fmt.Sprintf("must be an integer from %d to %d", low, high), fmt.Sprint(v), "")
			return low
		}
		n = int64(v)
	case int64:
		n = v
	default:
		d.fail(key, "must be an integer", shown(v), "write it as an integer element")
		return low
	}
	if n < low || n > high {
		d.fail(key, fmt.Sprintf("must be from %d to %d", low, high), fmt.Sprint(n), "")
		return low
	}
	return n
}

// need reports a missing key.
func (d *dict) need(key, hint string) bool {
	if _, ok := d.m[key]; !ok {
		d.fail(key, "is missing", "", hint)
		return false
	}
	return true
}

// word returns the string at key, which must be one of words, or the first of them.
func (d *dict) word(key, hint string, among ...string) string {
	v, ok := d.get(key)
	if !ok {
		return among[0]
	}
	s, ok := v.(string)
	if !ok || !slices.Contains(among, s) {
		d.fail(key, "must be "+strings.Join(among, " or "), shown(v), hint)
		return among[0]
	}
	return s
}

// text returns the string at key, or "".
func (d *dict) text(key string) string {
	v, ok := d.get(key)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		d.fail(key, "must be a string", shown(v), "")
	}
	return s
}

// truth returns the bool at key, or false.
func (d *dict) truth(key string) bool {
	v, ok := d.get(key)
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		d.fail(key, "must be true or false", shown(v), "")
	}
	return b
}

// list returns the array at key.
func (d *dict) list(key string) []any {
	v, ok := d.get(key)
	if !ok {
		return nil
	}
	a, ok := v.([]any)
	if !ok {
		d.fail(key, "must be an array", shown(v), "")
	}
	return a
}

// names returns the array of strings at key; a string is an array of one.
func (d *dict) names(key string) []string {
	v, ok := d.get(key)
	if !ok {
		return nil
	}
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var out []string
	for i, v := range d.list(key) {
		s, ok := v.(string)
		if !ok {
			d.fail(fmt.Sprintf("%s[%d]", key, i), "must be a string", shown(v), "")
			return nil
		}
		out = append(out, s)
	}
	return out
}

// sub returns the dictionary at key, or an empty one.
func (d *dict) sub(key string) *dict {
	m := map[string]any{}
	if v, ok := d.get(key); ok {
		if m, ok = v.(map[string]any); !ok {
			d.fail(key, "must be a dictionary", shown(v), "")
		}
	}
	return d.r.dict(d.network, d.unit, d.path+key+".", m)
}

// done refuses keys that were not read.
func (d *dict) done() {
	var rest []string
	for k := range d.m {
		if !d.used[k] {
			rest = append(rest, k)
		}
	}
	if len(rest) == 0 {
		return
	}
	slices.Sort(rest)
	known := slices.Sorted(maps.Keys(d.used))
	d.fail(rest[0], "is not a known key here", shown(d.m[rest[0]]),
		"delete it if it has no effect; known keys are "+strings.Join(known, ", "))
}
