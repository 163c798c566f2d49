package compile_test

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/difftest"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestCallsCompileToTheSameBytes holds pairs to testdata/calls.txt, in which a call (irbuild.Graph.Call) has a line for
// each way to compile it. Many rules about tiles, banks and the order of tasks show at few shapes, and numbers are
// right without them: a changed rule names here the calls that it changes, and a change that should move no byte moves
// none. To add a case, add its line and run with -update.
func TestCallsCompileToTheSameBytes(t *testing.T) {
	ways := []struct {
		name string
		o    compile.Options
	}{
		{"h13", compile.Options{Target: target.H13, Place: passes.PlaceEngine}},
		{"little L2, kernels cut", compile.Options{
			Target:      difftest.Narrow,
			Place:       passes.PlaceEngine,
			SplitKernel: true,
		}},
		{"older form, movement alone on the CPU", compile.Options{
			Target: target.H13,
			Place:  passes.PlaceCompute,
			FullTD: true,
		}},
	}
	name := filepath.Join("testdata", "calls.txt")
	old, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	update := flag.Lookup("update").Value.String() == "true"
	var all strings.Builder
	for _, part := range regexp.MustCompile(`(?m)^\S.*\n(?: .*\n)*`).FindAllString(string(old), -1) {
		call, want, _ := strings.Cut(part, "\n")
		all.WriteString(call + "\n")
		if call[0] == '#' {
			continue
		}
		got := ""
		for _, way := range ways {
			g := irbuild.New(1)
			vs, err := g.Call(call)
			if err != nil {
				t.Fatal(err)
			}
			g.Output(vs...)
			way.o.Workers = 1
			r, err := compile.All(context.Background(), g.Program(), way.o)
			if err != nil {
				t.Errorf("%s, %s: %v", call, way.name, err)
				continue
			}
			p, err := r.Pair()
			if err != nil {
				t.Fatalf("%s, %s: %v", call, way.name, err)
			}
			got += fmt.Sprintf("  %s: %d tasks, %d bytes of weights, container %x, descriptor %x\n", way.name,
				r.Report.Tasks, r.Report.Weights, sum(p.Container), sum(p.Descriptor))
		}
		all.WriteString(got)
		if got != want && !update {
			t.Errorf("%s compiles to\n%swant\n%s(-update rewrites the file)", call, got, want)
		}
	}
	if update {
		if err := os.WriteFile(name, []byte(all.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// sum is the beginning of the SHA-256 of b.
func sum(b []byte) []byte {
	s := sha256.Sum256(b)
	return s[:4]
}
