package frontend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// TestTextReplacesTheModelsOwn opens a model with another text: it uses the model's weights, and diagnostics have the
// name in Name.
func TestTextReplacesTheModelsOwn(t *testing.T) {
	dir := filepath.Join("..", "examples", "digits", "digits.mlmodelc")
	own, err := os.ReadFile(filepath.Join(dir, TextName))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(own), "relu(x = conv1)", "sigmoid(x = conv1)", 1)
	m, err := Open(dir, Options{Text: []byte(other), Name: "shown.mil"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Source.Src != other || m.Source.Name != "shown.mil" || m.Path != filepath.Join(dir, TextName) {
		t.Errorf("source %q, path %q", m.Source.Name, m.Path)
	}
	found := false
	for _, op := range m.Program.Func("main").Body.Ops {
		found = found || op.Is(ir.OpSigmoid)
	}
	if !found {
		t.Error("the program is not the text's")
	}
	_, err = Open(dir, Options{Text: []byte("program(1.3)"), Name: "shown.mil"})
	l := diag.AsList(err)
	if l == nil || !strings.HasPrefix(l.All()[0].Error(), "shown.mil:1:") {
		t.Errorf("got %v", err)
	}
	if _, err := Open(dir, Options{Text: []byte{}}); diag.AsList(err) == nil {
		t.Errorf("an empty text: %v", err)
	}
}
