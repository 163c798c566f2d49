package stack_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
)

// tiny returns the chapter's tiny graph: a convolution of 3x3 from 8 channels to 8 with padding 1, a clamp and a mean.
// The chapter does not state the size of the image.
func tiny(b *testing.B, pixels int) pair.Pair {
	b.Helper()
	text, err := os.ReadFile("e5rt/testdata/tiny.mil")
	if err != nil {
		b.Fatal(err)
	}
	shape := fmt.Sprintf("[1, 8, %d, %d]", pixels, pixels)
	model := filepath.Join(b.TempDir(), "model.mil")
	if err := os.WriteFile(model, []byte(strings.ReplaceAll(string(text), "[1, 8, 8, 8]", shape)), 0o666); err != nil {
		b.Fatal(err)
	}
	return compiled(b, model)
}

// BenchmarkDispatch measures one dispatch of the tiny graph through the whole stack. Its metrics are the shares of the
// layers, in percent: a layer's time is the time of the cut above it minus the time of the cut below it, the best of
// several turns.
func BenchmarkDispatch(b *testing.B) {
	for _, pixels := range []int{4, 8} {
		b.Run(fmt.Sprintf("pixels=%dx%d", pixels, pixels), func(b *testing.B) {
			compiled := tiny(b, pixels)
			s, p := machine(b, stack.Options{Workers: 1})
			whole := loop(b, e5rt.Options{Workers: 1, Engine: p, Clock: s.Clock()}, compiled)
			idle := best(loop(b, e5rt.Options{Workers: 1, Engine: nothing{}}, compiled))
			device, engine := best(request(b, s, compiled)), best(loop(b, e5rt.Options{Workers: 1}, compiled))-idle
			all := best(whole)
			share := func(d time.Duration) float64 { return 100 * max(0, float64(d)) / float64(all) }
			b.ReportAllocs()
			for b.Loop() {
				whole()
			}
			b.ReportMetric(share(idle), "%e5rt")
			b.ReportMetric(share(all-device-idle), "%broker")
			b.ReportMetric(share(device-engine), "%driver+rings+firmware")
			b.ReportMetric(share(engine), "%engine")
		})
	}
}

// best is the least average time of a call over several turns.
func best(f func()) time.Duration {
	const turns, calls = 20, 200
	least := time.Duration(1 << 62)
	for range turns {
		begin := time.Now()
		for range calls {
			f()
		}
		least = min(least, time.Since(begin)/calls)
	}
	return least
}

// nothing is an engine that does nothing.
type nothing struct{}

func (nothing) Open(context.Context, []byte, bool) (sim.Dispatcher, io.Closer, error) {
	return nothing{}, io.NopCloser(nil), nil
}

func (nothing) Dispatch(context.Context, string, map[string][]byte) error { return nil }

func (nothing) Chain(context.Context, []sim.Segment) error { return nil }

// request builds what the driver's front end needs and returns one request.
func request(b *testing.B, s *stack.Stack, compiled pair.Pair) func() {
	b.Helper()
	check := checker(b)
	task := &driver.Task{PID: 7, TeamID: "BENCH", Entitlements: []string{driver.UserAccess}}
	c, err := s.Device.OpenServices(task)
	check(err)
	h, err := c.ProgramCreate(compiled.Container)
	check(err)
	_, err = c.Prepare(h, driver.PrepareOptions{})
	check(err)
	r := &driver.Request{Handle: h, Priority: 5}
	prog, err := loader.Read(compiled.Container)
	check(err)
	for _, port := range prog.Procedures()[0].Ports {
		to := &r.Inputs
		if port.Output {
			to = &r.Outputs
		}
		*to = append(*to, task.CreateSurface(make([]byte, port.Size)))
	}
	return func() {
		_, err := c.SendRequest(r)
		check(err)
	}
}

// loop builds what comes before the loop of listing 2.4 and returns one turn of it.
func loop(b *testing.B, o e5rt.Options, p pair.Pair) func() {
	b.Helper()
	check := checker(b)
	rt, err := e5rt.New(o)
	check(err)
	m, err := sim.Open(p)
	check(err)
	lib, err := rt.NewProgramLibrary(m)
	check(err)
	fn, err := lib.RetainProgramFunction(lib.FunctionNames()[0])
	check(err)
	ctx := context.Background()
	check(fn.LoadForExecution(ctx))
	opts, err := e5rt.CreateWithProgramFunction(fn)
	check(err)
	op, err := e5rt.CreatePrecompiledComputeOperationWithOptions(opts)
	check(err)
	bind := func(p *e5rt.IOPort, err error) {
		b.Helper()
		check(err)
		buf, err := rt.BufferObjectAlloc(p.TensorDescriptor().Size, e5rt.BufferTypeDefault)
		check(err)
		check(p.BindBufferObject(buf))
	}
	for _, n := range op.InputNames() {
		bind(op.RetainInputPort(n))
	}
	for _, n := range op.OutputNames() {
		bind(op.RetainOutputPort(n))
	}
	stream, err := rt.NewExecutionStream()
	check(err)
	return func() {
		check(op.PrepareOpForEncode())
		check(stream.EncodeOperation(op))
		check(stream.ExecuteSync(ctx))
		check(stream.Reset())
	}
}

func checker(b *testing.B) func(error) {
	return func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
}
