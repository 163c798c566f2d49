package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// chain holds the prepared operations of one function and the memory they run in. Machine.Run and Prepared differ only
// in where the inputs come from and where the results go.
type chain struct {
	fn    *function
	store *store
	steps []step
	vals  []value     // by operand, during a run
	kept  []*resident // by operand on the host, of those that stay on the device; otherwise nil
	used  *users      // nil until it is asked for
}

// value is the content of an operand; the zero value is an operand that is not filled.
type value struct {
	interp.Tensor
	filled bool
}

// step is one operation.
type step struct {
	op              *e5.Operation
	proc            *procedure // of an inference
	handIn, handOut int64      // of an inference: bytes that the host fills before it, and empties after it
	// then are the inferences that a Dispatcher runs after this one for one submission; chained is set for each of
	// them.
	then    []*step
	chained bool
	// passed are the ports of a chained inference that have the surfaces of earlier ones, by port.
	passed   map[string]string
	segments []Segment // of the chain that it begins, once it has run
	call     *call     // of a CPU call
	cast     *cast     // of a cast
}

// cast copies a tensor from one operand to another, changing layout and, between
// fp16 and fp32, element type.
type cast struct {
	from, to       uint32
	source, target string // labels of from and to
	// pass is set when no bytes change between two host tensors. Nothing writes into an existing tensor, so it can be
	// shared.
	pass bool
	// shared is set when the two operands are surfaces that have the same memory.
	shared   bool
	move     move
	src, typ ir.Type
	size     int // bytes of the result
	// keep is set if the result stays in mem from run to run. If an operand has several results, only one is kept, so
	// that the operands bound the memory.
	keep bool
	mem  []byte
}

// newChain prepares the operations of a function. With keep set, results reuse the memory of the first run, so the
// caller must copy them before the next run.
func newChain(fn *function, procs map[string]*procedure, keep bool) *chain {
	c := &chain{
		fn:    fn,
		store: newStore(fn),
		vals:  make([]value, len(fn.Operands)),
		kept:  make([]*resident, len(fn.Operands)),
	}
	kept := make([]bool, len(fn.Operands))
	for i := range fn.ops {
		s := step{op: &fn.ops[i]}
		switch a := s.op.Attrs.(type) {
		case *e5.CastAttrs:
			s.cast = newCast(fn, s.op)
			s.cast.keep = keep && !kept[s.cast.to]
			kept[s.cast.to] = true
		case *e5.AneInferenceAttrs:
			s.proc = procs[a.ProcedureName]
		default:
			s.call = fn.calls[i]
		}
		c.steps = append(c.steps, s)
	}
	c.share()
	for _, e := range fn.chains {
		c.link(&e)
	}
	return c
}

// share gives the readers of surfaces that casts pass on the memory of their writers. The container may have windows
// of different sizes for the two; then the cast copies.
func (c *chain) share() {
	for i := range c.steps {
		s := &c.steps[i]
		if !c.fn.passes[i] || c.fn.sizes[c.port(s.cast.from)] != c.fn.sizes[c.port(s.cast.to)] {
			continue
		}
		s.cast.shared = true
		c.store.share(c.port(s.cast.from), c.port(s.cast.to))
	}
}

// port returns the port of a surface.
func (c *chain) port(id uint32) string { return c.fn.Operands[id].Port.Name }

// link joins the inferences of a chain of the descriptor. A submission has consecutive procedures of the container.
func (c *chain) link(e *e5.Chain) {
	first := &c.steps[e.Inferences[0]]
	first.handIn, first.handOut = int64(e.HandedIn), int64(e.HandedOut)
	last := e.Inferences[len(e.Inferences)-1]
	for i := e.Inferences[0]; i <= last; i++ {
		if s := &c.steps[i]; s.cast != nil && !s.cast.shared {
			return
		}
	}
	for k, i := range e.Inferences {
		if c.steps[i].proc.index != first.proc.index+k {
			return
		}
	}
	from := map[string]string{}  // ports whose surface is passed on, by reader
	written := map[string]bool{} // by the chain so far
	for i := e.Inferences[0]; i <= last; i++ {
		s := &c.steps[i]
		if s.cast != nil {
			if w := c.port(s.cast.from); written[w] {
				from[c.port(s.cast.to)] = w
			}
			continue
		}
		if s != first {
			s.chained, s.passed = true, map[string]string{}
			first.then = append(first.then, s)
			for _, id := range s.op.Inputs {
				if w, ok := from[c.port(id)]; ok {
					s.passed[c.port(id)] = w
				}
			}
		}
		for _, id := range s.op.Outputs {
			written[c.port(id)] = true
		}
	}
}

