package interp

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// unary is one operation of one operand.
type unary struct {
	f   func(x float64) float64 // on floats
	ane func(x float32) float32 // the function on the engine if it differs; nil: f through the ports
	i   func(x int64) int64     // on integers; nil: through f, truncated
}

var unaries = map[*ir.Operation]unary{
	ir.OpAbs:    {f: math.Abs, i: func(x int64) int64 { return max(x, -x) }},
	ir.OpAcos:   {f: math.Acos},
	ir.OpAsin:   {f: math.Asin},
	ir.OpAtan:   {f: math.Atan},
	ir.OpAtanh:  {f: math.Atanh},
	ir.OpCeil:   {f: math.Ceil, i: same},
	ir.OpCos:    {f: math.Cos},
	ir.OpCosh:   {f: math.Cosh},
	ir.OpErf:    {f: math.Erf},
	ir.OpExp:    {f: math.Exp, ane: numerics.Exp},
	ir.OpExp2:   {f: math.Exp2},
	ir.OpFloor:  {f: math.Floor, i: same},
	ir.OpRound:  {f: math.RoundToEven, i: same},
	ir.OpSign:   {f: sign, i: func(x int64) int64 { return int64(sign(float64(x))) }},
	ir.OpSin:    {f: math.Sin},
	ir.OpSinh:   {f: math.Sinh},
	ir.OpSqrt:   {f: math.Sqrt, ane: numerics.Sqrt},
	ir.OpSquare: {f: func(x float64) float64 { return x * x }, i: func(x int64) int64 { return x * x }},
	ir.OpTan:    {f: math.Tan},
	ir.OpTanh:   {f: math.Tanh},

	ir.OpRelu:     {f: func(x float64) float64 { return relu(x) }, i: func(x int64) int64 { return max(x, 0) }},
	ir.OpRelu6:    {f: func(x float64) float64 { return math.Min(relu(x), 6) }},
	ir.OpSigmoid:  {f: sigmoid},
	ir.OpSilu:     {f: func(x float64) float64 { return silu(x) }},
	ir.OpSoftplus: {f: softplus, ane: numerics.Softplus},
	ir.OpSoftsign: {f: func(x float64) float64 { return x / (1 + math.Abs(x)) }, ane: numerics.Softsign},
}

var _ = add(func() map[*ir.Operation]kernel {
	ks := map[*ir.Operation]kernel{ir.OpLogicalNot: logicalNot, ir.OpCast: cast}
	for n, u := range unaries {
		ks[n] = u.kernel
	}
	for n, e := range epsilons {
		ks[n] = e.kernel
	}
	return ks
}())

func same(x int64) int64 { return x }

// sign keeps a NaN and returns +0 for both zeros.
func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	case x == 0:
		return 0
	}
	return x
}

// relu keeps a NaN.
func relu(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return x
}

func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

func silu(x float64) float64 {
	if math.IsInf(x, -1) {
		return 0
	}
	return x * sigmoid(x)
}

func softplus(x float64) float64 {
	return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

// manyHalves is the number of elements from which a function is computed once for every pattern of fp16.
const manyHalves = 1 << 18

// mapFloats computes xs[i] = f(xs[i]); xs are the elements of x.
func mapFloats(c *call, x Tensor, xs []float32, f func(float32) float32) {
	if x.Type.DType == ir.FP16 && len(xs) >= manyHalves {
		f = c.tabulated(f)
	}
	c.parallel(len(xs), 4096, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			xs[i] = f(xs[i])
		}
	})
}

// tabulated returns a function of fp16 numbers that reads its results from a table.
func (c *call) tabulated(f func(float32) float32) func(float32) float32 {
	table := make([]float32, 1<<16)
	c.parallel(len(table), 1<<12, func(lo, hi int) {
		for h := lo; h < hi; h++ {
			table[h] = f(numerics.Widen(uint16(h)))
		}
	})
	return func(x float32) float32 { return table[numerics.Narrow(x)] }
}

func (u unary) kernel(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	if c.err != nil {
		return nil
	}
	if !x.Type.DType.IsFloat() && u.i != nil {
		xs := c.integers(x)
		for i, v := range xs {
			xs[i] = u.i(v)
		}
		return results(c.outInts(0, x.Type.Shape, xs))
	}
	xs := c.floats(x)
	f := func(v float32) float32 { return float32(u.f(float64(v))) }
	if c.ane && u.ane != nil {
		f = c.ends(u.ane)
	}
	mapFloats(c, x, xs, f)
	return results(c.outFloats(0, x.Type.Shape, xs))
}

// ends returns a function of the engine for a call. In fixed point infinities are numbers; for a lookup table they are
// past its ends, as in the other modes.
func (c *call) ends(f func(float32) float32) func(float32) float32 {
	if !c.fixed {
		return f
	}
	return func(v float32) float32 {
		if v >= 65536 || v <= -65536 {
			v *= math.MaxFloat32
		}
		return f(v)
	}
}

// epsilon is a function of x plus or beside an epsilon.
type epsilon struct {
	def float64 // where the argument is absent, in the type of x: 0 in fp16 when it is too small
	f   func(x, eps float64) float64
	ane func(x float32) float32 // of x + eps
}

var epsilons = map[*ir.Operation]epsilon{
	ir.OpInverse: {1e-4, func(x, e float64) float64 { return 1 / (x + e) }, numerics.Inverse},
	ir.OpLog:     {1e-45, func(x, e float64) float64 { return math.Log(x + e) }, numerics.Log},
	ir.OpRsqrt:   {1e-12, func(x, e float64) float64 { return 1 / math.Sqrt(x+e) }, numerics.Rsqrt},
}

func (k epsilon) kernel(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	eps, given := c.opt(ir.ParamEpsilon)
	def := k.def
	if !given {
		// The default has the element type of x.
		if x.Type.DType == ir.FP16 {
			def = float64(numerics.Round16(float32(def)))
		} else {
			def = float64(float32(def))
		}
	} else if eps.Type.DType == ir.String {
		return c.fail("argument epsilon is a string")
	}
	e := c.float(ir.ParamEpsilon, def)
	xs := c.floats(x)
	if c.err != nil {
		return nil
	}
	f := func(v float32) float32 { return float32(k.f(float64(v), e)) }
	if c.ane {
		// The engine adds in its wide accumulator and rounds only the result.
		f = c.ends(func(v float32) float32 { return k.ane(numerics.In(v) + float32(e)) })
	}
	mapFloats(c, x, xs, f)
	return results(c.outFloats(0, x.Type.Shape, xs))
}

func logicalNot(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	if c.err != nil {
		return nil
	}
	vs := x.Bools()
	for i, v := range vs {
		vs[i] = !v
	}
	return results(c.outBools(0, x.Type.Shape, vs))
}

// cast converts to the declared element type: floats to integers truncate and
// saturate, integers wrap, anything nonzero is true.
func cast(c *call) []Tensor {
	x := c.numeric(ir.ParamX)
	d := c.dtype(0)
	if s := c.string(ir.ParamDType, ""); c.err == nil && s != "" {
		if want, ok := ir.ParseDType(s); ok && want != d {
			c.fail("argument dtype is %q and the result is declared %s", s, d)
		}
	}
	switch {
	case c.err != nil:
		return nil
	case x.Type.DType == d:
		return results(c.port(x))
	case x.Type.DType.IsFloat():
		return results(c.outFloats(0, x.Type.Shape, c.floats(x)))
	}
	return results(c.outInts(0, x.Type.Shape, c.integers(x)))
}
