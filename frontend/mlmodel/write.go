package mlmodel

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// A writer appends messages of the schemas. The fields of a message are written in the order of their numbers, and the
// entries of a map by key, so that equal models have equal bytes.
type writer struct{ b []byte }

// messages returns the names of the fields that are messages.
func (s schema) messages() []string {
	var names []string
	for _, f := range s {
		if f.typ == protowire.BytesType {
			names = append(names, f.name)
		}
	}
	return names
}

// named returns the field of that name. It panics if there is none: the names are constants of this package, or are
// checked before (describable).
func (s schema) named(name string) field {
	for _, f := range s {
		if f.name == name {
			return f
		}
	}
	panic("mlmodel: no field " + name)
}

// number writes a number that is not zero, which is the default.
func (w *writer) number(s schema, name string, n uint64) {
	if n != 0 {
		w.b = protowire.AppendTag(w.b, s.named(name).num, protowire.VarintType)
		w.b = protowire.AppendVarint(w.b, n)
	}
}

// flag writes a truth value.
func (w *writer) flag(s schema, name string, set bool) {
	if set {
		w.number(s, name, 1)
	}
}

// text writes a string that is not empty, which is the default.
func (w *writer) text(s schema, name, v string) {
	if v != "" {
		w.element(s, name, v)
	}
}

// element writes a string of a repeated field, which may be empty.
func (w *writer) element(s schema, name, v string) {
	w.b = protowire.AppendTag(w.b, s.named(name).num, protowire.BytesType)
	w.b = protowire.AppendString(w.b, v)
}

// message writes a field whose contents f writes.
func (w *writer) message(s schema, name string, f func()) {
	w.b = protowire.AppendTag(w.b, s.named(name).num, protowire.BytesType)
	at := len(w.b)
	f()
	var length [10]byte
	w.b = slices.Insert(w.b, at, protowire.AppendVarint(length[:0], uint64(len(w.b)-at))...)
}

// integers writes numbers in one field, unless there are none.
func (w *writer) integers(s schema, name string, ns []int64) {
	if len(ns) > 0 {
		w.message(s, name, func() {
			for _, n := range ns {
				w.b = protowire.AppendVarint(w.b, uint64(n))
			}
		})
	}
}

// entries writes a map from strings, whose values f writes.
func entries[T any](w *writer, s schema, name string, m map[string]T, f func(v T)) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		w.message(s, name, func() {
			w.text(entrySchema, "key", k)
			w.message(entrySchema, "value", func() { f(m[k]) })
		})
	}
}
