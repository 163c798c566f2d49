package td

import (
	"fmt"
	"iter"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/x448/float16"
)

// Doc says what a grade stands for.
func (k Known) Doc() string {
	return [...]string{
		"place and name from public register maps",
		"meaning follows from programs that Apple's compiler wrote",
		"zinc's assumption; no recorded program shows it",
		"carried as it is; nobody has explained it",
	}[k]
}

// source says where a place is from, "assigned" spelled out.
func (p Place) source() string {
	if p.Source == assigned {
		return "assigned by zinc"
	}
	return p.Source
}

// Provenance says how far a row is established and where it is from: its grade,
// and where version 10 has the field by what source.
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

// meanings is, by row, what its Doc says of single values: "0 add, 1 multiply"
// gives two. A Doc that says "as InFmt" takes those of that row too.
var meanings = map[string]map[uint32]string{}

// likeField finds the row that a Doc refers to.
var likeField = regexp.MustCompile(`\bas ([A-Z]\w+)`)

// Meaning returns the word that the table's Doc has for a value, which is in the
// row's unit; "" where it has none.
func (r *Row) Meaning(v uint32) string { return meanings[r.Name][v] }

func init() {
	for i := range table {
		r := &table[i]
		words := parseWords(r.Doc)
		if m := likeField.FindStringSubmatch(r.Doc); m != nil {
			for k := range table {
				if strings.HasSuffix(table[k].Name, "."+m[1]) {
					for v, s := range parseWords(table[k].Doc) {
						if words[v] == "" {
							words[v] = s
						}
					}
				}
			}
		}
		for v, s := range words {
			// A condition is no name for a value: "64 when idle".
			if strings.HasPrefix(s, "when ") || strings.HasPrefix(s, "for ") {
				delete(words, v)
			}
		}
		if len(words) > 0 {
			meanings[r.Name] = words
		}
	}
}

// parseWords reads the values that a Doc explains: parts between commas and
// semicolons that are a number and words. "1 + log2 of the cores" is a formula and
// "2 in every sample" an observation, no word for the value.
func parseWords(doc string) map[uint32]string {
	out := map[uint32]string{}
	for part := range strings.FieldsFuncSeq(doc, func(c rune) bool { return c == ',' || c == ';' }) {
		if _, after, ok := strings.Cut(part, ": "); ok {
			part = after
		}
		number, label, _ := strings.Cut(strings.TrimSpace(part), " ")
		v, err := strconv.ParseUint(number, 0, 32)
		if err != nil || label == "" || !unicode.IsLetter(rune(label[0])) || strings.HasPrefix(label, "in ") {
			continue
		}
		out[uint32(v)] = label
	}
	return out
}

// Text returns a value, which is in the row's unit, as a person reads it: a
// floating-point number where the Doc says that the field is one, else decimal.
func (r *Row) Text(v uint32) string {
	switch {
	case r.Width == 32 && strings.HasPrefix(r.Doc, "fp32"):
		return strconv.FormatFloat(float64(math.Float32frombits(v)), 'g', -1, 32)
	case r.Width == 16 && strings.HasPrefix(r.Doc, "fp16"):
		return strconv.FormatFloat(float64(float16.Frombits(uint16(v)).Float32()), 'g', -1, 32)
	}
	return strconv.FormatUint(uint64(v), 10)
}

// Reading is one field of a task with what the table says of it.
type Reading struct {
	*Row
	Field Field
	Word  int    // index among the task's words
	Value uint32 // in the row's unit
}

// Readings gives the fields of the words that the task writes, in the order of the
// words and from the lowest bit; without all, those alone that are not zero.
func (t *Task) Readings(all bool) iter.Seq[Reading] {
	return func(yield func(Reading) bool) {
		word := 0
		block := func(b *Block, first, count int) bool {
			for i := first; i < first+count; i++ {
				for _, f := range words[b][i] {
					if (all || t.val[f] != 0) && !yield(Reading{
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

// FieldsAt returns the fields of a word of the task, none where it is the header of
// a record or past the task's end.
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

// Values returns the fields that are not zero in the registers the task
// writes, by name, for JSON.
func (t *Task) Values() map[string]uint32 {
	out := map[string]uint32{}
	for f := range table {
		if t.val[f] != 0 && t.Written(Field(f)) {
			out[table[f].Name] = t.Get(Field(f))
		}
	}
	return out
}
