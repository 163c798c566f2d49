package compile

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/target"
)

// TestFilesAreThoseOfAll compares a compilation for the pair alone with a whole one: the same bytes and the same sums.
// In rb-flexible-gather, decompositions that stay on the CPU become the source's operations again, which takes part of
// the reference.
func TestFilesAreThoseOfAll(t *testing.T) {
	corpus := filepath.Join(shareddir.Find(t), "corpus")
	for _, path := range []string{
		filepath.Join("..", "examples", "digits", "digits.mlmodelc"),
		filepath.Join(corpus, "rb-flexible-gather"),
		filepath.Join(corpus, "rb-multifunction-flexible"),
		filepath.Join(corpus, "mnist-cnn-inline"),
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			compiled := func(sink func(*Result) Sink) *Result {
				m, err := frontend.Open(path, frontend.Options{AssumeWeights: true})
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				var r Result
				if err := Compile(context.Background(), m.Program, Options{Target: target.H13}, sink(&r)); err != nil {
					t.Fatal(err)
				}
				return &r
			}
			whole, only := compiled((*Result).All), compiled((*Result).Files)
			want, err := whole.Pair()
			if err != nil {
				t.Fatal(err)
			}
			got, err := only.Pair()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Container, want.Container) || !bytes.Equal(got.Descriptor, want.Descriptor) {
				t.Error("the pair differs")
			}
			if got, want := only.Report.Line(), whole.Report.Line(); got != want {
				t.Errorf("the sums are %q, want %q", got, want)
			}
			if a, b := only.Report, whole.Report; a.Weights != b.Weights || a.Scratch != b.Scratch || a.CPU != b.CPU {
				t.Errorf("%d and %d bytes, %v on the CPU; want %d and %d, %v", a.Weights, a.Scratch, a.CPU, b.Weights,
					b.Scratch, b.CPU)
			}
			if only.Functions != nil || only.Report.TaskList != nil {
				t.Error("the result has more than the pair and the sums")
			}
		})
	}
}
