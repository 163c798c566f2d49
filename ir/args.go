package ir

import (
	"math"
	"slices"
)

// The functions below read one argument of an operation, or the default that its row states for
// an absent one. ok is false if the argument is not known at compile time, is absent and has no
// default, or has another form.

// ArgInt returns an integer argument: a scalar, or a tensor of one element.
func ArgInt(op *Op, name ParamName) (v int64, ok bool) {
	if c, d := argOrDefault(op, name); c != nil {
		if c.Type.DType.IsInt() && hasElems(c, 1) {
			return c.Int(0), true
		}
	} else if n, isInt := d.(int64); isInt {
		return n, true
	}
	return 0, false
}

// ArgFloat returns a numeric argument as a float64. The default of an absent argument is not rounded to the type of x.
func ArgFloat(op *Op, name ParamName) (v float64, ok bool) {
	c, d := argOrDefault(op, name)
	if c != nil {
		if c.Type.DType != String && hasElems(c, 1) {
			return c.Float(0), true
		}
		return 0, false
	}
	switch d := d.(type) {
	case float64:
		return d, true
	case int64:
		return float64(d), true
	}
	return 0, false
}

// ArgBool returns a boolean argument.
func ArgBool(op *Op, name ParamName) (v, ok bool) {
	if c, d := argOrDefault(op, name); c != nil {
		if c.Type.DType == Bool && hasElems(c, 1) {
			return c.Bool(0), true
		}
	} else if b, isBool := d.(bool); isBool {
		return b, true
	}
	return false, false
}

// ArgString returns a string argument.
func ArgString(op *Op, name ParamName) (v string, ok bool) {
	if c, d := argOrDefault(op, name); c != nil {
		if c.Type.DType == String && len(c.Strings) == 1 {
			return c.Strings[0], true
		}
	} else if s, isString := d.(string); isString {
		return s, true
	}
	return "", false
}

// ArgInts returns an integer vector argument; a scalar counts as a vector of one.
func ArgInts(op *Op, name ParamName) (v []int64, ok bool) {
	if c, d := argOrDefault(op, name); c != nil {
		if c.Type.DType.IsInt() && hasElems(c, c.Elems()) {
			return c.Ints(), true
		}
	} else if ns, isInts := d.([]int64); isInts {
		return ns, true
	}
	return nil, false
}

// ArgBools returns a boolean vector argument; ok is false for an absent one.
func ArgBools(op *Op, name ParamName) (v []bool, ok bool) {
	c, _ := argOrDefault(op, name)
	if c == nil || c.Type.DType != Bool || !hasElems(c, c.Elems()) {
		return nil, false
	}
	v = make([]bool, c.Elems())
	for i := range v {
		v[i] = c.Bool(int64(i))
	}
	return v, true
}

// argOrDefault returns the constant of an argument, or the row's default if the argument is absent.
// It returns neither if the argument is present but not constant.
func argOrDefault(op *Op, name ParamName) (*Const, any) {
	v := op.Arg(name)
	if v != nil {
		return v.Const, nil
	}
	if i := op.Def.ParamIndex(name); i >= 0 {
		return nil, op.Def.Params[i].Default
	}
	return nil, nil
}

// hasElems reports whether c has n elements and enough bytes for them.
func hasElems(c *Const, n int64) bool {
	return n >= 0 && c.Elems() == n && c.Type.Kind == Tensor && int64(len(c.Data)) == c.Type.Bytes()
}

// The need functions read arguments for shape rules; they return an error for an argument that cannot be read.

func needInt(op *Op, name ParamName) (int64, error) { return need(op, name, "an integer", ArgInt) }

func needBool(op *Op, name ParamName) (bool, error) { return need(op, name, "a boolean", ArgBool) }

func needString(op *Op, name ParamName) (string, error) { return need(op, name, "a string", ArgString) }

func needInts(op *Op, name ParamName) ([]int64, error) {
	return need(op, name, "a vector of integers", ArgInts)
}

func need[T any](op *Op, name ParamName, want string, read func(*Op, ParamName) (T, bool)) (T, error) {
	v, ok := read(op, name)
	if !ok {
		return v, unreadable(op, name, want)
	}
	return v, nil
}

