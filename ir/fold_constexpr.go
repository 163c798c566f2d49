package ir

import (
	"math/bits"
)

func foldAffine(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	if !ok {
		return nil, nil
	}
	q, scale, zero := op.Arg(ParamQuantizedData).Const, op.Arg(ParamScale).Const, op.Arg(ParamZeroPoint).Const
	a, err := AxisAttr(op, ParamAxis, max(t.Rank(), 1))
	if err != nil {
		return nil, err
	}
	inner, n := 1, 1
	if t.Rank() > 0 {
		inner, n = int(count(t.Shape[a+1:])), int(t.Shape[a])
	}
	pick := func(c *Const) func(ch int) float32 {
		r := reader(c)
		if c.Elems() == 1 {
			return func(int) float32 { return r(0) }
		}
		return r
	}
	data := make([]byte, t.Bytes())
	r, w, s, z := reader(q), writer(t.DType, data), pick(scale), pick(zero)
	parallel(int(t.Elems()), func(lo, hi int) {
		for i := lo; i < hi; {
			ch := i / inner % n
			sc, zp := s(ch), z(ch)
			for end := min(hi, (i/inner+1)*inner); i < end; i++ {
				w(i, float32(r(i)-zp)*sc)
			}
		}
	})
	out := &Const{Type: t, Data: data}
	if s, a := byteScales(op); s != nil {
		out.scaled(s.Data, a)
		return []*Const{out}, nil
	}
	return []*Const{out.PackedBy(q, func(entries *Const) *Const {
		if scale.Elems() != 1 || zero.Elems() != 1 {
			return nil
		}
		e := &Const{Type: entries.Type.WithDType(t.DType)}
		e.Data = make([]byte, e.Type.Bytes())
		r, w := reader(entries), writer(t.DType, e.Data)
		for i := range int(e.Elems()) {
			w(i, float32(r(i)-z(0))*s(0))
		}
		return e
	})}, nil
}

// Symmetric reports whether an operation that scales a weight subtracts no offsets before. Those that are assumed are
// 0.
func Symmetric(op *Op) bool {
	offset := op.Arg(ParamOffset)
	if op.Is(OpConstexprAffineDequantize) {
		offset = op.Arg(ParamZeroPoint)
	}
	if offset == nil || offset.Const.Assumed != nil {
		return true
	}
	for i := range offset.Const.Elems() {
		if offset.Const.Float(i) != 0 {
			return false
		}
	}
	return true
}

// byteScales returns the scales of a weight of signed bytes without offsets, one or one for each index along an axis;
// nil for another weight.
func byteScales(op *Op) (scale *Const, axis int) {
	data := op.Arg(ParamData)
	if op.Is(OpConstexprAffineDequantize) {
		data = op.Arg(ParamQuantizedData)
		axis, _ = AxisAttr(op, ParamAxis, max(data.Type.Rank(), 1)) // Infer has checked it
	}
	if data == nil || data.Type.DType != Int8 || !Symmetric(op) {
		return nil, 0
	}
	scale = op.Arg(ParamScale).Const
	if op.Is(OpConstexprAffineDequantize) {
		return scale, axis
	}
	cut := 0 // dimensions with several scales
	for i, n := range scale.Type.Shape {
		if n > 1 {
			axis = i
			if cut++; cut > 1 || n != data.Type.Shape[i] {
				return nil, 0
			}
		}
	}
	return scale, axis
}

func foldConstexprCast(op *Op) ([]*Const, error) {
	s, _ := ArgString(op, ParamOutputDType)
	t, ok := ParseDType(s)
	if !ok {
		return nil, nil
	}
	return castTo(op.Arg(ParamSourceVal).Const, t)
}

// packed returns a function that reads n-bit indices, low bits first.
func packed(b []byte, n int) func(i int) int {
	if n == 8 {
		return func(i int) int { return int(b[i]) }
	}
	mask := 1<<n - 1
	if 8%n == 0 {
		return func(i int) int { return int(b[i*n/8]>>(i*n%8)) & mask }
	}
	return func(i int) int {
		bit := i * n
		v := int(b[bit/8]) >> (bit % 8)
		if bit%8+n > 8 {
			v |= int(b[bit/8+1]) << (8 - bit%8)
		}
		return v & mask
	}
}

