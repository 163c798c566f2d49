package jsonform

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// Stream writes a document piece by piece, in the format of Write, so that it does not
// have to be in memory. The first error is kept in Err; later writes are ignored.
type Stream struct {
	Err error

	w     io.Writer
	ends  []byte // closing brackets of the open objects and arrays
	begun bool   // the innermost of them has an entry
}

// NewStream returns a Stream that writes to w.
func NewStream(w io.Writer) *Stream { return &Stream{w: w} }

func (j *Stream) write(s string) {
	if j.Err == nil {
		_, j.Err = io.WriteString(j.w, s)
	}
}

// entry begins an entry of an object, with its key, or of an array, without one.
func (j *Stream) entry(key string) {
	if len(j.ends) > 0 {
		if j.begun {
			j.write(",")
		}
		j.write("\n" + j.indent())
		if j.ends[len(j.ends)-1] == '}' {
			b, _ := json.Marshal(key) // strings never fail
			j.write(string(b) + ": ")
		}
	}
	j.begun = true
}

func (j *Stream) indent() string { return strings.Repeat(indent, len(j.ends)) }

// Open begins an object, '{', or an array, '['.
func (j *Stream) Open(key string, kind byte) {
	j.entry(key)
	j.write(string(kind))
	j.ends = append(j.ends, kind+2)
	j.begun = false
}

// Close ends the object or array that was opened last.
func (j *Stream) Close() {
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

// Put writes a value.
func (j *Stream) Put(key string, v any) {
	if j.Err != nil {
		return
	}
	enc := json.NewEncoder(&entryWriter{j, key})
	enc.SetEscapeHTML(false)
	enc.SetIndent(j.indent(), indent)
	if err := enc.Encode(v); err != nil && j.Err == nil {
		j.Err = err
	}
}

// entryWriter begins an entry at the first write of an Encoder. An Encoder writes a
// whole value at once, so a value that cannot be encoded leaves no key in the output.
type entryWriter struct {
	j   *Stream
	key string
}

func (w *entryWriter) Write(b []byte) (int, error) {
	w.j.entry(w.key)
	if w.j.Err == nil {
		_, w.j.Err = w.j.w.Write(bytes.TrimSuffix(b, []byte("\n")))
	}
	return len(b), w.j.Err
}

// Raw writes text that is already JSON, on one line.
func (j *Stream) Raw(key, text string) {
	j.entry(key)
	j.write(text)
}
