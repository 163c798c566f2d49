package ir

// Broadcast returns the shape that two shapes broadcast to under NumPy's rule: dimensions are matched from the
// right, and one of two differing dimensions must be 1. An unknown dimension matched with 1 stays unknown; matched
// with n > 1 it is n or 1 at run time, so the result is n. ok is false if two known dimensions conflict; clash is
// then the position of the conflict, counted from the right, starting at 1.
func Broadcast(a, b []int64) (shape []int64, clash int, ok bool) {
	n := max(len(a), len(b))
	shape = make([]int64, n)
	for i := 1; i <= n; i++ {
		x, y := int64(1), int64(1)
		if i <= len(a) {
			x = a[len(a)-i]
		}
		if i <= len(b) {
			y = b[len(b)-i]
		}
		switch {
		case x == y || y == 1:
			shape[n-i] = x
		case x == 1 || x < 0:
			shape[n-i] = y
		case y < 0:
			shape[n-i] = x
		default:
			return nil, i, false
		}
	}
	return shape, 0, true
}

// broadcastArgs applies Broadcast to the named arguments that are present.
func broadcastArgs(op *Op, names ...ParamName) ([]int64, error) {
	var shape []int64
	prev := ParamName("")
	for _, name := range names {
		v := op.Arg(name)
		if v == nil {
			continue
		}
		if prev == "" {
			shape, prev = v.Type.Shape, name
			continue
		}
		s, at, ok := Broadcast(shape, v.Type.Shape)
		if !ok {
			return nil, &RuleError{Param: name, Other: prev, Msg: "shapes do not broadcast: " +
				string(prev) + " is " + ShapeString(shape) + ", " + string(name) + " is " + ShapeString(v.Type.Shape) +
				", " + clashText(shape, v.Type.Shape, at) + " at dimension -" + dimString(int64(at))}
		}
		shape, prev = s, name
	}
	return cloneShape(shape), nil
}

func clashText(a, b []int64, at int) string {
	return dimString(a[len(a)-at]) + " against " + dimString(b[len(b)-at])
}
