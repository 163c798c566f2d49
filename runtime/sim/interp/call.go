package interp

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// kernel computes one operation's results from its arguments. It reports a broken rule with call.fail; its results are
// then ignored.
type kernel func(c *call) []Tensor

// call is one execution of one operation: access to its arguments, memory, and
// the first error. Accessors return zero values after an error, so a kernel
// reads what it needs, looks at c.err once, and then indexes freely.
type call struct {
	r       *run
	op      *ir.Op
	step    *step
	ane     bool // the engine's rules apply
	staged  bool // and sums of products go through the accumulator's first stage
	fixed   bool // and they are in fixed point, as of later engines
	err     error
	scratch int64 // bytes given out by this call
}

// fail records the first error of the call.
func (c *call) fail(format string, args ...any) []Tensor {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
	return nil
}

// since returns the opset whose semantics apply: the function's, or the row's if the statement names a
// newer one.
func (c *call) since() int { return max(c.r.opset, ir.OpsetNumber(c.op.Def.Since)) }

func (c *call) warn(format string, args ...any) {
	if c.r.opt.Warn != nil {
		c.r.opt.Warn(c.op, c.op.Pos, fmt.Sprintf(format, args...))
	}
}

// opt returns an argument that may be absent.
func (c *call) opt(name ir.ParamName) (Tensor, bool) {
	v := c.op.Arg(name)
	if v == nil {
		return Tensor{}, false
	}
	return c.r.value(v), true
}

// in returns an argument that must be there.
func (c *call) in(name ir.ParamName) Tensor {
	t, ok := c.opt(name)
	if !ok {
		c.fail("argument %s is missing", name)
		return Tensor{}
	}
	if t.Type.Kind != ir.Tensor {
		c.fail("argument %s is %s, not a tensor", name, t.Type)
		return Tensor{}
	}
	return t
}

// numeric is in for an argument that is not of strings.
func (c *call) numeric(name ir.ParamName) Tensor {
	t := c.in(name)
	if t.Type.DType == ir.String {
		c.fail("argument %s is %s, which has no numbers", name, t.Type)
		return Tensor{}
	}
	return t
}

// tuple returns all arguments of a parameter that takes a tuple.
func (c *call) tuple(name ir.ParamName) []Tensor {
	vs := c.op.ArgList(name)
	ts := make([]Tensor, len(vs))
	for i, v := range vs {
		ts[i] = c.r.value(v)
	}
	return ts
}

// ints returns an integer vector, and whether the argument is present.
func (c *call) ints(name ir.ParamName) ([]int64, bool) {
	t, ok := c.opt(name)
	if !ok {
		return nil, false
	}
	if !t.Type.DType.IsInt() && t.Type.DType != ir.Bool || t.Type.Rank() > 1 {
		c.fail("argument %s is %s, not a vector of integers", name, t.Type)
		return nil, false
	}
	if t.Elems() > 1<<20 {
		c.fail("argument %s has %d elements", name, t.Elems())
		return nil, false
	}
	return t.Ints(), true
}

// intsN is ints for a vector of a given length; def is the value of each element if the vector is absent.
func (c *call) intsN(name ir.ParamName, n int, def int64) []int64 {
	vs, ok := c.ints(name)
	if !ok {
		vs = slices.Repeat([]int64{def}, n)
		return vs
	}
	if len(vs) != n {
		c.fail("argument %s has %d elements, needs %d", name, len(vs), n)
		return make([]int64, n)
	}
	return vs
}

// one returns the single element of an argument as a constant.
func (c *call) one(name ir.ParamName) (*ir.Const, bool) {
	t, ok := c.opt(name)
	if !ok {
		return nil, false
	}
	if t.Elems() != 1 {
		c.fail("argument %s is %s, not a single element", name, t.Type)
		return nil, false
	}
	return t.Const(), true
}

// number returns the single number of an argument as a constant.
func (c *call) number(name ir.ParamName) (*ir.Const, bool) {
	k, ok := c.one(name)
	if ok && k.Type.DType == ir.String {
		c.fail("argument %s is a string, not a number", name)
		return nil, false
	}
	return k, ok
}

func (c *call) int(name ir.ParamName, def int64) int64 {
	if k, ok := c.number(name); ok {
		return k.Int(0)
	}
	return def
}

