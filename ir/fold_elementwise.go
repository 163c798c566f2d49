package ir

import (
	"math"
)

// foldBinary returns the fold of a broadcasting operation: f computes floats, i integers and booleans.
func foldBinary(f func(x, y float32) float32, i func(x, y int64) (int64, bool)) func(*Op) ([]*Const, error) {
	return func(op *Op) ([]*Const, error) {
		t, ok := resultType(op)
		x, y := op.Arg(ParamX), op.Arg(ParamY)
		if !ok || grown(t.Bytes(), x, y) {
			return nil, nil
		}
		data := make([]byte, t.Bytes())
		shape := t.Shape
		if len(shape) == 0 {
			shape = []int64{1}
		}
		if count(shape) == 0 {
			return folded(t, data)
		}
		st := [][]int64{broadcastStrides(x.Type.Shape, shape), broadcastStrides(y.Type.Shape, shape)}
		n, sx, sy := int(shape[len(shape)-1]), int(st[0][len(shape)-1]), int(st[1][len(shape)-1])
		if x.Type.DType.IsFloat() {
			if f == nil {
				return nil, nil
			}
			rx, ry, w := reader(x.Const), reader(y.Const), writer(t.DType, data)
			if w == nil {
				w = func(i int, v float32) { putInt(t.DType, data, i, int64(v)) }
			}
			walk(shape, []int64{0, 0}, st, func(row int, at []int64) {
				for j := range n {
					w(row*n+j, f(rx(int(at[0])+j*sx), ry(int(at[1])+j*sy)))
				}
			})
			return folded(t, data)
		}
		valid := true
		walk(shape, []int64{0, 0}, st, func(row int, at []int64) {
			for j := range n {
				v, ok := i(x.Const.Int(at[0]+int64(j*sx)), y.Const.Int(at[1]+int64(j*sy)))
				valid = valid && ok
				putInt(t.DType, data, row*n+j, v)
			}
		})
		if !valid {
			return nil, nil // a division by zero is left to run time
		}
		return folded(t, data)
	}
}

// foldCurve returns the fold of a function of one element. Arguments that are defaults are first rounded to x's type.
func foldCurve(c *Curve) func(*Op) ([]*Const, error) {
	return func(op *Op) ([]*Const, error) {
		t, ok := resultType(op)
		if !ok {
			return nil, nil
		}
		args := make([]float64, len(c.Params))
		for i, n := range c.Params {
			v, ok := ArgFloat(op, n)
			if !ok {
				return nil, nil
			}
			if op.Arg(n) == nil && t.DType.IsFloat() {
				v = (&Const{Type: Scalar(t.DType), Data: AppendElem(nil, t.DType, v)}).Float(0)
			}
			args[i] = v
		}
		x := op.Arg(ParamX).Const
		data := make([]byte, t.Bytes())
		r, w := reader(x), writer(t.DType, data)
		if w == nil {
			for i := range int(t.Elems()) {
				putInt(t.DType, data, i, satTo(t.DType, c.F(float64(x.Int(int64(i))), args)))
			}
			return folded(t, data)
		}
		parallel(int(t.Elems()), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				w(i, float32(c.F(float64(r(i)), args)))
			}
		})
		return folded(t, data)
	}
}

func foldSelect(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	c, a, b := op.Arg(ParamCond), op.Arg(ParamA), op.Arg(ParamB)
	if !ok || grown(t.Bytes(), c, a, b) {
		return nil, nil
	}
	size := t.DType.Bits() / 8
	data := make([]byte, t.Bytes())
	shape := t.Shape
	if len(shape) == 0 {
		shape = []int64{1}
	}
	if count(shape) == 0 {
		return folded(t, data)
	}
	st := [][]int64{
		broadcastStrides(c.Type.Shape, shape),
		broadcastStrides(a.Type.Shape, shape),
		broadcastStrides(b.Type.Shape, shape),
	}
	last := len(shape) - 1
	n := shape[last]
	walk(shape, []int64{0, 0, 0}, st, func(row int, at []int64) {
		for j := range n {
			src, k := b.Const.Data, at[2]+j*st[2][last]
			if c.Const.Data[at[0]+j*st[0][last]] != 0 {
				src, k = a.Const.Data, at[1]+j*st[1][last]
			}
			o := (int64(row)*n + j) * int64(size)
			copy(data[o:o+int64(size)], src[k*int64(size):])
		}
	})
	return folded(t, data)
}

