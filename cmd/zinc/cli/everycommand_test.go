package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp/conformance"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// tried counts the command lines that were run, by exit status.
type tried map[int]int

// try runs a command line and reports an internal error. It reports whether the command succeeded.
func (n tried) try(t *testing.T, args ...string) bool {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, msg := &trigger{}, &trigger{}
	if args[0] == "watch" {
		out.f, msg.f = cancel, cancel // after what it prints first, it only waits for changes
	}
	status := run(ctx, append(slices.Clone(args), "--max-memory", "192MiB"), strings.NewReader(""), onlyWriter{out},
		onlyWriter{msg})
	n[status]++
	if status == statusInternal || strings.Contains(msg.String(), "internal error") {
		t.Errorf("zinc %s: status %d: %.2000s", strings.Join(args, " "), status, msg)
	}
	return status == statusOK
}

// onlyWriter hides the other methods of a trigger.
type onlyWriter struct{ io.Writer }

// every runs every command that takes a model on one, and those that take a pair on its pairs.
func (n tried) every(t *testing.T, model string) {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	fast := []string{"--place", "engine", "--precision", "fp16"}
	pairs := []string{at("declared.hwx"), at("fast.hwx")}
	for i, flags := range [][]string{nil, fast} {
		pair, with := pairs[i], func(args ...string) bool { return n.try(t, append(args, flags...)...) }
		written := with(model, "-o", pair, "--debug-db", at("a.zdb"), "--report", "html="+at("report.html"))
		with("verify", model)
		with("verify", model, "--prove", "--engine", "sim")
		with("verify", model, "--first-departure")
		with("run", model, "--random", "1")
		with("check", model)
		with("check", model, "--all", "--json")
		with("lint", model)
		with("stack", model)
		if !written {
			continue
		}
		n.try(t, "run", pair, "--random", "1", "--engine", "direct")
		n.try(t, "prove", pair, model)
		n.try(t, "dump", pair, "--all", "--source")
		n.try(t, "dump", pair, "--hazards")
		put(t, at("load.json"), fmt.Appendf(nil,
			`{"classes": [{"name": "a", "model": %q, "clients": 2, "requests": 2}]}`, pair))
		n.try(t, "load", at("load.json"))
	}
	n.try(t, "diff", pairs[0], pairs[1])
	n.try(t, "diff", model, model)
	n.try(t, "run", model, "--random", "1", "--engine", "interp")
	n.try(t, "run", model, "--random", "1", "--engine", "interp", "--numerics", "ieee")
	n.try(t, "check", model, "--target", "h14,h17")
	n.try(t, "check", model, "--place", "compute", "--sarif")
	n.try(t, model, "--dry-run", "--report", "markdown", "--target", "h13g")
	n.try(t, model, "--emit", "netplist", "-o", at("net.plist"))
	n.try(t, model, "--emit", "td", "-o", at("tasks.td"))
	n.try(t, "dump", model)
	n.try(t, "dump", model, "--ir")
	n.try(t, "dump", model, "--json")
	n.try(t, "compress", model, "--ends", "--max-error", "1", "-o", at("small.mlpackage"))
	n.try(t, "split", model, "--parts", "2", "-o", at("parts"))
	if n.try(t, "convert", model, at("model.mlpackage")) {
		n.try(t, "convert", at("model.mlpackage"), at("model.mlmodelc"))
		n.try(t, "convert", at("model.mlmodelc"), at("text/model.mil"))
	}
	n.try(t, "generate", "p", model, "-o", at("p"))
	n.try(t, "watch", model)
	n.try(t, "reduce", model, "--predicate", "verify", "--max-runs", "4", "-o", at("reduced.mil"))
	n.try(t, "reduce", model, "--predicate", "compile-error=takes", "--max-runs", "4", "-o", at("reduced.mil"))
	if tool, err := exec.LookPath("true"); err == nil {
		n.try(t, "reduce", model, "--predicate", tool, "--max-runs", "20", "-o", at("reduced.mil"))
	}
	for _, name := range statements(model) {
		n.try(t, "explain", model, "--op", name)
	}
}

// statements returns the names of results of the model: in the long form of all its statements, else of the last.
func statements(model string) (names []string) {
	m, err := frontend.Open(model, frontend.Options{})
	if err != nil {
		return nil
	}
	defer m.Close()
	for _, f := range m.Program.Funcs {
		ir.Walk(f, func(op *ir.Op) {
			for _, v := range op.Results {
				names = append(names, v.Name)
			}
		})
	}
	if !testform.Long() && len(names) > 1 {
		names = names[len(names)-1:]
	}
	return names
}

// TestNoCommandFailsOnTensorsOfNothing runs every command on the programs of the conformance cases with one extent of
// one input set to 0, where the shape rules allow it.
func TestNoCommandFailsOnTensorsOfNothing(t *testing.T) {
	n, programs := tried{}, 0
	for i, dir := range conformance.Dirs(t) {
		if i%testform.Of(200, 100, 1) != 0 {
			continue
		}
		m, err := frontend.Open(dir, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for name, p := range conformance.Emptied(m.Program) {
			programs++
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "model.mil")
				if _, err := reduce.Write(t.Context(), p, path); err != nil {
					t.Fatal(err)
				}
				n.every(t, path)
			})
		}
		m.Close()
	}
	t.Logf("%d programs; command lines by exit status: %v", programs, n)
}

// everyOf runs every command on functions: their names, and their text after the opening parenthesis.
func everyOf(t *testing.T, functions map[string]string, short, usual int) {
	names, n := slices.Sorted(maps.Keys(functions)), tried{}
	for i := range testform.Sample(len(names), short, usual) {
		t.Run(names[i], func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.mil")
			put(t, path, []byte("program(1.3)\n{\n    func main<ios18>("+functions[names[i]]+"\n}\n"))
			n.every(t, path)
		})
	}
	t.Logf("command lines by exit status: %v", n)
}

// TestNoCommandFailsOnControlFlow runs every command on programs with blocks.
func TestNoCommandFailsOnControlFlow(t *testing.T) { everyOf(t, controlFlow, 1, 4) }

// TestNoCommandFailsOnBigShapes runs every command on programs of values that do not fit the limit of memory, or of
// shapes at the limits of what counts them.
func TestNoCommandFailsOnBigShapes(t *testing.T) { everyOf(t, bigShapes, 1, 4) }

// TestNoCommandFailsOnSharedCases runs every command on the inputs that once showed a fault.
func TestNoCommandFailsOnSharedCases(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(shareddir.Find(t), "cases", "*.mil"))
	if err != nil {
		t.Fatal(err)
	}
	n := tried{}
	for i := range testform.Sample(len(paths), 1, 4) {
		t.Run(filepath.Base(paths[i]), func(t *testing.T) {
			if b, err := os.ReadFile(paths[i]); err == nil && bytes.Contains(b, []byte("BLOBFILE")) {
				t.Skip("has weights of its own")
			}
			n.every(t, paths[i])
		})
	}
	t.Logf("command lines by exit status: %v", n)
}