// putEntry copies one table entry of 1, 2 or 4 bytes.
func putEntry(dst, lut []byte, size, i, k int) {
	switch size {
	case 1:
		dst[i] = lut[k]
	case 2:
		dst[2*i], dst[2*i+1] = lut[2*k], lut[2*k+1]
	default:
		copy(dst[i*size:i*size+size], lut[k*size:])
	}
}

func foldLUT16(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	if !ok {
		return nil, nil
	}
	lut := op.Arg(ParamLUT).Const
	at := packed(op.Arg(ParamIndices).Const.Data, bits.Len64(uint64(lut.Elems()))-1)
	size := t.DType.Bits() / 8
	data := make([]byte, t.Bytes())
	parallel(int(t.Elems()), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			putEntry(data, lut.Data, size, i, at(i))
		}
	})
	return []*Const{{Type: t, Data: data, Packing: newPacking(t.DType, lut.Data)}}, nil
}

// codebook returns the type of the entries of a lookup's only table, which are numbers and no vectors; 0 entries of
// several tables.
func codebook(op *Op) (t DType, entries int64) {
	lut := op.Arg(ParamLUT).Type
	n := lut.Elems()
	if op.Def.ParamIndex(ParamShape) < 0 && n != lut.Shape[max(lut.Rank()-2, 0)] {
		n = 0
	}
	return lut.DType, n
}

// ones counts the set bits among the first n bits of a mask.
func ones(mask []byte, n int64) int64 {
	var c int64
	for i, b := range mask {
		if left := n - 8*int64(i); left < 8 {
			b &= 1<<max(left, 0) - 1
		}
		c += int64(bits.OnesCount8(b))
	}
	return c
}

// checkOnes checks that there is one value per set bit of the mask.
func checkOnes(op *Op, mask *Const, elems int64, maskName, dataName ParamName) error {
	c, n := ones(mask.Data, elems), op.Arg(dataName).Type.Elems()
	if c != n {
		return Rulef(dataName, "%s has %d elements, %s has %d bits set", dataName, n, maskName, c).and(maskName)
	}
	return nil
}

// foldSparse folds both forms: a mask of packed bytes and one of uint1 have the same bytes.
func foldSparse(op *Op) ([]*Const, error) {
	ts, err := op.Def.Infer(op)
	if err != nil {
		return nil, err
	}
	t := ts[0]
	if t.Bytes() < 0 {
		return nil, nil
	}
	mask, nz := op.Arg(ParamMask).Const, op.Arg(ParamNonzeroData).Const
	if err := checkOnes(op, mask, t.Elems(), ParamMask, ParamNonzeroData); err != nil {
		return nil, err
	}
	cs, err := folded(t, scatterOnes(t, mask.Data, nz))
	if err == nil {
		cs[0].PackedSparse()
	}
	return cs, err
}

// scatterOnes writes the values to the positions of the mask's set bits.
func scatterOnes(t Type, mask []byte, nz *Const) []byte {
	data := make([]byte, t.Bytes())
	n := int(t.Elems())
	k := 0
	if b := t.DType.Bits(); b < 8 {
		for i := range n {
			if mask[i/8]>>(i%8)&1 == 1 {
				v := nz.bitsAt(int64(k), b)
				setBits(data, i*b, b, v)
				k++
			}
		}
		return data
	}
	size := t.DType.Bits() / 8
	for j, m := range mask {
		for ; m != 0; m &= m - 1 {
			i := 8*j + bits.TrailingZeros8(m)
			if i >= n {
				break
			}
			putEntry(data, nz.Data, size, i, k)
			k++
		}
	}
	return data
}

// setBits writes the n low bits of v at a bit position; the bytes must be cleared there.
func setBits(b []byte, at, n int, v uint64) {
	b[at/8] |= byte(v << (at % 8))
	if at%8+n > 8 {
		b[at/8+1] |= byte(v >> (8 - at%8))
	}
}

