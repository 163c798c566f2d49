package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
)

// pythonDocuments are the documents that the Python package has classes for, with the names of their classes.
var pythonDocuments = []struct{ command, class string }{
	{"zinc MODEL --json", "CompileDocument"},
	{"zinc check MODEL --json", "CheckDocument"},
	{"zinc verify MODEL --json", "VerifyDocument"},
	{"zinc diff A B --json", "DiffDocument"},
	{"zinc convert MODEL OUTPUT --json", "ConvertDocument"},
	{"zinc COMMAND --json 2>FILE", "ErrorDocument"},
}

// pythonClasses writes a data class for each structure of documents.
type pythonClasses struct {
	jsonDocs
	names map[reflect.Type]string
}

func writePythonClasses(w *bytes.Buffer) {
	w.WriteString(`"""The documents that zinc prints with --json, as data classes.

docs/json.md says what the keys mean. go generate ./docs writes this file from the types of the documents;
DO NOT EDIT it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
`)
	p := &pythonClasses{jsonDocs{notes: map[string]map[string]string{}}, map[reflect.Type]string{}}
	for _, d := range pythonDocuments {
		i := slices.IndexFunc(cli.JSONShapes, func(s cli.JSONShape) bool { return s.Command == d.command })
		t := reflect.TypeOf(cli.JSONShapes[i].Value)
		p.names[t] = d.class
		p.types = append(p.types, t)
	}
	for i := 0; i < len(p.types); i++ {
		p.class(w, p.types[i])
	}
}

// pythonKeywords are keys that cannot be names in Python; the attribute ends in an underscore.
var pythonKeywords = []string{"pass", "from", "in", "is", "class", "import"}

func (p *pythonClasses) class(w *bytes.Buffer, t reflect.Type) {
	fmt.Fprintf(w, "\n\n@dataclass(frozen=True, kw_only=True)\nclass %s:\n    \"\"\"%s in docs/json.md.\"\"\"\n\n",
		p.name(t), anchor(t))
	p.fields(w, t)
}

// name returns the name of a structure's class: the name of its type, with its package before it if another type has
// the same name.
func (p *pythonClasses) name(t reflect.Type) string {
	if n, ok := p.names[t]; ok {
		return n
	}
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	name := strings.TrimSuffix(strings.TrimSuffix(title(t.Name()), "JSON"), "Document")
	for _, other := range p.names {
		if other == name {
			pkg, _, _ := strings.Cut(anchor(t), ".")
			name = title(pkg) + name
		}
	}
	p.names[t] = name
	return name
}

// fields writes the attributes of a structure and of those embedded in it.
func (p *pythonClasses) fields(w *bytes.Buffer, t reflect.Type) {
	for _, k := range keys(t) {
		name := k.name
		if slices.Contains(pythonKeywords, name) {
			name += "_"
		}
		for _, line := range wrapped(p.note(k.in, k.field.Name), 108) {
			fmt.Fprintf(w, "    #: %s\n", line)
		}
		kind, value := p.kind(k.field.Type), ""
		switch {
		case strings.HasPrefix(kind, "tuple"):
			value = " = ()"
		case strings.HasPrefix(kind, "dict"):
			value = " = field(default_factory=dict)"
		case k.empty || k.field.Type.Kind() == reflect.Pointer:
			kind, value = kind+" | None", " = None"
		}
		fmt.Fprintf(w, "    %s: %s%s\n", name, kind, value)
	}
}

// kind returns the Python type of a value.
func (p *pythonClasses) kind(t reflect.Type) string {
	switch p.of(t) {
	case "boolean":
		return "bool"
	case "text", "text, base64":
		return "str"
	case "any":
		return "Any"
	case "object":
		return "dict[str, Any]"
	case "number":
		if k := t.Kind(); k == reflect.Float64 || k == reflect.Float32 ||
			k == reflect.Pointer && t.Elem().Kind() == reflect.Float64 {
			return "float"
		}
		return "int"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return p.kind(t.Elem())
	case reflect.Slice, reflect.Array:
		return "tuple[" + p.kind(t.Elem()) + ", ...]"
	case reflect.Map:
		return "dict[str, " + p.kind(t.Elem()) + "]"
	}
	return p.name(t)
}

// wrapped breaks a text into lines of at most n bytes.
func wrapped(s string, n int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+1+len(word) > n {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// TestGeneratedPython compares the Python package's classes of documents with the types of the documents.
func TestGeneratedPython(t *testing.T) {
	path := filepath.Join("..", "python", "zinc", "documents.py")
	var want bytes.Buffer
	writePythonClasses(&want)
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is out of date (%v); run go generate ./docs", path, err)
	}
}
