package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/test/irmodels"
)

func TestRunWritesModelsThatOpen(t *testing.T) {
	for i := range irmodels.Models {
		name := irmodels.Models[i].Name
		dir := filepath.Join(t.TempDir(), name)
		var out bytes.Buffer
		if err := run(t.Context(), &out, []string{name, "-o", dir}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), filepath.Join(dir, "model.mil")) {
			t.Errorf("%s: printed %q, want the names of the files", name, out.String())
		}
		m, err := frontend.Open(dir, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wrote := irmodels.Models[i].Program().Funcs[0]
		if got, want := len(m.Program.Funcs[0].Body.Ops), len(wrote.Body.Ops); got < want {
			t.Errorf("%s: opened %d operations, wrote %d", name, got, want)
		}
	}
}

func TestRunReportsWrongArguments(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "want one model and -o DIR"},
		{"yolo", "want one model and -o DIR"},
		{"yolo unet -o x", "want one model and -o DIR"},
		{"resnet -o x", `unknown model "resnet"`},
		{"yolo --size 3 -o x", "flag provided but not defined: -size"},
	} {
		err := run(t.Context(), &bytes.Buffer{}, strings.Fields(c.args))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.Contains(err.Error(), "\n  unet ") {
			t.Errorf("%q: %v, want %s and the list of models", c.args, err, c.want)
		}
	}
}
