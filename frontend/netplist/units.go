package netplist

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// A unit is a row of the table of units.
type unit struct {
	low, high int // of the tensors that it reads
	read      func(u *unitReader, in []*tensor) *ir.Value
}

// A unitReader is the unit that is being read: its dictionary and its parameters.
type unitReader struct {
	*network
	d, p *dict
}

// maxBottoms bounds the tensors that a unit reads; the list itself is bounded.
const maxBottoms = 1 << 16

// units are the units that are read. Recorded descriptions have every one of them; the table of its kinds states what
// else of a unit is modelled.
var units map[string]*unit

var unitNames []string

func init() {
	units = map[string]*unit{
		// convolution with coefficients [OutputChannels, channels, KernelHeight, KernelWidth]
		"Conv": {1, 1, (*unitReader).conv},
		// x * scale + bias, each a scalar (the bits of an fp16 number) or one number a channel
		"GOC":    {1, 1, (*unitReader).goc},
		"Neuron": {1, 1, (*unitReader).neuron}, // a function of each element
		// a function of the elements of two tensors of one shape
		"ElementWise":       {2, 2, (*unitReader).elementwise},
		"ScaledElementWise": {2, 2, (*unitReader).elementwise}, // the same, with a Scale that must be 1
		// tensors concatenated along Dimension, by default channels
		"Concat":    {1, maxBottoms, (*unitReader).concat},
		"InputView": {1, 1, (*unitReader).view},      // Size elements along Dimension from Offset
		"Broadcast": {1, 1, (*unitReader).broadcast}, // axes of one element repeated
		"Reshape":   {1, 1, (*unitReader).reshape},   // the same elements in another shape, width fastest
	}
	unitNames = slices.Sorted(maps.Keys(units))
}

// A kind is an operation of Neuron and of the two elementwise units.
type kind struct {
	name string // in descriptions
	op   *ir.Operation
	// recorded means that recorded descriptions have the name; other names are modelled.
	recorded bool
}

// neurons are the kinds of Neuron. Where an operation has two names the first is
// written.
var neurons = []kind{
	{"Sigmoid", ir.OpSigmoid, true},
	{"Sign", ir.OpSign, true},
	{"Exp2", ir.OpExp2, true},
	{"ReLU", ir.OpRelu, false},
	{"Relu", ir.OpRelu, false},
	{"Tanh", ir.OpTanh, false},
	{"Sqrt", ir.OpSqrt, false},
}

// pairings are the kinds of ElementWise and ScaledElementWise.
var pairings = []kind{
	{"Add", ir.OpAdd, true},
	{"Min", ir.OpMinimum, true},
	{"Max", ir.OpMaximum, false},
	{"Mult", ir.OpMul, false},
	{"Sub", ir.OpSub, false},
}

// kind returns the operation of a unit's kind.
func (u *unitReader) kind(among []kind) *ir.Operation {
	u.p.need("Type", "set the kind of the unit")
	var names []string
	for _, k := range among {
		names = append(names, k.name)
	}
	name := u.p.word("Type", "other kinds of this unit are unknown: express it with those, or convert the original "+
		"model to MIL", names...)
	for _, k := range among {
		if k.name == name {
			return k.op
		}
	}
	return among[0].op
}

func (u *unitReader) neuron(in []*tensor) *ir.Value {
	op := u.kind(neurons)
	if u.r.err != nil {
		return nil
	}
	return u.add(u.d, op, arg{ir.ParamX, in[0].v})
}

// fp16One is 1 as the bits of an fp16 number.
const fp16One = 0x3c00

func (u *unitReader) elementwise(in []*tensor) *ir.Value {
	op := u.kind(pairings)
	if u.d.text("Type") == "ScaledElementWise" {
		u.p.word2("Scale", fp16One, "the bits of fp16 1 are the only recorded scale, so it is not known what "+
			"another one multiplies: scale with a GOC unit")
	}
	if u.r.err != nil {
		return nil
	}
	x, y := in[0].v, in[1].v
	if !x.Type.Equal(y.Type) {
		u.d.fail("Bottom", "the tensors that it reads must have one shape", x.Type.String()+" and "+y.Type.String(),
			"put a Broadcast unit before the smaller")
		return nil
	}
	return u.add(u.d, op, arg{ir.ParamX, x}, arg{ir.ParamY, y})
}

// dimension returns the axis that Dimension names.
func (u *unitReader) dimension() int {
	name := u.p.word("Dimension", "", axes...)
	if name == axisDepth && !u.deep {
		u.p.fail("Dimension", "no tensor of the network is deeper than 1", shown(name), "name another axis")
	}
	return u.axis(name)
}

