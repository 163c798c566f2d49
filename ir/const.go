package ir

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/internal/mapfault"
	"github.com/zinc-compiler/zinc/numerics"
)

// Const is a value known at compile time.
type Const struct {
	Type    Type
	Data    []byte   // packed elements, little endian, row major; sub-byte types low bits first; read-only
	Strings []string // elements of a string tensor, row major
	Blob    string   // source of the bytes ("weights/weight.bin@64"), "" for values in the text
	// Stored is set if Data is what Blob names, unchanged.
	Stored bool
	// Assumed is not nil if the values are unknown and Data was assumed. It returns others of a type.
	Assumed func(t DType, bytes int) []byte
	Packing *Packing // nil for values that are stored one by one
}

// NewConst returns a constant, or an error if data does not have the type's size.
func NewConst(t Type, data []byte) (*Const, error) {
	if want := t.Bytes(); want < 0 || want != int64(len(data)) {
		return nil, fmt.Errorf("constant of type %s needs %d bytes, has %d", t, want, len(data))
	}
	return &Const{Type: t, Data: data}, nil
}

// Elems returns the number of elements.
func (c *Const) Elems() int64 { return c.Type.Elems() }

// bitsAt returns the bits of element i of a packed type of at most one byte.
func (c *Const) bitsAt(i int64, n int) uint64 {
	bit := i * int64(n)
	v := uint64(c.Data[bit/8]) >> (bit % 8)
	if rest := 8 - int(bit%8); rest < n {
		v |= uint64(c.Data[bit/8+1]) << rest
	}
	return v & (1<<n - 1)
}

// Int returns element i as an integer; a float is truncated towards zero.
func (c *Const) Int(i int64) int64 {
	t := c.Type.DType
	switch t {
	case Bool, UInt8:
		return int64(c.Data[i])
	case Int8:
		return int64(int8(c.Data[i]))
	case Int16:
		return int64(int16(binary.LittleEndian.Uint16(c.Data[2*i:])))
	case UInt16:
		return int64(binary.LittleEndian.Uint16(c.Data[2*i:]))
	case Int32:
		return int64(int32(binary.LittleEndian.Uint32(c.Data[4*i:])))
	case UInt32:
		return int64(binary.LittleEndian.Uint32(c.Data[4*i:]))
	case Int64, UInt64:
		return int64(binary.LittleEndian.Uint64(c.Data[8*i:]))
	case Int4:
		return int64(int8(c.bitsAt(i, 4)<<4)) >> 4
	case UInt1, UInt2, UInt3, UInt4, UInt6:
		return int64(c.bitsAt(i, t.Bits()))
	}
	if !t.IsFloat() {
		panic("ir: an element of type " + t.String() + " is no number") // Float would ask here again
	}
	return int64(c.Float(i))
}

// Float returns element i as a float64, exactly.
func (c *Const) Float(i int64) float64 {
	switch c.Type.DType {
	case FP16:
		return float64(float16.Frombits(binary.LittleEndian.Uint16(c.Data[2*i:])).Float32())
	case BF16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(c.Data[2*i:])) << 16))
	case FP32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(c.Data[4*i:])))
	case FP64:
		return math.Float64frombits(binary.LittleEndian.Uint64(c.Data[8*i:]))
	case FP8E4M3:
		return fp8(c.Data[i], 4, 7, true)
	case FP8E5M2:
		return fp8(c.Data[i], 5, 15, false)
	}
	return float64(c.Int(i))
}

// fp8 decodes the two 8-bit float formats; fn selects the format without infinities.
func fp8(b byte, ebits, bias int, fn bool) float64 {
	mbits := 7 - ebits
	e, m := int(b>>mbits)&(1<<ebits-1), float64(int(b)&(1<<mbits-1))/float64(int(1)<<mbits)
	s := 1.0
	if b&0x80 != 0 {
		s = -1
	}
	switch top := 1<<ebits - 1; {
	case e == 0:
		return s * math.Ldexp(m, 1-bias)
	case fn && e == top && int(b)&(1<<mbits-1) == 1<<mbits-1:
		return math.NaN()
	case !fn && e == top && m == 0:
		return math.Inf(int(s))
	case !fn && e == top:
		return math.NaN()
	}
	return s * math.Ldexp(1+m, e-bias)
}

// Bool returns element i of a boolean constant.
func (c *Const) Bool(i int64) bool { return c.Data[i] != 0 }

// Ints returns all elements as integers.
func (c *Const) Ints() []int64 {
	out := make([]int64, c.Elems())
	for i := range out {
		out[i] = c.Int(int64(i))
	}
	return out
}

// Floats returns all elements as float64.
func (c *Const) Floats() []float64 {
	out := make([]float64, c.Elems())
	for i := range out {
		out[i] = c.Float(int64(i))
	}
	return out
}

