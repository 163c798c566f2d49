package sim

import (
	"context"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/exact"
)

// ExactTensor is a tensor of elements of the field, row major. A tensor whose extents are known only at run time has
// one element, which represents all of it.
type ExactTensor struct {
	exact.Tensor
	// Where says from where the runtime read an element; nil for a tensor that was not in a surface, and if the writers
	// of elements are not recorded.
	Where func(i int) Where
}

// Where is the place of an element in memory that tasks write.
type Where struct {
	Buffer    string `json:"buffer"`              // a port
	Address   int64  `json:"address"`             // in bytes, from the start of the buffer
	Procedure string `json:"procedure,omitempty"` // of the task that wrote it; empty if none did
	Task      int    `json:"task"`                // its index in the chain of the procedure
}

// ExactOptions configure RunExact.
type ExactOptions struct {
	Engine engine.ExactOptions // but for Table and Scalar
	// Valuation interprets the constants and tables of the program.
	Valuation *exact.Valuation
	// Values is called with the result of each task, as engine.ExactOptions describes, and the name of the procedure.
	// It may be nil.
	Values func(procedure string, task int, extent [5]int, vals []field.Elem)
}

// exactRun is a run of a chain over the field.
type exactRun struct {
	fn       *function
	o        *ExactOptions
	engine   *engine.Exact
	proc     *procedure
	surfaces map[string]*engine.Cells
	scratch  map[uint64]*engine.Cells
	consts   *engine.Cells
	vals     []*ExactTensor // by operand
	first    []int          // number of the first task of each inference, ascending
	procs    []string       // and its procedure
	next     int            // number of the next task
}

// RunExact executes the chain of one function once over the prime field of package field. inputs contains the
// parameters of the function, including its states, by name. It returns the outputs, and the states after the run.
// Nothing else in the machine changes.
func (m *Machine) RunExact(ctx context.Context, name string, inputs map[string]ExactTensor,
	o ExactOptions) (outputs, states map[string]ExactTensor, err error) {
	i := slices.IndexFunc(m.funcs, func(f *function) bool { return f.Name == name })
	if i < 0 {
		return nil, nil, m.noFunction(name)
	}
	fn := m.funcs[i]
	// A cell takes four times the bytes of what is at its address.
	if err := memlimit.Room(4 * int64(min(fn.total, e5.MaxBytes))); err != nil {
		return nil, nil, fmt.Errorf("the buffers of function %q in a proof: %w", fn.Name, err)
	}
	r := &exactRun{
		fn: fn, o: &o, surfaces: map[string]*engine.Cells{}, scratch: map[uint64]*engine.Cells{},
		vals: make([]*ExactTensor, len(fn.Operands)), next: 1,
	}
	if values := o.Values; values != nil {
		o.Engine.Values = func(task int, extent [5]int, vals []field.Elem) {
			values(r.proc.name, task, extent, vals)
		}
	}
	o.Engine.L2Bytes = m.of.L2Bytes
	o.Engine.Table, o.Engine.Scalar = o.Valuation.Table, o.Valuation.Scalar
	r.engine = engine.NewExact(o.Engine)
	for _, id := range slices.Concat(fn.Inputs, fn.States) {
		op := &fn.Operands[id]
		t, ok := inputs[op.Name]
		if !ok {
			return nil, nil, fmt.Errorf("input %q is missing; it is %s", op.Name, typeOf(&op.Desc))
		}
		r.vals[id] = &t
	}
	for i := range fn.ops {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if err := r.step(ctx, m, i); err != nil {
			failed := &OpError{Op: fn.ops[i].Name, Err: err}
			if a, ok := fn.ops[i].Attrs.(*e5.AneInferenceAttrs); ok {
				failed.Procedure = a.ProcedureName
			}
			return nil, nil, failed
		}
	}
	results := func(ids []uint32) (map[string]ExactTensor, error) {
		out := map[string]ExactTensor{}
		for _, id := range ids {
			op := &fn.Operands[id]
			if r.vals[id] == nil {
				return nil, fmt.Errorf("output %q was never written", op.Name)
			}
			out[op.Name] = *r.vals[id]
		}
		return out, nil
	}
	if outputs, err = results(fn.Outputs); err == nil {
		states, err = results(fn.States)
	}
	return outputs, states, err
}

func (r *exactRun) step(ctx context.Context, m *Machine, i int) error {
	op := &r.fn.ops[i]
	switch a := op.Attrs.(type) {
	case *e5.CastAttrs:
		return r.cast(op.Inputs[0], op.Outputs[0])
	case *e5.AneInferenceAttrs:
		r.proc = m.procs[a.ProcedureName]
		r.first, r.procs = append(r.first, r.next), append(r.procs, r.proc.name)
		first := r.next
		r.next += len(r.proc.tasks)
		return r.engine.Run(ctx, r.proc.tasks, r, first)
	}
	call := r.fn.calls[i]
	in := make([]exact.Tensor, len(op.Inputs))
	for k, id := range op.Inputs {
		if r.vals[id] == nil {
			return fmt.Errorf("operand %q is not filled", r.fn.Operands[id].Name)
		}
		in[k] = r.vals[id].Tensor // the order of the parameters
	}
	out, err := exact.NewEvaluator(r.o.Engine.Field, r.o.Engine.Form, r.o.Valuation).Func(ctx, call.fn, in)
	if err != nil {
		return err
	}
	for k, id := range op.Outputs {
		r.vals[id] = &ExactTensor{Tensor: out[k]}
	}
	return nil
}

