package exact

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Tensor is a value over the field, row major. A value whose extents are not known has one element, its digest.
type Tensor struct {
	Type  ir.Type
	Elems []field.Elem
}

// NewEvaluator returns an evaluator of programs with a valuation of constants and tables. A nil form means exact
// sums of products.
func NewEvaluator(fs *field.Functions, form *field.Form, m *Valuation) *Evaluator {
	return &Evaluator{Functions: fs, Form: form, valuation: m, memory: &memory{refs: map[*field.Elem]int{}}}
}

// Evaluator computes functions of the intermediate form over the field.
type Evaluator struct {
	*field.Functions
	Form      *field.Form // replaces sums of products; nil for none
	valuation *Valuation
	memory    *memory
	// Computed reports whether the other side computes an element, and whether that is known. It chooses between
	// results of an operation that differ in what is rounded. It is nil if no elements of the other side are known.
	Computed func(x field.Elem) (computes, known bool)
	// Whole is set for sources, in which a conversion to integers keeps what was rounded to one. Of a part of the
	// placed program it is not known what was rounded.
	Whole bool
	// Constants caches the elements of constants; nil for no cache.
	Constants map[*ir.Const]Tensor
	// Unknown is called with each operation that is treated as an unknown function, and reports whether its results
	// are of use. It may be nil.
	Unknown func(op *ir.Op) bool
	// See is called with each result and reports whether it is retained. It may be nil.
	See func(v *ir.Value, t Tensor) bool
	// Step is called after each operation. It may be nil.
	Step func()
}

// Scope contains the values of a block.
type Scope map[*ir.Value]Tensor

// call is one operation with its operands.
type call struct {
	*Evaluator
	op *ir.Op
	in Scope
}

// arg returns an argument, or false if it is absent.
func (c *call) arg(name ir.ParamName) (Tensor, bool) {
	v := c.op.Arg(name)
	if v == nil {
		return Tensor{}, false
	}
	return c.Value(c.in, v), true
}

// need returns an argument that the operation requires.
func (c *call) need(name ir.ParamName) Tensor {
	t, _ := c.arg(name)
	return t
}

// out returns a result of the declared type.
func (c *call) out(i int, v []field.Elem) Tensor { return Tensor{c.op.Results[i].Type, v} }

// Value returns the elements of a value.
func (e *Evaluator) Value(in Scope, v *ir.Value) Tensor {
	if v.Const == nil {
		return in[v]
	}
	t, ok := e.Constants[v.Const]
	if !ok {
		if t = e.constant(v.Const); e.Constants != nil {
			e.Constants[v.Const] = t
			e.memory.refer(t, 1)
		}
	}
	return t
}

// constant returns a constant as elements; the element of a text is the digest of its letters.
func (e *Evaluator) constant(c *ir.Const) Tensor {
	if c.Type.DType == ir.String || c.Type.Kind != ir.Tensor {
		v := make([]field.Elem, len(c.Strings))
		for i, s := range c.Strings {
			v[i] = e.Hash(e.Name("text "+s), 0)
		}
		return Tensor{c.Type, v}
	}
	v := make([]field.Elem, c.Elems())
	if c.Type.DType == ir.FP16 {
		table := field.FP16Elements()
		for i := range v {
			v[i] = table[uint16(c.Data[2*i])|uint16(c.Data[2*i+1])<<8]
		}
		return Tensor{c.Type, v}
	}
	for i := range v {
		if c.Type.DType.IsInt() {
			v[i] = field.Int(c.Int(int64(i)))
		} else {
			v[i] = field.Number(c.Float(int64(i)))
		}
	}
	return Tensor{c.Type, v}
}

// memory is the memory of values. It counts the references to each large value from scopes and from its holders.
type memory struct {
	field.Memory
	refs map[*field.Elem]int
}

// leastCounted is from how many elements on the references to a value are counted.
const leastCounted = 1 << 10

// refer adds references to a value, or takes some away. It reports whether none is left.
func (m *memory) refer(t Tensor, by int) bool {
	if len(t.Elems) < leastCounted {
		return false
	}
	k := &t.Elems[0]
	m.refs[k] += by
	if m.refs[k] > 0 {
		return false
	}
	delete(m.refs, k)
	return true
}

