package compress

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// A Form is a way to store weights in fewer bytes.
type Form struct {
	Name   string
	Doc    string // what it stores, for help
	Stream string // as target.Table.StreamForms names it
	Since  string // first opset with its operation

	encode func(w *weight, opset string) *encoded
}

// The opsets with operations for compressed weights. In the second, codebooks and scales may be of blocks.
const (
	firstOpset  = "ios16"
	blocksOpset = "ios18"
)

// blocks reports whether an opset has operations with codebooks and scales of blocks.
func blocks(opset string) bool { return ir.OpsetNumber(opset) >= ir.OpsetNumber(blocksOpset) }

// groupChannels is the size of a group of channels with a codebook of its own, the default of coremltools.
const groupChannels = 32

// Forms are tried in this order: groups before more bits, as Apple advises (coreai-models, model-compression-
// exploration).
var Forms = []*Form{
	{Name: "palette4", Doc: "one codebook of 16 values for each weight", Stream: "palette4", Since: firstOpset,
		encode: palettes(4, false)},
	{Name: "palette4-groups", Doc: "a codebook of 16 values for each 32 output channels", Stream: "multi-palette4",
		Since: blocksOpset, encode: palettes(4, true)},
	{Name: "palette8", Doc: "one codebook of 256 values for each weight", Stream: "palette8", Since: firstOpset,
		encode: palettes(8, false)},
	{Name: "int8", Doc: "8 bits a value and a scale for each output channel", Stream: "int8", Since: firstOpset,
		encode: affine},
	{Name: "sparse50", Doc: "the larger half of the values and a mask", Stream: "sparse", Since: firstOpset,
		encode: sparse(50)},
	{Name: "sparse75", Doc: "the largest quarter of the values and a mask", Stream: "sparse", Since: firstOpset,
		encode: sparse(75)},
}

// FormOf returns the form of a name, nil if there is none.
func FormOf(name string) *Form {
	if i := slices.IndexFunc(Forms, func(f *Form) bool { return f.Name == name }); i >= 0 {
		return Forms[i]
	}
	return nil
}

// encoded is a weight in a form: the operation that expands it, and the constants of that operation.
type encoded struct {
	op     *ir.Operation
	args   []stored
	suffix string // of the name of the result, as coremltools names it

	ratio Decibels // of signal to noise of its values
}

// stored is an argument of an operation that expands a weight.
type stored struct {
	param ir.ParamName
	value *ir.Const
}

// in encodes a weight in the form, for functions of an opset. It returns nil for a weight that has no such form.
func (f *Form) in(w *weight, opset string) (*encoded, error) {
	e := f.encode(w, opset)
	if e == nil {
		return nil, nil
	}
	dense, err := e.expand(opset)
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", f.Name, w.name, err)
	}
	e.ratio = ratio(w.data, dense)
	return e, nil
}

// expand returns what the operation returns. It is not kept: the weights of a model in every form need much memory.
func (e *encoded) expand(opset string) (*ir.Const, error) {
	op, err := e.make("", opset, ir.Pos{})
	if err != nil {
		return nil, err
	}
	cs, err := ir.FoldOp(op)
	if err != nil || len(cs) == 0 {
		return nil, fmt.Errorf("%s does not fold: %w", e.op.Name, err)
	}
	return cs[len(cs)-1], nil
}

// make returns the operation that expands the weight of a name.
func (e *encoded) make(name, opset string, pos ir.Pos) (*ir.Op, error) {
	var args []ir.Arg
	for _, a := range e.args {
		args = append(args, ir.Arg{Param: a.param, Value: &ir.Value{
			Name: name + "_" + string(a.param), Type: a.value.Type, Const: a.value, Pos: pos,
		}})
	}
	op, err := ir.NewOpOf(e.op, opset, pos, func(string) string { return name + e.suffix }, args...)
	if err == nil {
		op.Name = name + e.suffix
	}
	return op, err
}

// bytes is what the model stores of the weight.
func (e *encoded) bytes() (n int64) {
	for _, a := range e.args {
		if a.param != ir.ParamShape && a.param != ir.ParamAxis {
			n += int64(len(a.value.Data))
		}
	}
	return n
}

// vector returns a constant of one dimension.
func vector(t ir.DType, data []byte) *ir.Const {
	return &ir.Const{Type: ir.TensorOf(t, int64(len(data)*8/t.Bits())), Data: data}
}

// shape returns the argument that the operations of the first opset have beside packed bytes.
func (w *weight) shape() stored {
	return stored{ir.ParamShape, ir.ConstInts(ir.UInt32, w.data.Type.Shape...)}
}

// numbers returns fp16 numbers in the element type of the weight.
func (w *weight) numbers(halves []uint16) []byte {
	var b []byte
	for _, h := range halves {
		if w.data.Type.DType == ir.FP16 {
			b = binary.LittleEndian.AppendUint16(b, h)
		} else {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(numerics.Widen(h)))
		}
	}
	return b
}

