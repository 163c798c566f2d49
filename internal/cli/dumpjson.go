package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// jsonWriter writes indented JSON piece by piece, so that no document has to stand in
// memory. The first error stays in err.
type jsonWriter struct {
	w     io.Writer
	ends  []byte // closing brackets of what is open
	begun bool   // the innermost has an entry
	err   error
}

func newJSONWriter(w io.Writer) *jsonWriter { return &jsonWriter{w: w} }

func (j *jsonWriter) write(s string) {
	if j.err == nil {
		_, j.err = io.WriteString(j.w, s)
	}
}

// entry begins an entry: of an object with its key, of an array without.
func (j *jsonWriter) entry(key string) {
	if len(j.ends) > 0 {
		if j.begun {
			j.write(",")
		}
		j.write("\n" + j.indent())
		if j.ends[len(j.ends)-1] == '}' {
			b, _ := json.Marshal(key) // of a string it does not fail
			j.write(string(b) + ": ")
		}
	}
	j.begun = true
}

func (j *jsonWriter) indent() string { return strings.Repeat("  ", len(j.ends)) }

// open begins an object, '{', or an array, '['.
func (j *jsonWriter) open(key string, kind byte) {
	j.entry(key)
	j.write(string(kind))
	j.ends = append(j.ends, kind+2)
	j.begun = false
}

// close ends what was opened last.
func (j *jsonWriter) close() {
	end := j.ends[len(j.ends)-1]
	j.ends = j.ends[:len(j.ends)-1]
	if j.begun {
		j.write("\n" + j.indent())
	}
	j.write(string(end))
	j.begun = true
	if len(j.ends) == 0 {
		j.write("\n")
	}
}

// put writes a value.
func (j *jsonWriter) put(key string, v any) {
	if j.err != nil {
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(j.indent(), "  ")
	if j.err = enc.Encode(v); j.err == nil {
		j.entry(key)
		j.write(strings.TrimSuffix(b.String(), "\n"))
	}
}
