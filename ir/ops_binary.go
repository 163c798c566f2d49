package ir

import "math"

// binaryRow describes an elementwise operation on two tensors that broadcast.
type binaryRow struct {
	name  string
	class Class
	f     func(x, y float32) float32     // floats; nil where the class has none
	i     func(x, y int64) (int64, bool) // integers and booleans; false declines
	test  bool                           // result is boolean
	doc   string
}

func inferBinary(test bool) func(op *Op) ([]Type, error) {
	return func(op *Op) ([]Type, error) {
		shape, err := broadcastArgs(op, "x", "y")
		if err != nil {
			return nil, err
		}
		t := op.Arg("x").Type.DType
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

// compared makes the two forms of a comparison. A NaN makes every comparison
// false but not_equal.
func compared(f func(x, y float32) bool, g func(x, y int64) bool) (func(x, y float32) float32, func(x, y int64) (int64,
	bool)) {
	return func(x, y float32) float32 { return truth(f(x, y)) },
		func(x, y int64) (int64, bool) { return int64(truth(g(x, y))), true }
}

func floorDivF(x, y float32) float32 {
	if y == 0 {
		return x / y
	}
	// The quotient of an exact remainder, as Python's: floor(x/y) may round up
	// across an integer.
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

// powI is the truncated power; a negative exponent gives 0 but for bases 1 and -1.
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

func init() {
	eqF, eqI := compared(func(x, y float32) bool { return x == y }, func(x, y int64) bool { return x == y })
	neF, neI := compared(func(x, y float32) bool { return x != y }, func(x, y int64) bool { return x != y })
	ltF, ltI := compared(func(x, y float32) bool { return x < y }, func(x, y int64) bool { return x < y })
	leF, leI := compared(func(x, y float32) bool { return x <= y }, func(x, y int64) bool { return x <= y })
	gtF, gtI := compared(func(x, y float32) bool { return x > y }, func(x, y int64) bool { return x > y })
	geF, geI := compared(func(x, y float32) bool { return x >= y }, func(x, y int64) bool { return x >= y })
	ok := func(v int64) (int64, bool) { return v, true }
	for _, r := range []binaryRow{
		{name: "add", class: clsNum, f: func(x, y float32) float32 {
			return x + y
		}, i: func(x, y int64) (int64, bool) { return ok(x + y) }, test: false, doc: "x + y, element by element."},
		{name: "sub", class: clsNum, f: func(x, y float32) float32 {
			return x - y
		}, i: func(x, y int64) (int64, bool) { return ok(x - y) }, test: false, doc: "x - y, element by element."},
		{name: "mul", class: clsNum, f: func(x, y float32) float32 {
			return x * y
		}, i: func(x, y int64) (int64, bool) { return ok(x * y) }, test: false, doc: "x * y, element by element."},
		{name: "real_div", class: clsNum, f: func(x, y float32) float32 {
			return x / y
		}, i: func(x, y int64) (int64, bool) {
			if y == 0 {
				return 0, false
			}
			return x / y, true
		}, test: false, doc: "x / y; the quotient of integers is truncated towards zero."},
		{name: "floor_div", class: clsNum, f: floorDivF, i: floorDivI, test: false,
			doc: "Largest integer not above x / y."},
		{name: "mod", class: clsNum, f: modF, i: modI, test: false, doc: "Remainder of floor_div, with the sign of y."},
		{name: "pow", class: clsNum, f: func(x, y float32) float32 {
			return float32(math.Pow(float64(x), float64(y)))
		}, i: powI, test: false, doc: "x to the power y; of integers, truncated."},
		{name: "maximum", class: clsNum, f: maxF, i: func(x, y int64) (int64, bool) {
			return ok(max(x, y))
		}, test: false, doc: "The larger of x and y."},
		{name: "minimum", class: clsNum, f: minF, i: func(x, y int64) (int64, bool) {
			return ok(min(x, y))
		}, test: false, doc: "The smaller of x and y."},
		{name: "equal", class: clsNumB, f: eqF, i: eqI, test: true, doc: "Whether x = y."},
		{name: "not_equal", class: clsNumB, f: neF, i: neI, test: true, doc: "Whether x differs from y."},
		{name: "less", class: clsNum, f: ltF, i: ltI, test: true, doc: "Whether x < y."},
		{name: "less_equal", class: clsNum, f: leF, i: leI, test: true, doc: "Whether x <= y."},
		{name: "greater", class: clsNum, f: gtF, i: gtI, test: true, doc: "Whether x > y."},
		{name: "greater_equal", class: clsNum, f: geF, i: geI, test: true, doc: "Whether x >= y."},
		{name: "logical_and", class: clsBool, i: func(x, y int64) (int64, bool) {
			return ok(x & y)
		}, test: true, doc: "Both x and y."},
		{name: "logical_or", class: clsBool, i: func(x, y int64) (int64, bool) {
			return ok(x | y)
		}, test: true, doc: "x or y or both."},
		{name: "logical_xor", class: clsBool, i: func(x, y int64) (int64, bool) {
			return ok(x ^ y)
		}, test: true, doc: "Exactly one of x and y."},
	} {
		register(&OpDef{Name: r.name, Doc: r.doc,
			Params: params(in("x", r.class).as("T"), in("y", r.class).as("T")),
			Infer:  inferBinary(r.test), Fold: foldBinary(r.f, r.i)})
	}
	register(&OpDef{Name: "select", Doc: "a where cond holds, else b; all three broadcast.",
		Params: params(in("cond", clsBool), in("a", clsNumB).as("T"), in("b", clsNumB).as("T")),
		Infer: func(op *Op) ([]Type, error) {
			shape, err := broadcastArgs(op, "cond", "a", "b")
			if err != nil {
				return nil, err
			}
			return one(TensorOf(op.Arg("a").Type.DType, shape...))
		}, Fold: foldSelect})
}
