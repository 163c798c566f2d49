package docs

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
)

// jsonDocs writes the keys of the documents that commands print.
type jsonDocs struct {
	w     *bytes.Buffer
	types []reflect.Type // described after the commands, in order
	notes map[string]map[string]string
}

func writeJSONShapes(w *bytes.Buffer) {
	d := &jsonDocs{w: w, notes: map[string]map[string]string{}}
	for _, s := range cli.JSONShapes {
		fmt.Fprintf(w, "### `%s`\n\n%s\n\n", s.Command, s.Doc)
		if parts, ok := s.Value.([]cli.DevicePart); ok {
			writeDeviceParts(w, parts)
		} else {
			d.table(reflect.TypeOf(s.Value))
		}
		w.WriteByte('\n')
	}
	for i := 0; i < len(d.types); i++ {
		fmt.Fprintf(w, "### %s\n\n", anchor(d.types[i]))
		d.table(d.types[i])
		w.WriteByte('\n')
	}
	w.Truncate(w.Len() - 1)
}

// deviceField is a value in the format of a row, with a sign if only the text or only JSON has it, and a verb.
var deviceField = regexp.MustCompile(`\{([-+]?)(\w*)[^}]*\}`)

// writeDeviceParts writes a line for each kind of row. The line of the text says what its values mean.
func writeDeviceParts(w *bytes.Buffer, parts []cli.DevicePart) {
	head(w, "rows", "keys of a row", "line of the text")
	for _, p := range parts {
		for _, r := range p.Rows {
			var keys []string
			for _, f := range deviceField.FindAllStringSubmatch(r.Format, -1) {
				if f[1] != "-" && f[2] != "" {
					keys = append(keys, "`"+f[2]+"`")
				}
			}
			line := deviceField.ReplaceAllStringFunc(r.Format, func(s string) string {
				f := deviceField.FindStringSubmatch(s)
				return map[string]string{"": strings.ToUpper(f[2]), "-": "...", "+": ""}[f[1]]
			})
			if line = strings.Join(strings.Fields(line), " "); line != "" {
				line = "`" + line + "`"
			}
			row(w, "`"+strings.TrimSuffix(p.Name+"."+r.Key, ".")+"`", cmp.Or(strings.Join(keys, ", "), "text"), line)
		}
	}
}

// anchor is the title of a type.
func anchor(t reflect.Type) string {
	pkg := t.PkgPath()
	return pkg[strings.LastIndexByte(pkg, '/')+1:] + "." + t.Name()
}

// table writes a line for each key.
func (d *jsonDocs) table(t reflect.Type) {
	head(d.w, "key", "type", "meaning")
	for _, k := range keys(t) {
		note := d.note(k.in, k.field.Name)
		if k.empty {
			note = strings.TrimPrefix(note+"; may be absent", "; ")
		}
		row(d.w, "`"+k.name+"`", d.of(k.field.Type), note)
	}
}

// A jsonKey is a key of a structure in JSON.
type jsonKey struct {
	name     string
	in       reflect.Type // which has the field
	field    reflect.StructField
	empty    bool // it is left out if the field is empty
	required bool
}

// keys returns the keys of a structure, and after them the keys of structures embedded in it, unless an outer one has
// the same key.
func keys(t reflect.Type) []jsonKey {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var all, inner []jsonKey
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case key == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && key == "":
			for _, k := range keys(f.Type) {
				k.required = k.required && f.Type.Kind() != reflect.Pointer
				inner = append(inner, k)
			}
			continue
		}
		all = append(all, jsonKey{
			name: cmp.Or(key, f.Name), in: t, field: f,
			empty: strings.Contains(options, "omitempty"), required: !strings.Contains(options, "omit"),
		})
	}
	for _, k := range inner {
		if !slices.ContainsFunc(all, func(o jsonKey) bool { return o.name == k.name }) {
			all = append(all, k)
		}
	}
	return all
}

// of names a type, and has it described if it is a structure of zinc.
func (d *jsonDocs) of(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return d.of(t.Elem())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "text, base64"
		}
		return "list of " + d.of(t.Elem())
	case reflect.Map:
		return "object of " + d.of(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "text"
	case reflect.Interface:
		return "any"
	case reflect.Struct:
		if t.Name() == "" || t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
			return "object"
		}
		if !slices.Contains(d.types, t) {
			d.types = append(d.types, t)
		}
		name := anchor(t)
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(strings.ReplaceAll(name, ".", "")))
	}
	return "number"
}

var marshaler = reflect.TypeFor[interface{ MarshalJSON() ([]byte, error) }]()

// note is the comment of a structure's field: the one after it, or the lines before it.
func (d *jsonDocs) note(t reflect.Type, field string) string {
	const module = "github.com/zinc-compiler/zinc"
	path := t.PkgPath()
	if d.notes[path] == nil {
		d.notes[path] = map[string]string{}
		files, _ := filepath.Glob(filepath.Join("..", strings.TrimPrefix(path, module), "*.go"))
		for _, name := range files {
			if f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments); err == nil {
				ast.Inspect(f, func(n ast.Node) bool { return d.comments(path, n) })
			}
		}
	}
	return d.notes[path][t.Name()+"."+field]
}

func (d *jsonDocs) comments(path string, n ast.Node) bool {
	spec, ok := n.(*ast.TypeSpec)
	if !ok {
		return true
	}
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return true
	}
	for _, f := range s.Fields.List {
		text := f.Comment.Text()
		if text == "" {
			text = f.Doc.Text()
		}
		text = strings.TrimSuffix(strings.Join(strings.Fields(text), " "), ".")
		for _, name := range f.Names {
			d.notes[path][spec.Name.Name+"."+name.Name] = text
		}
	}
	return true
}

// documents are the types of the documents that have one, by command.
func documents() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, s := range cli.JSONShapes {
		if t := reflect.TypeOf(s.Value); t.Kind() == reflect.Struct {
			out[s.Command] = t
		}
	}
	return out
}

// TestJSONKeysHaveMeanings finds structures of documents with fields that no comment describes.
func TestJSONKeysHaveMeanings(t *testing.T) {
	d := &jsonDocs{w: &bytes.Buffer{}, notes: map[string]map[string]string{}}
	for _, typ := range documents() {
		d.of(typ)
	}
	if len(d.types) < len(documents()) {
		t.Fatalf("only %d structures for %d documents", len(d.types), len(documents()))
	}
	for i := 0; i < len(d.types); i++ {
		typ := d.types[i]
		for _, k := range keys(typ) {
			d.of(k.field.Type)
			if d.note(k.in, k.field.Name) == "" {
				t.Errorf("%v.%s has no comment, so that docs/json.md cannot say what %q means", k.in, k.field.Name,
					k.name)
			}
		}
	}
}

// TestJSONShapesHaveOneTypeForAKey holds that keys which several commands print have one type.
func TestJSONShapesHaveOneTypeForAKey(t *testing.T) {
	for _, key := range []string{"engine_ops", "cpu_ops", "dispatches", "target", "model"} {
		kinds := map[reflect.Kind][]string{}
		for command, typ := range documents() {
			for _, k := range keys(typ) {
				if kind := k.field.Type.Kind(); k.name == key && k.in == typ {
					kinds[kind] = append(kinds[kind], command)
				}
			}
		}
		if len(kinds) > 1 {
			t.Errorf("key %q: %v", key, kinds)
		}
	}
}
