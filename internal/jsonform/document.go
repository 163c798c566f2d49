package jsonform

import (
	"bytes"
	"fmt"
	"io"
)

// Schema is the version of the documents that zinc prints. Later versions of a document with the same number may have
// further keys; a key that exists keeps its meaning and its type.
const Schema = 1

// SchemaKey is the first key of every document. Its value is Schema.
const SchemaKey = "schema"

// Document writes v, which encodes as an object, with SchemaKey before its own keys.
func Document(w io.Writer, v any) error {
	var b bytes.Buffer
	if err := Write(&b, v); err != nil {
		return err
	}
	body, ok := bytes.CutPrefix(b.Bytes(), []byte("{"))
	if !ok {
		return fmt.Errorf("JSON of a %T is not an object", v)
	}
	first := fmt.Sprintf("{\n%s%q: %d", indent, SchemaKey, Schema)
	if !bytes.HasPrefix(body, []byte("}")) {
		first += ","
	} else {
		first += "\n"
	}
	_, err := w.Write(append([]byte(first), body...))
	return err
}