// gatherOnes collects, in order, the values at the mask's set bits.
func gatherOnes(data, mask []byte, n, size int) []byte {
	var out []byte
	for j, m := range mask {
		for ; m != 0; m &= m - 1 {
			i := 8*j + bits.TrailingZeros8(m)
			if i >= n {
				break
			}
			out = append(out, data[i*size:i*size+size]...)
		}
	}
	return out
}

// blockRow returns the index of the first block of row r (all dimensions but the last) of shape;
// blocks is the number of blocks per dimension.
func blockRow(shape, blocks []int64, r int64) int64 {
	at, mul := int64(0), int64(1)
	for d := len(shape) - 2; d >= 0; d-- {
		i := r % shape[d]
		r /= shape[d]
		at += i / (shape[d] / blocks[d]) * mul
		mul *= blocks[d]
	}
	if len(blocks) > 0 {
		at *= blocks[len(blocks)-1]
	}
	return at
}

// lastDim returns the last dimension, 1 for a scalar.
func lastDim(shape []int64) int64 {
	if len(shape) == 0 {
		return 1
	}
	return shape[len(shape)-1]
}

// scaleBlocks writes scale (data - offset) of the given elements. value returns
// element i of the data.
func scaleBlocks(op *Op, t Type, data []byte, value func(i int) float32) {
	scale := op.Arg(ParamScale).Const
	s := reader(scale)
	offset := func(int) float32 { return 0 }
	if o := op.Arg(ParamOffset); o != nil {
		offset = reader(o.Const)
	}
	w := writer(t.DType, data)
	row, nb := lastDim(t.Shape), lastDim(scale.Type.Shape)
	if row == 0 {
		return
	}
	block := int(row / nb)
	parallel(int(t.Elems()), func(lo, hi int) {
		for i := lo; i < hi; {
			r := int64(i) / row
			j := i - int(r*row)
			k := int(blockRow(t.Shape, scale.Type.Shape, r)) + j/block
			sc, of := s(k), offset(k)
			for end := min(hi, i+block-j%block); i < end; i++ {
				w(i, float32(value(i)-of)*sc)
			}
		}
	})
}

func foldBlockwise(op *Op) ([]*Const, error) {
	t, ok := resultType(op)
	if !ok {
		return nil, nil
	}
	return []*Const{scaled(op, t, op.Arg(ParamData).Const)}, nil
}

// scaled returns scale (x - offset) as a constant of type t.
func scaled(op *Op, t Type, x *Const) *Const {
	out := &Const{Type: t, Data: make([]byte, t.Bytes())}
	scaleBlocks(op, t, out.Data, reader(x))
	if s, a := byteScales(op); s != nil && op.Arg(ParamData).Const == x {
		out.scaled(s.Data, a)
		return out
	}
	return out.PackedBy(x, func(entries *Const) *Const {
		if op.Arg(ParamScale).Type.Elems() != 1 {
			return nil
		}
		return scaled(op, entries.Type.WithDType(t.DType), entries)
	})
}

func foldSparseBlockwise(op *Op) ([]*Const, error) {
	mask, nz, scale := op.Arg(ParamDataMask).Const, op.Arg(ParamNonzeroData).Const, op.Arg(ParamScale).Const
	if err := checkOnes(op, mask, mask.Elems(), ParamDataMask, ParamNonzeroData); err != nil {
		return nil, err
	}
	dense := &Const{Type: mask.Type.WithDType(nz.Type.DType)}
	t := mask.Type.WithDType(scale.Type.DType)
	if t.Bytes() < 0 {
		return nil, nil
	}
	dense.Data = scatterOnes(dense.Type, mask.Data, nz)
	data := make([]byte, t.Bytes())
	scaleBlocks(op, t, data, reader(dense))
	out := gatherOnes(data, mask.Data, int(t.Elems()), t.DType.Bits()/8)
	return []*Const{mask, {Type: nz.Type.WithDType(t.DType), Data: out}}, nil
}

