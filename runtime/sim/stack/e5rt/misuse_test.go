package e5rt_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// The error of a refused call names the call, the object and what to do. The call changes nothing: correct calls work
// afterwards.
func TestMisuseIsAnError(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		do   func(t *testing.T, d *bed) error
		kind error
		say  []string // the call, the object and the advice
	}{
		{name: "execute with nothing encoded", do: func(t *testing.T, d *bed) error {
			return d.stream.ExecuteSync(ctx)
		},
			kind: e5rt.ErrOrder, say: []string{"e5rt_execution_stream_execute_sync", "stream 1",
				"encode an operation"}},
		{name: "submit with nothing encoded", do: func(t *testing.T, d *bed) error {
			_, err := d.stream.SubmitAsync(ctx, 0, nil)
			return err
		}, kind: e5rt.ErrOrder, say: []string{"e5rt_execution_stream_submit_async", "stream 1", "encode an operation"}},
		{name: "negative timeout", do: func(t *testing.T, d *bed) error {
			_, err := d.stream.SubmitAsync(ctx, -1, nil)
			return err
		}, kind: e5rt.ErrArgument, say: []string{"submit_async", "-1ns", "pass 0"}},
		{name: "encode twice", do: func(t *testing.T, d *bed) error {
			check(t, d.stream.EncodeOperation(d.op))
			defer d.stream.Reset()
			return d.stream.EncodeOperation(d.op)
		}, kind: e5rt.ErrOrder, say: []string{"e5rt_execution_stream_encode_operation", `operation 1 ("main")`,
			"encoded on stream 1", "reset"}},
		{name: "encode on two streams", do: func(t *testing.T, d *bed) error {
			other := got[*e5rt.ExecutionStream](t)(d.rt.NewExecutionStream())
			check(t, other.EncodeOperation(d.op))
			defer other.Reset()
			return d.stream.EncodeOperation(d.op)
		}, kind: e5rt.ErrOrder, say: []string{"operation 1", "encoded on stream 2", "reset"}},
		{name: "execute again", do: func(t *testing.T, d *bed) error {
			check(t, d.stream.EncodeOperation(d.op))
			check(t, d.stream.ExecuteSync(ctx))
			defer d.stream.Reset()
			return d.stream.ExecuteSync(ctx)
		}, kind: e5rt.ErrOrder, say: []string{"execute_sync", "has been executed", "reset"}},
		{name: "encode on an executed stream", do: func(t *testing.T, d *bed) error {
			check(t, d.stream.EncodeOperation(d.op))
			check(t, d.stream.ExecuteSync(ctx))
			defer d.stream.Reset()
			op, _, _ := d.operation(t)
			return d.stream.EncodeOperation(op)
		}, kind: e5rt.ErrOrder, say: []string{"encode_operation", "stream 1", "reset"}},
		{name: "encode nothing", do: func(t *testing.T, d *bed) error { return d.stream.EncodeOperation(nil) },
			kind: e5rt.ErrArgument, say: []string{"no operation", "create one"}},
		{name: "operation of another runtime", do: func(t *testing.T, d *bed) error {
			other := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/accumulator.mil")
			return d.stream.EncodeOperation(other.op)
		}, kind: e5rt.ErrArgument, say: []string{"another runtime"}},
		{name: "prepare an encoded operation", do: func(t *testing.T, d *bed) error {
			check(t, d.stream.EncodeOperation(d.op))
			defer d.stream.Reset()
			return d.op.PrepareOpForEncode()
		}, kind: e5rt.ErrOrder, say: []string{"e5rt_execution_stream_operation_prepare_op_for_encode", "operation 1",
			"reset"}},
		{name: "nothing bound", do: func(t *testing.T, d *bed) error {
			o := got[*e5rt.PrecompiledComputeOpCreateOptions](t)(e5rt.CreateWithProgramFunction(d.fn))
			op := got[*e5rt.ExecutionStreamOperation](t)(e5rt.CreatePrecompiledComputeOperationWithOptions(o))
			return d.stream.EncodeOperation(op)
		}, kind: e5rt.ErrUnbound, say: []string{"encode_operation", `operation 2`, `input port "state_in"`, "8 bytes",
			"e5rt_io_port_bind_buffer_object"}},
		{name: "output not bound", do: func(t *testing.T, d *bed) error {
			o := got[*e5rt.PrecompiledComputeOpCreateOptions](t)(e5rt.CreateWithProgramFunction(d.fn))
			op := got[*e5rt.ExecutionStreamOperation](t)(e5rt.CreatePrecompiledComputeOperationWithOptions(o))
			check(t, got[*e5rt.IOPort](t)(op.RetainInputPort("state_in")).BindBufferObject(d.buffers["state_in"]))
			return op.PrepareOpForEncode()
		}, kind: e5rt.ErrUnbound, say: []string{"prepare_op_for_encode", `output port "state_out"`}},
		{name: "small buffer", do: func(t *testing.T, d *bed) error {
			small := got[*e5rt.BufferObject](t)(d.rt.BufferObjectAlloc(7, 0))
			return got[*e5rt.IOPort](t)(d.op.RetainInputPort("state_in")).BindBufferObject(small)
		}, kind: e5rt.ErrSize, say: []string{"e5rt_io_port_bind_buffer_object", `input port "state_in" of operation 1`,
			"7 bytes", "takes 8", "larger"}},
		{name: "no buffer", do: func(t *testing.T, d *bed) error {
			return got[*e5rt.IOPort](t)(d.op.RetainInputPort("state_in")).BindBufferObject(nil)
		}, kind: e5rt.ErrArgument, say: []string{"no buffer object", "e5rt_buffer_object_alloc"}},
		{name: "buffer of another runtime", do: func(t *testing.T, d *bed) error {
			b := got[*e5rt.BufferObject](t)(newRuntime(t, e5rt.Options{}).BufferObjectAlloc(8, 0))
			return got[*e5rt.IOPort](t)(d.op.RetainInputPort("state_in")).BindBufferObject(b)
		}, kind: e5rt.ErrArgument, say: []string{"another runtime"}},
		{name: "bind an encoded operation", do: func(t *testing.T, d *bed) error {
			check(t, d.stream.EncodeOperation(d.op))
			defer d.stream.Reset()
			return got[*e5rt.IOPort](t)(d.op.RetainInputPort("state_in")).BindBufferObject(d.buffers["state_in"])
		}, kind: e5rt.ErrOrder, say: []string{"bind_buffer_object", "encoded on stream 1", "reset"}},
		{name: "input that is not there", do: func(t *testing.T, d *bed) error {
			_, err := d.op.RetainInputPort("state_out")
			return err
		}, kind: e5rt.ErrArgument, say: []string{"e5rt_execution_stream_operation_retain_input_port",
			`no input port "state_out"`, "use one of state_in"}},
		{name: "output that is not there", do: func(t *testing.T, d *bed) error {
			_, err := d.op.RetainOutputPort("y")
			return err
		}, kind: e5rt.ErrArgument, say: []string{"e5rt_execution_stream_operation_retain_output_port",
			`no output port "y"`, "use one of state_out"}},
		{name: "state that is not there", do: func(t *testing.T, d *bed) error {
			_, err := d.op.RetainStatePort("y")
			return err
		}, kind: e5rt.ErrArgument, say: []string{`no state port "y"`, "it has no such ports"}},
		{name: "function that is not there", do: func(t *testing.T, d *bed) error {
			_, err := d.lib.RetainProgramFunction("other")
			return err
		}, kind: e5rt.ErrArgument, say: []string{"e5rt_program_library_retain_program_function", "program library 1",
			`no function "other"`, "it has main"}},
		{name: "load twice", do: func(t *testing.T, d *bed) error { return d.fn.LoadForExecution(ctx) },
			kind: e5rt.ErrOrder, say: []string{"e5rt_program_function_load_for_execution", "program function 1",
				"already loaded"}},
		{name: "options of a function that is not loaded", do: func(t *testing.T, d *bed) error {
			_, err := e5rt.CreateWithProgramFunction(got[*e5rt.ProgramFunction](t)(d.lib.RetainProgramFunction("main")))
			return err
		}, kind: e5rt.ErrOrder, say: []string{"e5rt_precompiled_compute_op_create_options_create_with_program_function",
			"program function 2", "load it with e5rt_program_function_load_for_execution"}},
		{name: "options of no function", do: func(t *testing.T, d *bed) error {
			_, err := e5rt.CreateWithProgramFunction(nil)
			return err
		}, kind: e5rt.ErrArgument, say: []string{
			"e5rt_precompiled_compute_op_create_options_create_with_program_function", "no function"}},
		{name: "operation of no options", do: func(t *testing.T, d *bed) error {
			_, err := e5rt.CreatePrecompiledComputeOperationWithOptions(nil)
			return err
		}, kind: e5rt.ErrArgument, say: []string{"no options"}},
		{name: "release with an operation encoded", do: func(t *testing.T, d *bed) error {
			check(t, d.stream.EncodeOperation(d.op))
			defer d.stream.Reset()
			return d.fn.Release()
		}, kind: e5rt.ErrInFlight, say: []string{"e5rt_program_function_release", "1 of its operations", "reset"}},
		{name: "buffer of no bytes", do: func(t *testing.T, d *bed) error {
			_, err := d.rt.BufferObjectAlloc(0, 0)
			return err
		}, kind: e5rt.ErrArgument, say: []string{"e5rt_buffer_object_alloc", "size is 0 bytes"}},
		{name: "buffer larger than the engine's address space", do: func(t *testing.T, d *bed) error {
			_, err := d.rt.BufferObjectAlloc(e5rt.MaxBufferBytes+1, 0)
			return err
		}, kind: e5rt.ErrArgument, say: []string{"e5rt_buffer_object_alloc", "want 1 to 3758096384"}},
		{name: "buffer of a type that is not known", do: func(t *testing.T, d *bed) error {
			_, err := d.rt.BufferObjectAlloc(8, 1)
			return err
		}, kind: e5rt.ErrArgument, say: []string{"type 1", "use type 0"}},
		{name: "compiler without a function", do: func(t *testing.T, d *bed) error {
			_, err := d.rt.NewCompiler(e5rt.CompilerConfig{})
			return err
		}, kind: e5rt.ErrArgument, say: []string{"e5rt_e5_compiler_create", "CompilerConfig.Compile"}},
		{name: "library of a container alone", do: func(t *testing.T, d *bed) error {
			p, err := compileModel(t.Context(), "testdata/accumulator.mil")
			check(t, err)
			_, err = d.rt.NewProgramLibrary(got[*sim.Machine](t)(sim.Open(pair.Pair{Container: p.Container})))
			return err
		}, kind: e5rt.ErrArgument, say: []string{"e5rt_program_library_create", "descriptor"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/accumulator.mil")
			err := c.do(t, d)
			var e *e5rt.Error
			if !errors.As(err, &e) || c.kind != nil && !errors.Is(err, c.kind) {
				t.Fatalf("the error is %v, want one of kind %v", err, c.kind)
			}
			for _, s := range c.say {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q does not say %q", err, s)
				}
			}
			d.once(t)
			if y := d.views["state_out"].Tensor().Floats32()[0]; y != 1 {
				t.Errorf("the right calls afterwards give %g, want 1", y)
			}
		})
	}
}

