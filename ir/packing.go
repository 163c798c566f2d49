package ir

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/zinc-compiler/zinc/numerics"
)

// Packing is how the values of a constant can be stored in fewer bytes: by a codebook, without zeros, or as bytes with
// scales. The values are there as well: passes compute with them, and lowering decides what it stores.
type Packing struct {
	// Codebook has the entries of a palette, packed like the values; each value is one of them: 2^n entries, n at most
	// 8. Values that are assumed (Const.Assumed) need not be among them.
	Codebook []byte
	// Zeros is the number of zeros among values that are stored without them.
	Zeros int64
	// Scales, packed like the values, has one scale, or one for each index along dimension Axis. Each value is its
	// scale times a whole number from -128 to 127, rounded.
	Scales []byte
	Axis   int
}

// maxIndexBits is the largest width of a codebook's index.
const maxIndexBits = 8

// newPacking returns the packing of values of a type with a codebook, nil if it is not one for them.
func newPacking(t DType, codebook []byte) *Packing {
	if t.Bits() < 8 {
		return nil
	}
	n := len(codebook) / (t.Bits() / 8)
	if n < 2 || n&(n-1) != 0 || n > 1<<maxIndexBits || n*t.Bits()/8 != len(codebook) {
		return nil
	}
	return &Packing{Codebook: codebook}
}

// Palette reports whether the values are entries of a codebook.
func (p *Packing) Palette() bool { return p != nil && p.Codebook != nil }

// PackedAs gives the constant the packing of another, some of whose values it has, in any order and number. Scales
// belong to the first dimension that they fit.
func (c *Const) PackedAs(from *Const) *Const {
	c.Packing = from.Packing
	switch p := from.Packing; {
	case p == nil:
	case p.Zeros > 0:
		c.PackedSparse()
	case p.Scales != nil:
		c.scaled(p.Scales, p.Axis)
	}
	return c
}

// PackedSparse makes the constant one that is stored without its zeros, if it has any.
func (c *Const) PackedSparse() *Const {
	c.Packing = nil
	if n := c.zeros(); n > 0 && c.Assumed == nil {
		c.Packing = &Packing{Zeros: n}
	}
	return c
}

// zeros counts the zeros, of either sign, among fp16 and fp32 numbers; it is 0 for other elements.
func (c *Const) zeros() (n int64) {
	switch c.Type.DType {
	case FP16:
		for i := 0; i+1 < len(c.Data); i += 2 {
			if c.Data[i] == 0 && c.Data[i+1]&0x7f == 0 {
				n++
			}
		}
	case FP32:
		for i := 0; i+3 < len(c.Data); i += 4 {
			if binary.LittleEndian.Uint32(c.Data[i:])<<1 == 0 {
				n++
			}
		}
	}
	return n
}

// scaled gives the constant scales along a dimension, preferably along axis, for which its values are bytes times them.
func (c *Const) scaled(scales []byte, axis int) {
	c.Packing = nil
	size := c.Type.DType.Bits() / 8
	if size == 0 || !c.Type.DType.IsFloat() {
		return
	}
	n := int64(len(scales) / size)
	axes := []int{axis}
	for i := range c.Type.Shape {
		axes = append(axes, i)
	}
	for _, a := range axes {
		if n != 1 && (a >= len(c.Type.Shape) || c.Type.Shape[a] != n) {
			continue
		}
		p := &Packing{Scales: scales, Axis: a}
		if n == 1 {
			p.Axis = 0
		}
		if c.Assumed != nil || p.packs(c) {
			c.Packing = p
			return
		}
	}
}

// PackedBy gives the constant, each of whose values follows from one of another in the same way, what f makes of the
// other's codebook or scales, which it gets as a constant of one row. f may return nil.
func (c *Const) PackedBy(from *Const, f func(entries *Const) *Const) *Const {
	p := from.Packing
	if p == nil {
		return c
	}
	size := from.Type.DType.Bits() / 8
	row := func(entries []byte) *Const {
		e := f(&Const{Type: TensorOf(from.Type.DType, 1, int64(len(entries)/size)), Data: entries})
		if e == nil || e.Type.DType != c.Type.DType {
			return nil
		}
		return e
	}
	switch {
	case p.Zeros > 0:
		if e := row(make([]byte, size)); e != nil && e.zeros() > 0 {
			c.PackedSparse()
		}
	case p.Scales != nil:
		if e := row(p.Scales); e != nil {
			c.scaled(e.Data, p.Axis)
		}
	default:
		if e := row(p.Codebook); e != nil {
			c.Packing = newPacking(c.Type.DType, e.Data)
		}
	}
	return c
}

