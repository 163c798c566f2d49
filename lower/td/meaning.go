package td

import (
	"fmt"
	"iter"
	"math"
	"strconv"

	"github.com/x448/float16"
)

// Doc explains what a grade means.
func (k Known) Doc() string {
	return [...]string{
		"place and name from public register maps",
		"meaning follows from programs that Apple's compiler wrote",
		"zinc's assumption; no recorded program shows it",
		"carried as it is; nobody has explained it",
	}[k]
}

// Provenance describes how far a row is established and where it is from: its grade, and where version 10 has the field
// according to which source.
func (r *Row) Provenance() string {
	p := r.Place(V10)
	return fmt.Sprintf("%s: %s; version 10 %s, %s", r.Known, r.Known.Doc(), p, p.source())
}

// Meaning returns the word that the table has for a value in the row's unit, or "" if it has none.
func (r *Row) Meaning(v uint32) string {
	for _, x := range r.Values {
		if x.V == v {
			return x.String()
		}
	}
	return ""
}

// Signed returns a value in the row's unit with its sign, which only a stride has.
func (r *Row) Signed(v uint32) int64 {
	if r.Kind == Stride {
		return int64(int32(v))
	}
	return int64(v)
}

// Text returns a value in the row's unit for a person to read: as a floating-point number if the field is one, else as
// a decimal number.
func (r *Row) Text(v uint32) string {
	switch r.Kind {
	case FP32:
		return strconv.FormatFloat(float64(math.Float32frombits(v)), 'g', -1, 32)
	case FP16:
		return strconv.FormatFloat(float64(float16.Frombits(uint16(v)).Float32()), 'g', -1, 32)
	}
	return strconv.FormatInt(r.Signed(v), 10)
}

// Describe returns Text with the word that the table has for the value.
func (r *Row) Describe(v uint32) string {
	if m := r.Meaning(v); m != "" {
		return r.Text(v) + " (" + m + ")"
	}
	return r.Text(v)
}

// Reading is one field of a task with what the table says about it.
type Reading struct {
	*Row
	Field Field
	At    Place
	Word  int    // index among the task's words
	Value uint32 // in the row's unit
}

// Readings yields the fields of the words that a task has, in the order of the words. It omits fields that are zero
// unless all is set.
func (c *Codec) Readings(t *Task, all bool) iter.Seq[Reading] {
	return func(yield func(Reading) bool) {
		for word := range c.Words(t) {
			for _, f := range c.FieldsAt(t, word) {
				r := Reading{Row: &table[f], Field: f, At: table[f].Place(c), Word: word, Value: t.Get(f)}
				if (all || t.On(f)) && !yield(r) {
					return
				}
			}
		}
	}
}

// Values returns, by name, the nonzero fields in the words of a task, for JSON.
func (c *Codec) Values(t *Task) map[string]uint32 {
	out := map[string]uint32{}
	for r := range c.Readings(t, false) {
		out[r.Name] = r.Value
	}
	return out
}
