package prove

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
)

// tensor is a value over the field, row major. A value whose extents are not known has one element, its digest.
type tensor struct {
	typ ir.Type
	v   []field.Elem
}

// evaluator computes functions of the intermediate form over the field.
type evaluator struct {
	*field.Functions
	form    *field.Form
	tables  *tables
	numbers *numbers
	memory  *memory
	// computed reports the elements that the other side computes, to choose where an operation has two meanings; it is
	// nil if they are not known.
	computed func(x field.Elem) bool
	// whole is set for sources, in which a conversion to integers keeps what was rounded to one. Of a part of the
	// placed program it is not known what was rounded.
	whole bool
	// constants keeps the elements of constants; nil for nothing.
	constants map[*ir.Const]tensor
	// unknowns is called with each operation that is treated as an unknown function, and reports whether its results
	// are of use. It may be nil.
	unknowns func(op *ir.Op) bool
	// see is called with each result. It may be nil.
	see func(v *ir.Value, t tensor)
	// step is called after each operation of the outermost block. It may be nil.
	step func()
}

// scope contains the values of a block.
type scope map[*ir.Value]tensor

// call is one operation with its operands.
type call struct {
	*evaluator
	op *ir.Op
	in scope
}

// arg returns an argument, or false if it is absent.
func (c *call) arg(name ir.ParamName) (tensor, bool) {
	v := c.op.Arg(name)
	if v == nil {
		return tensor{}, false
	}
	return c.value(c.in, v), true
}

// need returns an argument that the operation requires.
func (c *call) need(name ir.ParamName) tensor {
	t, _ := c.arg(name)
	return t
}

// out returns a result of the declared type.
func (c *call) out(i int, v []field.Elem) tensor { return tensor{c.op.Results[i].Type, v} }

// value returns the elements of a value.
func (e *evaluator) value(in scope, v *ir.Value) tensor {
	if v.Const == nil {
		return in[v]
	}
	t, ok := e.constants[v.Const]
	if !ok {
		if t = e.constant(v.Const); e.constants != nil {
			e.constants[v.Const] = t
			e.memory.refer(t, 1)
		}
	}
	return t
}

// constant returns a constant as elements; the element of a text is the digest of its letters.
func (e *evaluator) constant(c *ir.Const) tensor {
	if c.Type.DType == ir.String || c.Type.Kind != ir.Tensor {
		v := make([]field.Elem, len(c.Strings))
		for i, s := range c.Strings {
			v[i] = e.Hash(e.Name("text "+s), 0)
		}
		return tensor{c.Type, v}
	}
	v := make([]field.Elem, c.Elems())
	if c.Type.DType == ir.FP16 {
		table := field.Halves()
		for i := range v {
			v[i] = table[uint16(c.Data[2*i])|uint16(c.Data[2*i+1])<<8]
		}
		return tensor{c.Type, v}
	}
	for i := range v {
		if c.Type.DType.IsInt() {
			v[i] = field.Int(c.Int(int64(i)))
		} else {
			v[i] = field.Number(c.Float(int64(i)))
		}
	}
	return tensor{c.Type, v}
}

// memory is that of values, with the number of references to each large one from scopes and from whoever keeps it.
type memory struct {
	field.Memory
	refs map[*field.Elem]int
}

// leastCounted is from how many elements on the references to a value are counted.
const leastCounted = 1 << 10

// refer adds references to a value, or takes some away. It reports whether none is left.
func (m *memory) refer(t tensor, by int) bool {
	if len(t.v) < leastCounted {
		return false
	}
	k := &t.v[0]
	m.refs[k] += by
	if m.refs[k] > 0 {
		return false
	}
	delete(m.refs, k)
	return true
}

// set sets a value of a scope.
func (e *evaluator) set(in scope, v *ir.Value, t tensor) {
	e.memory.refer(t, 1)
	e.drop(in, v)
	in[v] = t
}

// drop removes a value that is not read any more.
func (e *evaluator) drop(in scope, v *ir.Value) {
	if t, ok := in[v]; ok && e.memory.refer(t, -1) {
		e.memory.Give(t.v)
	}
	delete(in, v)
}