// lookupGrowth is the maximum number of bytes that a lookup produces from one byte of indices or
// mask: eight single bits, each a vector of eight fp32.
const lookupGrowth = 256

// lookUp expands indices through blockwise tables into a dense tensor. It returns nil if the result
// would exceed the limit of a fold, as for a table of long vectors.
func lookUp(op *Op, idxType Type, idx []byte) (*Const, error) {
	lut := op.Arg(ParamLUT).Const
	shape, vec, err := lookup(op, idxType)
	if err != nil {
		return nil, err
	}
	t := TensorOf(lut.Type.DType, shape...)
	limit := int64(1 << 24)
	for _, p := range []ParamName{ParamIndices, ParamIndicesMask, ParamIndicesNonzeroData} {
		if v := op.Arg(p); v != nil && v.Const != nil {
			limit += lookupGrowth * int64(len(v.Const.Data))
		}
	}
	if t.Bytes() < 0 || t.Bytes() > limit {
		return nil, nil
	}
	data := make([]byte, t.Bytes())
	n := idxType.DType.Bits()
	at := packed(idx, n)
	size := t.DType.Bits() / 8
	blocks := lut.Type.Shape[:idxType.Rank()]
	row, nb := lastDim(idxType.Shape), lastDim(blocks)
	inner := 1
	if vec > 1 {
		a, err := AxisAttr(op, ParamVectorAxis, idxType.Rank())
		if err != nil {
			return nil, err
		}
		inner = int(count(idxType.Shape[a+1:]))
	}
	parallel(int(idxType.Elems()), func(lo, hi int) {
		for i := lo; i < hi; {
			r := int64(i) / row
			first := int(blockRow(idxType.Shape, blocks, r))
			for end := min(hi, int((r+1)*row)); i < end; i++ {
				k := ((first+int((int64(i)-r*row)/(row/nb)))<<n | at(i)) * int(vec)
				if vec == 1 {
					putEntry(data, lut.Data, size, i, k)
					continue
				}
				for v := range int(vec) {
					putEntry(data, lut.Data, size, (i/inner*int(vec)+v)*inner+i%inner, k+v)
				}
			}
		}
	})
	out := &Const{Type: t, Data: data}
	if of, n := codebook(op); n > 0 {
		out.Packing = newPacking(of, lut.Data)
	}
	return out, nil
}

func foldLUT18(op *Op) ([]*Const, error) {
	idx := op.Arg(ParamIndices).Const
	c, err := lookUp(op, idx.Type, idx.Data)
	if c == nil || err != nil {
		return nil, err
	}
	return []*Const{c}, nil
}

func foldLUTSparse(op *Op) ([]*Const, error) {
	mask, nz := op.Arg(ParamIndicesMask).Const, op.Arg(ParamIndicesNonzeroData).Const
	if err := checkOnes(op, mask, mask.Elems(), ParamIndicesMask, ParamIndicesNonzeroData); err != nil {
		return nil, err
	}
	dense := mask.Type.WithDType(nz.Type.DType)
	c, err := lookUp(op, dense, scatterOnes(dense, mask.Data, nz))
	if c == nil || err != nil {
		return nil, err
	}
	_, vec, err := lookup(op, dense)
	if err != nil {
		return nil, err
	}
	out := &Const{Type: c.Type.WithDType(UInt1)}
	out.Data = make([]byte, out.Type.Bytes())
	inner := 1
	if vec > 1 {
		a, err := AxisAttr(op, ParamVectorAxis, dense.Rank())
		if err != nil {
			return nil, err
		}
		inner = int(count(dense.Shape[a+1:]))
	}
	for i := range int(mask.Elems()) {
		if mask.Data[i/8]>>(i%8)&1 == 1 {
			for v := range int(vec) {
				setBits(out.Data, (i/inner*int(vec)+v)*inner+i%inner, 1, 1)
			}
		}
	}
	vals := gatherOnes(c.Data, out.Data, int(c.Elems()), c.Type.DType.Bits()/8)
	return []*Const{out, {Type: TensorOf(c.Type.DType, nz.Elems()*vec), Data: vals}}, nil
}
