package docs

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
)

// schemaFile has the JSON Schema of every document, under the command that prints it.
const schemaFile = "schema.json"

// node is a part of a schema.
type node = map[string]any

// jsonSchema writes the schema of the documents that commands print.
type jsonSchema struct {
	docs *jsonDocs
	defs node
}

func newSchema() *jsonSchema {
	s := &jsonSchema{&jsonDocs{w: &bytes.Buffer{}, notes: map[string]map[string]string{}}, node{}}
	for _, shape := range cli.JSONShapes {
		def := node{"type": "object"}
		if t := reflect.TypeOf(shape.Value); t.Kind() == reflect.Struct {
			def = s.object(t)
		}
		if properties, ok := def["properties"].(node); ok {
			properties["schema"] = node{"type": "integer", "description": "version of all documents"}
		}
		def["description"] = shape.Doc
		s.defs[shape.Command] = def
	}
	return s
}

// text returns the schema as a file, with a line for each definition.
func (s *jsonSchema) text() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	line := func(before string, v any) {
		b.WriteString(before)
		if err := e.Encode(v); err != nil {
			panic(err) // there are only texts and objects
		}
		b.Truncate(b.Len() - 1)
	}
	line(`{"$schema":`, "https://json-schema.org/draft/2020-12/schema")
	line(",\n\"description\":", "The JSON of zinc's commands: the documents by command, and the structures in them.")
	b.WriteString(",\n\"$defs\":{")
	for i, name := range slices.Sorted(maps.Keys(s.defs)) {
		line(map[bool]string{true: "\n", false: ",\n"}[i == 0], name)
		line(":", s.defs[name])
	}
	b.WriteString("\n}}\n")
	return b.Bytes()
}

// object describes a structure with those embedded in it.
func (s *jsonSchema) object(t reflect.Type) node {
	properties, required := node{}, []string{}
	for _, k := range keys(t) {
		p := s.of(k.field.Type)
		if note := s.docs.note(k.in, k.field.Name); note != "" {
			p["description"] = note
		}
		properties[k.name] = p
		if k.required {
			required = append(required, k.name)
		}
	}
	slices.Sort(required)
	return node{"type": "object", "properties": properties, "required": required}
}

// of describes a type. Structures of zinc have a definition of their own.
func (s *jsonSchema) of(t reflect.Type) node {
	marshals := func(i reflect.Type) bool { return t.Implements(i) || reflect.PointerTo(t).Implements(i) }
	switch {
	case t.Kind() == reflect.Pointer:
		return orNull(s.of(t.Elem()))
	case marshals(marshaler):
		return node{}
	case marshals(reflect.TypeFor[encoding.TextMarshaler]()):
		return node{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
			return orNull(node{"type": "string", "contentEncoding": "base64"})
		}
		list := node{"type": "array", "items": s.of(t.Elem())}
		if t.Kind() == reflect.Array {
			return list
		}
		return orNull(list)
	case reflect.Map:
		return orNull(node{"type": "object", "additionalProperties": s.of(t.Elem())})
	case reflect.Bool:
		return node{"type": "boolean"}
	case reflect.String:
		return node{"type": "string"}
	case reflect.Interface:
		return node{}
	case reflect.Float32, reflect.Float64:
		return node{"type": "number"}
	case reflect.Struct:
		if t.Name() == "" {
			return s.object(t)
		}
		name := anchor(t)
		if s.defs[name] == nil {
			s.defs[name] = node{} // against endless recursion
			s.defs[name] = s.object(t)
		}
		return node{"$ref": "#/$defs/" + name}
	}
	return node{"type": "integer"}
}

// orNull also accepts null, which a list that is empty and a pointer to nothing may be.
func orNull(n node) node { return node{"anyOf": []any{n, node{"type": "null"}}} }

// TestSchemaIsGenerated compares the file with the types.
func TestSchemaIsGenerated(t *testing.T) {
	want := newSchema().text()
	got, err := os.ReadFile(schemaFile)
	switch {
	case *update:
		err = os.WriteFile(schemaFile, want, 0o666)
	case err == nil && !bytes.Equal(got, want):
		t.Errorf("%s is out of date; run go generate ./docs", schemaFile)
	}
	if err != nil {
		t.Error(err)
	}
}