// set sets a value of a scope.
func (e *Evaluator) set(in Scope, v *ir.Value, t Tensor) {
	e.memory.refer(t, 1)
	e.drop(in, v)
	in[v] = t
}

// drop removes a value that is not read any more.
func (e *Evaluator) drop(in Scope, v *ir.Value) {
	if t, ok := in[v]; ok && e.memory.refer(t, -1) {
		e.memory.Give(t.Elems)
	}
	delete(in, v)
}

// Func computes the outputs of a function whose parameters have the given elements.
func (e *Evaluator) Func(ctx context.Context, f *ir.Func, params []Tensor) ([]Tensor, error) {
	b, in := f.Body, Scope{}
	for i, v := range b.Params {
		in[v] = params[i]
		e.memory.refer(params[i], 2) // the caller's too
	}
	defer func() {
		for _, t := range slices.AppendSeq(slices.Clone(params), maps.Values(in)) {
			e.memory.refer(t, -1)
		}
	}()
	last := map[*ir.Value]int{}
	for i, op := range b.Ops {
		op.Reads(func(v *ir.Value) { last[v] = i })
	}
	for _, v := range b.Outputs {
		last[v] = len(b.Ops)
	}
	for i, op := range b.Ops {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := room(op); err != nil {
			return nil, err
		}
		for k, t := range e.Compute(op, in) {
			v := op.Results[k]
			e.set(in, v, t)
			if e.See != nil && e.See(v, t) {
				e.memory.refer(t, 1)
			}
		}
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if last[v] == i {
				e.drop(in, v)
			}
		})
		for _, v := range op.Results {
			if _, used := last[v]; !used {
				e.drop(in, v)
			}
		}
		if e.Step != nil {
			e.Step()
		}
	}
	out := make([]Tensor, len(b.Outputs))
	for i, v := range b.Outputs {
		out[i] = e.Value(in, v)
	}
	return out, nil
}

// room returns an error if there is no memory for an operation: its results, its constants and, of a convolution, what
// each product reads.
func room(op *ir.Op) error {
	n := int64(0)
	for _, v := range op.Results {
		n += counted(v)
	}
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		if v.IsConst() {
			n += counted(v)
		}
	})
	if w := op.Arg(ir.ParamWeight); op.Is(ir.OpConv, ir.OpConvTranspose) && w.Type.Elems() > 0 && w.Type.Shape[0] > 0 {
		if s := op.Results[0].Type.Shape; len(s) > 2 {
			n += w.Type.Elems() / w.Type.Shape[0] * counted(&ir.Value{Type: ir.TensorOf(ir.FP16, s[2:]...)})
		}
	}
	if err := memlimit.Room(n * elemBytes); err != nil {
		return &interp.Error{Op: op.Def.Name, Name: op.Results[0].Name, Pos: op.Pos, Msg: err.Error(), Err: err}
	}
	return nil
}

// elemBytes is the size of an element in bytes.
const elemBytes = 8

// maxElements bounds the elements of a value in sums.
const maxElements = 1 << 48

// counted returns how many elements a value has here: one if its extents are not known.
func counted(v *ir.Value) int64 {
	n := v.Type.Elems()
	switch {
	case v.Type.Kind != ir.Tensor || !v.Type.Static():
		return 1
	case n < 0:
		return maxElements
	}
	return min(n, maxElements)
}

// Compute returns the results of an operation whose operands are in the scope.
func (e *Evaluator) Compute(op *ir.Op, in Scope) []Tensor {
	return (&call{Evaluator: e, op: op, in: in}).compute()
}

