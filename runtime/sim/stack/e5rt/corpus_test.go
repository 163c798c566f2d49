package e5rt_test

import (
	"bytes"
	"context"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// slow are the models that take the race detector many seconds.
var slow = []string{"espresso-sdpa-bwd2", "espresso-full-fused"}

// TestRealModelsRunOnBoundBuffers checks that real models return, with buffers that are bound once, the same bytes in
// each dispatch as a new machine on tensors.
func TestRealModelsRunOnBoundBuffers(t *testing.T) {
	dir := filepath.Join(shareddir.Find(t), "corpus")
	list, err := os.ReadDir(dir)
	check(t, err)
	ran := 0
	for _, entry := range list {
		if !entry.IsDir() || testing.Short() && slices.Contains(slow, entry.Name()) {
			continue
		}
		t.Run(entry.Name(), func(t *testing.T) {
			ctx := context.Background()
			rt := newRuntime(t, e5rt.Options{})
			c := got[*e5rt.Compiler](t)(rt.NewCompiler(e5rt.CompilerConfig{Compile: compileModel}))
			lib, err := c.Compile(ctx, filepath.Join(dir, entry.Name()))
			if err != nil && strings.Contains(err.Error(), "weight file") {
				t.Skip(err) // not in the corpus
			}
			check(t, err)
			for _, name := range lib.FunctionNames() {
				runBoth(t, rt, lib, name)
			}
			ran++
		})
	}
	if ran < 15 {
		t.Errorf("only %d models ran", ran)
	}
}

// runBoth dispatches a function three times on seeded inputs, and runs it on tensors.
func runBoth(t *testing.T, rt *e5rt.Runtime, lib *e5rt.ProgramLibrary, name string) {
	t.Helper()
	ctx := context.Background()
	f := got[*e5rt.ProgramFunction](t)(lib.RetainProgramFunction(name))
	check(t, f.LoadForExecution(ctx))
	o, err := e5rt.CreateWithProgramFunction(f)
	check(t, err)
	op, err := e5rt.CreatePrecompiledComputeOperationWithOptions(o)
	check(t, err)
	buffers := map[string]*e5rt.BufferObject{}
	bind := func(n string, p *e5rt.IOPort, err error) *e5rt.IOPort {
		check(t, err)
		size := p.TensorDescriptor().Size
		if size < 0 {
			size = 1 << 20
		}
		buffers[n] = got[*e5rt.BufferObject](t)(rt.BufferObjectAlloc(max(size, 1), 0))
		check(t, p.BindBufferObject(buffers[n]))
		return p
	}
	types, outs := map[string]ir.Type{}, map[string]*e5rt.IOPort{}
	for _, n := range op.InputNames() {
		p, err := op.RetainInputPort(n)
		types[n] = bind(n, p, err).TensorDescriptor().Type
	}
	for _, n := range op.OutputNames() {
		p, err := op.RetainOutputPort(n)
		outs[n] = bind(n, p, err)
	}
	stream := got[*e5rt.ExecutionStream](t)(rt.NewExecutionStream())
	p := lib.Machine().Pair()
	m := got[*sim.Machine](t)(sim.Open(p)) // keeps its states, as the operation does
	check(t, m.Select(name))
	for run := range 3 {
		in := map[string]interp.Tensor{}
		for _, n := range op.InputNames() {
			x := seeded(t, types[n], n, uint64(run))
			in[n] = x
			copy(buffers[n].Bytes(), x.Data)
		}
		want, err := m.Run(ctx, in, sim.Options{Numerics: numerics.ANE})
		check(t, err)
		check(t, stream.EncodeOperation(op))
		check(t, stream.ExecuteSync(ctx))
		check(t, stream.Reset())
		for n, v := range want {
			if typ := outs[n].ResultType(); !typ.Equal(v.Type) {
				t.Errorf("function %s, run %d: output %q is %s, the machine gives %s", name, run, n, typ, v.Type)
			}
			if !bytes.Equal(buffers[n].Bytes()[:len(v.Data)], v.Data) {
				t.Errorf("function %s, run %d: output %q is not what the machine gives", name, run, n)
			}
		}
	}
}

// seeded returns values for an input: small numbers, that indices take too.
func seeded(t *testing.T, typ ir.Type, name string, run uint64) interp.Tensor {
	t.Helper()
	h := fnv.New64a()
	h.Write([]byte(name))
	r := rand.New(rand.NewPCG(h.Sum64(), run))
	vs := make([]float32, typ.Elems())
	for i := range vs {
		switch {
		case typ.DType == ir.Bool || !typ.DType.IsFloat():
			vs[i] = float32(r.IntN(2))
		default:
			vs[i] = float32(r.NormFloat64())
		}
	}
	x, err := interp.FromFloats(typ.DType, vs, typ.Shape...)
	check(t, err)
	return x
}