// fault returns where a value departs from a schema, "" if it does not. Keys that the schema lacks are faults.
func (s *jsonSchema) fault(at string, v any, n node) string {
	if ref, ok := n["$ref"].(string); ok {
		return s.fault(at, v, s.defs[strings.TrimPrefix(ref, "#/$defs/")].(node))
	}
	if any, ok := n["anyOf"].([]any); ok {
		first := ""
		for i, x := range any {
			f := s.fault(at, v, x.(node))
			if f == "" {
				return ""
			}
			if i == 0 {
				first = f
			}
		}
		return first
	}
	kind, ok := n["type"].(string)
	number, isNumber := v.(float64)
	have := map[bool]string{true: "number", false: fmt.Sprintf("%T", v)}[isNumber]
	switch {
	case !ok:
		return ""
	case kind == "integer" && isNumber && number == float64(int64(number)), kind == "number" && isNumber,
		kind == "string" && have == "string", kind == "boolean" && have == "bool", kind == "null" && v == nil:
		return ""
	}
	switch v := v.(type) {
	case []any:
		if kind == "array" {
			for i, x := range v {
				if f := s.fault(fmt.Sprintf("%s[%d]", at, i), x, n["items"].(node)); f != "" {
					return f
				}
			}
			return ""
		}
	case node:
		if kind == "object" {
			return s.objectFault(at, v, n)
		}
	}
	return fmt.Sprintf("%s is %s, want %s", at, have, kind)
}

func (s *jsonSchema) objectFault(at string, v, n node) string {
	required, _ := n["required"].([]string)
	for _, k := range required {
		if _, ok := v[k]; !ok {
			return at + "." + k + " is missing"
		}
	}
	properties, closed := n["properties"].(node)
	for _, k := range slices.Sorted(maps.Keys(v)) {
		p, known := properties[k].(node)
		if more, ok := n["additionalProperties"].(node); ok {
			p, known = more, true
		}
		if !known && closed {
			return at + "." + k + " is not in the schema"
		}
		if f := s.fault(at+"."+k, v[k], p); known && f != "" {
			return f
		}
	}
	return ""
}

// TestDocumentsFollowTheSchema compares what commands print with the schema.
func TestDocumentsFollowTheSchema(t *testing.T) {
	t.Setenv("ZINC_CACHE", "off")
	model, dir := filepath.Join("..", "examples", "digits", "digits.mlmodelc"), t.TempDir()
	pair := filepath.Join(dir, "d.hwx")
	schema := newSchema()
	for _, c := range []struct {
		command string
		args    []string
	}{
		{"zinc MODEL --json", []string{model, "-o", pair}},
		{"zinc check MODEL --json", []string{"check", model, "--all"}},
		{"zinc check MODEL --as coreml --json", []string{"check", model, "--as", "coreml"}},
		{"zinc explain MODEL:PLACE --json", []string{"explain", model + ":21"}},
		{"zinc lint MODEL --json", []string{"lint", model, "--work", "0"}},
		{"zinc run FILE --json", []string{"run", pair, "--random"}},
		{"zinc verify MODEL --json", []string{"verify", model}},
		{"zinc prove MODEL --json", []string{"prove", pair, model}},
		{"zinc diff A B --json", []string{"diff", model, model, "--target-b", "h14", "--level", "placement"}},
		{"zinc convert MODEL OUTPUT --json", []string{"convert", model, filepath.Join(dir, "d.mlpackage")}},
		{"zinc compress MODEL --json", []string{"compress", model, "--max-error", "20"}},
		{"zinc split MODEL --json", []string{"split", model, "--parts", "2", "-o", dir, "--dry-run"}},
		{"zinc ops --json", []string{"ops"}},
		{"zinc targets --json", []string{"targets"}},
		{"zinc cache ls --json", []string{"cache", "ls", "--cache", dir}},
		{"zinc man FOLDER --json", []string{"man", filepath.Join(dir, "man")}},
		{"zinc help --json", []string{"help"}},
		{"zinc version --json", []string{"version"}},
	} {
		var out, msg bytes.Buffer
		if status := cli.Main(append(c.args, "--json"), strings.NewReader(""), &out, &msg); status > 1 {
			t.Errorf("%s: status %d: %s", c.command, status, &msg)
			continue
		}
		var v any
		if err := json.Unmarshal(out.Bytes(), &v); err != nil {
			t.Errorf("%s: %v", c.command, err)
			continue
		}
		def, ok := schema.defs[c.command].(node)
		if !ok {
			t.Errorf("%s is not in the schema", c.command)
		} else if f := schema.fault("document", v, def); f != "" {
			t.Errorf("%s: %s", c.command, f)
		}
	}
}

// TestFaultsOfDocumentsAreFound checks that the comparison with a schema can fail.
func TestFaultsOfDocumentsAreFound(t *testing.T) {
	schema := newSchema()
	def := schema.defs["zinc convert MODEL OUTPUT --json"].(node)
	for text, want := range map[string]string{
		`{"schema": 1, "files": [{"path": "p", "bytes": 1}]}`:   "",
		`{"schema": 1, "files": null}`:                          "",
		`{"schema": 1}`:                                         "document.files is missing",
		`{"schema": 1, "files": [{"path": "p"}]}`:               "document.files[0].bytes is missing",
		`{"schema": 1, "files": [{"path": "p", "bytes": 1.5}]}`: "document.files[0].bytes is number, want integer",
		`{"schema": 1, "files": [{"path": 1, "bytes": 1}]}`:     "document.files[0].path is number, want string",
		`{"schema": 1, "files": [], "more": 1}`:                 "document.more is not in the schema",
	} {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got := schema.fault("document", v, def); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
