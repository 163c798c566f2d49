package e5rt

import (
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/internal/locked"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim"
)

// PrecompiledComputeOpCreateOptions contain what an operation is created from.
type PrecompiledComputeOpCreateOptions struct{ fn *ProgramFunction }

// CreateWithProgramFunction is
// e5rt_precompiled_compute_op_create_options_create_with_program_function. The
// function must be loaded.
func CreateWithProgramFunction(f *ProgramFunction) (*PrecompiledComputeOpCreateOptions, error) {
	if f == nil {
		return nil, refused(callOptionsCreate, word("options"), ErrArgument, "no function",
			"retain one with "+callRetainFunction)
	}
	rt := f.lib.rt
	state := locked.Get(&rt.mu, &f.state)
	if state != loaded {
		return nil, rt.refuse(callOptionsCreate, f, ErrOrder, "it is not loaded", "load it with "+callLoad)
	}
	return &PrecompiledComputeOpCreateOptions{f}, rt.called(callOptionsCreate, f, nil)
}

// ExecutionStreamOperation runs a function on the buffers that are bound to its ports. It has its own states unless
// buffers are bound to them too.
type ExecutionStreamOperation struct {
	fn    *ProgramFunction
	id    uint64
	run   *sim.Prepared
	ports []*IOPort // inputs, outputs, states

	// Under the runtime's lock.
	prepared bool
	stream   *ExecutionStream // on which it is encoded
}

// CreatePrecompiledComputeOperationWithOptions is
// e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options.
func CreatePrecompiledComputeOperationWithOptions(o *PrecompiledComputeOpCreateOptions) (*ExecutionStreamOperation,
	error) {
	if o == nil {
		return nil, refused(callOperationCreate, word("operation"), ErrArgument, "no options",
			"create them with "+callOptionsCreate)
	}
	f := o.fn
	rt := f.lib.rt
	rt.mu.Lock()
	state, d := f.state, f.dispatcher
	rt.mu.Unlock()
	if state != loaded {
		return nil, rt.refuse(callOperationCreate, f, ErrOrder, "it is no longer loaded", "retain and load it again")
	}
	run, err := f.lib.machine.Prepare(f.name, rt.simOptions(d))
	if err != nil {
		return nil, rt.refuse(callOperationCreate, f, err, "", "")
	}
	rt.mu.Lock()
	op := &ExecutionStreamOperation{fn: f, id: rt.id("operation"), run: run}
	rt.mu.Unlock()
	for _, side := range portSides {
		for _, p := range side.of(run) {
			op.ports = append(op.ports, &IOPort{op: op, side: side, name: p.Name, desc: describe(p.Type)})
		}
	}
	return op, rt.called(callOperationCreate, op, nil)
}

// String names the operation.
func (op *ExecutionStreamOperation) String() string {
	return fmt.Sprintf("operation %d (%q)", op.id, op.fn.name)
}

// portSide is a kind of port.
type portSide struct {
	name   string
	retain string // the call
	of     func(*sim.Prepared) []sim.Port
	bind   func(*sim.Prepared, string, *sim.Buffer) error
}

var (
	inputSide = &portSide{
		name:   "input",
		retain: callRetainInput,
		of:     (*sim.Prepared).Inputs,
		bind:   (*sim.Prepared).BindInput,
	}
	outputSide = &portSide{
		name:   "output",
		retain: callRetainOutput,
		of:     (*sim.Prepared).Outputs,
		bind:   (*sim.Prepared).BindOutput,
	}
	stateSide = &portSide{
		name:   "state",
		retain: callRetainState,
		of:     (*sim.Prepared).States,
		bind:   (*sim.Prepared).BindState,
	}
	portSides = []*portSide{inputSide, outputSide, stateSide}
)

// RetainInputPort is e5rt_execution_stream_operation_retain_input_port.
func (op *ExecutionStreamOperation) RetainInputPort(name string) (*IOPort, error) {
	return op.retain(inputSide, name)
}

// RetainOutputPort is e5rt_execution_stream_operation_retain_output_port.
func (op *ExecutionStreamOperation) RetainOutputPort(name string) (*IOPort, error) {
	return op.retain(outputSide, name)
}

// RetainStatePort returns the port of a state of the function, which a run reads and writes. The M1 has no states (it
// refuses programs that have them) and no such call of the vendor is known; this one is zinc's own.
func (op *ExecutionStreamOperation) RetainStatePort(name string) (*IOPort, error) {
	return op.retain(stateSide, name)
}

func (op *ExecutionStreamOperation) retain(side *portSide, name string) (*IOPort, error) {
	var names []string
	for _, p := range op.ports {
		if p.side != side {
			continue
		}
		if p.name == name {
			return p, op.fn.lib.rt.called(side.retain, p, nil)
		}
		names = append(names, p.name)
	}
	do := "it has no such ports"
	if names != nil {
		do = "use one of " + strings.Join(names, ", ")
	}
	return nil, op.fn.lib.rt.refuse(side.retain, op, ErrArgument, fmt.Sprintf("no %s port %q", side.name, name), do)
}

