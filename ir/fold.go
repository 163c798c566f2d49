package ir

import (
	"encoding/binary"
	"math"
	"runtime"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/internal/mapfault"
)

// FoldOp computes the results of an operation whose arguments are constants. It returns nil, nil if the operation
// is not folded: an argument is not constant, the row has no fold, or the result would be much larger than the
// arguments. Float arithmetic is done in float32 and rounded once.
func FoldOp(op *Op) ([]*Const, error) {
	if op.Def.Fold == nil || op.Def.Effect != Pure {
		return nil, nil
	}
	if !op.Def.ByType {
		for _, a := range op.Args {
			for _, v := range a {
				if !v.IsConst() {
					return nil, nil
				}
			}
		}
	}
	if _, err := InferOp(op); err != nil {
		return nil, err
	}
	if c := AssumedWeight(op); c != nil {
		return []*Const{c}, nil
	}
	return op.Def.Fold(op)
}

// AssumedWeight returns what the result of a compressed weight is assumed to be if values of the weight are unknown:
// other assumed values, which take no memory. It returns nil for another operation, and for a sparse weight, whose mask
// decides about places and times.
func AssumedWeight(op *Op) *Const {
	if !IsConstexpr(op) || op.Arg(ParamMask) != nil || op.Arg(ParamDataMask) != nil || op.Arg(ParamIndicesMask) != nil {
		return nil
	}
	var of func(t DType, bytes int) []byte
	known := true
	op.Operands(func(_ *Param, v *Value) {
		if known = known && v.IsConst(); known && v.Const.Assumed != nil {
			of = v.Const.Assumed
		}
	})
	t, ok := resultType(op)
	if of == nil || !known || !ok || !t.DType.IsFloat() && t.DType.Bits() != 8 || t.Bytes() > math.MaxInt {
		return nil
	}
	data := of(t.DType, int(t.Bytes()))
	if data == nil {
		return nil
	}
	c := &Const{Type: t, Data: data, Assumed: of}
	if lut := op.Arg(ParamLUT); lut != nil {
		if entry, n := codebook(op); n > 0 {
			c.Packing = newPacking(entry, of(entry, int(entry.Bytes(n))))
		}
	} else if s, a := byteScales(op); s != nil {
		c.scaled(of(t.DType, int(s.Type.WithDType(t.DType).Bytes())), a)
	} else if op.Arg(ParamScale) == nil || op.Arg(ParamScale).Type.Elems() == 1 {
		c.PackedBy(packedOperand(op), func(entries *Const) *Const {
			e := &Const{Type: entries.Type.WithDType(t.DType)}
			e.Data = of(t.DType, int(e.Type.Bytes()))
			return e
		})
	}
	return c
}

// packedOperand returns the operand of a compressed weight whose values have a packing.
func packedOperand(op *Op) *Const {
	found := &Const{}
	op.Operands(func(_ *Param, v *Value) {
		if v.Const.Packing != nil {
			found = v.Const
		}
	})
	return found
}

// resultType returns the type of the only result, if its size is known and a whole number of bytes.
func resultType(op *Op) (Type, bool) {
	ts, err := op.Def.Infer(op)
	if err != nil || len(ts) != 1 {
		return Type{}, false
	}
	t := ts[0]
	return t, t.Bytes() >= 0 && t.DType.Bits() >= 8
}

// grown reports whether a fold would grow the program too much: the result is over a megabyte and
// over sixteen times the size of the arguments.
func grown(out int64, args ...*Value) bool {
	n := int64(1 << 20)
	for _, a := range args {
		if a != nil && a.Const != nil {
			n += 16 * int64(len(a.Const.Data))
		}
	}
	return out > n
}

func folded(t Type, data []byte) ([]*Const, error) {
	c, err := NewConst(t, data)
	if err != nil {
		return nil, err
	}
	return []*Const{c}, nil
}

// chunk is the number of elements one worker takes at a time.
const chunk = 1 << 16

// parallel calls f for disjoint ranges that cover 0..n. What f writes depends only on its range, so
// results do not depend on the number of workers.
func parallel(n int, f func(lo, hi int)) {
	workers := min(runtime.GOMAXPROCS(0), (n+chunk-1)/chunk)
	if workers <= 1 {
		f(0, n)
		return
	}
	var wg mapfault.Group // constants are in mapped files
	next := make(chan int, (n+chunk-1)/chunk)
	for lo := 0; lo < n; lo += chunk {
		next <- lo
	}
	close(next)
	for range workers {
		wg.Go(func() {
			for lo := range next {
				f(lo, min(lo+chunk, n))
			}
		})
	}
	wg.Wait()
}

