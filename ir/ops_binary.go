package ir

import (
	"math"

	"github.com/zinc-compiler/zinc/numerics"
)

// Elementwise operations on two tensors.
var (
	OpAdd     = newOp("add", Pointwise, "x + y, element by element.").err(numerics.Rounded).gate(A11Legacy)
	OpSub     = newOp("sub", Pointwise, "x - y, element by element.").err(numerics.Rounded).gate(A11Legacy)
	OpMul     = newOp("mul", Pointwise, "x * y, element by element.").err(numerics.Rounded).gate(A11Legacy)
	OpRealDiv = newOp("real_div", Pointwise, "x / y; the quotient of integers is truncated towards zero.").
			err(numerics.Rounded).gate(A11Legacy)
	OpFloorDiv = newOp("floor_div", Pointwise, "Largest integer <= x / y.").err(numerics.Rounded)
	OpMod      = newOp("mod", Pointwise, "Remainder of floor_div, with the sign of y.").err(numerics.Rounded).
			gate(Never)
	OpPow          = newOp("pow", Pointwise, "x to the power y; truncated for integers.").err(numerics.Rounded)
	OpMaximum      = newOp("maximum", Pointwise, "The larger of x and y.").gate(A11Legacy).picks(ParamX, ParamY)
	OpMinimum      = newOp("minimum", Pointwise, "The smaller of x and y.").gate(A11Legacy).picks(ParamX, ParamY)
	OpEqual        = newOp("equal", Pointwise, "Whether x = y.").err(numerics.Movement)
	OpNotEqual     = newOp("not_equal", Pointwise, "Whether x differs from y.").err(numerics.Movement)
	OpLess         = newOp("less", Pointwise, "Whether x < y.").err(numerics.Movement)
	OpLessEqual    = newOp("less_equal", Pointwise, "Whether x <= y.").err(numerics.Movement)
	OpGreater      = newOp("greater", Pointwise, "Whether x > y.").err(numerics.Movement)
	OpGreaterEqual = newOp("greater_equal", Pointwise, "Whether x >= y.").err(numerics.Movement)
	OpLogicalAnd   = newOp("logical_and", Pointwise, "Logical and.").err(numerics.Movement).gate(Never)
	OpLogicalOr    = newOp("logical_or", Pointwise, "Logical or.").err(numerics.Movement).gate(Never)
	OpLogicalXor   = newOp("logical_xor", Pointwise, "Logical exclusive or.").err(numerics.Movement).gate(Never)
	OpSelect       = newOp("select", Pointwise, "a where cond is true, else b; all three broadcast.").
			picks(ParamA, ParamB)
)

// binaryRow describes an elementwise operation on two tensors that broadcast.
type binaryRow struct {
	*Operation
	types DTypes
	f     func(x, y float32) float32     // floats; nil if they are not allowed
	i     func(x, y int64) (int64, bool) // integers and booleans; returns false if it cannot compute the result
	test  bool                           // result is boolean
}

func inferBinary(test bool) func(op *Op) ([]Type, error) {
	return func(op *Op) ([]Type, error) {
		shape, err := broadcastArgs(op, ParamX, ParamY)
		if err != nil {
			return nil, err
		}
		t := op.Arg(ParamX).Type.DType
		if test {
			t = Bool
		}
		return one(TensorOf(t, shape...))
	}
}

func truth(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

// compared returns the two forms of a comparison. With a NaN every comparison except not_equal is false.
func compared(f func(x, y float32) bool, g func(x, y int64) bool) (func(x, y float32) float32, func(x, y int64) (int64,
	bool)) {
	return func(x, y float32) float32 { return truth(f(x, y)) },
		func(x, y int64) (int64, bool) { return int64(truth(g(x, y))), true }
}

func floorDivF(x, y float32) float32 {
	if y == 0 {
		return x / y
	}
	// The quotient is computed from the exact remainder, as in Python, because floor(x/y) may round
	// up across an integer.
	a, b := float64(x), float64(y)
	m := math.Mod(a, b)
	q := (a - m) / b
	if m != 0 && (m < 0) != (b < 0) {
		q--
	}
	if q == 0 {
		return float32(math.Copysign(0, a/b))
	}
	r := math.Floor(q)
	if q-r > 0.5 {
		r++
	}
	return float32(r)
}

func floorDivI(x, y int64) (int64, bool) {
	if y == 0 {
		return 0, false
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return q, true
}

func modF(x, y float32) float32 {
	m := math.Mod(float64(x), float64(y))
	if m != 0 && (m < 0) != (y < 0) {
		m += float64(y)
	} else if m == 0 {
		m = math.Copysign(0, float64(y))
	}
	return float32(m)
}

func modI(x, y int64) (int64, bool) {
	if y == 0 {
		return 0, false
	}
	m := x % y
	if m != 0 && (m < 0) != (y < 0) {
		m += y
	}
	return m, true
}

// powI returns the truncated power; with a negative exponent it is 0, except for the bases 1 and -1.
func powI(x, y int64) (int64, bool) {
	if y < 0 {
		switch {
		case x == 0:
			return 0, false
		case x == 1:
			return 1, true
		case x == -1:
			return 1 - 2*(y&1), true
		}
		return 0, true
	}
	r := int64(1)
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			r = int64(int32(r * x))
		}
		x = int64(int32(x * x))
	}
	return r, true
}