// Two outputs must not share a buffer.
func TestTwoOutputsInOneBuffer(t *testing.T) {
	d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/two.mil")
	d.once(t)
	check(t, got[*e5rt.IOPort](t)(d.op.RetainOutputPort("b")).BindBufferObject(d.buffers["a"]))
	if err := d.op.PrepareOpForEncode(); !errors.Is(err, e5rt.ErrArgument) || !strings.Contains(err.Error(),
		`"a" and "b" share`) {
		t.Errorf("two outputs in one buffer: %v", err)
	}
	check(t, got[*e5rt.IOPort](t)(d.op.RetainOutputPort("b")).BindBufferObject(d.buffers["b"]))
	d.once(t)
}

// A function that was released runs no more.
func TestReleasedObjectsAreRefused(t *testing.T) {
	d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/accumulator.mil")
	o := got[*e5rt.PrecompiledComputeOpCreateOptions](t)(e5rt.CreateWithProgramFunction(d.fn))
	check(t, d.op.PrepareOpForEncode())
	check(t, d.fn.Release())
	for what, err := range map[string]error{
		"encode":  d.stream.EncodeOperation(d.op),
		"load":    d.fn.LoadForExecution(context.Background()),
		"release": d.fn.Release(),
		"create": func() error {
			_, err := e5rt.CreatePrecompiledComputeOperationWithOptions(o)
			return err
		}(),
	} {
		if !errors.Is(err, e5rt.ErrOrder) {
			t.Errorf("%s after the release: %v", what, err)
		}
	}
}