func (c *call) compute() []Tensor {
	if c.op.Def.Class == ir.StateAccess {
		return c.access()
	}
	known, empty := true, true
	c.op.Operands(func(_ *ir.Param, v *ir.Value) { known = known && v.Type.Kind == ir.Tensor && v.Type.Static() })
	for _, v := range c.op.Results {
		known = known && v.Type.Kind == ir.Tensor && v.Type.Static()
		empty = empty && v.Type.Elems() == 0
	}
	if known && empty { // kernels compute at least one element
		ts := make([]Tensor, len(c.op.Results))
		for i := range ts {
			ts[i] = c.out(i, nil)
		}
		return ts
	}
	if known {
		if f := kernels[c.op.Def.Operation]; f != nil {
			if ts := f(c); ts != nil {
				return ts
			}
		} else if c.op.Def.Class == ir.Movement {
			if ts := c.move(); ts != nil {
				return ts
			}
		} else if k := ir.CurveOf(c.op); k != nil && c.floats() {
			if ts := c.curve(k); ts != nil {
				return ts
			}
		}
	}
	if folded := Folded(c.op); folded != nil {
		ts := make([]Tensor, len(folded))
		for i, k := range folded {
			ts[i] = c.constant(k)
		}
		return ts
	}
	return c.unknown()
}

// access reads or writes a state, whose parameter has its value in the scope.
func (c *call) access() []Tensor {
	name, value := c.op.Def.StateParams()
	state := c.op.Arg(name)
	if value != "" {
		c.set(c.in, state, c.need(value))
	}
	ts := make([]Tensor, len(c.op.Results))
	for i := range ts {
		ts[i] = c.out(i, c.in[state].Elems)
	}
	return ts
}

// floats reports whether x is of a float type.
func (c *call) floats() bool { return c.op.Arg(ir.ParamX).Type.DType.IsFloat() }

// unknown treats the operation as an unknown function of all its operands.
func (c *call) unknown() []Tensor {
	useful := c.Unknown == nil || c.Unknown(c.op)
	var d []field.Elem
	if useful {
		d = append(d, c.digest(c.op, c.in, map[*ir.Value]field.Elem{}))
	}
	ts := make([]Tensor, len(c.op.Results))
	for i, v := range c.op.Results {
		n := int64(1)
		if v.Type.Kind == ir.Tensor && v.Type.Static() {
			n = v.Type.Elems()
		}
		if ts[i] = (Tensor{v.Type, make([]field.Elem, n)}); !useful {
			continue
		}
		key := c.Digest(uint64(i), d)
		hash := c.Hash
		if v.Type.DType == ir.Bool {
			hash = c.Boolean
		}
		for k := range ts[i].Elems {
			ts[i].Elems[k] = hash(uint64(key), field.Elem(k))
		}
	}
	return ts
}

// digest identifies an operation by its kind and the values of its operands. local contains the digests of values
// inside nested blocks.
func (e *Evaluator) digest(op *ir.Op, in Scope, local map[*ir.Value]field.Elem) field.Elem {
	d := []field.Elem{}
	value := func(v *ir.Value) field.Elem {
		if x, ok := local[v]; ok {
			return x
		}
		t := e.Value(in, v)
		return e.Digest(e.Name(t.Type.DType.String()), t.Elems)
	}
	for i, args := range op.Args {
		for _, v := range args {
			d = append(d, field.Elem(e.Name(string(op.Def.Params[i].Name))>>4), value(v))
		}
	}
	for _, b := range op.Blocks {
		for i, v := range b.Params {
			local[v] = e.Hash(e.Name("block parameter"), field.Elem(len(local)<<8+i))
		}
		for _, inner := range b.Ops {
			x := e.digest(inner, in, local)
			for i, v := range inner.Results {
				local[v] = e.Hash(uint64(i)+1, x)
			}
		}
		for _, v := range b.Outputs {
			d = append(d, value(v))
		}
	}
	types := make([]string, len(op.Results))
	for i, v := range op.Results {
		types[i] = v.Type.String()
	}
	return e.Digest(e.Name(op.Def.Name+" "+strings.Join(types, ",")), d)
}

// parallel calls f on pieces of 0..n from several goroutines; size is the work of one item.
func parallel(n, size int, f func(lo, hi int)) {
	if n == 0 {
		return
	}
	piece := max(1, 1<<13/max(1, size))
	workers := min(runtime.GOMAXPROCS(0), (n+piece-1)/piece)
	if workers <= 1 {
		f(0, n)
		return
	}
	next := make(chan int, (n+piece-1)/piece)
	for lo := 0; lo < n; lo += piece {
		next <- lo
	}
	close(next)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for lo := range next {
				f(lo, min(n, lo+piece))
			}
		})
	}
	wg.Wait()
}