func (u *unitReader) concat(in []*tensor) *ir.Value {
	a := u.dimension()
	if u.r.err != nil {
		return nil
	}
	vs := make([]*ir.Value, len(in))
	for i, t := range in {
		vs[i] = t.v
	}
	return u.add(u.d, ir.OpConcat, arg{ir.ParamValues, vs}, arg{ir.ParamAxis, int64(a)})
}

func (u *unitReader) view(in []*tensor) *ir.Value {
	for _, k := range []string{"Dimension", "Offset", "Size"} {
		u.p.need(k, "set the range of the view")
	}
	a := u.dimension()
	if u.r.err != nil {
		return nil
	}
	size := append([]int64(nil), in[0].v.Type.Shape...)
	begin := make([]int64, len(size))
	begin[a] = u.p.integer("Offset", 0, 0, size[a]-1)
	size[a] = u.p.integer("Size", 1, 1, size[a]-begin[a])
	if u.r.err != nil {
		return nil
	}
	return u.add(u.d, ir.OpSliceBySize, arg{ir.ParamX, in[0].v}, arg{ir.ParamBegin, begin}, arg{ir.ParamSize, size})
}

func (u *unitReader) broadcast(in []*tensor) *ir.Value {
	shape := in[0].v.Type.Shape
	reps := slices.Repeat([]int64{1}, len(shape))
	seen := map[string]bool{}
	u.p.need("BroadcastInfo", "list axes and sizes")
	for i, v := range u.p.list("BroadcastInfo") {
		m, ok := v.(map[string]any)
		key := fmt.Sprintf("BroadcastInfo[%d]", i)
		if !ok {
			u.p.fail(key, "must be a dictionary", shown(v), "")
			return nil
		}
		d := u.r.dict(u.name, u.d.unit, u.p.path+key+".", m)
		d.need("Dimension", "name the axis")
		d.need("Size", "state the extent of the result")
		axis := d.word("Dimension", "", axes...)
		size := d.integer("Size", 1, 1, maxDim)
		d.done()
		if seen[axis] {
			d.fail("Dimension", "an axis must be named once", shown(axis), "delete one")
		}
		seen[axis] = true
		a := u.axis(axis)
		if u.r.err != nil {
			return nil
		}
		if a < 0 { // depth in a network without it, to be repeated once
			continue
		}
		switch shape[a] {
		case size:
		case 1:
			reps[a] = size
		default:
			d.fail("Size", fmt.Sprintf("the axis has %d elements; only an axis of 1 can be repeated", shape[a]),
				fmt.Sprint(size), "")
			return nil
		}
	}
	if u.r.err != nil {
		return nil
	}
	return u.add(u.d, ir.OpTile, arg{ir.ParamX, in[0].v}, arg{ir.ParamReps, reps})
}

func (u *unitReader) reshape(in []*tensor) *ir.Value {
	dim := func(k string) int64 {
		k = "Reshaped" + k
		u.p.need(k, "set all five extents")
		return u.p.integer(k, 1, 1, maxDim)
	}
	depth := dim(axisDepth)
	shape := u.shape(dim(axisBatch), dim(axisChannel), depth, dim(axisHeight), dim(axisWidth))
	if depth != 1 || u.deep && in[0].v.Type.Shape[0] != 1 {
		u.p.fail("ReshapedDepth", "the recorded descriptions do not show in which order a Reshape counts elements "+
			"of deep tensors, so depth must be 1 before and after", fmt.Sprint(depth), "reshape without depth")
	}
	if u.r.err != nil {
		return nil
	}
	t := ir.TensorOf(ir.FP16, shape...)
	if have := in[0].v.Type; t.Elems() != have.Elems() {
		u.p.fail("ReshapedChannel", fmt.Sprintf("the unit reads %s, %d elements, and must return as many", have,
			have.Elems()), fmt.Sprintf("%d in %s", t.Elems(), t), "correct the extents")
		return nil
	}
	return u.add(u.d, ir.OpReshape, arg{ir.ParamX, in[0].v}, arg{ir.ParamShape, shape})
}

// fp16 returns the fp16 number with the bits of an integer, or def.
func (d *dict) fp16(key string, def uint16) *ir.Const {
	bits := uint16(d.integer(key, int64(def), 0, 0xffff))
	return &ir.Const{Type: ir.Scalar(ir.FP16), Data: binary.LittleEndian.AppendUint16(nil, bits)}
}
