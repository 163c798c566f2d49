package lint

import (
	"maps"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/lint/witness"
	"github.com/zinc-compiler/zinc/ir"
)

// transfer returns the range of an operation's results from the ranges of its arguments, before rounding to the
// declared types.
type transfer func(c *call) []Interval

// transfers is the table: an operation that is not in it has the range of its type. Most entries follow from the
// registry of operations; the others are beside the functions that they use.
var transfers = func() map[*ir.Operation]transfer {
	m := map[*ir.Operation]transfer{}
	for _, o := range ir.Operations {
		switch {
		case o.Curve != nil && o.Curve.Extrema != nil:
			m[o] = curveRange
		case moves(o):
			m[o] = func(c *call) []Interval { return c.each(c.args(o.Picks)) }
		case o.Class == ir.Compressed:
			m[o] = foldedRange
		}
	}
	for _, rows := range []map[*ir.Operation]transfer{unaryRows(), binaryRows(), productRows(), reduceRows(),
		normRows(),
		moveRows(), otherRows()} {
		maps.Copy(m, rows)
	}
	return m
}()

// Modelled reports whether an operation has a transfer function, or is followed
// into (cond, while_loop).
func Modelled(o *ir.Operation) bool { return transfers[o] != nil || o.Class == ir.Control }

// call is one operation being judged.
type call struct {
	a      *analysis
	op     *ir.Op
	engine bool
	// hot are the output channels of a product in which the bounds are attained.
	hot *witness.Peaks
	// rows are the ranges of a product's output channels.
	rows *rows
	// running is the range of the partial sums of a product on the engine.
	running Interval
	// wide reports that the range of a statement is known only from its type.
	wide bool
}

// rows are the ranges of a value's parts along an axis.
type rows struct {
	axis int
	r    []Interval
}

// part returns the range of n elements of v along an axis, from begin on and stride apart.
func (c *call) part(v *ir.Value, axis int, begin, n, stride int64) Interval {
	whole := c.read(v)
	rs := c.a.rows[v]
	if rs == nil || rs.axis != axis || n < 1 {
		return whole
	}
	r := interval.Nothing
	for i := range n {
		at := begin + i*stride
		if at < 0 || at >= int64(len(rs.r)) {
			return whole
		}
		r = r.Hull(rs.r[at])
	}
	return r
}

// sliced returns the range of a slice.
func (c *call) sliced() Interval {
	v := c.op.Arg(ir.ParamX)
	r := c.read(v)
	s, err := ir.SliceAttrs(c.op)
	if err != nil {
		return r
	}
	for axis, a := range s {
		if a.Begin == ir.Unknown || a.Len == ir.Unknown || a.Stride == ir.Unknown {
			continue
		}
		p := c.part(v, axis, a.Begin, a.Len, a.Stride)
		r.Lo, r.Hi = max(r.Lo, p.Lo), min(r.Hi, p.Hi)
	}
	return r
}

// in returns the range of an argument, empty if it is absent.
func (c *call) in(name ir.ParamName) Interval {
	v := c.op.Arg(name)
	if v == nil {
		return interval.Nothing
	}
	return c.read(v)
}

// has reports whether an argument is present.
func (c *call) has(name ir.ParamName) bool { return c.op.Arg(name) != nil }

// read returns the range of a value as the operation sees it: the engine reads
// NaN as infinity.
func (c *call) read(v *ir.Value) Interval {
	r := c.a.Range(v)
	if r.NaN && c.engine {
		r = r.With(inf)
	}
	return r
}

// list returns the hull of a variadic argument.
func (c *call) list(name ir.ParamName) Interval {
	r := interval.Nothing
	for _, v := range c.op.ArgList(name) {
		r = r.Hull(c.read(v))
	}
	return r
}

// constant returns an argument's constant, unpacked if it is compressed; nil if the argument is computed.
func (c *call) constant(name ir.ParamName) *ir.Const {
	v := c.op.Arg(name)
	if v == nil {
		return nil
	}
	return c.a.Constant(v)
}

// number returns a scalar argument or its default, 0 if the form has no such parameter.
func (c *call) number(name ir.ParamName) float64 {
	if v := c.op.Arg(name); v != nil {
		if k := c.a.Constant(v); k != nil && k.Elems() >= 1 && k.Type.DType != ir.String {
			return k.Float(0)
		}
		return math.NaN()
	}
	f, _ := ir.ArgFloat(c.op, name)
	return f
}

// unknown is the result of an operation to which its rule does not apply.
func (c *call) unknown() []Interval {
	c.wide = true
	out := make([]Interval, len(c.op.Results))
	for i, v := range c.op.Results {
		out[i] = interval.OfType(v.Type.DType)
	}
	return out
}

// one is a list of one range.
func one(v Interval) []Interval { return []Interval{v} }

// each returns the same range for every result.
func (c *call) each(v Interval) []Interval {
	out := slices.Repeat([]Interval{v}, len(c.op.Results))
	return out
}