func newCast(fn *function, op *e5.Operation) *cast {
	c := &cast{from: op.Inputs[0], to: op.Outputs[0]}
	src, dst := &fn.Operands[c.from], &fn.Operands[c.to]
	c.source, c.target = label(src), label(dst)
	c.src, c.typ = typeOf(&src.Desc), typeOf(&dst.Desc)
	// The reader has checked that a tensor of unknown extents keeps its type.
	if src.Aperture != e5.Surface && dst.Aperture != e5.Surface &&
		(dst.Desc.Unknown() || src.Desc.Storage == dst.Desc.Storage) {
		c.pass = true
		return c
	}
	conv, _ := converter(src.Desc.Storage, dst.Desc.Storage) // checkCast has reported any error
	sd, dd := held(src), held(dst)
	c.move = newMove(&sd, &dd, conv)
	c.size = int(dst.Desc.Elements() * uint64(dst.Desc.Storage.Bits()) / 8)
	return c
}

// OpError reports an operation of a chain that failed in a run.
type OpError struct {
	Op        string
	Procedure string // the procedure that the operation runs, "" for none
	Err       error
}

// Error names the operation.
func (e *OpError) Error() string { return e.Op + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// newEngine returns an engine with l2 bytes of on-chip memory, configured by the options, or nil if a Dispatcher runs
// the inferences.
func (c *chain) newEngine(o *Options, l2 int64) *engine.Engine {
	if o.Dispatcher != nil {
		return nil
	}
	eo := engine.Options{L2Bytes: l2, Numerics: EngineNumerics(o.Numerics), Workers: o.Workers}
	if trace := o.Trace; trace != nil {
		eo.Trace = func(e engine.Event) { trace(c.store.proc.name, &e) }
	}
	if results := o.Results; results != nil {
		eo.Results = func(task int, extent [5]int, patterns []uint16) {
			results(c.store.proc.name, task, extent, patterns)
		}
	}
	return engine.New(eo)
}

// start empties the operands and fills the operands for a run's inputs and states.
func (c *chain) start() { clear(c.vals) }

// fill gives an operand its value before a run.
func (c *chain) fill(id uint32, t interp.Tensor) { c.vals[id] = value{t, true} }

// run executes the operations once, on the engine e unless there is a Dispatcher. It does not write to tensors that
// operands were filled with.
func (c *chain) run(ctx context.Context, o *Options, e *engine.Engine) error {
	for i := range c.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &c.steps[i]
		if s.cast != nil && c.skips(s.cast) || s.chained && o.Dispatcher != nil {
			continue
		}
		if err := c.step(ctx, s, o, e); err != nil {
			failed := &OpError{Op: s.op.Name, Err: err}
			if s.proc != nil {
				failed.Procedure = s.proc.name
			}
			return failed
		}
		if o.Trace != nil {
			o.Trace(s.op.Name, nil)
		}
	}
	return nil
}

func (c *chain) step(ctx context.Context, s *step, o *Options, e *engine.Engine) error {
	switch {
	case s.cast != nil:
		if err := c.cast(s.cast); err != nil || o.Host == nil {
			return err
		}
		return o.Host.Cast(s.op.Name, s.cast.source, s.cast.target)
	case s.call != nil:
		if err := c.call(ctx, s, o); err != nil || o.Host == nil {
			return err
		}
		return o.Host.Compute(s.op.Name, s.call.time)
	}
	if o.Host == nil {
		return c.infer(ctx, s, o, e)
	}
	if err := o.Host.Bind(s.op.Name, s.handIn, s.handOut); err != nil {
		return err
	}
	if err := c.infer(ctx, s, o, e); err != nil {
		return err
	}
	return o.Host.Return(s.op.Name)
}

// infer runs an inference.
func (c *chain) infer(ctx context.Context, s *step, o *Options, e *engine.Engine) error {
	c.store.proc = s.proc
	switch {
	case o.Dispatcher != nil && s.then != nil:
		return o.Dispatcher.Chain(ctx, c.segments(s))
	case o.Dispatcher != nil:
		return o.Dispatcher.Dispatch(ctx, s.proc.name, c.store.portsOf(s.proc))
	}
	return e.Run(ctx, s.proc.tasks, c.store)
}

