package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/addition"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/target"
)

// smallModels of the corpus and of the converted packages are compiled, run, verified and proved in the usual form of
// TestModelsRunOnH14, all of them in the long one.
var smallModels = []string{"corpus/coremltools-add", "corpus/espresso-conv", "corpus/espresso-decode-ffn",
	"corpus/espresso-fused-ffn", "corpus/espresso-matmul", "corpus/espresso-rwkv-recurrent-step",
	"corpus/fluid-argmax", "corpus/fluid-token-duration", "corpus/mnist-cnn-inline",
	"converted/kvshift.mlpackage", "converted/lnenum.mlpackage",
	"converted/mlp-sparse.mlpackage"}

// TestModelsRunOnH14 compiles models for h14. They have no hazards, compute what they compute on h13 bit for bit, agree
// with the reference on three seeds, and are proved.
func TestModelsRunOnH14(t *testing.T) {
	shared := shareddir.Find(t)
	names := testform.Of(smallModels[:4], smallModels, nil)
	if names == nil {
		for _, dir := range []string{"corpus", "converted"} {
			entries, err := os.ReadDir(filepath.Join(shared, dir))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.IsDir() {
					names = append(names, dir+"/"+e.Name())
				}
			}
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			model := filepath.Join(shared, filepath.FromSlash(name))
			if strings.HasPrefix(name, "corpus/") && filepath.Ext(name) == "" {
				model = filepath.Join(shareddir.WithWeights(t, shared, model), "model.mil")
			}
			_, want := outputs(t, model, "h13")
			pair, got := outputs(t, model, "h14")
			if got != want {
				t.Errorf("on h14:\n%son h13:\n%s", got, want)
			}
			for _, args := range [][]string{{"dump", "--hazards", pair}, {"prove", pair, model, "-t", "h14"}} {
				if s, out, msg := call(t, args...); s != statusOK {
					t.Errorf("zinc %v: status %d\n%s%s", args, s, out, msg)
				}
			}
			for seed := 1; seed <= 3; seed++ {
				if s, out, msg := call(t, "verify", model, "-t", "h14", "--seed", strconv.Itoa(seed)); s != statusOK {
					t.Errorf("verify, seed %d: status %d\n%s%s", seed, s, out, msg)
				}
			}
		})
	}
}

// outputs compiles a model for a target and returns the pair and what a run prints.
func outputs(t *testing.T, model, target string) (pair, printed string) {
	t.Helper()
	pair = filepath.Join(t.TempDir(), "m.hwx")
	if s, _, msg := call(t, model, "-t", target, "-o", pair); s != statusOK {
		t.Fatalf("compile for %s: status %d\n%s", target, s, msg)
	}
	s, out, msg := call(t, "run", pair, "--random", "1")
	if s != statusOK {
		t.Fatalf("run on %s: status %d\n%s%s", target, s, out, msg)
	}
	return pair, out
}

// TestContainersOfLaterTargets runs a container of each target from h15 on, without a descriptor, on the whole stack
// and on the engine alone, and lets other commands read it. The target of the container decides about the arithmetic:
// h15 rounds as h13, later targets in another way, and the -t flag says nothing about it.
func TestContainersOfLaterTargets(t *testing.T) {
	sums := map[string]string{}
	var paths []string
	for _, on := range addition.Targets {
		b, err := addition.Container(on)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), on.Name+".hwx")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		for _, more := range [][]string{nil, {"--engine=direct"}, {"-t", "h13"}, {"-t", "h16", "--engine=direct"}} {
			s, out, msg := call(t, append([]string{"run", path, "--random", "1"}, more...)...)
			if s != statusOK {
				t.Fatalf("%s %v: status %d\n%s", on.Name, more, s, msg)
			}
			if was, ok := sums[on.Arithmetic]; ok && was != out {
				t.Errorf("%s %v: %s, another run of %s printed %s", on.Name, more, out, on.Arithmetic, was)
			}
			sums[on.Arithmetic] = out
		}
		for _, args := range [][]string{{"dump", path}, {"dump", "--json", path}, {"dump", "--hazards", path},
			{"stack", path}} {
			if s, _, msg := call(t, args...); s != statusOK {
				t.Errorf("%v: status %d\n%s", args, s, msg)
			}
		}
	}
	if len(sums) != 2 || sums["ane"] == sums["ane-fixed"] {
		t.Errorf("results by arithmetic: %v", sums)
	}
	s, out, msg := call(t, "diff", paths[1], paths[2])
	if s != 1 || !strings.Contains(out, "cpusubtype: 7 -> 9") {
		t.Errorf("diff: status %d\n%s%s", s, out, msg)
	}
}

// TestModelsRunOnLaterTargets compiles models for h15 to h18, which leaves operations without recorded programs to the
// CPU. What is on the engine has no hazards, agrees with the reference, and is proved.
func TestModelsRunOnLaterTargets(t *testing.T) {
	shared := shareddir.Find(t)
	for _, name := range testform.Of(smallModels[:2], smallModels, smallModels) {
		for _, on := range []string{"h15", "h16", "h17", "h18", "h18g"} {
			t.Run(on+"/"+name, func(t *testing.T) {
				if !slices.Contains(target.Compiled(), on) {
					t.Skip("zinc writes no programs for the target")
				}
				model := filepath.Join(shared, filepath.FromSlash(name))
				if strings.HasPrefix(name, "corpus/") && filepath.Ext(name) == "" {
					model = filepath.Join(shareddir.WithWeights(t, shared, model), "model.mil")
				}
				pair, _ := outputs(t, model, on)
				for _, args := range [][]string{{"dump", "--hazards", pair}, {"prove", pair, model, "-t", on},
					{"verify", model, "-t", on, "--seed", "2"}} {
					if s, out, msg := call(t, args...); s != statusOK {
						t.Errorf("zinc %v: status %d\n%s%s", args, s, out, msg)
					}
				}
			})
		}
	}
}
