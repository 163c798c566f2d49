package interp

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"unsafe"

	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// DefaultMaxSteps is the default limit of the operations of a run.
const DefaultMaxSteps = 10_000_000

// Options control a run. The zero value runs in IEEE mode on all processors.
type Options struct {
	Numerics numerics.Mode
	Workers  int    // goroutines a kernel may use; 0: GOMAXPROCS. Results do not depend on it
	MaxBytes int64  // limit of live bytes, including scratch; 0 means the limit of the process (package memlimit)
	MaxSteps int64  // limit of operations executed, loops unrolled; 0: DefaultMaxSteps
	WideSums bool   // accumulate products of convolutions and matrix products in fp64
	Seed     uint64 // of random operations whose own seed is -1

	// States contains the states by name: their content before the run (zeros if absent) and, once Run has returned
	// without error, after it.
	States map[string]Tensor

	// Memory returns memory for n numbers, which it does not clear: of results and of what a kernel computes on the
	// way. nil allocates it. It is called by one goroutine at a time.
	Memory func(n int) []float32

	Progress func(done, total int)                   // after every operation of the outermost block
	Trace    func(op *ir.Op, results []Tensor)       // after every operation, in order; may replace results
	Warn     func(op *ir.Op, pos ir.Pos, msg string) // use of undefined behaviour that has been given a meaning
}

// Run prepares f and runs it once.
func Run(ctx context.Context, f *ir.Func, inputs map[string]Tensor, opt Options) (map[string]Tensor, error) {
	p, err := Prepare(f)
	if err != nil {
		return nil, err
	}
	return p.Run(ctx, inputs, opt)
}

// state is the content of one state during a run.
type state struct {
	name string
	val  Tensor
}

// run is one execution of a program.
type run struct {
	p       *Program
	ctx     context.Context
	opt     *Options
	opset   int
	workers int
	env     []Tensor
	states  map[*ir.Value]*state
	live    int64
	held    map[*byte]*hold
	lists   map[*Tensor]*hold // by first element
	steps   int64
}

// hold counts the values that share one allocation.
type hold struct {
	n     int
	bytes int64
}

// Run executes the program. inputs contains one tensor per parameter of the function, by name, of the parameter's
// element type and a shape that fits it; states may be omitted. The result contains one tensor per output, by name.
func (p *Program) Run(ctx context.Context, inputs map[string]Tensor, opt Options) (out map[string]Tensor, err error) {
	r := &run{p: p, ctx: ctx, opt: &opt, opset: ir.OpsetNumber(p.fn.Opset), workers: opt.Workers,
		env: make([]Tensor, len(p.slot)), states: make(map[*ir.Value]*state), held: make(map[*byte]*hold),
		lists: make(map[*Tensor]*hold)}
	if r.workers <= 0 {
		r.workers = runtime.GOMAXPROCS(0)
	}
	if opt.MaxBytes <= 0 {
		opt.MaxBytes = memlimit.Bytes()
	}
	if opt.MaxSteps <= 0 {
		opt.MaxSteps = DefaultMaxSteps
	}
	for i, v := range p.main.block.Params {
		t, ok := inputs[v.Name]
		if v.Type.Kind == ir.State {
			if t, err = r.stateInput(v, t, ok); err != nil {
				return nil, err
			}
			r.states[v] = &state{v.Name, t}
			continue
		}
		if !ok {
			return nil, &Error{Pos: v.Pos, Msg: fmt.Sprintf("input %q (%s) is not given", v.Name, v.Type)}
		}
		if err := t.check(); err != nil {
			return nil, &Error{Pos: v.Pos, Msg: fmt.Sprintf("input %q: %v", v.Name, err)}
		}
		if !t.Type.Fits(v.Type) {
			return nil, &Error{
				Pos: v.Pos,
				Msg: fmt.Sprintf("input %q is %s, the function takes %s", v.Name, t.Type, v.Type),
			}
		}
		r.env[p.main.params[i]] = t
	}
	outs, err := r.block(p.main, true)
	if err != nil {
		return nil, err
	}
	out = make(map[string]Tensor, len(outs))
	for i, v := range p.main.block.Outputs {
		out[v.Name] = outs[i]
	}
	if opt.States != nil {
		for _, v := range p.main.block.Params {
			if s := r.states[v]; s != nil {
				opt.States[s.name] = s.val
			}
		}
	}
	return out, nil
}

// stateInput returns the content of a state before the run.
func (r *run) stateInput(v *ir.Value, t Tensor, ok bool) (Tensor, error) {
	want := v.Type
	want.Kind = ir.Tensor
	if !ok {
		t, ok = r.opt.States[v.Name]
	}
	if !ok {
		z, err := Zeros(want)
		if err != nil {
			return z, &Error{Pos: v.Pos, Msg: fmt.Sprintf("state %q: %v", v.Name, err)}
		}
		return z, nil
	}
	if err := t.check(); err != nil {
		return t, &Error{Pos: v.Pos, Msg: fmt.Sprintf("state %q: %v", v.Name, err)}
	}
	if !t.Type.Fits(want) {
		return t, &Error{Pos: v.Pos, Msg: fmt.Sprintf("state %q is %s, the function takes %s", v.Name, t.Type, v.Type)}
	}
	return t, nil
}

