package build

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
)

// Literal converts a literal to a constant of the type t as written. Unknown dimensions are taken from the literal.
func Literal(l *mil.Literal, t *mil.Type) (*ir.Const, error) {
	typ, fault := convert(t)
	if fault != "" {
		return nil, errors.New(fault)
	}
	return literal(l, typ)
}

// literal converts a literal to a constant of type t, whose dimensions may be unknown if the literal's nesting shows
// them.
func literal(l *mil.Literal, t ir.Type) (*ir.Const, error) {
	t, err := literalType(l, t)
	if err != nil {
		return nil, err
	}
	c := &ir.Const{Type: t}
	switch {
	case t.DType == ir.String:
		c.Strings, err = l.Strings()
	case t.DType == ir.Bool:
		var bools []bool
		if bools, err = l.Bools(); err == nil {
			c.Data = make([]byte, len(bools))
			for i, v := range bools {
				if v {
					c.Data[i] = 1
				}
			}
		}
	case t.DType.IsFloat():
		c.Data, err = floats(l, t.DType)
	default:
		c.Data, err = ints(l, t.DType)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// literalType checks that the literal has as many elements as t and fills in
// unknown dimensions.
func literalType(l *mil.Literal, t ir.Type) (ir.Type, error) {
	if t.Kind == ir.State {
		return t, fmt.Errorf("a state has no literal value")
	}
	want := t.Shape
	if t.Kind == ir.List {
		want = append([]int64{t.Len}, t.Shape...)
	}
	have, even := l.Shape()
	switch {
	case !even:
		return t, fmt.Errorf("the lists of the literal have different lengths, but %s needs equal ones", t)
	case !l.IsList() && len(want) > 0:
		// One element without brackets is a tensor of one element.
		for _, d := range want {
			if d != 1 {
				return t, fmt.Errorf("the literal is one element, but %s has %s dimensions", t, ir.ShapeString(want))
			}
		}
		return t, nil
	}
	if len(have) == 1 && len(want) > 1 && t.Kind == ir.Tensor && t.Static() {
		// A list without inner lists is any tensor of that many elements.
		if n := t.Elems(); n != int64(l.Len()) {
			return t, fmt.Errorf("the literal has %d elements, but %s has %d", l.Len(), t, n)
		}
		return t, nil
	}
	// The nesting inside an empty list cannot be seen.
	if len(have) != len(want) && l.Len() > 0 || len(have) > len(want) {
		return t, fmt.Errorf("the literal has %d levels of lists, but %s needs %d", len(have), t, len(want))
	}
	shape := append([]int64(nil), want...)
	for i, n := range have {
		if shape[i] >= 0 && shape[i] != int64(n) {
			return t, fmt.Errorf("the literal is %s, but its type is %s", shapeText(have), t)
		}
		shape[i] = int64(n)
	}
	for i, d := range shape {
		if d < 0 { // inside an empty list
			shape[i] = 0
		}
	}
	if t.Kind == ir.List {
		t.Len, t.Shape = shape[0], shape[1:]
		return t, nil
	}
	if n := t.WithShape(shape...).Elems(); n != int64(l.Len()) {
		return t, fmt.Errorf("the literal has %d elements, but %s has %d", l.Len(), t, n)
	}
	t.Shape = shape
	return t, nil
}

func shapeText(have []int) string {
	s := make([]int64, len(have))
	for i, n := range have {
		s[i] = int64(n)
	}
	return ir.ShapeString(s)
}

// floats packs the numbers of l as elements of a floating-point type.
func floats(l *mil.Literal, t ir.DType) ([]byte, error) {
	vs, err := l.Floats()
	if err != nil {
		return nil, err
	}
	if t == ir.FP64 {
		out := make([]byte, 0, 8*len(vs))
		for _, v := range vs {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		}
		return out, nil
	}
	f, ok := floatFormats[t]
	if !ok {
		return nil, fmt.Errorf("%s has no literals", t)
	}
	width := f.width / 8
	out := make([]byte, width*len(vs))
	put := func(i int, code uint64) {
		for j := range width {
			out[width*i+j] = byte(code >> (8 * j))
		}
	}
	ties := 0
	for i, v := range vs {
		code, tie := f.encode(v, 0)
		put(i, code)
		if tie {
			ties++
		}
	}
	if ties == 0 {
		return out, nil
	}
	// A number halfway between two may be so only after rounding to float64.
	i := 0
	for tok := range l.Atoms() {
		if _, tie := f.encode(vs[i], 0); tie {
			code, _ := f.encode(vs[i], beyond(tok, vs[i]))
			put(i, code)
		}
		i++
	}
	return out, nil
}

// beyondRange returns the first atom of l, and its place, whose element of c is infinite or NaN though the text is a
// number, and "" if there is none.
func beyondRange(l *mil.Literal, c *ir.Const) (tok string, i int64) {
	if !c.Type.DType.IsFloat() {
		return "", 0
	}
	for tok := range l.Atoms() {
		if v := c.Float(i); v-v != 0 && !strings.ContainsAny(tok, "nN") { // neither inf nor nan
			return tok, i
		}
		i++
	}
	return "", 0
}

// largest returns the largest finite number of a floating-point type.
func largest(t ir.DType) float64 {
	f, ok := floatFormats[t]
	if !ok {
		return math.MaxFloat64
	}
	c := ir.Const{Type: ir.Scalar(t), Data: binary.LittleEndian.AppendUint32(nil, uint32(f.over-1))[:f.width/8]}
	return c.Float(0)
}

// ints packs the numbers of l as elements of an integer type.
func ints(l *mil.Literal, t ir.DType) ([]byte, error) {
	bits := t.Bits()
	var vs []uint64
	if t.IsSigned() {
		all, err := l.Ints()
		if err != nil {
			return nil, err
		}
		vs = make([]uint64, len(all))
		high := int64(1)<<(bits-1) - 1
		for i, v := range all {
			if v > high || v < -high-1 {
				return nil, fmt.Errorf("element %d is %d, outside %s: %d to %d", i, v, t, -high-1, high)
			}
			vs[i] = uint64(v)
		}
	} else {
		all, err := l.Uints()
		if err != nil {
			return nil, err
		}
		high := uint64(math.MaxUint64) >> (64 - bits)
		for i, v := range all {
			if v > high {
				return nil, fmt.Errorf("element %d is %d, outside %s: 0 to %d", i, v, t, high)
			}
		}
		vs = all
	}
	out := make([]byte, t.Bytes(int64(len(vs))))
	if bits >= 8 {
		for i, v := range vs {
			for j := range bits / 8 {
				out[i*bits/8+j] = byte(v >> (8 * j))
			}
		}
		return out, nil
	}
	for i, v := range vs {
		v &= 1<<bits - 1
		at := i * bits
		out[at/8] |= byte(v << (at % 8))
		if at%8+bits > 8 {
			out[at/8+1] |= byte(v >> (8 - at%8))
		}
	}
	return out, nil
}
