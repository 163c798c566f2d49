package explain

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/ir"
)

// FuzzExplain explains a line of any program. A rewrite that is offered must be a valid program.
func FuzzExplain(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.mil"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no models: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(4))
		f.Add(b, uint8(5))
	}
	f.Fuzz(func(t *testing.T, text []byte, line uint8) {
		if len(text) > 1<<12 {
			return
		}
		tree, list := mil.Parse("fuzz.mil", text)
		if list.HasErrors() {
			return
		}
		p, list := build.Program(tree, nil, build.Options{})
		if list.HasErrors() || ir.Verify(p) != nil {
			return
		}
		small := true
		for _, fn := range p.Funcs {
			for _, v := range fn.Body.Params {
				small = small && v.Type.Elems() < 1<<16
			}
			ir.Walk(fn, func(op *ir.Op) {
				for _, v := range op.Results {
					small = small && v.Type.Elems() < 1<<16
				}
			})
		}
		if !small {
			return // the interpreter has its own limits
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		a, err := Explain(ctx, p, Place{Line: int(line)}, options())
		if err != nil {
			return
		}
		for _, r := range a.Rewrites {
			if err := ir.Verify(r.Program()); err != nil {
				t.Errorf("%s: %v", r.Name, err)
			}
		}
	})
}