// palettes encodes weights as indices of codebooks.
func palettes(bits int, groups bool) func(w *weight, opset string) *encoded {
	return func(w *weight, opset string) *encoded {
		halves := w.fp16()
		before, channels, after := w.channels()
		size := channels // of a group
		if groups && (channels%groupChannels != 0 || channels == groupChannels) || halves == nil {
			return nil
		} else if groups {
			size = groupChannels
		}
		var book []uint16
		packed := make([]byte, (len(halves)*bits+7)/8)
		for first := 0; first < channels; first += size {
			rows := func(f func(at int)) { // of the group
				for b := range before {
					for i := (b*channels + first) * after; i < (b*channels+first+size)*after; i++ {
						f(i)
					}
				}
			}
			h := new(histogram)
			rows(func(i int) { h[halves[i]]++ })
			entries := h.codebook(1 << bits)
			index := nearest(entries)
			rows(func(i int) { packed[i*bits/8] |= index[halves[i]] << (i * bits % 8) })
			book = append(book, entries...)
		}
		e := &encoded{op: ir.OpConstexprLUTToDense, suffix: "_palettized"}
		lut := vector(w.data.Type.DType, w.numbers(book))
		if !blocks(opset) {
			e.args = []stored{{ir.ParamIndices, vector(ir.UInt8, packed)}, {ir.ParamLUT, lut}, w.shape()}
			return e
		}
		index := ir.UInt4
		if bits == 8 {
			index = ir.UInt8
		}
		tables := make([]int64, w.data.Type.Rank(), w.data.Type.Rank()+2)
		for i := range tables {
			tables[i] = 1
		}
		tables[w.axis] = int64(channels / size)
		lut.Type.Shape = append(tables, 1<<bits, 1)
		e.args = []stored{
			{ir.ParamIndices, &ir.Const{Type: w.data.Type.WithDType(index), Data: packed}}, {ir.ParamLUT, lut},
		}
		return e
	}
}

// largestInt8 is the largest magnitude of a quantised value: without -128 the range is symmetric.
const largestInt8 = 127

// affine encodes weights as integers of 8 bits with a scale for each output channel.
func affine(w *weight, opset string) *encoded {
	if w.fp16() == nil {
		return nil
	}
	before, channels, after := w.channels()
	values := w.data.Floats()
	q := make([]byte, len(values))
	scales := make([]uint16, channels)
	for c := range channels {
		top := 0.0
		for b := range before {
			for _, x := range values[(b*channels+c)*after:][:after] {
				top = max(top, math.Abs(x))
			}
		}
		// A scale of 0 would belong to a channel whose largest value is subnormal.
		scales[c] = max(numerics.Narrow(float32(top/largestInt8)), 1)
		scale := float64(numerics.Widen(scales[c]))
		for b := range before {
			for i := (b*channels + c) * after; i < (b*channels+c+1)*after; i++ {
				n := math.RoundToEven(values[i] / scale)
				q[i] = byte(int8(min(max(n, -largestInt8), largestInt8)))
			}
		}
	}
	data := &ir.Const{Type: w.data.Type.WithDType(ir.Int8), Data: q}
	scale := vector(w.data.Type.DType, w.numbers(scales))
	if !blocks(opset) {
		return &encoded{op: ir.OpConstexprAffineDequantize, suffix: "_quantized", args: []stored{
			{ir.ParamQuantizedData, data}, {ir.ParamZeroPoint, vector(ir.Int8, make([]byte, channels))},
			{ir.ParamScale, scale}, {ir.ParamAxis, ir.ConstInt(ir.Int32, int64(w.axis))},
		}}
	}
	shape := slices.Clone(w.data.Type.Shape)
	for i := range shape {
		if i != w.axis {
			shape[i] = 1
		}
	}
	scale.Type.Shape = shape
	return &encoded{op: ir.OpConstexprBlockwiseShiftScale, suffix: "_quantized",
		args: []stored{{ir.ParamData, data}, {ir.ParamScale, scale}}}
}

// sparse encodes weights without the values of least magnitude.
func sparse(percent int) func(w *weight, opset string) *encoded {
	return func(w *weight, opset string) *encoded {
		halves := w.fp16()
		if halves == nil {
			return nil
		}
		var counts [infinite]int
		for _, h := range halves {
			counts[h&^0x8000]++
		}
		// Magnitudes below limit are left out, and so are the first ones of limit itself.
		limit, drop := 0, len(halves)*percent/100
		for ; drop >= counts[limit] && limit < infinite-1; limit++ {
			drop -= counts[limit]
		}
		mask := make([]byte, (len(halves)+7)/8)
		var left []uint16
		for i, h := range halves {
			switch m := int(h &^ 0x8000); {
			case m < limit || m == 0:
				continue
			case m == limit && drop > 0:
				drop--
				continue
			}
			mask[i/8] |= 1 << (i % 8)
			left = append(left, h)
		}
		values := stored{ir.ParamNonzeroData, vector(w.data.Type.DType, w.numbers(left))}
		e := &encoded{op: ir.OpConstexprSparseToDense, suffix: "_sparsified"}
		if !blocks(opset) {
			e.args = []stored{values, {ir.ParamMask, vector(ir.UInt8, mask)}, w.shape()}
		} else {
			e.args = []stored{values, {ir.ParamMask, &ir.Const{Type: w.data.Type.WithDType(ir.UInt1), Data: mask}}}
		}
		return e
	}
}

// opset returns the opset in which a form is written for functions of p: the first with its operation that keeps the
// form of every operation of p, or an error that names one that changes.
func opset(p *ir.Program, since string) (string, error) {
	out := since
	for _, f := range p.Funcs {
		if ir.OpsetNumber(f.Opset) > ir.OpsetNumber(out) {
			out = f.Opset
		}
	}
	var fault error
	for _, f := range p.Funcs {
		if f.Opset == out {
			continue
		}
		ir.Walk(f, func(op *ir.Op) {
			var given []ir.ParamName
			op.Operands(func(param *ir.Param, _ *ir.Value) { given = append(given, param.Name) })
			if now := ir.LookupArgs(op.Def.Name, out, given); now != op.Def {
				fault = cmp.Or(fault, fmt.Errorf("%sfunction %s is of opset %s, and compressed weights need %s, in "+
					"which %s has another form; convert the model for iOS %s or later",
					at(p, op.Pos), f.Name, f.Opset, out, op.Def.Name, out[len("ios"):]))
			}
		})
	}
	return out, fault
}
