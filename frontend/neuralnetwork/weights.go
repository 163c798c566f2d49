package neuralnetwork

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/ir"
)

// weights is a WeightParams: the numbers of a tensor.
type weights struct {
	m     *mlmodel.Message
	shape []int64
	n     int64 // elements
}

// weights returns the weights in a field, of a tensor of this shape.
func (l *layer) weights(m *mlmodel.Message, field string, shape ...int64) *weights {
	if !m.Has(field) {
		l.Stop(m.Errorf("%s: %s is missing", l.what(), field))
	}
	w := &weights{m: m.Message(field), shape: shape, n: 1}
	for _, d := range shape {
		if d < 1 || d > math.MaxInt32 || w.n > math.MaxInt32 {
			l.Stop(m.FieldErrorf(field, "%s: the weights have the shape %s; want dimensions of 1 to %d and at most %d "+
				"elements", l.what(), ir.ShapeString(shape), math.MaxInt32, math.MaxInt32))
		}
		w.n *= d
	}
	return w
}

// length stops the reading unless a field has n bytes.
func (l *layer) length(w *weights, field string, n int64) []byte {
	data, _ := w.m.Data(field)
	if int64(len(data)) != n {
		l.Stop(w.m.FieldErrorf(field, "%s: the weights %s need %d bytes, got %d", l.what(), ir.ShapeString(w.shape), n,
			len(data)))
	}
	return data
}

// quantized are weights whose numbers are indices of n bits.
type quantized struct {
	*weights
	bits   int64
	raw    []byte
	table  []float64 // of the 1<<bits values, nil if scale is set
	scale  []float64 // one for each channel or one; value = scale*index + bias
	bias   []float64
	stride int64 // consecutive elements of one channel
}

// quantized returns how weights are quantized; nil if they are not. channel is the axis of the output channels.
func (l *layer) quantized(w *weights, channel int) *quantized {
	if !w.m.Has("rawValue") {
		return nil
	}
	qm := w.m.Message("quantization")
	q := &quantized{weights: w, bits: qm.Int("numberOfBits"), stride: 1}
	if q.bits < 1 || q.bits > 8 {
		l.Stop(qm.Errorf("%s: weights of %d bits; want 1 to 8", l.what(), q.bits))
	}
	q.raw = l.length(w, "rawValue", (w.n*q.bits+7)/8)
	kind, sub, err := qm.Choice()
	if err != nil {
		l.Stop(err)
	}
	if kind == "lookupTableQuantization" {
		if q.table = floats(sub, "floatValue"); len(q.table) != 1<<q.bits {
			l.Stop(sub.Errorf("%s: the table of weights of %d bits has %d values, want %d", l.what(), q.bits,
				len(q.table),
				1<<q.bits))
		}
		return q
	}
	channels := w.shape[channel]
	for _, d := range w.shape[channel+1:] {
		q.stride *= d
	}
	q.scale, q.bias = floats(sub, "scale"), floats(sub, "bias")
	if len(q.bias) == 0 {
		q.bias = make([]float64, len(q.scale))
	}
	for _, vs := range [][]float64{q.scale, q.bias} {
		if k := int64(len(vs)); k != 1 && k != channels {
			l.Stop(sub.Errorf("%s: %d scales and %d biases of weights; want 1 or %d, one for each output channel",
				l.what(),
				len(q.scale), len(q.bias), channels))
		}
	}
	if len(q.scale) == 1 && len(q.bias) == 1 {
		table := make([]float64, 1<<q.bits)
		for i := range table {
			table[i] = q.value(int64(i), 0)
		}
		q.table = table
	}
	return q
}

// value returns the number that an index means in a channel.
func (q *quantized) value(index, channel int64) float64 {
	if q.table != nil {
		return q.table[index]
	}
	pick := func(vs []float64) float32 { return float32(vs[min(channel, int64(len(vs))-1)]) }
	return float64(float32(pick(q.scale)*float32(index)) + pick(q.bias))
}

// index returns index i. They are packed most significant bit first.
func (q *quantized) index(i int64) int64 {
	bit := i * q.bits
	v := int64(q.raw[bit/8]) << 8
	if bit/8+1 < int64(len(q.raw)) {
		v |= int64(q.raw[bit/8+1])
	}
	return v >> (16 - bit%8 - q.bits) & (1<<q.bits - 1)
}

func floats(m *mlmodel.Message, field string) []float64 {
	data, _ := m.Data(field)
	out := make([]float64, len(data)/4)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	}
	return out
}