// segments returns the inferences of a chain that starts with s.
func (c *chain) segments(s *step) []Segment {
	if s.segments != nil {
		return s.segments
	}
	out := []Segment{{Procedure: s.proc.name, Surfaces: c.store.portsOf(s.proc)}}
	for _, t := range s.then {
		out = append(out, Segment{Procedure: t.proc.name, Surfaces: c.store.portsOf(t.proc), Passed: t.passed})
	}
	s.segments = out
	return out
}

// label names an operand, a surface by its port.
func label(o *e5.Operand) string {
	if o.Aperture == e5.Surface {
		return "port " + o.Port.Name
	}
	return o.Name
}

// skips reports whether a cast is not run because its value stays on the device.
func (c *chain) skips(s *cast) bool {
	r := c.kept[s.from]
	return s.shared || r != nil && r.loaded || c.kept[s.to] != nil
}

func (c *chain) cast(s *cast) error {
	src, dst := &c.fn.Operands[s.from], &c.fn.Operands[s.to]
	var data []byte
	if src.Aperture == e5.Surface {
		data = c.store.surface(src.Port.Name)
	} else {
		v := &c.vals[s.from]
		if !v.filled {
			return fmt.Errorf("operand %q is not filled", src.Name)
		}
		if s.pass {
			t := v.Tensor
			if !dst.Desc.Unknown() {
				t.Type = s.typ
			}
			c.fill(s.to, t)
			return nil
		}
		if !v.Type.Equal(s.src) {
			return fmt.Errorf("operand %q holds %s, the descriptor says %s", src.Name, v.Type, s.src)
		}
		data = v.Data
	}
	if dst.Aperture == e5.Surface {
		s.move.run(data, c.store.surface(dst.Port.Name))
		return nil
	}
	out := s.mem
	if out == nil {
		out = make([]byte, s.size)
	}
	if s.keep {
		s.mem = out
	}
	s.move.run(data, out)
	c.fill(s.to, interp.Tensor{Type: s.typ, Data: out})
	return nil
}

// call runs a CPU call.
func (c *chain) call(ctx context.Context, s *step, o *Options) error {
	in := make(map[string]interp.Tensor, len(s.call.inputs))
	for k, id := range s.op.Inputs {
		v := &c.vals[id]
		if !v.filled {
			return fmt.Errorf("operand %q is not filled", c.fn.Operands[id].Name)
		}
		in[s.call.inputs[k]] = v.Tensor
	}
	out, err := s.call.prog.Run(ctx, in, interp.Options{
		Numerics: o.Numerics,
		Workers:  o.Workers,
		MaxBytes: o.CallBytes,
	})
	if err != nil {
		return err
	}
	for k, id := range s.op.Outputs {
		t, ok := out[s.call.outputs[k]]
		to := &c.fn.Operands[id]
		want := typeOf(&to.Desc)
		// A list only passes between two calls.
		list := ok && t.Type.Kind == ir.List && to.Aperture == e5.Intermediate && to.Desc.Unknown() &&
			t.Type.DType == want.DType
		if !list && (!ok || !t.Type.Fits(want)) {
			return fmt.Errorf("result %q is %s, the descriptor says %s", s.call.outputs[k], t.Type, want)
		}
		c.fill(id, t)
	}
	return nil
}

// result returns what the run has left in an output or a state.
func (c *chain) result(id uint32) (interp.Tensor, error) {
	v, name := &c.vals[id], c.fn.Operands[id].Name
	if !v.filled {
		return interp.Tensor{}, fmt.Errorf("output %q was never written", name)
	}
	if v.Type.Kind != ir.Tensor {
		return interp.Tensor{}, fmt.Errorf("output %q is a %s", name, v.Type.Kind)
	}
	return v.Tensor, nil
}

// commit copies the results of a run into their buffers; a nil buffer leaves the tensor to the caller. A tensor whose
// bytes are in the buffer of another result is copied first.
func commit(results []interp.Tensor, bufs [][]byte) {
	for i := range results {
		t := &results[i]
		for k, b := range bufs {
			if k != i && overlap(t.Data, b) {
				t.Data = slices.Clone(t.Data)
				break
			}
		}
	}
	for i, b := range bufs {
		copy(b, results[i].Data)
	}
}