// A step that keeps its state in one buffer, then a second operation that reads it: the operations of a stream run in
// order.
func TestOperationsOfAStream(t *testing.T) {
	d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/accumulator.mil")
	second, _, views := d.operation(t)
	check(t, got[*e5rt.IOPort](t)(d.op.RetainInputPort("state_in")).BindBufferObject(d.buffers["state_out"]))
	check(t, got[*e5rt.IOPort](t)(second.RetainInputPort("state_in")).BindBufferObject(d.buffers["state_out"]))
	for step := range 3 {
		check(t, d.stream.EncodeOperation(d.op))
		check(t, d.stream.EncodeOperation(second))
		check(t, d.stream.ExecuteSync(context.Background()))
		check(t, d.stream.Reset())
		a, b := d.views["state_out"].Tensor().Floats32()[0], views["state_out"].Tensor().Floats32()[0]
		if a != float32(step+1) || b != float32(step+2) {
			t.Errorf("step %d: the operations give %g and %g, want %d and %d", step, a, b, step+1, step+2)
		}
	}
}

// An engine that fails: the error says where, the buffers keep their values, and the stream can be used again.
func TestEngineFaultsFailTheOperation(t *testing.T) {
	ctx := context.Background()
	stopped := errors.New("the engine stopped")
	eng := &fakeEngine{run: func(string, map[string][]byte) error { return stopped }}
	d := newBed(t, newRuntime(t, e5rt.Options{Engine: eng}), "testdata/accumulator.mil")
	check(t, setFloats(d.views["state_out"], 7, 7, 7, 7))
	for range 2 {
		check(t, d.stream.EncodeOperation(d.op))
		err := d.stream.ExecuteSync(ctx)
		if !errors.Is(err, stopped) || !strings.Contains(err.Error(), "stream 1") || !strings.Contains(err.Error(),
			"operation 1") {
			t.Errorf("the error is %v", err)
		}
		if y := d.views["state_out"].Tensor().Floats32()[0]; y != 7 {
			t.Errorf("the output holds %g, want what it held", y)
		}
		check(t, d.stream.Reset())
	}
	b, err := func() (*e5rt.Submission, error) {
		check(t, d.stream.EncodeOperation(d.op))
		return d.stream.SubmitAsync(ctx, time.Second, nil)
	}()
	check(t, err)
	if err := b.Wait(ctx); !errors.Is(err, stopped) {
		t.Errorf("the completion says %v", err)
	}
	check(t, d.stream.Reset())
	eng.err = errors.New("no slot")
	f := got[*e5rt.ProgramFunction](t)(d.lib.RetainProgramFunction("main"))
	if err := f.LoadForExecution(ctx); !errors.Is(err, eng.err) {
		t.Errorf("loading where there is no slot: %v", err)
	}
	eng.err = nil
	check(t, f.LoadForExecution(ctx))
}
