package verify

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// TestLoopsOverListsAgreeWithTheInterpreter compiles a package whose recurrent layers
// are loops over lists, runs the written pair and compares it with the interpreter. The
// inputs are positive: the model takes their logarithms, and the random inputs of Run
// would only compare one NaN with another.
func TestLoopsOverListsAgreeWithTheInterpreter(t *testing.T) {
	m, err := frontend.Open(filepath.Join(shareddir.Find(t), "corpus", "DTLN_AEC_128_Part1.mlpackage"),
		frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := compile.Compile(context.Background(), m.Program, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	machine, err := Open(r)
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]interp.Tensor{}
	for _, v := range r.Reference.Body.Params {
		var data []byte
		for i := range v.Type.Elems() {
			data = ir.AppendElem(data, v.Type.DType, float64(1+i%97)/64)
		}
		inputs[v.Name] = interp.Tensor{Type: v.Type, Data: data}
	}
	prog, err := interp.Prepare(r.Reference)
	if err != nil {
		t.Fatal(err)
	}
	want, err := prog.Run(context.Background(), inputs, interp.Options{Numerics: numerics.IEEE})
	if err != nil {
		t.Fatal(err)
	}
	got, err := machine.Run(context.Background(), inputs, sim.Options{Numerics: numerics.ANE})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Reference.Body.Outputs {
		f := (&span{t: want[v.Name]}).compare(got[v.Name])
		// The program is fp32, so nothing runs on the engine and no value may differ.
		if !f.pass || f.maxAbs != 0 || !(f.scale > 0.1) {
			t.Errorf("%s: %+v", v.Name, f)
		}
	}
}
