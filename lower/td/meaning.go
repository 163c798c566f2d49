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

// source returns where a place is from, with "assigned" spelled out.
func (p Place) source() string {
	if p.Source == assigned {
		return "assigned by zinc"
	}
	return p.Source
}

// Provenance describes how far a row is established and where it is from: its grade, and where version 10 has the field
// according to which source.
func (r *Row) Provenance() string {
	return fmt.Sprintf("%s: %s; version 10 %s, %s", r.Known, r.Known.Doc(), r.V10, r.V10.source())
}

// Bits returns the row's bits in its word, high to low: "14:0", or "5".
func (r *Row) Bits() string {
	if r.Width == 1 {
		return strconv.Itoa(int(r.Bit))
	}
	return fmt.Sprintf("%d:%d", r.Bit+r.Width-1, r.Bit)
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

// Text returns a value in the row's unit for a person to read: as a floating-point number if the field is one, else as
// a decimal number.
func (r *Row) Text(v uint32) string {
	switch r.Kind {
	case FP32:
		return strconv.FormatFloat(float64(math.Float32frombits(v)), 'g', -1, 32)
	case FP16:
		return strconv.FormatFloat(float64(float16.Frombits(uint16(v)).Float32()), 'g', -1, 32)
	}
	return strconv.FormatUint(uint64(v), 10)
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
	Word  int    // index among the task's words
	Value uint32 // in the row's unit
}

// Readings yields the fields of the words that the task writes, in the order of the words and from the lowest bit. It
// omits fields that are zero unless all is set.
func (t *Task) Readings(all bool) iter.Seq[Reading] {
	return func(yield func(Reading) bool) {
		word := 0
		block := func(b *Block, first, count int) bool {
			for i := first; i < first+count; i++ {
				for _, f := range words[b][i] {
					if (all || t.raw(f) != 0) && !yield(Reading{
						Row:   &table[f],
						Field: f,
						Word:  word,
						Value: t.Get(f),
					}) {
						return false
					}
				}
				word++
			}
			return true
		}
		if !block(Header, 0, t.HeaderWords()) {
			return
		}
		for _, s := range t.spans() {
			word++ // of the record's own header
			b := blockOf(s)
			if b == nil {
				word += s.Count
				continue
			}
			if !block(b, int(s.Addr-b.Base)/4, s.Count) {
				return
			}
		}
	}
}

// FieldsAt returns the fields of a word of the task. A word that is the header of a record or after the task's end has
// none.
func (t *Task) FieldsAt(word int) []Field {
	if word < 0 {
		return nil
	}
	if word < t.HeaderWords() {
		return words[Header][word]
	}
	at := t.HeaderWords()
	for _, s := range t.spans() {
		if b := blockOf(s); b != nil && word > at && word <= at+s.Count {
			return words[b][int(s.Addr-b.Base)/4+word-at-1]
		}
		at += 1 + s.Count
	}
	return nil
}

// Values returns, by name, the nonzero fields in the registers that the task writes, for JSON.
func (t *Task) Values() map[string]uint32 {
	out := map[string]uint32{}
	for f := range table {
		if t.raw(Field(f)) != 0 && t.Written(Field(f)) {
			out[table[f].Name] = t.Get(Field(f))
		}
	}
	return out
}
