package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
)

// TestFaultLeavesAReproducer: a fault of zinc, a pair that a check refuses or a panic,
// is status 3 and leaves a folder from which the model compiles as it was given.
func TestFaultLeavesAReproducer(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	model := filepath.Join(digits(t), "digits.mlmodelc")
	for _, c := range []struct {
		fault error
		text  string
	}{
		{
			&compile.FaultError{Check: "the hazard check", Where: "y = conv", Err: errors.New("task 1")},
			"y = conv: task 1",
		},
		{guarded(func() error { panic("two and two") }), "reproducer_test.go"},
	} {
		var msg bytes.Buffer
		e := &env{err: &msg, diagnostics: "text", subject: &subject{args: []string{"verify", "a b"}}}
		m, err := (&compileFlags{}).open(e, model)
		if err != nil {
			t.Fatal(err)
		}
		want := len(m.Program.Funcs[0].Body.Ops)
		m.Close()
		if status := e.fail(c.fault); status != statusInternal {
			t.Errorf("status %d, want %d", status, statusInternal)
		}
		made, err := filepath.Glob(filepath.Join(temp, "zinc-fault-*"))
		if err != nil || len(made) != 1 || !strings.Contains(msg.String(), made[0]) {
			t.Fatalf("%v, %v; message %q", made, err, &msg)
		}
		note, err := os.ReadFile(filepath.Join(made[0], faultText))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"zinc verify 'a b'\n", c.text, compile.Version} {
			if !strings.Contains(string(note), s) {
				t.Errorf("%q is not in %s:\n%s", s, faultText, note)
			}
		}
		if m, err = frontend.Open(made[0], frontend.Options{}); err != nil {
			t.Fatal(err)
		}
		if got := len(m.Program.Funcs[0].Body.Ops); got != want {
			t.Errorf("%d operations, want %d", got, want)
		}
		if _, err := compile.Compile(context.Background(), m.Program, compile.Options{}); err != nil {
			t.Error(err)
		}
		m.Close()
		if err := os.RemoveAll(made[0]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReproducerOfNoModel: where the model cannot be read again the folder says so, and
// a command that has opened none leaves none.
func TestReproducerOfNoModel(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := &subject{path: filepath.Join(t.TempDir(), "gone.mil")}
	dir := s.reproducer("fault")
	note, err := os.ReadFile(filepath.Join(dir, faultText))
	if err != nil || !strings.Contains(string(note), "gone.mil is not here") {
		t.Errorf("%v, %q", err, note)
	}
	for _, s := range []*subject{nil, {}} {
		if dir := s.reproducer("fault"); dir != "" {
			t.Errorf("a reproducer without a model: %s", dir)
		}
	}
}