// value returns the current content of v.
func (r *run) value(v *ir.Value) Tensor {
	if v.Const != nil {
		return FromConst(v.Const)
	}
	return r.env[r.p.slot[v]]
}

// block runs a plan whose parameters are already in the environment and
// returns its outputs.
func (r *run) block(pl *plan, outermost bool) ([]Tensor, error) {
	for _, s := range pl.atStart {
		r.drop(s)
	}
	for i := range pl.steps {
		s := &pl.steps[i]
		if err := r.ctx.Err(); err != nil {
			return nil, opError(s.op, "the run was stopped: %v", err)
		}
		if r.steps++; r.steps > r.opt.MaxSteps {
			return nil, opError(s.op, "more than %d operations were executed; raise the limit if the loop is meant "+
				"to run that long", r.opt.MaxSteps)
		}
		res, err := r.step(s)
		if err != nil {
			return nil, err
		}
		if r.opt.Trace != nil {
			r.opt.Trace(s.op, res)
		}
		for j, v := range s.op.Results {
			r.put(r.p.slot[v], res[j])
		}
		for _, f := range s.free {
			r.drop(f)
		}
		if outermost && r.opt.Progress != nil {
			r.opt.Progress(i+1, len(pl.steps))
		}
	}
	outs := make([]Tensor, len(pl.block.Outputs))
	for i, v := range pl.block.Outputs {
		outs[i] = r.value(v)
	}
	return outs, nil
}

// step runs one operation and checks the results of its kernel against the types that the function declares.
func (r *run) step(s *step) (res []Tensor, err error) {
	c := &call{r: r, op: s.op, step: s}
	c.ane = r.opt.Numerics != numerics.IEEE && s.op.Place.Unit == ir.Engine
	c.staged = c.ane && r.opt.Numerics == numerics.ANE
	c.fixed = c.ane && r.opt.Numerics == numerics.ANEFixed
	defer func() {
		// This is a last safeguard: kernels check their indices, so a panic is a defect of the interpreter; the caller
		// still gets an error and not a crash.
		if x := recover(); x != nil {
			if mapfault.Of(x) != nil {
				panic(x) // a constant's file was shortened: for whoever opened it
			}
			err = opError(s.op, "internal error of the interpreter: %v (%s)", x, where(debug.Stack()))
		}
	}()
	res = s.run(c)
	var inner *Error
	if errors.As(c.err, &inner) {
		return nil, inner // of an operation in a nested block
	}
	if c.err != nil {
		failed := opError(s.op, "%v", c.err)
		failed.Err = c.err
		return nil, failed
	}
	if len(res) != len(s.op.Results) {
		return nil, opError(s.op, "gives %d results, the program names %d", len(res), len(s.op.Results))
	}
	for i, v := range s.op.Results {
		if err := res[i].check(); err != nil {
			return nil, opError(s.op, "result %d: %v", i, err)
		}
		if !res[i].Type.Fits(v.Type) && v.Type.Kind == ir.Tensor {
			return nil, opError(s.op, "result %q is declared %s and comes out as %s", v.Name, v.Type, res[i].Type)
		}
	}
	return res, nil
}

// where returns the first frame of a stack that is in a kernel.
func where(stack []byte) string {
	seen := false
	for _, l := range strings.Split(string(stack), "\n") {
		if strings.HasPrefix(l, "panic(") {
			seen = true
		}
		if seen && strings.Contains(l, "sim/interp.") {
			name, _, _ := strings.Cut(l, "(0x")
			return name[strings.LastIndex(name, "/")+1:]
		}
	}
	return "unknown place"
}

// put stores a value and counts its bytes once, however many values share them.
func (r *run) put(slot int, t Tensor) {
	r.count(t, +1)
	r.count(r.env[slot], -1)
	r.env[slot] = t
}

// drop forgets a value; its bytes stop counting with the last that shares them.
func (r *run) drop(slot int) {
	r.count(r.env[slot], -1)
	r.env[slot] = Tensor{}
}

// count adds n to the number of values that use the tensor's bytes.
func (r *run) count(t Tensor, n int) {
	for _, e := range t.List {
		r.count(e, n)
	}
	if len(t.List) > 0 {
		holdOne(r, r.lists, &t.List[0], listElem*int64(len(t.List)), n)
	}
	if len(t.Data) > 0 {
		holdOne(r, r.held, &t.Data[0], int64(len(t.Data)), n)
	}
}

// listElem is the number of bytes that an element of a list takes in addition to its data.
const listElem = int64(unsafe.Sizeof(Tensor{}))

// holdOne adds n to the number of values that use one allocation.
func holdOne[K comparable](r *run, held map[K]*hold, key K, bytes int64, n int) {
	h := held[key]
	if h == nil {
		h = &hold{bytes: bytes}
		held[key] = h
		r.live += h.bytes
	}
	if h.n += n; h.n <= 0 {
		r.live -= h.bytes
		delete(held, key)
	}
}