// ScaleRows returns the constant with each element of row i, an index of the first dimension, multiplied by factor(i)
// and rounded once. The constant has at least one dimension, none of them 0, and a type that AppendElem takes. Several
// goroutines call factor.
//
// Values that are unknown are not computed: the products are unknown too, unless a factor is so small or large that it
// decides what becomes of them.
func (c *Const) ScaleRows(factor func(row int64) float64) *Const {
	rows := c.Type.Shape[0]
	if c.Assumed != nil && c.Type.DType.IsFloat() && moderate(rows, factor) {
		product := &Const{Type: c.Type, Data: c.Assumed(c.Type.DType, len(c.Data)), Assumed: c.Assumed}
		return c.packScaled(product, factor)
	}
	data := make([]byte, len(c.Data))
	workers := int64(1)
	if len(data) >= parallelBytes {
		workers = min(int64(runtime.GOMAXPROCS(0)), rows)
	}
	var g mapfault.Group // c.Data may be in a mapped file
	for w := range workers {
		g.Go(func() {
			for row := w * rows / workers; row < (w+1)*rows/workers; row++ {
				c.scaleRow(data, row, factor(row))
			}
		})
	}
	g.Wait()
	return c.packScaled(&Const{Type: c.Type, Data: data}, factor)
}

// packScaled gives the product of ScaleRows its packing: with one factor for all rows, the constant's factor, scaled.
func (c *Const) packScaled(product *Const, factor func(row int64) float64) *Const {
	return product.PackedBy(c, func(entries *Const) *Const {
		first := math.Float64bits(factor(0))
		for row := range c.Type.Shape[0] {
			if math.Float64bits(factor(row)) != first {
				return nil
			}
		}
		return entries.ScaleRows(factor)
	})
}

// moderate reports whether all factors leave numbers of fp16 from 0.25 to 1 normal.
func moderate(rows int64, factor func(row int64) float64) bool {
	for i := range rows {
		if f := math.Abs(factor(i)); !(f >= 0x1p-12 && f <= 0x1p15) {
			return false
		}
	}
	return true
}

// parallelBytes is the length from which ScaleRows divides the work among processors.
const parallelBytes = 1 << 20

// scaleRow writes one row of ScaleRows to data.
func (c *Const) scaleRow(data []byte, row int64, f float64) {
	t := c.Type.DType
	per := c.Elems() / c.Type.Shape[0]
	size := int64(t.Bits() / 8)
	from, end := row*per*size, (row+1)*per*size
	// The product of two fp16 numbers is exact in fp32: see package vector.
	if t == FP16 && float64(numerics.Round16(float32(f))) == f {
		numerics.ScaleBytes(data[from:end], c.Data[from:end], float32(f))
		return
	}
	out := data[from:from:end]
	for i := row * per; i < (row+1)*per; i++ {
		out = AppendElem(out, t, float64(c.Float(i)*f))
	}
}

// AppendElem appends one element of type t, passed as a float, to packed bytes. A float is rounded once, to nearest
// even; integers are truncated and saturate to the type's range. Sub-byte types and 8-bit floats are not accepted.
// Every NaN becomes the NaN of package math: a product of two NaN has the sign and the payload of one of them, and
// processors and compilers choose differently.
func AppendElem(b []byte, t DType, v float64) []byte {
	if v != v {
		v = math.NaN()
	}
	switch t {
	case FP16:
		return binary.LittleEndian.AppendUint16(b, uint16(narrow(v, 10, 5)))
	case BF16:
		return binary.LittleEndian.AppendUint16(b, uint16(narrow(v, 7, 8)))
	case FP32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	case FP64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return AppendInt(b, t, satTo(t, v))
}

func satInt(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	}
	return int64(v)
}

func bf16(f float32) uint16 {
	u := math.Float32bits(f)
	if f != f {
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + (u>>16)&1) >> 16)
}

// AppendInt appends one integer element of a whole-byte type t, wrapping.
func AppendInt(b []byte, t DType, v int64) []byte {
	switch t.Bits() {
	case 8:
		return append(b, byte(v))
	case 16:
		return binary.LittleEndian.AppendUint16(b, uint16(v))
	case 32:
		return binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return binary.LittleEndian.AppendUint64(b, uint64(v))
}

// ConstInts returns a vector of integers or booleans; ConstInt returns scalars.
func ConstInts(t DType, vs ...int64) *Const {
	b := make([]byte, 0, len(vs)*t.Bits()/8)
	for _, v := range vs {
		b = AppendInt(b, t, v)
	}
	return &Const{Type: TensorOf(t, int64(len(vs))), Data: b}
}

// ConstInt returns an integer scalar.
func ConstInt(t DType, v int64) *Const {
	return &Const{Type: Scalar(t), Data: AppendInt(nil, t, v)}
}

// ConstBool returns a boolean scalar.
func ConstBool(v bool) *Const {
	c := &Const{Type: Scalar(Bool), Data: []byte{0}}
	if v {
		c.Data[0] = 1
	}
	return c
}

// ConstFloat returns a floating-point scalar.
func ConstFloat(t DType, v float64) *Const {
	return &Const{Type: Scalar(t), Data: AppendElem(nil, t, v)}
}

// ConstString returns a string scalar.
func ConstString(s string) *Const {
	return &Const{Type: Scalar(String), Strings: []string{s}}
}