// only returns the first of several constants, nil of none.
func only(cs []*Const, err error) *Const {
	if len(cs) == 0 || err != nil {
		return nil
	}
	return cs[0]
}

// moving returns the fold of an operation that moves the values of its operand x, which keep their packing.
func moving(fold func(op *Op) ([]*Const, error)) func(op *Op) ([]*Const, error) {
	return func(op *Op) ([]*Const, error) {
		cs, err := fold(op)
		for _, c := range cs {
			c.PackedAs(op.Arg(ParamX).Const)
		}
		return cs, err
	}
}

// VerifyPackings returns an error for a constant with a value that its packing does not have and that is not assumed.
// Verify leaves this out: it reads all values.
func VerifyPackings(p *Program) error {
	seen := map[*Const]bool{}
	var bad error
	for _, f := range p.Funcs {
		Walk(f, func(op *Op) {
			op.Operands(func(_ *Param, v *Value) {
				if v == nil || !v.IsConst() || seen[v.Const] {
					return
				}
				seen[v.Const] = true
				if c := v.Const; bad == nil && c.Packing != nil && c.Assumed == nil && !c.Packing.packs(c) {
					bad = fmt.Errorf("%s: %s: a value of %s is not one of its packing", p.PosString(op.Pos),
						op.Def.Name, v.Name)
				}
			})
		})
	}
	return bad
}

// packs reports whether the packing has every value of the constant.
func (p *Packing) packs(c *Const) bool {
	size := c.Type.DType.Bits() / 8
	switch {
	case p.Zeros > 0:
		return c.zeros() == p.Zeros
	case p.Scales != nil:
		return p.scales(c)
	}
	known := map[string]bool{}
	for at := 0; at < len(p.Codebook); at += size {
		known[string(p.Codebook[at:at+size])] = true
	}
	for at := 0; at < len(c.Data); at += size {
		if !known[string(c.Data[at:at+size])] {
			return false
		}
	}
	return true
}

// scales reports whether each value of the constant is a byte times its scale, rounded.
func (p *Packing) scales(c *Const) bool {
	size := c.Type.DType.Bits() / 8
	n := len(p.Scales) / size
	inner := len(c.Data) / size
	if n > 1 {
		if p.Axis >= len(c.Type.Shape) || c.Type.Shape[p.Axis] != int64(n) {
			return false
		}
		inner = int(count(c.Type.Shape[p.Axis+1:]))
	}
	if inner == 0 {
		return true
	}
	known := make([]uint32, 1<<16) // the scale, counted from 1, that an fp16 number last was a product of
	for at, k := 0, 0; at < len(c.Data); at, k = at+inner*size, k+1 {
		s := (&Const{Type: Scalar(c.Type.DType), Data: p.Scales[k%n*size:][:size]}).Float(0)
		values := c.Data[at : at+inner*size]
		if c.Type.DType != FP16 {
			for i := 0; i < len(values); i += size {
				x := (&Const{Type: Scalar(c.Type.DType), Data: values[i:]}).Float(0)
				q := AppendElem(nil, c.Type.DType, ScaledByte(ByteOf(x, s), s, c.Type.DType))
				if !bytes.Equal(q, values[i:i+size]) {
					return false
				}
			}
			continue
		}
		for q := math.MinInt8; q <= math.MaxInt8; q++ {
			known[numerics.Narrow(float32(float64(q)*s))] = uint32(k) + 1
		}
		for i := 0; i < len(values); i += 2 {
			if known[binary.LittleEndian.Uint16(values[i:])] != uint32(k)+1 {
				return false
			}
		}
	}
	return true
}

// ScaledByte returns a byte times a scale, rounded to an element type.
func ScaledByte(q int8, scale float64, t DType) float64 {
	product := float64(q) * scale
	if t == FP16 {
		return float64(numerics.Round16(float32(product)))
	}
	return float64(float32(product))
}

// ByteOf returns the byte that is nearest to a value over its scale.
func ByteOf(x, scale float64) int8 {
	if scale == 0 || x == 0 {
		return 0
	}
	return int8(min(max(math.RoundToEven(x/scale), math.MinInt8), math.MaxInt8))
}
