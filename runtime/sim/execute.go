package sim

import (
	"context"
	"fmt"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// execution is the state of one run.
type execution struct {
	*store
	procs  map[string]*procedure
	fn     *function
	o      Options
	engine *engine.Engine           // nil: Options.Dispatcher runs the procedures
	host   map[uint32]interp.Tensor // by operand
}

// OpError is an operation of a chain that failed in a run.
type OpError struct {
	Op        string
	Procedure string // that the operation runs on the engine, "" where it runs none
	Err       error
}

// Error names the operation.
func (e *OpError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

func opError(op *e5.Operation, err error) error {
	e := &OpError{Op: op.Name, Err: err}
	if a, ok := op.Attrs.(*e5.AneInferenceAttrs); ok {
		e.Procedure = a.ProcedureName
	}
	return e
}

func (r *execution) traceTask(e engine.Event) {
	if r.o.Trace != nil && r.proc != nil {
		r.o.Trace(r.proc.name, &e)
	}
}

// run executes the chain.
func (r *execution) run(ctx context.Context) error {
	for i := range r.fn.ops {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.step(ctx, i); err != nil {
			return opError(&r.fn.ops[i], err)
		}
		if r.o.Trace != nil {
			r.o.Trace(r.fn.ops[i].Name, nil)
		}
	}
	return nil
}

// result returns what the run has left in an output.
func (r *execution) result(id uint32) (interp.Tensor, error) {
	t, ok := r.host[id]
	if !ok {
		return t, fmt.Errorf("output %q was never written", r.fn.Operands[id].Name)
	}
	if t.Type.Kind != ir.Tensor {
		return t, fmt.Errorf("output %q is a %s", r.fn.Operands[id].Name, t.Type.Kind)
	}
	return t, nil
}

func (r *execution) step(ctx context.Context, i int) error {
	op := &r.fn.ops[i]
	switch a := op.Attrs.(type) {
	case *e5.CastAttrs:
		return r.cast(op.Inputs[0], op.Outputs[0])
	case *e5.AneInferenceAttrs:
		r.proc = r.procs[a.ProcedureName]
		if d := r.o.Dispatcher; d != nil {
			return d.Dispatch(ctx, r.proc.name, r.portsOf(r.proc))
		}
		return r.engine.Run(ctx, r.proc.tasks, r.store)
	}
	return r.call(ctx, op, r.fn.calls[i])
}

// call runs a CPU call.
func (r *execution) call(ctx context.Context, op *e5.Operation, c *call) error {
	in := make(map[string]interp.Tensor, len(c.inputs))
	for k, id := range op.Inputs {
		t, ok := r.host[id]
		if !ok {
			return fmt.Errorf("operand %q is not filled", r.fn.Operands[id].Name)
		}
		in[c.inputs[k]] = t
	}
	out, err := c.prog.Run(ctx, in, interp.Options{
		Numerics: r.o.Numerics,
		Workers:  r.o.Workers,
		MaxBytes: r.o.CallBytes,
	})
	if err != nil {
		return err
	}
	for k, id := range op.Outputs {
		t, ok := out[c.outputs[k]]
		o := &r.fn.Operands[id]
		want := typeOf(&o.Desc)
		if ok && t.Type.Kind == ir.List && o.Aperture == e5.Intermediate && o.Desc.Unknown() &&
			t.Type.DType == want.DType {
			// A list passes between two calls; nothing else sees it.
			r.host[id] = t
			continue
		}
		if !ok || !t.Type.Fits(want) {
			return fmt.Errorf("result %q is %s, the descriptor says %s", c.outputs[k], t.Type, want)
		}
		r.host[id] = t
	}
	return nil
}
