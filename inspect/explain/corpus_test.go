package explain_test

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/inspect/explain"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/target"
)

// TestExplanationsOfLargeModelsAreShort explains statements of each kind of a model of 682 tasks, and checks the text:
// no answer may be empty, describe another statement, or list repeated tasks separately.
func TestExplanationsOfLargeModelsAreShort(t *testing.T) {
	shared := shareddir.Find(t)
	m, err := frontend.Open(shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", "whisper-tiny-encoder")),
		frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, c := range []struct {
		at    explain.Place
		lines int
		want  []string
		not   string
	}{
		{at: explain.Place{Line: 39}, lines: 80, want: []string{`linear "q_1_cast"`, "engine: linear",
			"221184000 multiply-accumulates", "task net ", "word ", "294912 of values"}, not: "built from it"},
		{at: explain.Place{Line: 37}, lines: 12, want: []string{`const "var_93_to_fp16"`,
			`read by engine: linear "q_1_cast"`,
			"built from it: 294912 of values; with it: 768 of bias, 256 of padding"}, not: "word "},
		{at: explain.Place{Line: 46}, lines: 8, want: []string{`const "var_110"`,
			`read by engine: reshape "var_111_cast"`}, not: "task net"},
		{at: explain.Place{Line: 4}, lines: 5, want: []string{`input "logmel_data"`, "read by transfer: cast"},
			not: "nothing of it"},
		{at: explain.Place{Name: "var_130_cast"}, lines: 80, want: []string{"tasks net 68 to 90: ", "cost of each",
			"24 tasks net 93 to 116"}, not: "task net 94"},
	} {
		a, err := explain.Explain(context.Background(), m.Program, c.at,
			explain.Options{Compile: compile.Options{Target: target.H13, SplitKernel: true}})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := a.Text(&b, explain.Detail{Tasks: 1}); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in\n%s", c.at, w, text)
			}
		}
		if strings.Contains(text, c.not) {
			t.Errorf("%s: %q in\n%s", c.at, c.not, text)
		}
		if n := strings.Count(text, "\n"); n > c.lines {
			t.Errorf("%s: %d lines, wanted up to %d", c.at, n, c.lines)
		}
	}
}
