package patch_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/patch"
	"github.com/zinc-compiler/zinc/provenance"
	"github.com/zinc-compiler/zinc/verify"
)

// pair is a compiled model with its database.
type pair struct {
	container, descriptor []byte
	db                    *provenance.DB
}

// build compiles a model with its database. Constants that it changes are changed
// first.
func build(t testing.TB, path string, o compile.Options, change func(p *ir.Program)) *pair {
	t.Helper()
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if change != nil {
		change(m.Program)
	}
	o.SplitKernel, o.Provenance, o.InputName = true, true, filepath.Base(m.Path)
	r, err := compile.Compile(context.Background(), m.Program, o)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{db: r.Provenance}
	if p.container, p.descriptor, err = verify.Pair(r); err != nil {
		t.Fatal(err)
	}
	// As it comes from a file.
	var b bytes.Buffer
	if err := p.db.Write(&b); err != nil {
		t.Fatal(err)
	}
	if p.db, err = provenance.Read(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	return p
}

// constants calls f for every fp16 constant of a program that has a name.
func constants(p *ir.Program, f func(fn string, v *ir.Value)) {
	for _, fn := range p.Funcs {
		seen := map[*ir.Value]bool{}
		for _, op := range fn.Body.Ops {
			op.Operands(func(_ *ir.Param, v *ir.Value) {
				if v.IsConst() && v.Name != "" && v.Type.DType == ir.FP16 && v.Const.Data != nil && !seen[v] {
					seen[v] = true
					f(fn.Name, v)
				}
			})
		}
	}
}

var quoted = regexp.MustCompile(`"[^"]*"|\d+`)

// TestCorpusSame patches every constant of real models that can be patched with the
// values that it has: not a byte may change, so that every value stands where the
// packing says.
func TestCorpusSame(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "corpus")
	models := []string{"mnist-cnn-inline", "silero-v6-fp16", "coremltools-add", "parakeet-eou-joint", "parakeet-eou-decoder-lstm", "silero-v6-256ms-fp16"}
	if !testing.Short() {
		models = append(models, "whisper-tiny-encoder")
	}
	all := 0
	for _, name := range models {
		path := modelIn(filepath.Join(dir, name))
		if path == "" {
			t.Logf("%s: no model", name)
			continue
		}
		m, err := frontend.Open(path, frontend.Options{})
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		p := build(t, path, compile.Options{Precision: "fp16"}, nil)
		patched, refused := 0, map[string]int{}
		constants(m.Program, func(fn string, v *ir.Value) {
			w := patch.Weight{Name: fn + "/" + v.Name, Array: npy.Array{Type: "f2", Shape: v.Type.Shape, Data: v.Const.Data}}
			r, err := patch.Apply(p.container, p.descriptor, p.db, []patch.Weight{w})
			no := (*patch.Refusal)(nil)
			switch {
			case errors.As(err, &no):
				refused[quoted.ReplaceAllString(no.Reason, "NAME")]++
			case err != nil:
				refused[err.Error()]++
			case !bytes.Equal(r.Container, p.container) || !bytes.Equal(r.Descriptor, p.descriptor):
				t.Errorf("%s: %s with the values that it has changes bytes", name, w.Name)
			default:
				patched++
			}
		})
		m.Close()
		all += patched
		t.Logf("%s: %d constants patched", name, patched)
		for r, n := range refused {
			t.Logf("  %d refused: %.200s", n, r)
		}
	}
	if all < 20 {
		t.Errorf("only %d constants of the corpus can be patched", all)
	}
}

// modelIn returns the path of the model in a folder of the corpus.
func modelIn(dir string) string {
	for _, glob := range []string{"*.mlmodelc", "*.mil", "*.mlpackage"} {
		if ms, _ := filepath.Glob(filepath.Join(dir, glob)); len(ms) > 0 {
			return ms[0]
		}
	}
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	return ""
}