// dense returns weights as floats. channel is the axis of the output channels.
func (l *layer) dense(w *weights, channel int) *ir.Const {
	c := &ir.Const{Type: ir.TensorOf(ir.FP32, w.shape...)}
	q := l.quantized(w, channel)
	switch {
	case q != nil:
		c.Data = make([]byte, 0, 4*w.n)
		for i := range w.n {
			c.Data = ir.AppendElem(c.Data, ir.FP32, q.value(q.index(i), i/q.stride%w.shape[channel]))
		}
	case w.m.Has("float16Value"):
		half := ir.Const{Type: ir.TensorOf(ir.FP16, w.n), Data: l.length(w, "float16Value", 2*w.n)}
		c.Data = make([]byte, 0, 4*w.n)
		for i := range w.n {
			c.Data = ir.AppendElem(c.Data, ir.FP32, half.Float(i))
		}
	case w.m.Has("int8RawValue"):
		l.Stop(w.m.Errorf("%s: zinc does not read weights of int8RawValue, with which inputs are quantized while the "+
			"network runs", l.what()))
	default:
		c.Data = l.length(w, "floatValue", 4*w.n)
	}
	return c
}

// vector returns weights as a constant of floats.
func (l *layer) vector(m *mlmodel.Message, field string, shape ...int64) *ir.Value {
	return l.constant(field, l.dense(l.weights(m, field, shape...), 0))
}

// constant returns a value with a name.
func (l *layer) constant(name string, c *ir.Const) *ir.Value {
	return &ir.Value{Name: l.name(l.stem + "_" + name), Type: c.Type, Const: c}
}

// widths are the element types of indices that hold indices of a number of bits.
var widths = [9]ir.DType{1: ir.UInt1, ir.UInt2, ir.UInt3, ir.UInt4, ir.UInt6, ir.UInt6, ir.UInt8, ir.UInt8}

// matrix returns weights as a constant, or as an operation on constants if they are quantized. channel is the axis of
// the output channels.
func (l *layer) matrix(m *mlmodel.Message, field string, channel int, shape ...int64) *ir.Value {
	w := l.weights(m, field, shape...)
	q := l.quantized(w, channel)
	if q == nil || q.table == nil && !q.shifts() {
		return l.constant(field, l.dense(w, channel))
	}
	if l.opset != compressedOpset {
		l.Stop(errOpset)
	}
	if q.table == nil {
		return l.shifted(field, q, channel)
	}
	indices := q.repacked(widths[q.bits])
	lut := &ir.Const{Type: ir.TensorOf(ir.FP32, append(slices.Repeat([]int64{1}, len(shape)),
		1<<indices.Type.DType.Bits(), 1)...)}
	for _, v := range q.table {
		lut.Data = ir.AppendElem(lut.Data, ir.FP32, v)
	}
	lut.Data = append(lut.Data, make([]byte, lut.Type.Bytes()-int64(len(lut.Data)))...)
	return l.Do(ir.OpConstexprLUTToDense, ir.Arg{Param: ir.ParamIndices, Value: l.constant(field+"_indices", indices)},
		ir.Arg{Param: ir.ParamLUT, Value: l.constant(field+"_lut", lut)})
}

// repacked returns the indices as a constant, whose elements are packed least significant bit first.
func (q *quantized) repacked(to ir.DType) *ir.Const {
	c := &ir.Const{Type: ir.TensorOf(to, q.shape...)}
	c.Data = make([]byte, c.Type.Bytes())
	width := int64(to.Bits())
	for i := range q.n {
		v, bit := q.index(i), i*width
		c.Data[bit/8] |= byte(v << (bit % 8))
		if high := v << (bit % 8) >> 8; high != 0 {
			c.Data[bit/8+1] |= byte(high)
		}
	}
	return c
}

// shifts reports whether every channel has an index that means 0, which need not be one of the indices.
func (q *quantized) shifts() bool {
	for i := range q.scale {
		if o := q.offset(int64(i)); math.IsInf(o, 0) || math.IsNaN(o) {
			return false
		}
	}
	return true
}

// offset returns the index that means 0 in a channel.
func (q *quantized) offset(channel int64) float64 {
	return -q.bias[min(channel, int64(len(q.bias))-1)] / q.scale[min(channel, int64(len(q.scale))-1)]
}

// shifted writes weights with a scale and an offset for each channel.
func (l *layer) shifted(field string, q *quantized, channel int) *ir.Value {
	one := slices.Repeat([]int64{1}, len(q.shape))
	one[channel] = q.shape[channel]
	scale, offset := &ir.Const{Type: ir.TensorOf(ir.FP32, one...)}, &ir.Const{Type: ir.TensorOf(ir.FP32, one...)}
	for i := range q.shape[channel] {
		scale.Data = ir.AppendElem(scale.Data, ir.FP32, q.scale[min(i, int64(len(q.scale))-1)])
		offset.Data = ir.AppendElem(offset.Data, ir.FP32, q.offset(i))
	}
	to := ir.UInt4
	if q.bits > 4 {
		to = ir.UInt8
	}
	return l.Do(ir.OpConstexprBlockwiseShiftScale,
		ir.Arg{Param: ir.ParamData, Value: l.constant(field+"_data", q.repacked(to))},
		ir.Arg{Param: ir.ParamScale, Value: l.constant(field+"_scale", scale)},
		ir.Arg{Param: ir.ParamOffset, Value: l.constant(field+"_offset", offset)})
}
