package e5rt_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/target"
)

// compileModel is zinc's compiler as the runtime calls it.
func compileModel(ctx context.Context, path string) (pair.Pair, error) {
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		return pair.Pair{}, err
	}
	defer m.Close()
	r, err := compile.All(ctx, m.Program, compile.Options{Target: target.H13, InputName: "model"})
	if err != nil {
		return pair.Pair{}, err
	}
	return r.Pair()
}

// setFloats writes all elements of a view, rounded to its element type.
func setFloats(v e5rt.View, vs ...float32) error {
	to := v.Tensor().Type
	x, err := interp.FromFloats(to.DType, vs, to.Shape...)
	if err != nil {
		return err
	}
	return v.Set(x)
}

// setInts is setFloats for integers.
func setInts(v e5rt.View, vs ...int64) error {
	to := v.Tensor().Type
	x, err := interp.FromInts(to.DType, vs, to.Shape...)
	if err != nil {
		return err
	}
	return v.Set(x)
}

// check stops a test at an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// got stops a test at an error and returns the value.
func got[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		check(t, err)
		return v
	}
}

func newRuntime(t testing.TB, o e5rt.Options) *e5rt.Runtime {
	t.Helper()
	return got[*e5rt.Runtime](t)(e5rt.New(o))
}

// bed is a loaded function with an operation whose ports are all bound, and a stream.
type bed struct {
	rt      *e5rt.Runtime
	lib     *e5rt.ProgramLibrary
	fn      *e5rt.ProgramFunction
	op      *e5rt.ExecutionStreamOperation
	buffers map[string]*e5rt.BufferObject
	views   map[string]e5rt.View
	stream  *e5rt.ExecutionStream
	own     time.Duration // virtual time of a dispatch in the runtime
}

func newBed(t testing.TB, rt *e5rt.Runtime, model string) *bed {
	t.Helper()
	c := got[*e5rt.Compiler](t)(rt.NewCompiler(e5rt.CompilerConfig{Compile: compileModel}))
	b := &bed{rt: rt, lib: got[*e5rt.ProgramLibrary](t)(c.Compile(context.Background(), model))}
	b.fn = got[*e5rt.ProgramFunction](t)(b.lib.RetainProgramFunction("main"))
	check(t, b.fn.LoadForExecution(context.Background()))
	b.op, b.buffers, b.views = b.operation(t)
	b.stream = got[*e5rt.ExecutionStream](t)(rt.NewExecutionStream())
	p, err := compileModel(context.Background(), model)
	check(t, err)
	prog, err := loader.Read(p.Container)
	check(t, err)
	var in, out uint64
	for _, port := range prog.Procedures()[0].Ports {
		if port.Output {
			out += port.Size
		} else {
			in += port.Size
		}
	}
	handing := cost.Handing(int64(in), int64(out), cost.Simulated)
	b.own = time.Duration(cost.Bind.Fixed() + handing + cost.Return.Fixed())
	return b
}

// operation makes an operation with buffers of its own.
func (b *bed) operation(t testing.TB) (*e5rt.ExecutionStreamOperation, map[string]*e5rt.BufferObject,
	map[string]e5rt.View) {
	t.Helper()
	o := got[*e5rt.PrecompiledComputeOpCreateOptions](t)(e5rt.CreateWithProgramFunction(b.fn))
	op := got[*e5rt.ExecutionStreamOperation](t)(e5rt.CreatePrecompiledComputeOperationWithOptions(o))
	buffers, views := map[string]*e5rt.BufferObject{}, map[string]e5rt.View{}
	bind := func(n string, p *e5rt.IOPort, err error) {
		check(t, err)
		d := p.TensorDescriptor()
		if d.Size < 0 {
			return // the test binds it
		}
		buf := got[*e5rt.BufferObject](t)(b.rt.BufferObjectAlloc(d.Size, e5rt.BufferTypeDefault))
		check(t, p.BindBufferObject(buf))
		buffers[n] = buf
		views[n] = got[e5rt.View](t)(buf.View(d))
	}
	for _, n := range op.InputNames() {
		p, err := op.RetainInputPort(n)
		bind(n, p, err)
	}
	for _, n := range op.OutputNames() {
		p, err := op.RetainOutputPort(n)
		bind(n, p, err)
	}
	return op, buffers, views
}

// once encodes, executes and resets.
func (b *bed) once(t testing.TB) {
	t.Helper()
	check(t, b.stream.EncodeOperation(b.op))
	check(t, b.stream.ExecuteSync(context.Background()))
	check(t, b.stream.Reset())
}

// reference is the result of a machine on tensors for one input "x" and output "y".
func reference(t testing.TB, l *e5rt.ProgramLibrary, x interp.Tensor) interp.Tensor {
	t.Helper()
	m := got[*sim.Machine](t)(sim.Open(l.Machine().Pair()))
	out, err := m.Run(context.Background(), map[string]interp.Tensor{"x": x}, sim.Options{Numerics: numerics.ANE})
	check(t, err)
	return out["y"]
}

// fakeEngine counts, and hands dispatches to its function.
type fakeEngine struct {
	mu             sync.Mutex
	opened, closed int
	err            error
	run            func(procedure string, surfaces map[string][]byte) error
}

func (e *fakeEngine) Open(ctx context.Context, container []byte, stateful bool) (sim.Dispatcher, io.Closer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return nil, nil, e.err
	}
	e.opened++
	return e, e, nil
}

func (e *fakeEngine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed++
	return nil
}

func (e *fakeEngine) Dispatch(ctx context.Context, procedure string, surfaces map[string][]byte) error {
	if e.run == nil {
		return nil
	}
	return e.run(procedure, surfaces)
}

func (e *fakeEngine) Chain(ctx context.Context, segments []sim.Segment) error {
	for _, s := range segments {
		if err := e.Dispatch(ctx, s.Procedure, s.Surfaces); err != nil {
			return err
		}
	}
	return nil
}
