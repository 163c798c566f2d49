package e5rt_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// A port describes the content of its buffer.
func TestTensorDescriptor(t *testing.T) {
	d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/cache.mil")
	cacheIn := got[*e5rt.IOPort](t)(d.op.RetainInputPort("cache_in"))
	want := e5rt.TensorDescriptor{Type: ir.TensorOf(ir.FP16, 1, 1, 4, 8), Strides: []int64{64, 64, 16, 2}, Size: 64}
	if td := cacheIn.TensorDescriptor(); !reflect.DeepEqual(td, want) {
		t.Errorf("the descriptor is %+v, want %+v", td, want)
	}
	if again := got[*e5rt.IOPort](t)(d.op.RetainInputPort("cache_in")); again != cacheIn {
		t.Error("a port retained again is another")
	}
	if in, out := d.op.InputNames(), d.op.OutputNames(); !slices.Equal(in, []string{"entry", "position", "cache_in"}) ||
		!slices.Equal(out, []string{"cache_out"}) {
		t.Errorf("ports %q and %q", in, out)
	}
	if typ := got[*e5rt.IOPort](t)(d.op.RetainOutputPort("cache_out")).ResultType(); !typ.Equal(want.Type) {
		t.Errorf("the result is %s", typ)
	}
}

// Views read and write the buffer in place.
func TestView(t *testing.T) {
	rt := newRuntime(t, e5rt.Options{})
	b := got[*e5rt.BufferObject](t)(rt.BufferObjectAlloc(16, e5rt.BufferTypeDefault))
	halves := got[e5rt.View](t)(b.View(e5rt.TensorDescriptor{Type: ir.TensorOf(ir.FP16, 2, 2)}))
	ints := got[e5rt.View](t)(b.View(e5rt.TensorDescriptor{Type: ir.TensorOf(ir.UInt16, 4)}))
	check(t, setFloats(halves, 1, -2, 0.5, 65504))
	if got, want := ints.Tensor().Ints(), []int64{0x3c00, 0xc000, 0x3800, 0x7bff}; !slices.Equal(got, want) {
		t.Errorf("the bits are %#x, want %#x", got, want)
	}
	check(t, setInts(ints, 0, 0x3c00, 0, 0))
	if got, want := halves.Tensor().Floats32(), []float32{0, 1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("the values are %v, want %v", got, want)
	}
	if b.Bytes()[3] != 0x3c || halves.Tensor().Data[3] != 0x3c {
		t.Error("a view is not in place")
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{setFloats(halves, 1), "holds 4 elements"},
		{setInts(ints, 1, 2, 3, 4, 5), "holds 4 elements"},
		{ints.Set(halves.Tensor()), "got tensor<fp16, [2, 2]>, want tensor<uint16, [4]>"},
		{func() error {
			_, err := b.View(e5rt.TensorDescriptor{Type: ir.TensorOf(ir.FP32, 5)})
			return err
		}(), "of 20 bytes"},
		{func() error {
			_, err := b.View(e5rt.TensorDescriptor{Type: ir.TensorOf(ir.FP16, ir.Unknown)})
			return err
		}(), "buffer object 1 of 16 bytes"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want an error with %q", c.err, c.want)
		}
	}
}

// The states of a function are its operation's own, or are in a buffer that two
// operations share.
func TestStatePort(t *testing.T) {
	d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/state.mil")
	second, _, views := d.operation(t)
	run := func(op *e5rt.ExecutionStreamOperation, v e5rt.View, want float32) {
		t.Helper()
		check(t, d.stream.EncodeOperation(op))
		check(t, d.stream.ExecuteSync(context.Background()))
		check(t, d.stream.Reset())
		if y := v.Tensor().Floats32()[0]; y != want {
			t.Errorf("%s gives %g, want %g", op, y, want)
		}
	}
	for i := range 3 {
		run(d.op, d.views["y"], float32(i+1))
	}
	run(second, views["y"], 1)
	b := got[*e5rt.BufferObject](t)(d.rt.BufferObjectAlloc(8, 0))
	check(t, got[*e5rt.IOPort](t)(d.op.RetainStatePort("total")).BindBufferObject(b))
	check(t, got[*e5rt.IOPort](t)(second.RetainStatePort("total")).BindBufferObject(b))
	for i := range 2 {
		run(d.op, d.views["y"], float32(2*i+1))
		run(second, views["y"], float32(2*i+2))
	}
}

