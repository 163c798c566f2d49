package verify

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
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
	r, err := compile.All(context.Background(), m.Program, compile.Options{Target: target.H13})
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
		f := (&enclosure{t: want[v.Name]}).compare(got[v.Name])
		// The program is fp32, so nothing runs on the engine and no value may differ.
		if !f.pass || f.maxAbs != 0 || !(f.scale > 0.1) {
			t.Errorf("%s: %+v", v.Name, f)
		}
	}
}

// openLists has lists whose elements have an extent that the program does not know.
const openLists = `program(1.3)
{
    func main<ios18>(tensor<fp32, [2, 3, 4]> x) {
        list<tensor<fp32, [?, 4]>, ?> l = make_list(init_length = 2, dtype = "fp32", elem_shape = ("rows", 4));
        list<tensor<fp32, [?, 4]>, ?> s = list_scatter(ls = l, indices = tensor<int32, [2]>([1, 0]), value = x);
        tensor<fp32, [?, 4]> one = list_read(ls = s, index = 1);
        list<tensor<fp32, [?, 4]>, ?> w = list_write(ls = s, index = 2, value = one);
        tensor<int32, []> n = list_length(ls = w);
        tensor<fp32, [3, ?, 4]> g = list_gather(ls = w, indices = tensor<int32, [3]>([0, 1, 2]));
        tensor<fp32, [3, 3, 4]> y = reshape(x = g, shape = tensor<int32, [3]>([3, 3, 4]));
    } -> (y, n);
}
`

func TestListsOfOpenExtentsAreVerified(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, []byte(openLists), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), open(t, path), Options{Seed: 1, Compile: compile.Options{Target: target.H13}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != Pass {
		t.Errorf("%+v", r)
	}
	list := interp.Tensor{Type: ir.Type{Kind: ir.List, DType: ir.FP16, Shape: []int64{ir.Unknown}},
		List: []interp.Tensor{{Type: ir.TensorOf(ir.FP16, 3)}, {Type: ir.TensorOf(ir.FP16, 4)}}}
	if n := elements(list); n != 7 {
		t.Errorf("a list of 7 elements has %d", n)
	}
}