func unreadable(op *Op, name ParamName, want string) error {
	switch v := op.Arg(name); {
	case v == nil:
		return Rulef(name, "argument %s is missing", name)
	case v.Const == nil:
		return Rulef(name, "%s must be known at compile time, but %s is computed", name, v.Name)
	default:
		return Rulef(name, "%s is %s, must be %s", name, want, v.Type)
	}
}

// needOneOf reads a string argument that has a fixed set of values.
func needOneOf(op *Op, name ParamName, values ...string) (string, error) {
	s, err := needString(op, name)
	if err != nil {
		return "", err
	}
	if slices.Contains(values, s) {
		return s, nil
	}
	return "", Rulef(name, "%s is %q, must be one of %q", name, s, values)
}

// needDType reads a string argument that names an element type of the class.
func needDType(op *Op, name ParamName, c DTypes) (DType, error) {
	s, err := needString(op, name)
	if err != nil {
		return Invalid, err
	}
	t, ok := ParseDType(s)
	if !ok || !c.Has(t) {
		return Invalid, Rulef(name, "%s is %q, must be one of %s", name, s, c)
	}
	return t, nil
}

// axis converts an axis, which may count from the end, to 0..rank-1.
func axis(name ParamName, a int64, rank int) (int, error) {
	r := int64(rank)
	if a < -r || a >= r {
		return 0, Rulef(name, "%s %d is outside [%d, %d] of rank %d", name, a, -r, r-1, rank)
	}
	if a < 0 {
		a += r
	}
	return int(a), nil
}

// AxisAttr returns the named axis argument counted from the front of a tensor
// of the given rank.
func AxisAttr(op *Op, name ParamName, rank int) (int, error) {
	a, err := needInt(op, name)
	if err != nil {
		return 0, err
	}
	return axis(name, a, rank)
}

// axes converts a list of axes, which must not repeat one.
func axes(name ParamName, as []int64, rank int) ([]int, error) {
	out := make([]int, len(as))
	if len(as) > rank {
		return nil, Rulef(name, "%s has %d elements for rank %d", name, len(as), rank)
	}
	seen := make([]bool, rank)
	for i, a := range as {
		n, err := axis(name, a, rank)
		if err != nil {
			return nil, err
		}
		if seen[n] {
			return nil, Rulef(name, "%s names dimension %d twice", name, n)
		}
		seen[n], out[i] = true, n
	}
	return out, nil
}

// product multiplies dimensions. It returns Unknown if one is Unknown, and an error if the product exceeds 63 bits.
func product(shape []int64) (int64, bool) {
	n, known := int64(1), true
	if slices.Contains(shape, 0) {
		return 0, true
	}
	for _, d := range shape {
		if d < 0 {
			known = false
			continue
		}
		if n > math.MaxInt64/d {
			return Unknown, false
		}
		n *= d
	}
	if !known {
		return Unknown, true
	}
	return n, true
}

// count is like product but returns Unknown on overflow.
func count(shape []int64) int64 {
	n, _ := product(shape)
	return n
}

// rankIn checks the rank of an argument.
func rankIn(op *Op, name ParamName, low, high int) error {
	t := op.Arg(name).Type
	if r := t.Rank(); r < low || r > high {
		if low == high {
			return Rulef(name, "%s has rank %d, must be %d", name, r, low)
		}
		return Rulef(name, "%s has rank %d, must be %d to %d", name, r, low, high)
	}
	return nil
}

// vectorOf checks that an optional argument is a vector of n elements (n may be Unknown).
func vectorOf(op *Op, name ParamName, n int64, what string) error {
	v := op.Arg(name)
	if v == nil {
		return nil
	}
	if v.Type.Rank() != 1 {
		return Rulef(name, "%s has rank %d, must be a vector of %s", name, v.Type.Rank(), what)
	}
	if d := v.Type.Shape[0]; d >= 0 && n >= 0 && d != n {
		return Rulef(name, "%s has %d elements, %s is %d", name, d, what, n)
	}
	return nil
}

// agree reports whether two dimensions are equal or one is unknown.
func agree(a, b int64) bool { return a < 0 || b < 0 || a == b }

// known returns the known one of two dimensions that agree.
func known(a, b int64) int64 {
	if a < 0 {
		return b
	}
	return a
}