// broadcastStrides returns, for each of the tensors, the strides along the dimensions of a shape that they broadcast
// to.
func broadcastStrides(shape []int64, ts []Tensor) [][]int {
	out := make([][]int, len(ts))
	for i, t := range ts {
		out[i] = make([]int, len(shape))
		n := 1
		for k := len(t.Type.Shape) - 1; k >= 0; k-- {
			if d := int(t.Type.Shape[k]); d != 1 {
				out[i][k+len(shape)-len(t.Type.Shape)] = n
				n *= d
			}
		}
	}
	return out
}

// pointwise computes a result element by element from operands that broadcast.
func (c *call) pointwise(f func(a []field.Elem) field.Elem, names ...ir.ParamName) []Tensor {
	ts := make([]Tensor, len(names))
	for i, n := range names {
		ts[i] = c.need(n)
	}
	return c.broadcast(f, ts...)
}

// broadcast is pointwise for tensors.
func (c *call) broadcast(f func(a []field.Elem) field.Elem, ts ...Tensor) []Tensor {
	return []Tensor{c.out(0, c.over(c.op.Results[0].Type.Shape, f, ts...))}
}

// over computes the elements of a shape from operands that broadcast to it.
func (e *Evaluator) over(shape []int64, f func(a []field.Elem) field.Elem, ts ...Tensor) []field.Elem {
	out, st := e.memory.Take(int(ir.TensorOf(ir.FP32, shape...).Elems())), broadcastStrides(shape, ts)
	parallel(len(out), 1, func(lo, hi int) {
		a := make([]field.Elem, len(ts))
		at := make([]int, len(ts))
		index := make([]int, len(shape))
		for d, r := len(shape)-1, lo; d >= 0; d-- {
			index[d] = r % int(shape[d])
			r /= int(shape[d])
			for i := range at {
				at[i] += index[d] * st[i][d]
			}
		}
		for k := lo; k < hi; k++ {
			for i := range a {
				a[i] = ts[i].Elems[at[i]]
			}
			out[k] = f(a)
			for d := len(shape) - 1; d >= 0; d-- {
				index[d]++
				for i := range at {
					at[i] += st[i][d]
				}
				if index[d] < int(shape[d]) {
					break
				}
				for i := range at {
					at[i] -= index[d] * st[i][d]
				}
				index[d] = 0
			}
		}
	})
	return out
}

// either returns one of several results of an operation that differ in what is rounded: the first, unless the other
// side computes more elements of another one.
func (c *call) either(alternatives ...func() []Tensor) []Tensor {
	ts := alternatives[0]()
	if c.Computed == nil {
		return ts
	}
	for _, m := range alternatives[1:] {
		if others := m(); len(ts) == 0 || c.nearer(others, ts) {
			ts = others
		}
	}
	return ts
}

// nearer reports whether the other side computes more elements of a than of b, of the first 64 in which they differ and
// of which one is known.
func (c *call) nearer(a, b []Tensor) bool {
	if len(a) == 0 {
		return false
	}
	more, looked := 0, 0
	for i, x := range a[0].Elems {
		y := b[0].Elems[i]
		if x == y {
			continue
		}
		hasX, knowsX := c.Computed(x)
		hasY, knowsY := c.Computed(y)
		if hasX {
			more++
		}
		if hasY {
			more--
		}
		if knowsX || knowsY {
			looked++
		}
		if looked == 64 {
			break
		}
	}
	return more > 0
}

// register returns the element for a scalar constant that a register contains.
func (c *call) register(name ir.ParamName) (field.Elem, bool) {
	f, ok := ir.ArgFloat(c.op, name)
	return c.valuation.Scalar(numerics.FP16(f)), ok
}

// extent multiplies the dimensions at axes, or all dimensions if axes is nil.
func extent(shape []int64, axes []int) int64 {
	n := int64(1)
	for i, d := range shape {
		if axes == nil || slices.Contains(axes, i) {
			n *= d
		}
	}
	return n
}
