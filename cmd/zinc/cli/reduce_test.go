package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/transform/reduce/wrongkernel"
)

// wrongResult is the value whose kernel is wrong in TestReduceWithExternalScript.
const wrongResult = "x_279_cast_fp16"

// wrongKernelMain is the program that the script of TestReduceWithExternalScript runs: exit status
// 0 when the model at its argument shows the wrong kernel.
func wrongKernelMain() {
	m, err := frontend.Open(os.Args[1], frontend.Options{})
	if err != nil {
		os.Exit(2)
	}
	defer m.Close()
	if yes, err := wrongkernel.Differs(context.Background(), m.Program, wrongResult); err != nil || !yes {
		os.Exit(1)
	}
	os.Exit(0)
}

// TestReduceWithExternalScript reduces the largest model of the corpus, 2,971 statements with one wrong kernel, with a
// shell script as the predicate.
func TestReduceWithExternalScript(t *testing.T) {
	shared := shareddir.Find(t)
	model := shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", "parakeet-eou-encoder-1280ms"))
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "wrong.sh")
	put(t, script, []byte("#!/bin/sh\nZINC_PLANTED=1 exec '"+self+"' \"$1\"\n"))
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var out, msg bytes.Buffer
	small := filepath.Join(dir, "small.mil")
	status := run(t.Context(), []string{"reduce", model, "--predicate", script, "-o", small, "-j", "2", "--json"},
		strings.NewReader(""), &out, &msg)
	if status != statusOK {
		t.Fatalf("status %d: %s", status, &msg)
	}
	text, err := os.ReadFile(small)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %s%s", time.Since(begin), &msg, text)
	if n := strings.Count(string(text), ";") - 1; n > 5 || n < 3 { // except the function's
		t.Errorf("%d statements are left, at most 5 wanted", n)
	}
	m, err := frontend.Open(small, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if yes, err := wrongkernel.Differs(t.Context(), m.Program, wrongResult); !yes || err != nil {
		t.Errorf("the result does not show the wrong kernel: %v", err)
	}
}

// TestInterruptedReduceWritesTheBestModel interrupts a reduction and checks that the best model so far is written.
func TestInterruptedReduceWritesTheBestModel(t *testing.T) {
	dir := t.TempDir()
	small := filepath.Join(dir, "small.mil")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	msg := &trigger{text: "halves: ", f: cancel}
	var out bytes.Buffer
	status := run(ctx, []string{"reduce", filepath.Join(digits(t), "digits.mlmodelc"), "--predicate", "test -f", "-o",
		small, "--progress", "-j", "1"}, strings.NewReader(""), &out, msg)
	if status != statusInterrupted || !strings.Contains(msg.String(), "interrupted; the best so far is in "+small) {
		t.Errorf("status %d, %q", status, msg)
	}
	m, err := frontend.Open(small, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}

// TestReduceWritesTheBestModelWhileSearching checks that the best model so far is written during the search, and that
// no weights remain at the end that only larger models needed.
func TestReduceWritesTheBestModelWhileSearching(t *testing.T) {
	dir := t.TempDir()
	small := filepath.Join(dir, "small.mil")
	weights := filepath.Join(dir, "small.weights.bin")
	sizes := []int64{}
	seen := 0
	watch := &watcher{do: func() {
		if info, err := os.Stat(small); err == nil {
			sizes = append(sizes, info.Size())
			m, err := frontend.Open(small, frontend.Options{})
			if err != nil {
				t.Errorf("the best so far: %v", err)
				return
			}
			m.Close()
			if _, err := os.Stat(weights); err == nil {
				seen++
			}
		}
	}}
	var out bytes.Buffer
	status := run(t.Context(), []string{"reduce", filepath.Join(digits(t), "digits.mlmodelc"), "--predicate",
		"grep -q conv3", "-o", small, "--progress", "-j", "1"}, strings.NewReader(""), &out, watch)
	if status != statusOK {
		t.Fatalf("status %d", status)
	}
	last, err := os.Stat(small)
	if err != nil {
		t.Fatal(err)
	}
	if len(sizes) == 0 || sizes[0] <= last.Size() {
		t.Errorf("while the search went on the text had %v bytes, at its end %d", sizes, last.Size())
	}
	if _, err := os.Stat(weights); !os.IsNotExist(err) || seen == 0 {
		t.Errorf("the weight file was seen %d times, and at the end: %v", seen, err)
	}
}

// watcher is a writer that calls a function on every write.
type watcher struct {
	do func()
}

func (w *watcher) Write(p []byte) (int, error) {
	w.do()
	return len(p), nil
}
