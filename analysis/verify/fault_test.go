package verify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/target"
)

// TestEngineFaultNamesStatement also checks that other errors are returned unchanged.
func TestEngineFaultNamesStatement(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.mil")
	err := os.WriteFile(path, []byte(`program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 8, 8]> x) {
        tensor<fp16, [1, 4, 8, 8]> first = sigmoid(x = x);
        tensor<fp16, [1, 4, 8, 8]> second = square(x = first);
    } -> (second);
}
`), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	p := open(t, path)
	files := p.Files
	r, err := compile.All(context.Background(), p, compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	proc := r.Functions[0].Procedures[0]
	fault := &engine.Fault{Task: len(proc.Tasks) - 1, Address: -1, Msg: "the task is wrong"}
	got := EngineFault(r, files, &sim.OpError{Op: "Op1", Procedure: proc.Name, Err: fault})
	var as *FaultError
	want := "simulated run: " + path + ":5:45: second = square, procedure " + proc.Name + ": " + fault.Error()
	if !errors.As(got, &as) || got.Error() != want || !errors.Is(got, fault) {
		t.Errorf("%v, want %s", got, want)
	}
	got = EngineFault(r, files, &sim.OpError{Op: "Op1", Procedure: "absent", Err: fault})
	if !errors.As(got, &as) || !strings.HasSuffix(got.Error(), fault.Error()) {
		t.Errorf("unknown procedure: %v", got)
	}
	other := &sim.OpError{Op: "Op1", Procedure: proc.Name, Err: context.Canceled}
	if got := EngineFault(r, files, other); got != error(other) {
		t.Errorf("another error is returned as %v", got)
	}
}