// An output whose extents are known only at run time takes only what it needs.
func TestOpenOutput(t *testing.T) {
	d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/nonzero.mil")
	port := got[*e5rt.IOPort](t)(d.op.RetainOutputPort("at"))
	if td := port.TensorDescriptor(); td.Size != -1 {
		t.Fatalf("the descriptor is %+v", td)
	}
	buffer := got[*e5rt.BufferObject](t)(d.rt.BufferObjectAlloc(3*4, 0))
	check(t, port.BindBufferObject(buffer))
	for _, c := range []struct {
		x  []float32
		at []int64 // nil: more than fits in the buffer
	}{{[]float32{0, 1, 0, 2}, []int64{1, 3}}, {[]float32{0, 0, 0, 0}, []int64{}}, {[]float32{1, 1, 1, 1}, nil},
		{[]float32{1, 0, 1, 1}, []int64{0, 2, 3}}} {
		check(t, setFloats(d.views["x"], c.x...))
		check(t, d.stream.EncodeOperation(d.op))
		err := d.stream.ExecuteSync(context.Background())
		check(t, d.stream.Reset())
		if c.at == nil {
			if err == nil || !strings.Contains(err.Error(), "of 16 bytes; the buffer has 12") {
				t.Errorf("%v: %v", c.x, err)
			}
			continue
		}
		check(t, err)
		v := got[e5rt.View](t)(buffer.View(e5rt.TensorDescriptor{Type: port.ResultType()}))
		if !slices.Equal(v.Tensor().Ints(), c.at) {
			t.Errorf("%v: %v, want %v", c.x, v.Tensor().Ints(), c.at)
		}
	}
}

// The trace has every call in order, at virtual times, with its object and its error.
func TestTrace(t *testing.T) {
	var rec trace.Recording
	d := newBed(t, newRuntime(t, e5rt.Options{Trace: rec.Tracer(), Client: 7}), "testdata/accumulator.mil")
	d.once(t)
	d.stream.ExecuteSync(context.Background())
	check(t, d.stream.EncodeOperation(d.op))
	check(t, got[*e5rt.Submission](t)(d.stream.SubmitAsync(context.Background(), 0, nil)).Wait(context.Background()))
	var lines []string
	for i, e := range rec.Events {
		if e.Layer != trace.E5RT || e.Client != 7 || e.Seq != uint64(i+1) || len(e.Args) == 0 ||
			e.Args[0].Key != "object" {
			t.Errorf("event %d: %+v", i, e)
		}
		line := strings.Join([]string{e.Name, []string{"", " begins", " ends"}[e.Phase], " at ", e.At.String()}, "")
		if e.Request != 0 {
			line += " request " + string(rune('0'+e.Request))
		}
		if e.Err != "" {
			line += " fails"
		}
		lines = append(lines, line)
	}
	want := []string{
		"e5rt_e5_compiler_create at 0s",
		"e5rt_e5_compiler_compile at 0s",
		"e5rt_program_library_retain_program_function at 0s",
		"e5rt_program_function_load_for_execution at 0s",
		"e5rt_precompiled_compute_op_create_options_create_with_program_function at 0s",
		"e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options at 0s",
		"e5rt_execution_stream_operation_retain_input_port at 0s",
		"e5rt_buffer_object_alloc at 0s",
		"e5rt_io_port_bind_buffer_object at 0s",
		"e5rt_execution_stream_operation_retain_output_port at 0s",
		"e5rt_buffer_object_alloc at 0s",
		"e5rt_io_port_bind_buffer_object at 0s",
		"e5rt_execution_stream_create at 0s",
		"e5rt_execution_stream_encode_operation at 0s",
		"e5rt_execution_stream_execute_sync begins at 0s request 1",
		"cast at 0s",
		"binding, runtime, host copies begins at 0s",
		"binding, runtime, host copies ends at 25µs",
		"inputs and outputs begins at 25µs",
		"inputs and outputs ends at 25.021µs",
		"return to the caller begins at 25.021µs",
		"return to the caller ends at 49.321µs",
		"cast at 49.321µs",
		"e5rt_execution_stream_execute_sync ends at 49.321µs request 1",
		"e5rt_execution_stream_reset at 49.321µs",
		"e5rt_execution_stream_execute_sync at 49.321µs fails",
		"e5rt_execution_stream_encode_operation at 49.321µs",
		"e5rt_execution_stream_submit_async begins at 49.321µs request 2",
		"cast at 49.321µs",
		"binding, runtime, host copies begins at 49.321µs",
		"binding, runtime, host copies ends at 74.321µs",
		"inputs and outputs begins at 74.321µs",
		"inputs and outputs ends at 74.342µs",
		"return to the caller begins at 74.342µs",
		"return to the caller ends at 98.642µs",
		"cast at 98.642µs",
		"e5rt_execution_stream_submit_async ends at 98.642µs request 2",
		"completion at 98.642µs",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("the trace is\n%s", strings.Join(lines, "\n"))
	}
}