// satTo converts a float to an integer of type t: it truncates, saturates to t's range, and converts NaN to 0.
func satTo(t DType, v float64) int64 {
	if t == Bool {
		if v != 0 {
			return 1
		}
		return 0
	}
	bits := t.Bits()
	low, high := int64(0), int64(1)<<min(bits, 62)-1
	if t.IsSigned() {
		low, high = -1<<(bits-1), 1<<(bits-1)-1
	} else if bits == 64 {
		high = math.MaxInt64
	}
	return min(max(satInt(v), low), high)
}

// castTo converts a constant: float to integer truncates and saturates, integer to integer wraps,
// and any nonzero value becomes true.
func castTo(c *Const, to DType) ([]*Const, error) {
	t := c.Type.WithDType(to)
	if t.Bytes() < 0 || to.Bits() < 8 || c.Type.DType == String {
		return nil, nil
	}
	if to == c.Type.DType {
		return []*Const{c}, nil
	}
	data := make([]byte, t.Bytes())
	n := int(t.Elems())
	from := c.Type.DType
	switch {
	case to == FP16 && from == FP32, to == FP32 && from == FP16:
		r, w := reader(c), writer(to, data)
		parallel(n, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				w(i, r(i))
			}
		})
	case to == FP16:
		for i := range n {
			putInt(to, data, i, int64(narrow(c.Float(int64(i)), 10, 5)))
		}
	case to.IsFloat():
		buf := data[:0]
		for i := range n {
			buf = AppendElem(buf, to, c.Float(int64(i)))
		}
	case to == Bool:
		for i := range n {
			putInt(to, data, i, satTo(to, c.Float(int64(i))))
		}
	case from.IsFloat():
		for i := range n {
			putInt(to, data, i, satTo(to, c.Float(int64(i))))
		}
	default:
		for i := range n {
			putInt(to, data, i, c.Int(int64(i)))
		}
	}
	out := &Const{Type: t, Data: data}
	return []*Const{out.PackedBy(c, func(entries *Const) *Const { return only(castTo(entries, to)) })}, nil
}

func foldCast(op *Op) ([]*Const, error) {
	s, _ := ArgString(op, ParamDType)
	t, ok := ParseDType(s)
	if !ok {
		return nil, nil
	}
	return castTo(op.Arg(ParamX).Const, t)
}

// narrow rounds v to nearest even in a binary format of mbits of fraction and
// ebits of exponent (5 for fp16, 8 for bf16), and returns its bits.
func narrow(v float64, mbits, ebits uint) uint64 {
	u := math.Float64bits(v)
	signBit := u >> 63 << (mbits + ebits)
	top := uint64(1<<ebits-1) << mbits
	if v != v {
		return signBit | top | 1<<(mbits-1)
	}
	bias := 1<<(ebits-1) - 1
	e := int(u>>52&0x7ff) - 1023
	frac := u&(1<<52-1) | 1<<52
	if e > bias {
		return signBit | top
	}
	drop := 52 - mbits
	exp := uint64(e + bias)
	if e < 1-bias {
		drop += uint(min(1-bias-e, 60))
		exp = 0
		if drop > 54 {
			return signBit
		}
	}
	m, rest, half := frac>>drop, frac&(1<<drop-1), uint64(1)<<(drop-1)
	if rest > half || rest == half && m&1 == 1 {
		m++
	}
	if exp > 0 {
		m += (exp - 1) << mbits // the leading one adds 1 to the exponent
	}
	return signBit | m
}
