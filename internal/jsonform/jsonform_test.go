package jsonform

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestWriteIndentsAndKeepsMarkup(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, map[string]any{"b": "<a & b>", "a": []int{1}}); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"a\": [\n    1\n  ],\n  \"b\": \"<a & b>\"\n}\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	if Write(&b, func() {}) == nil {
		t.Error("a function is JSON")
	}
	if err := Write(full{}, 1); !errors.Is(err, errFull) {
		t.Errorf("a writer that fails: %v", err)
	}
}

func TestDocumentBeginsWithItsVersion(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{map[string]int{"a": 1}, "{\n  \"schema\": 1,\n  \"a\": 1\n}\n"},
		{struct{}{}, "{\n  \"schema\": 1\n}\n"},
	} {
		var b strings.Builder
		if err := Document(&b, c.v); err != nil || b.String() != c.want || !isDocument([]byte(b.String())) {
			t.Errorf("%q, %v, want %q", b.String(), err, c.want)
		}
	}
	var b strings.Builder
	if err := Document(&b, []int{1}); err == nil || b.Len() > 0 {
		t.Errorf("a list is a document: %s", &b)
	}
	if err := Document(full{}, struct{}{}); !errors.Is(err, errFull) {
		t.Errorf("a writer that fails: %v", err)
	}
	if isDocument([]byte(`{"a": 1}`)) || isDocument([]byte(`[1]`)) {
		t.Error("something else is a document")
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// isDocument reports whether b is a document of this version.
func isDocument(b []byte) bool {
	var v map[string]json.RawMessage
	return json.Unmarshal(b, &v) == nil && string(v[SchemaKey]) == fmt.Sprint(Schema)
}