// reader returns a function that returns element i of a packed tensor as a float32; integers that need more than 24
// bits are rounded.
func reader(c *Const) func(i int) float32 {
	b := c.Data
	switch c.Type.DType {
	case FP16:
		return func(i int) float32 {
			return float16.Frombits(binary.LittleEndian.Uint16(b[2*i:])).Float32()
		}
	case FP32:
		return func(i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])) }
	case Int8:
		return func(i int) float32 { return float32(int8(b[i])) }
	case UInt8, Bool:
		return func(i int) float32 { return float32(b[i]) }
	case Int4:
		return func(i int) float32 { return float32(int8(b[i/2]<<(4-4*(i&1))) >> 4) }
	case UInt4:
		return func(i int) float32 { return float32(b[i/2] >> (4 * (i & 1)) & 15) }
	}
	return func(i int) float32 { return float32(c.Float(int64(i))) }
}

// writer returns a function that stores a float32 as element i of a tensor of a
// float type, rounded once to nearest even.
func writer(t DType, b []byte) func(i int, v float32) {
	switch t {
	case FP16:
		return func(i int, v float32) { binary.LittleEndian.PutUint16(b[2*i:], float16.Fromfloat32(v).Bits()) }
	case BF16:
		return func(i int, v float32) { binary.LittleEndian.PutUint16(b[2*i:], bf16(v)) }
	case FP32:
		return func(i int, v float32) { binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v)) }
	}
	return nil
}

// putInt stores an integer as element i of a whole-byte type, wrapping.
func putInt(t DType, b []byte, i int, v int64) {
	switch t.Bits() {
	case 8:
		b[i] = byte(v)
	case 16:
		binary.LittleEndian.PutUint16(b[2*i:], uint16(v))
	case 32:
		binary.LittleEndian.PutUint32(b[4*i:], uint32(v))
	default:
		binary.LittleEndian.PutUint64(b[8*i:], uint64(v))
	}
}

// strides returns the row-major strides of a shape in elements.
func strides(shape []int64) []int64 {
	s := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// broadcastStrides returns the strides with which shape is read when it is broadcast to out.
func broadcastStrides(shape, out []int64) []int64 {
	s := make([]int64, len(out))
	own := strides(shape)
	for i := range shape {
		if shape[i] != 1 {
			s[len(out)-len(shape)+i] = own[i]
		}
	}
	return s
}

// walk calls f for every row (last dimension) of out in order, with the row's offset in each operand, computed from the
// operand's strides.
func walk(out []int64, base []int64, st [][]int64, f func(row int, at []int64)) {
	r := len(out)
	rows := 1
	for i := range r - 1 {
		rows *= int(out[i])
	}
	at := append([]int64(nil), base...)
	idx := make([]int64, r)
	for row := range rows {
		f(row, at)
		for d := r - 2; d >= 0; d-- {
			idx[d]++
			for k := range at {
				at[k] += st[k][d]
			}
			if idx[d] < out[d] {
				break
			}
			for k := range at {
				at[k] -= st[k][d] * out[d]
			}
			idx[d] = 0
		}
	}
}

// copyStrided fills dst, row major of the given shape, from src read with
// strides (in elements, possibly negative or 0) from base.
func copyStrided(dst, src []byte, size int, shape []int64, base int64, st []int64) {
	if len(shape) == 0 {
		shape, st = []int64{1}, []int64{0}
	}
	if count(shape) == 0 {
		return
	}
	n, step := int(shape[len(shape)-1]), int(st[len(st)-1])
	walk(shape, []int64{base}, [][]int64{st}, func(row int, at []int64) {
		d, s := dst[row*n*size:], int(at[0])
		if step == 1 {
			copy(d[:n*size], src[s*size:])
			return
		}
		switch size {
		case 1:
			for i := range n {
				d[i] = src[s]
				s += step
			}
		case 2:
			for i := range n {
				d[2*i], d[2*i+1] = src[2*s], src[2*s+1]
				s += step
			}
		default:
			for i := range n {
				copy(d[i*size:i*size+size], src[s*size:])
				s += step
			}
		}
	})
}
