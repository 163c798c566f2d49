package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
)

var update = flag.Bool("update", false, "write the exchanged weights again")

// TestPatchChangesOutputsOnly checks that the outputs change and the tasks do not.
func TestPatchChangesOutputsOnly(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run(context.Background(), &out, "..", dir); err != nil {
		t.Fatal(err)
	}
	const want = `the image of a 1 is told as 1, with the patched pair as 7
the image of a 7 is told as 7, with the patched pair as 1
the image of a 5 is told as 5, with the patched pair as 5
the tasks are the same: true
`
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", &out, want)
	}
	t.Run("independent reader", func(t *testing.T) {
		tool := filepath.Join(shareddir.Find(t), "tools", "hwx.py")
		python, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("no python3")
		}
		if out, err := exec.Command(python, tool, "same", filepath.Join(dir, "old.hwx"),
			filepath.Join(dir, "patched.hwx")).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		} else {
			t.Logf("%s", out)
		}
		for _, name := range []string{"old.hwx", "patched.hwx"} {
			if out, err := exec.Command(python, tool, "check", filepath.Join(dir, name)).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
	})
}

// TestWeightsAreTheModelsOwn checks that the files in testdata have the model's values with the filters of 1 and 7
// exchanged.
func TestWeightsAreTheModelsOwn(t *testing.T) {
	m, err := frontend.Open(filepath.Join("..", "digits", "digits.mlmodelc"), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	found := 0
	for _, op := range m.Program.Funcs[0].Body.Ops {
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v.Name != "conv3_weight" && v.Name != "conv3_bias" {
				return
			}
			found++
			data := slices.Clone(v.Const.Data)
			per := len(data) / int(v.Type.Shape[0])
			one, seven := data[per:2*per], data[7*per:8*per]
			for i := range one {
				one[i], seven[i] = seven[i], one[i]
			}
			file, err := npy.Encode(npy.Array{Type: "f2", Shape: v.Type.Shape, Data: data})
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", v.Name+".npy")
			if *update {
				if err := os.WriteFile(path, file, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			have, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(have, file) {
				t.Errorf("%s is not current (go test ./examples/patch -update): %v", path, err)
			}
		})
	}
	if found != 2 {
		t.Errorf("%d weights found", found)
	}
}
