package patch_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/patch"
)

// model is a compiled model with its debug database.
type model struct {
	pair.Pair
	db *provenance.DB
}

// build compiles a model with its debug database, after changing some constants.
func build(t testing.TB, path string, change func(p *ir.Program)) *model {
	t.Helper()
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if change != nil {
		change(m.Program)
	}
	r, err := compile.All(context.Background(), m.Program, compile.Options{
		Target:      target.H13,
		SplitKernel: true,
		Provenance:  true,
		InputName:   filepath.Base(m.Path),
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &model{db: r.Provenance}
	if p.Pair, err = r.Pair(); err != nil {
		t.Fatal(err)
	}
	// Write and read the database, as a user would.
	var b bytes.Buffer
	if err := p.db.Write(&b); err != nil {
		t.Fatal(err)
	}
	if p.db, err = provenance.Read(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	return p
}

// constants calls f for every named fp16 constant of a program.
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

// TestPatchedRealModelsAreAsCompiled patches every constant of real models that can be
// patched. Patching one with its own values must not change a byte, and patching all
// of them at once must give the pair that the model compiles to with the new values.
func TestPatchedRealModelsAreAsCompiled(t *testing.T) {
	shared := shareddir.Find(t)
	models := []string{"silero-v6-fp16", "silero-v6-256ms-fp16", "parakeet-eou-joint", "parakeet-eou-decoder-lstm",
		"coremltools-add", "espresso-matmul", "espresso-fused-ffn", "espresso-conv"}
	if !testing.Short() {
		models = append(models, "whisper-tiny-encoder")
	}
	all := 0
	for _, name := range models {
		t.Run(name, func(t *testing.T) {
			dir := shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", name))
			m, err := frontend.Open(dir, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			p := build(t, dir, nil)
			var patched []patch.Weight
			refused := map[string]int{}
			constants(m.Program, func(fn string, v *ir.Value) {
				w := patch.Weight{
					Name:  fn + "/" + v.Name,
					Array: npy.Array{Type: "f2", Shape: v.Type.Shape, Data: v.Const.Data},
				}
				r, err := patch.Apply(p.Pair, p.db, []patch.Weight{w})
				no := (*patch.Refusal)(nil)
				switch {
				case errors.As(err, &no):
					refused[quoted.ReplaceAllString(no.Reason, "NAME")]++
				case err != nil:
					refused[quoted.ReplaceAllString(err.Error(), "NAME")]++
				case !bytes.Equal(r.Container, p.Container) || !bytes.Equal(r.Descriptor, p.Descriptor):
					t.Errorf("%s: patching it with its own values changes bytes", w.Name)
				default:
					patched = append(patched, w)
				}
			})
			all += len(patched)
			t.Logf("%d constants patched", len(patched))
			for _, r := range slices.Sorted(maps.Keys(refused)) {
				t.Logf("%d refused: %.200s", refused[r], r)
			}
			if len(patched) == 0 {
				return
			}
			values := map[string][]byte{}
			for i := range patched {
				data := bytes.Clone(patched[i].Array.Data)
				for k := 1; k < len(data); k += 2 {
					data[k] ^= 0x80 // the sign
				}
				patched[i].Array.Data = data
				values[patched[i].Name] = data
			}
			want := build(t, dir, func(prog *ir.Program) {
				constants(prog, func(fn string, v *ir.Value) {
					if data := values[fn+"/"+v.Name]; data != nil {
						v.Const = &ir.Const{Type: v.Type, Data: data}
					}
				})
			})
			r, err := patch.Apply(p.Pair, p.db, patched)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(r.Container, want.Container) || !bytes.Equal(r.Descriptor, want.Descriptor) {
				t.Errorf("the pair differs from the compiled one: %s", difference(t, r.Container,
					want.Container))
			}
		})
	}
	if all < 100 && !testing.Short() {
		t.Errorf("only %d constants of the corpus can be patched", all)
	}
}