// InputNames returns the names of the input ports in order.
func (op *ExecutionStreamOperation) InputNames() []string { return op.names(inputSide) }

// OutputNames returns the names of the output ports in order.
func (op *ExecutionStreamOperation) OutputNames() []string { return op.names(outputSide) }

// StateNames returns the names of the states in order.
func (op *ExecutionStreamOperation) StateNames() []string { return op.names(stateSide) }

func (op *ExecutionStreamOperation) names(side *portSide) []string {
	var names []string
	for _, p := range op.ports {
		if p.side == side {
			names = append(names, p.name)
		}
	}
	return names
}

// PrepareOpForEncode is e5rt_execution_stream_operation_prepare_op_for_encode: it checks that the operation can be
// encoded. EncodeOperation calls it if the caller has not.
func (op *ExecutionStreamOperation) PrepareOpForEncode() error {
	rt := op.fn.lib.rt
	rt.mu.Lock()
	err := op.free(callPrepare)
	if err == nil {
		err = op.prepare(callPrepare)
	}
	rt.mu.Unlock()
	return rt.called(callPrepare, op, err)
}

// free returns an error for an operation that is encoded. The caller holds the runtime's lock.
func (op *ExecutionStreamOperation) free(call string) error {
	switch s := op.stream; {
	case s == nil:
		return nil
	case s.state == inFlight:
		return refused(call, op, ErrInFlight, fmt.Sprintf("%s, on which it is encoded, is in flight", s),
			"wait for its completion")
	default:
		return refused(call, op, ErrOrder, fmt.Sprintf("it is encoded on %s", s), "reset the stream with "+callReset)
	}
}

// prepare checks the bindings. The runtime's lock is held.
func (op *ExecutionStreamOperation) prepare(call string) error {
	if op.fn.state != loaded {
		return refused(call, op, ErrOrder, fmt.Sprintf("%s has been released", op.fn), "retain and load it again")
	}
	if op.prepared {
		return nil
	}
	for _, p := range op.ports {
		if p.buf == nil && p.side != stateSide {
			return refused(call, op, ErrUnbound, fmt.Sprintf("nothing is bound to %s port %q", p.side.name, p.name),
				"bind a buffer object of "+fmt.Sprint(p.desc.Size)+" bytes with "+callBind)
		}
	}
	if err := op.run.Check(); err != nil {
		return refused(call, op, ErrArgument, err.Error(), "bind a buffer object of its own to each")
	}
	op.prepared = true
	return nil
}

// IOPort is an input or output of an operation. A buffer object is bound to it once
// and stays bound.
type IOPort struct {
	op   *ExecutionStreamOperation
	side *portSide
	name string
	desc TensorDescriptor
	buf  *BufferObject // under the runtime's lock
}

// String names the port and its operation.
func (p *IOPort) String() string {
	return fmt.Sprintf("%s port %q of %s", p.side.name, p.name, p.op)
}

// TensorDescriptor is e5rt_io_port_retain_tensor_desc: it returns the type of the tensor in a bound buffer.
func (p *IOPort) TensorDescriptor() TensorDescriptor { return p.desc }

// ResultType returns the type of an output after the last run. It differs from TensorDescriptor's type if extents are
// known only at run time, and is the zero Type before the first run of such a function. It must not be called while the
// operation is in flight.
func (p *IOPort) ResultType() ir.Type { return p.op.run.OutputType(p.name) }

// BindBufferObject is e5rt_io_port_bind_buffer_object. The tensor takes the buffer's first bytes. A buffer object may
// be bound to any number of inputs and to one output of an operation, which then keeps state in it. The operation must
// not be encoded.
func (p *IOPort) BindBufferObject(b *BufferObject) error {
	rt := p.op.fn.lib.rt
	rt.mu.Lock()
	err := p.bind(b)
	rt.mu.Unlock()
	return rt.called(callBind, p, err)
}

func (p *IOPort) bind(b *BufferObject) error {
	switch {
	case b == nil:
		return refused(callBind, p, ErrArgument, "no buffer object", "allocate one with "+callAlloc)
	case b.rt != p.op.fn.lib.rt:
		return refused(callBind, p, ErrArgument, fmt.Sprintf("%s belongs to another runtime", b),
			"allocate one of this runtime with "+callAlloc)
	case int64(b.mem.Size()) < p.desc.Size:
		return refused(callBind, p, ErrSize, fmt.Sprintf("%s is too small: %s takes %d", b, p.desc.Type, p.desc.Size),
			"allocate a larger one with "+callAlloc)
	}
	if err := p.op.free(callBind); err != nil {
		return err
	}
	if err := p.side.bind(p.op.run, p.name, b.mem); err != nil {
		return refused(callBind, p, err, "", "")
	}
	p.buf, p.op.prepared = b, false
	return nil
}
