package jsonform

import (
	"errors"
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

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