func maxF(x, y float32) float32 { return float32(math.Max(float64(x), float64(y))) }
func minF(x, y float32) float32 { return float32(math.Min(float64(x), float64(y))) }

// binaryForms are the forms of the operations above.
func binaryForms() (out forms) {
	eqF, eqI := compared(func(x, y float32) bool { return x == y }, func(x, y int64) bool { return x == y })
	neF, neI := compared(func(x, y float32) bool { return x != y }, func(x, y int64) bool { return x != y })
	ltF, ltI := compared(func(x, y float32) bool { return x < y }, func(x, y int64) bool { return x < y })
	leF, leI := compared(func(x, y float32) bool { return x <= y }, func(x, y int64) bool { return x <= y })
	gtF, gtI := compared(func(x, y float32) bool { return x > y }, func(x, y int64) bool { return x > y })
	geF, geI := compared(func(x, y float32) bool { return x >= y }, func(x, y int64) bool { return x >= y })
	ok := func(v int64) (int64, bool) { return v, true }
	for _, r := range []binaryRow{
		{Operation: OpAdd, types: clsNum, f: func(x, y float32) float32 {
			return x + y
		}, i: func(x, y int64) (int64, bool) { return ok(x + y) }},
		{Operation: OpSub, types: clsNum, f: func(x, y float32) float32 {
			return x - y
		}, i: func(x, y int64) (int64, bool) { return ok(x - y) }},
		{Operation: OpMul, types: clsNum, f: func(x, y float32) float32 {
			return x * y
		}, i: func(x, y int64) (int64, bool) { return ok(x * y) }},
		{Operation: OpRealDiv, types: clsNum, f: func(x, y float32) float32 {
			return x / y
		}, i: func(x, y int64) (int64, bool) {
			if y == 0 {
				return 0, false
			}
			return x / y, true
		}},
		{Operation: OpFloorDiv, types: clsNum, f: floorDivF, i: floorDivI},
		{Operation: OpMod, types: clsNum, f: modF, i: modI},
		{Operation: OpPow, types: clsNum, f: func(x, y float32) float32 {
			return float32(math.Pow(float64(x), float64(y)))
		}, i: powI},
		{Operation: OpMaximum, types: clsNum, f: maxF, i: func(x, y int64) (int64, bool) {
			return ok(max(x, y))
		}},
		{Operation: OpMinimum, types: clsNum, f: minF, i: func(x, y int64) (int64, bool) {
			return ok(min(x, y))
		}},
		{Operation: OpEqual, types: clsNumB, f: eqF, i: eqI, test: true},
		{Operation: OpNotEqual, types: clsNumB, f: neF, i: neI, test: true},
		{Operation: OpLess, types: clsNum, f: ltF, i: ltI, test: true},
		{Operation: OpLessEqual, types: clsNum, f: leF, i: leI, test: true},
		{Operation: OpGreater, types: clsNum, f: gtF, i: gtI, test: true},
		{Operation: OpGreaterEqual, types: clsNum, f: geF, i: geI, test: true},
		{Operation: OpLogicalAnd, types: clsBool, i: func(x, y int64) (int64, bool) {
			return ok(x & y)
		}, test: true},
		{Operation: OpLogicalOr, types: clsBool, i: func(x, y int64) (int64, bool) {
			return ok(x | y)
		}, test: true},
		{Operation: OpLogicalXor, types: clsBool, i: func(x, y int64) (int64, bool) {
			return ok(x ^ y)
		}, test: true},
	} {
		out.add(&OpDef{Operation: r.Operation,
			Params: params(in(ParamX, r.types).as("T"), in(ParamY, r.types).as("T")),
			Infer:  inferBinary(r.test), Fold: foldBinary(r.f, r.i)})
	}
	out.add(&OpDef{Operation: OpSelect,
		Params: params(in(ParamCond, clsBool), in(ParamA, clsNumB).as("T"), in(ParamB, clsNumB).as("T")),
		Infer: func(op *Op) ([]Type, error) {
			shape, err := broadcastArgs(op, ParamCond, ParamA, ParamB)
			if err != nil {
				return nil, err
			}
			return one(TensorOf(op.Arg(ParamA).Type.DType, shape...))
		}, Fold: foldSelect})
	return out
}