func (c *call) bool(name ir.ParamName, def bool) bool {
	d := int64(0)
	if def {
		d = 1
	}
	return c.int(name, d) != 0
}

func (c *call) float(name ir.ParamName, def float64) float64 {
	if k, ok := c.number(name); ok {
		return k.Float(0)
	}
	return def
}

func (c *call) string(name ir.ParamName, def string) string {
	k, ok := c.one(name)
	if !ok {
		return def
	}
	if k.Type.DType != ir.String {
		c.fail("argument %s is %s, not a string", name, k.Type)
		return def
	}
	return k.Strings[0]
}

// choice returns a string argument that must be one of a set.
func (c *call) choice(name ir.ParamName, def string, set ...string) string {
	s := c.string(name, def)
	if slices.Contains(set, s) {
		return s
	}
	c.fail("argument %s is %q, not one of %q", name, s, set)
	return def
}

// axis returns an axis of a tensor of the given rank, counted from the front.
func (c *call) axis(name ir.ParamName, def int64, rank int) int {
	return c.wrapAxis(name, c.int(name, def), rank)
}

func (c *call) wrapAxis(name ir.ParamName, a int64, rank int) int {
	if a < -int64(rank) || a >= int64(rank) {
		c.fail("argument %s is %d, outside the rank %d", name, a, rank)
		return 0
	}
	if a < 0 {
		a += int64(rank)
	}
	return int(a)
}

// reserve counts n bytes of memory, negative for more than 63 bits count, against the limit of the run.
func (c *call) reserve(n int64) bool {
	if c.err != nil {
		return false
	}
	if n < 0 {
		c.fail("needs more bytes than 63 bits count, over the limit of %d", c.r.opt.MaxBytes)
		return false
	}
	if n > c.r.opt.MaxBytes-c.r.live-c.scratch {
		c.fail("needs %d bytes beside %d live ones, over the limit of %d", n, c.r.live+c.scratch, c.r.opt.MaxBytes)
		return false
	}
	if err := memlimit.Room(n); err != nil {
		c.err = err
		return false
	}
	c.scratch += n
	return true
}

// shapeBytes returns the bytes of a shape with the given bits per element, or -1.
func shapeBytes(d ir.DType, shape []int64) int64 { return ir.TensorOf(d, shape...).Bytes() }

// buffer returns n zero floats, nil after an error.
func (c *call) buffer(n int) []float32 {
	if n < 0 || int64(n) > 1<<40 || !c.reserve(4*int64(n)) {
		c.fail("cannot allocate %d elements", n)
		return nil
	}
	if c.r.opt.Memory == nil {
		return make([]float32, n)
	}
	vs := c.r.opt.Memory(n)
	clear(vs)
	return vs
}

// bytes returns zeroed memory for a tensor, nil after an error.
func (c *call) bytes(d ir.DType, shape []int64) []byte {
	n := shapeBytes(d, shape)
	if n < 0 || !c.reserve(n) {
		c.fail("cannot allocate a tensor of type %s", ir.TensorOf(d, shape...))
		return nil
	}
	return make([]byte, n)
}

// floats returns the elements of a tensor as fp32, read through the engine's
// input port where its rules apply.
func (c *call) floats(t Tensor) []float32 { return c.read(t, readPort) }

// read returns the elements of a tensor as fp32, where the engine's rules apply after its port has changed them.
func (c *call) read(t Tensor, port func([]float32)) []float32 {
	if t.Type.DType == ir.String {
		c.fail("%s has no numbers", t.Type)
		return nil
	}
	out := c.buffer(t.Elems())
	if c.err != nil {
		return nil
	}
	if t.Type.DType != ir.FP16 {
		unpackFloats(out, t)
		if c.ane {
			port(out)
		}
		return out
	}
	c.parallel(len(out), rowGrain, func(lo, hi int) {
		if c.fixed {
			readFixed(out[lo:hi], t.Data[2*lo:2*hi])
			return
		}
		numerics.WidenBytes(out[lo:hi], t.Data[2*lo:2*hi])
		if c.ane {
			port(out[lo:hi])
		}
	})
	return out
}