// run computes a block whose parameters and outer values are in the scope.
func (e *evaluator) run(ctx context.Context, b *ir.Block, in scope) error {
	for _, t := range in { // the caller's
		e.memory.refer(t, 2)
	}
	caller := maps.Clone(in)
	defer func() {
		for _, ts := range []scope{caller, in} {
			for _, t := range ts {
				e.memory.refer(t, -1)
			}
		}
	}()
	last := map[*ir.Value]int{}
	for i, op := range b.Ops {
		op.Reads(func(v *ir.Value) { last[v] = i })
	}
	for _, v := range b.Outputs {
		last[v] = len(b.Ops)
	}
	step := e.step
	e.step = nil // not of nested blocks
	for i, op := range b.Ops {
		if err := ctx.Err(); err != nil {
			return err
		}
		c := &call{evaluator: e, op: op, in: in}
		for k, t := range c.compute() {
			v := op.Results[k]
			e.set(in, v, t)
			if e.see != nil {
				e.see(v, t)
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
		if step != nil {
			step()
		}
	}
	return nil
}

// compute returns the results of the operation.
func (c *call) compute() []tensor {
	if c.op.Def.Class == ir.StateAccess {
		return c.access()
	}
	known := true
	c.op.Operands(func(_ *ir.Param, v *ir.Value) { known = known && v.Type.Kind == ir.Tensor && v.Type.Static() })
	for _, v := range c.op.Results {
		known = known && v.Type.Kind == ir.Tensor && v.Type.Static()
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
	if known := constants(c.op); known != nil {
		ts := make([]tensor, len(known))
		for i, k := range known {
			ts[i] = c.constant(k)
		}
		return ts
	}
	return c.unknown()
}

// access reads or writes a state, whose parameter has its value in the scope.
func (c *call) access() []tensor {
	name, value := c.op.Def.StateParams()
	state := c.op.Arg(name)
	if value != "" {
		c.set(c.in, state, c.need(value))
	}
	ts := make([]tensor, len(c.op.Results))
	for i := range ts {
		ts[i] = c.out(i, c.in[state].v)
	}
	return ts
}

// floats reports whether x is of a float type.
func (c *call) floats() bool { return c.op.Arg(ir.ParamX).Type.DType.IsFloat() }

// unknown treats the operation as an unknown function of all its operands.
func (c *call) unknown() []tensor {
	useful := c.unknowns == nil || c.unknowns(c.op)
	var d []field.Elem
	if useful {
		d = append(d, c.digest(c.op, c.in, map[*ir.Value]field.Elem{}))
	}
	ts := make([]tensor, len(c.op.Results))
	for i, v := range c.op.Results {
		n := int64(1)
		if v.Type.Kind == ir.Tensor && v.Type.Static() {
			n = v.Type.Elems()
		}
		if ts[i] = (tensor{v.Type, make([]field.Elem, n)}); !useful {
			continue
		}
		key := c.Digest(uint64(i), d)
		hash := c.Hash
		if v.Type.DType == ir.Bool {
			hash = c.Boolean
		}
		for k := range ts[i].v {
			ts[i].v[k] = hash(uint64(key), field.Elem(k))
		}
	}
	return ts
}

// digest identifies an operation by its kind and the values of its operands. local contains the digests of values
// inside nested blocks.
func (e *evaluator) digest(op *ir.Op, in scope, local map[*ir.Value]field.Elem) field.Elem {
	d := []field.Elem{}
	value := func(v *ir.Value) field.Elem {
		if x, ok := local[v]; ok {
			return x
		}
		t := e.value(in, v)
		return e.Digest(e.Name(t.typ.DType.String()), t.v)
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

// spread returns, for each of the tensors, the strides along the dimensions of a shape that they broadcast to.
func spread(shape []int64, ts []tensor) [][]int {
	out := make([][]int, len(ts))
	for i, t := range ts {
		out[i] = make([]int, len(shape))
		n := 1
		for k := len(t.typ.Shape) - 1; k >= 0; k-- {
			if d := int(t.typ.Shape[k]); d != 1 {
				out[i][k+len(shape)-len(t.typ.Shape)] = n
				n *= d
			}
		}
	}
	return out
}

// pointwise computes a result element by element from operands that broadcast.
func (c *call) pointwise(f func(a []field.Elem) field.Elem, names ...ir.ParamName) []tensor {
	ts := make([]tensor, len(names))
	for i, n := range names {
		ts[i] = c.need(n)
	}
	return c.broadcast(f, ts...)
}

// broadcast is pointwise for tensors.
func (c *call) broadcast(f func(a []field.Elem) field.Elem, ts ...tensor) []tensor {
	return []tensor{c.out(0, c.over(c.op.Results[0].Type.Shape, f, ts...))}
}

// over computes the elements of a shape from operands that broadcast to it.
func (e *evaluator) over(shape []int64, f func(a []field.Elem) field.Elem, ts ...tensor) []field.Elem {
	out, st := e.memory.Take(int(ir.TensorOf(ir.FP32, shape...).Elems())), spread(shape, ts)
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
				a[i] = ts[i].v[at[i]]
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

// either returns one of several meanings of an operation that differ in what is rounded: the first, unless the other
// side computes more elements of another.
func (c *call) either(meanings ...func() []tensor) []tensor {
	ts := meanings[0]()
	if c.computed == nil {
		return ts
	}
	for _, m := range meanings[1:] {
		if others := m(); len(ts) == 0 || c.nearer(others, ts) {
			ts = others
		}
	}
	return ts
}

// nearer reports whether the other side computes more elements of a than of b, of the first 64 in which they differ.
func (c *call) nearer(a, b []tensor) bool {
	if len(a) == 0 {
		return false
	}
	more, looked := 0, 0
	for i, x := range a[0].v {
		y := b[0].v[i]
		if x == y {
			continue
		}
		if c.computed(x) {
			more++
		}
		if c.computed(y) {
			more--
		}
		if looked++; looked == 64 {
			break
		}
	}
	return more > 0
}

// register returns the element for a scalar constant that a register contains.
func (c *call) register(name ir.ParamName) (field.Elem, bool) {
	f, ok := ir.ArgFloat(c.op, name)
	return c.numbers.scalar(numerics.Half(f)), ok
}

// numbers are numbers that programs contain rounded, each with the element of the number that it was rounded from. A
// subtraction may add the negative of one, which counts as the negative of that element.
type numbers struct {
	exact map[float64]field.Elem // by magnitude
}

// rounded records the element of the number that f was rounded from.
func (n *numbers) rounded(f float64, e field.Elem) {
	if f < 0 {
		e = field.Neg(e)
	}
	n.exact[math.Abs(f)] = e
}

// share records that programs multiply by 1/n.
func (n *numbers) share(count int64) {
	e := field.Inv(field.Int(count))
	f := 1 / float64(count)
	n.rounded(numerics.Half(f), e)
	n.rounded(float64(float32(f)), e)
}

// scalar returns the element for a number in a register.
func (n *numbers) scalar(f float64) field.Elem {
	e, ok := n.exact[math.Abs(f)]
	switch {
	case !ok:
		return field.Number(f)
	case f < 0:
		return field.Neg(e)
	}
	return e
}

// collect records the numbers that the operations of a function imply.
func (n *numbers) collect(f *ir.Func) {
	var scales []float64
	exponential := false
	for _, op := range f.Body.Ops {
		switch {
		case op.Is(ir.OpReduceMean):
			if a, err := ir.ReduceAttrs(op); err == nil {
				n.share(extent(op.Arg(ir.ParamX).Type.Shape, a.Axes))
			}
		case op.Is(ir.OpLayerNorm):
			if axes, err := ir.LayerNormAxes(op); err == nil {
				n.share(extent(op.Arg(ir.ParamX).Type.Shape, axes))
			}
		case op.Is(ir.OpAvgPool):
			if p, err := ir.PoolAttrs(op); err == nil {
				n.share(extent(p.Kernel, nil))
			}
		case op.Is(ir.OpMul):
			for _, name := range []ir.ParamName{ir.ParamX, ir.ParamY} {
				if v := op.Arg(name); v.IsConst() && v.Type.Elems() == 1 && v.Type.DType.IsFloat() {
					scales = append(scales, v.Const.Float(0))
				}
			}
		case op.Is(ir.OpExp):
			exponential = true
		}
	}
	if exponential {
		for _, s := range scales {
			n.rounded(numerics.Half(numerics.Half(s)*log2E), field.Mul(n.scalar(s), field.Number(log2E)))
		}
	}
}

// extent multiplies the dimensions at axes, or all dimensions if axes is nil.
func extent(shape []int64, axes []int) int64 {
	n := int64(1)
	for i, d := range shape {
		if axes == nil || slices.Contains(axes, i) {
			n *= max(d, 1)
		}
	}
	return n
}

// log2E and ln2 are the factors that the engine applies before a power of two and after a logarithm.
var log2E, ln2 = numerics.Half(math.Log2E), numerics.Half(math.Ln2)

// describe returns a name for an operation in messages.
func describe(op *ir.Op) string {
	name := op.Name
	if len(op.Results) > 0 {
		name = op.Results[0].Name
	}
	return fmt.Sprintf("%s = %s", name, op.Def.Name)
}
