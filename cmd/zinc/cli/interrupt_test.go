package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trigger is a writer that calls f once, when the text is written to it.
type trigger struct {
	bytes.Buffer
	text string
	f    func()
}

func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.f != nil && strings.Contains(w.String(), w.text) {
		w.f()
		w.f = nil
	}
	return n, err
}

// TestInterruptKeepsTheOldPair cancels a compilation: the old pair must be unchanged, and no other file left.
func TestInterruptKeepsTheOldPair(t *testing.T) {
	model := filepath.Join(digits(t), "digits.mlmodelc")
	for _, stage := range []string{"passes: 0", "passes: 1", "lower: "} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "d.hwx"), []byte("old container"))
		put(t, filepath.Join(dir, "d.e5"), []byte("old descriptor"))
		ctx, cancel := context.WithCancel(context.Background())
		msg := &trigger{text: stage, f: cancel}
		var out bytes.Buffer
		status := run(ctx, []string{model, "-o", filepath.Join(dir, "d.hwx"), "--progress"}, strings.NewReader(""),
			&out, msg)
		if status != statusInterrupted || !strings.Contains(msg.String(), "interrupted") {
			t.Errorf("%s: status %d, %q", stage, status, msg)
		}
		es, err := os.ReadDir(dir)
		if err != nil || len(es) != 2 {
			t.Errorf("%s: the folder holds %v, %v", stage, es, err)
		}
		for name, want := range map[string]string{"d.hwx": "old container", "d.e5": "old descriptor"} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
				t.Errorf("%s: %s holds %q, %v", stage, name, b, err)
			}
		}
		cancel()
	}
}

// TestInterruptStopsRuns cancels runs of a model at different stages.
func TestInterruptStopsRuns(t *testing.T) {
	for _, stage := range []string{"reference run", "simulated run"} {
		ctx, cancel := context.WithCancel(context.Background())
		msg := &trigger{text: stage, f: cancel}
		var out bytes.Buffer
		status := run(ctx, []string{"verify", filepath.Join(digits(t), "digits.mlmodelc"), "--progress"},
			strings.NewReader(""), &out, msg)
		lines := strings.Split(strings.TrimSpace(msg.String()), "\n")
		if status != statusInterrupted || out.Len() > 0 ||
			lines[len(lines)-1] != "zinc: interrupted; nothing was written" {
			t.Errorf("%s: status %d, %q, %q", stage, status, &out, msg)
		}
		cancel()
	}
}

// TestPanicIsInternalError checks the exit status and the message of a panic.
func TestPanicIsInternalError(t *testing.T) {
	err := guarded(func() error { panic("two and two") })
	var msg bytes.Buffer
	e := &env{err: &msg, diagnostics: "text"}
	if status := e.fail(err); status != statusInternal {
		t.Errorf("status %d, want %d", status, statusInternal)
	}
	if s := msg.String(); !strings.Contains(s, "internal error: two and two") || !strings.Contains(s, "report") {
		t.Errorf("message %q", s)
	}
}

// broken fails every write.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

// TestFailedWriteIsAnError checks that a result that could not be written is an error.
func TestFailedWriteIsAnError(t *testing.T) {
	var msg bytes.Buffer
	if status := run(context.Background(), []string{"version"}, strings.NewReader(""), broken{},
		&msg); status != statusInput || strings.Count(msg.String(), "\n") != 1 {
		t.Errorf("status %d, %q", status, &msg)
	}
}