// shared is read for elements that the caller does not change.
func (c *call) shared(t Tensor, port func([]float32)) []float32 {
	if s := shared32(t.Data); s != nil && t.Type.DType == ir.FP32 && !c.ane {
		return s
	}
	return c.read(t, port)
}

// integers returns the elements of a tensor as integers.
func (c *call) integers(t Tensor) []int64 {
	if t.Type.DType == ir.String {
		c.fail("%s has no numbers", t.Type)
		return nil
	}
	if !c.reserve(8 * int64(t.Elems())) {
		return nil
	}
	return t.Ints()
}

// dtype returns the declared element type of result i.
func (c *call) dtype(i int) ir.DType {
	if i >= len(c.op.Results) {
		c.fail("the program names %d results", len(c.op.Results))
		return ir.Invalid
	}
	d := c.op.Results[i].Type.DType
	if d == ir.FP8E4M3 || d == ir.FP8E5M2 || d == ir.String || d == ir.Invalid || d > ir.String {
		c.fail("result of element type %s is not computed", d)
		return ir.Invalid
	}
	return d
}

// outFloats makes result i from unrounded values, rounded to its declared type
// (by the engine's output port where its rules apply). vals is consumed.
func (c *call) outFloats(i int, shape []int64, vals []float32) Tensor {
	return c.emit(i, shape, vals, false)
}

// outMAC is outFloats for matrix products and multi-tap convolutions.
func (c *call) outMAC(i int, shape []int64, vals []float32) Tensor {
	return c.emit(i, shape, vals, true)
}

func (c *call) emit(i int, shape []int64, vals []float32, mac bool) Tensor {
	d := c.dtype(i)
	if c.err == nil && int64(len(vals)) != ir.TensorOf(d, shape...).Elems() {
		c.fail("internal error: %d values for shape %s", len(vals), ir.ShapeString(shape))
	}
	if c.err == nil && d == ir.FP32 && !c.ane {
		return Share32(shape, vals)
	}
	b := c.bytes(d, shape)
	if c.err != nil {
		return Tensor{}
	}
	size := d.Bits() / 8
	switch {
	case d.Bits() < 8: // elements share bytes
		packFloats(b, d, vals)
	case c.fixed && d.IsFloat():
		c.parallel(len(vals), rowGrain, func(lo, hi int) {
			for i, x := range vals[lo:hi] {
				vals[lo+i] = numerics.FixedOut(x)
			}
			packFloats(b[lo*size:hi*size], d, vals[lo:hi])
		})
	case c.ane && d == ir.FP16:
		c.parallel(len(vals), rowGrain, func(lo, hi int) { writePort(b[2*lo:2*hi], vals[lo:hi], mac) })
	default:
		c.parallel(len(vals), rowGrain, func(lo, hi int) {
			if c.ane && d.IsFloat() {
				round(vals[lo:hi], mac)
			}
			packFloats(b[lo*size:hi*size], d, vals[lo:hi])
		})
	}
	return Tensor{Type: ir.TensorOf(d, shape...), Data: b}
}

// outInts makes result i from integers, which wrap.
func (c *call) outInts(i int, shape []int64, vals []int64) Tensor {
	d := c.dtype(i)
	b := c.bytes(d, shape)
	if c.err == nil && int64(len(vals)) != ir.TensorOf(d, shape...).Elems() {
		c.fail("internal error: %d values for shape %s", len(vals), ir.ShapeString(shape))
	}
	if c.err != nil {
		return Tensor{}
	}
	packInts(b, d, vals)
	return Tensor{Type: ir.TensorOf(d, shape...), Data: b}
}

// rowGrain is the number of elements from which reading and writing them is divided.
const rowGrain = 1 << 14

// parallel splits [0, n) into ranges of at least grain and runs f on them. Every element must be written by only one
// range and depend on no other.
func (c *call) parallel(n, grain int, f func(lo, hi int)) {
	if c.err != nil || n <= 0 {
		return
	}
	w := min(c.r.workers, (n+max(1, grain)-1)/max(1, grain))
	if w <= 1 {
		f(0, n)
		return
	}
	var g mapfault.Group // a panic is carried to this goroutine, where the run's last belt is
	for i := range w {
		g.Go(func() { f(i*n/w, (i+1)*n/w) })
	}
	g.Wait()
}

// results wraps results for return.
func results(ts ...Tensor) []Tensor { return ts }