// cells returns the surface of a port.
func (r *exactRun) cells(port string) *engine.Cells {
	c := r.surfaces[port]
	if c == nil {
		c = engine.NewCells(port, r.fn.sizes[port], r.o.Engine.Writers)
		r.surfaces[port] = c
	}
	return c
}

func (r *exactRun) cast(from, to uint32) error {
	src, dst := &r.fn.Operands[from], &r.fn.Operands[to]
	t := r.vals[from]
	if src.Aperture != e5.Surface && t == nil {
		return fmt.Errorf("operand %q is not filled", src.Name)
	}
	if src.Aperture != e5.Surface && !t.Type.Static() {
		r.vals[to] = t
		return nil
	}
	a, b := typeOf(&src.Desc), typeOf(&dst.Desc)
	if err := memlimit.Room(16 * max(a.Elems(), 0)); err != nil { // addresses and elements
		return err
	}
	var elems []field.Elem
	var where func(i int) Where
	if src.Aperture == e5.Surface {
		c, at := r.cells(src.Port.Name), addresses(&src.Desc)
		elems = make([]field.Elem, len(at))
		for i, p := range at {
			elems[i] = r.get(c, p, src.Desc.Storage)
		}
		if r.o.Engine.Writers { // it keeps all memory of the run
			where = func(i int) Where { return r.where(c, at[i]) }
		}
	} else {
		elems, where = t.Elems, t.Where
	}
	if a.DType != b.DType {
		f := exact.Conversion(r.o.Engine.Field, a.DType, b.DType)
		elems = slices.Clone(elems)
		for i, x := range elems {
			elems[i] = f(x)
		}
	}
	if dst.Aperture != e5.Surface {
		r.vals[to] = &ExactTensor{exact.Tensor{Type: b, Elems: elems}, where}
		return nil
	}
	at := addresses(&dst.Desc)
	if len(at) != len(elems) {
		return fmt.Errorf("operand %q holds %d elements, %q takes %d", src.Name, len(elems), dst.Name, len(at))
	}
	c := r.cells(dst.Port.Name)
	for i, p := range at {
		r.put(c, p, dst.Desc.Storage, elems[i])
	}
	return nil
}

// bytesOf returns the bytes of an element that the engine sees one by one, 0 for fp16.
func bytesOf(t e5.StorageType) int {
	if t == e5.FP16 {
		return 0
	}
	return int(t.Bits() / 8)
}

// get reads an element of a surface.
func (r *exactRun) get(c *engine.Cells, at int64, t e5.StorageType) field.Elem {
	n := bytesOf(t)
	if n == 0 {
		return c.Get(at, false)
	}
	bytes := make([]field.Elem, n)
	for k := range bytes {
		bytes[k] = c.Get(at+int64(k), true)
	}
	return r.o.Engine.Field.Join(bytes)
}

// put writes an element of a surface.
func (r *exactRun) put(c *engine.Cells, at int64, t e5.StorageType, v field.Elem) {
	n := bytesOf(t)
	if n == 0 {
		c.Put(at, false, v, 0)
		return
	}
	for k, b := range r.o.Engine.Field.Bytes(v, n) {
		c.Put(at+int64(k), true, b, 0)
	}
}

// addresses lists the byte offsets of the elements of a surface, row major.
func addresses(d *e5.TensorDescriptor) []int64 {
	out := make([]int64, 1, max(1, d.Elements()))
	for i, n := range d.Dim {
		next := make([]int64, 0, len(out)*int(n))
		for _, at := range out {
			for k := range n {
				next = append(next, at+int64(k*d.Stride[i]))
			}
		}
		out = next
	}
	return out
}

// where finds the task that wrote an element.
func (r *exactRun) where(c *engine.Cells, at int64) Where {
	w := Where{Buffer: c.Name, Address: at}
	n := c.Writer(at)
	if i, _ := slices.BinarySearch(r.first, n+1); n > 0 {
		w.Procedure, w.Task = r.procs[i-1], n-r.first[i-1]
	}
	return w
}

// Cells implements engine.CellMemory for the running procedure.
func (r *exactRun) Cells(i int, off, n int64, write bool) (*engine.Cells, int64, error) {
	b, err := r.proc.window(i, off, n, write)
	switch {
	case err != nil:
		return nil, 0, err
	case b.consts:
		if r.consts == nil {
			r.consts = engine.ConstantCells("constants", r.proc.consts)
		}
		return r.consts, b.at + off, nil
	case b.scratch:
		c := r.scratch[b.segment]
		if c == nil {
			c = engine.NewCells(fmt.Sprintf("scratch at %#x", b.segment), b.at+b.size, false)
			r.scratch[b.segment] = c
		}
		return c, b.at + off, nil
	}
	return r.cells(b.port), off, nil
}
