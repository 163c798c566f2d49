package netplist

import (
	"fmt"
	"slices"
	"strings"

	"howett.net/plist"

	"github.com/zinc-compiler/zinc/ir"
)

// A WriteError is something that a description cannot express.
type WriteError struct {
	Op    string // operation, "" for an input or the program
	Name  string // of its result, or of the input
	Rule  string
	Value string
}

// Error returns the operation, the rule and the value.
func (e *WriteError) Error() string {
	s := "a network description cannot contain "
	if e.Op != "" {
		s += e.Op + " "
	}
	if e.Name != "" {
		s += fmt.Sprintf("%q", e.Name) + ": "
	}
	s += e.Rule
	if e.Value != "" {
		s += "; it is " + e.Value
	}
	return s
}

// weightAlign is the multiple of bytes at which the coefficients of a unit begin.
const weightAlign = 64

// A writer is the state of one Write.
type writer struct {
	op      *ir.Op
	net     map[string]any
	units   []any
	weights []byte
	tensors map[*ir.Value]string // the unit or input that produces a value
	names   nameSet
	err     error // the first
}

// Description is a network description with its weight file.
type Description struct {
	List    []byte // XML property list of version Version
	Weights []byte // the contents of the weight file passed to Write by name; empty without coefficients
}

// Write returns the description of the function f, whose weight file is called weights. Its tensors must be fp16 of at
// most four dimensions; dimensions that are missing are 1, in front. Errors are *WriteError and name the operation.
func Write(f *ir.Func, weights string) (*Description, error) {
	w := &writer{
		net:     map[string]any{},
		tensors: map[*ir.Value]string{},
		names:   map[string]bool{"Inputs": true, "Outputs": true, "Units": true, "Weights": true},
	}
	inputs, outputs := []any{}, []any{}
	for _, v := range f.Body.Outputs {
		name := v.Name + outputMark
		w.names[name] = true
		outputs = append(outputs, name)
	}
	for _, v := range f.Body.Params {
		if v.Type.Kind != ir.Tensor {
			w.fail(v, "want only inputs and results; a state is neither", v.Type.String())
		}
		name := w.names.unique(v.Name)
		w.tensors[v] = name
		w.net[name] = w.tensorDict("Input", v)
		inputs = append(inputs, name)
	}
	for _, op := range f.Body.Ops {
		w.op = op
		write := writers[op.Def.Operation]
		if write == nil {
			w.fail(nil, "the operation has no unit; operations with one are "+strings.Join(writerNames(), ", "), "")
		}
		if w.err != nil {
			return nil, w.err
		}
		write(w, op)
	}
	w.op = nil
	for i, v := range f.Body.Outputs {
		name := outputs[i].(string)
		if _, twice := w.net[name]; twice {
			w.fail(v, "want a result to be returned once", "")
		}
		d := w.tensorDict("Output", v)
		d["Bottom"] = w.bottom(v)
		w.net[name] = d
	}
	if w.err != nil {
		return nil, w.err
	}
	w.net["Inputs"], w.net["Outputs"], w.net["Units"] = inputs, outputs, w.units
	if len(w.weights) > 0 {
		w.net["Weights"] = []any{weights}
	}
	list, err := plist.MarshalIndent(map[string]any{
		"Version":   Version,
		"Networks":  []any{networkName},
		networkName: w.net,
	}, plist.XMLFormat, "\t")
	if err != nil {
		return nil, err
	}
	return &Description{append(list, '\n'), w.weights}, nil
}

// networkName is the name of the network that is written.
const networkName = "net"

func (w *writer) fail(v *ir.Value, rule, value string) {
	if w.err != nil {
		return
	}
	e := &WriteError{Rule: rule, Value: value}
	if w.op != nil {
		e.Op = w.op.Def.Name
		if len(w.op.Results) > 0 {
			e.Name = w.op.Results[0].Name
		}
	} else if v != nil {
		e.Name = v.Name
	}
	w.err = e
}

// shape returns a value's extents: batch, channels, height and width.
func (w *writer) shape(v *ir.Value) []int64 {
	t := v.Type
	if t.Kind != ir.Tensor || t.DType != ir.FP16 || t.Rank() > 4 || !t.Static() || t.Elems() < 1 ||
		t.Elems() > maxSize {
		w.fail(v, "its tensors are fp16, of one to four dimensions that are known and not 0", v.Type.String())
		return []int64{1, 1, 1, 1}
	}
	s := []int64{1, 1, 1, 1}
	copy(s[4-t.Rank():], t.Shape)
	for _, d := range s {
		if d > maxDim {
			w.fail(v, fmt.Sprintf("a dimension has at most %d elements", maxDim), v.Type.String())
		}
	}
	return s
}

// axis returns the axis of a value's dimension.
func axisOf(v *ir.Value, dim int) string {
	return []string{axisBatch, axisChannel, axisHeight, axisWidth}[4-v.Type.Rank()+dim]
}

// tensorDict returns the dictionary of an input or output.
func (w *writer) tensorDict(prefix string, v *ir.Value) map[string]any {
	s := w.shape(v)
	n := &network{}
	st := n.canonical(ir.TensorOf(ir.FP16, s...))
	d := map[string]any{
		prefix + "Type": elementFloat16, prefix + "Interleave": 1,
		prefix + "RowStride": st[2], prefix + "PlaneStride": st[1], prefix + "BatchStride": st[0],
	}
	if prefix == "Input" {
		d["BatchSize"], d["InputChannels"], d["InputHeight"], d["InputWidth"] = s[0], s[1], s[2], s[3]
	}
	return d
}

// bottom returns the unit or input that produces v.
func (w *writer) bottom(v *ir.Value) string {
	name, ok := w.tensors[v]
	if !ok {
		w.fail(v, "want an input or another unit's result, not a constant", fmt.Sprintf("%q of %s", v.Name,
			v.Type))
	}
	return name
}

// unit adds a unit and returns its name.
func (w *writer) unit(stem, typ string, bottom any, params map[string]any) string {
	name := w.names.unique(stem)
	d := map[string]any{"Name": name, "Type": typ, "Bottom": bottom, "OutputType": elementFloat16}
	if len(params) > 0 {
		d["Params"] = params
	}
	w.net[name] = d
	w.units = append(w.units, name)
	return name
}

// result adds the last unit of an operation.
func (w *writer) result(op *ir.Op, typ string, bottom any, params map[string]any) {
	v := op.Results[0]
	w.shape(v)
	w.tensors[v] = w.unit(v.Name, typ, bottom, params)
}

// place appends numbers to the weight file and returns their offset.
func (w *writer) place(c *ir.Const) int64 {
	for len(w.weights)%weightAlign != 0 {
		w.weights = append(w.weights, 0)
	}
	at := len(w.weights)
	w.weights = append(w.weights, c.Data...)
	return int64(at)
}

// writers express operations as units.
var writers map[*ir.Operation]func(w *writer, op *ir.Op)

func init() {
	writers = map[*ir.Operation]func(w *writer, op *ir.Op){
		ir.OpConv: (*writer).conv, ir.OpConcat: (*writer).concat, ir.OpReshape: (*writer).reshape, ir.OpTile: (*writer).
				tile,
		ir.OpSliceByIndex: (*writer).slice, ir.OpSliceBySize: (*writer).slice,
		ir.OpIdentity: func(w *writer, op *ir.Op) { w.tensors[op.Results[0]] = w.bottom(op.Arg(ir.ParamX)) },
	}
	for _, k := range neurons {
		writers[k.op] = (*writer).neuron
	}
	for _, k := range pairings {
		writers[k.op] = (*writer).pairing
	}
}

func writerNames() []string {
	var out []string
	for o := range writers {
		out = append(out, o.Name)
	}
	slices.Sort(out)
	return out
}

// nameOf returns the name of an operation in descriptions.
func nameOf(among []kind, op *ir.Operation) string {
	i := slices.IndexFunc(among, func(k kind) bool { return k.op == op })
	return among[i].name
}

func (w *writer) neuron(op *ir.Op) {
	w.result(op, "Neuron", w.bottom(op.Arg(ir.ParamX)), map[string]any{"Type": nameOf(neurons, op.Def.Operation)})
}

func (w *writer) pairing(op *ir.Op) {
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	if x.IsConst() || y.IsConst() {
		w.withConst(op)
		return
	}
	want := w.shape(op.Results[0])
	w.result(op, "ScaledElementWise", []any{w.broadcast(x, want), w.broadcast(y, want)}, map[string]any{
		"Type": nameOf(pairings, op.Def.Operation), "Scale": fp16One,
	})
}

// broadcast returns the unit that produces v in the wanted shape.
func (w *writer) broadcast(v *ir.Value, want []int64) string {
	have := w.shape(v)
	var info []any
	for i, a := range []string{axisBatch, axisChannel, axisHeight, axisWidth} {
		if have[i] != want[i] {
			info = append(info, map[string]any{"Dimension": a, "Size": want[i]})
		}
	}
	name := w.bottom(v)
	if len(info) == 0 || w.err != nil {
		return name
	}
	return w.unit(name+"_broadcasted", "Broadcast", name, map[string]any{"BroadcastInfo": info})
}

// withConst expresses an operation with a constant operand as gain and offset.
func (w *writer) withConst(op *ir.Op) {
	x, y := op.Arg(ir.ParamX), op.Arg(ir.ParamY)
	kind := op.Def.Operation
	if x.IsConst() && kind != ir.OpSub {
		x, y = y, x
	}
	if !y.IsConst() || x.IsConst() || kind != ir.OpAdd && kind != ir.OpSub && kind != ir.OpMul {
		w.fail(nil, "a constant is added to or subtracted from a tensor, or multiplied with one", "")
		return
	}
	have, to := w.shape(x), w.shape(op.Results[0])
	c := w.shape(y)
	perChannel := c[0] == 1 && c[2] == 1 && c[3] == 1
	if !slices.Equal(have, to) || !perChannel {
		w.fail(nil, "a constant is one number, or one number per channel", y.Type.String())
	}
	if w.err != nil {
		return
	}
	k := y.Const
	if kind == ir.OpSub {
		k = &ir.Const{Type: k.Type, Data: slices.Clone(k.Data)}
		for i := 1; i < len(k.Data); i += 2 {
			k.Data[i] ^= 0x80 // the sign
		}
	}
	prefix := "Bias"
	if kind == ir.OpMul {
		prefix = "Scale"
	}
	params := map[string]any{}
	if c[1] == 1 {
		params[prefix+"Scalar"] = uint64(k.Data[0]) | uint64(k.Data[1])<<8
	} else {
		params["BiasScaleGroupData"] = w.group(prefix, k)
	}
	w.result(op, "GOC", w.bottom(x), params)
}

// group places one number per channel.
func (w *writer) group(prefix string, c *ir.Const) map[string]any {
	return map[string]any{
		prefix + "Count":  c.Elems(),
		prefix + "Index":  0,
		prefix + "Offset": w.place(c),
		prefix + "Type":   elementFloat16,
	}
}

func (w *writer) conv(op *ir.Op) {
	x, k, b := op.Arg(ir.ParamX), op.Arg(ir.ParamWeight), op.Arg(ir.ParamBias)
	c, err := ir.ConvAttrs(op)
	switch {
	case err != nil:
		w.fail(nil, err.Error(), "")
	case c.Spatial != 2 || !k.IsConst() || b != nil && !b.IsConst():
		w.fail(nil, "a convolution is over two dimensions and its coefficients are constants", "")
	case c.Groups != 1:
		w.fail(nil, "a convolution has one group", fmt.Sprint(c.Groups))
	case c.Dilations[0] != 1 || c.Dilations[1] != 1:
		w.fail(nil, "a convolution has dilations of 1", fmt.Sprint(c.Dilations))
	case c.Strides[0] != c.Strides[1]:
		w.fail(nil, "a convolution has one step for both dimensions", fmt.Sprint(c.Strides))
	case c.Strides[0] > maxTap || slices.Max(k.Type.Shape[2:]) > maxTap ||
		slices.Max(append(slices.Clone(c.PadBefore), c.PadAfter...)) > maxTap:
		w.fail(nil, fmt.Sprintf("steps, kernels and paddings are at most %d", maxTap), "")
	}
	w.shape(k)
	bottom := w.bottom(x)
	if w.err != nil {
		return
	}
	params := map[string]any{
		"Type": "Conv", "KernelHeight": c.Kernel[0], "KernelWidth": c.Kernel[1], "KernelMode": "Dense",
		"KernelType":  elementFloat16,
		"KernelIndex": 0, "KernelOffset": w.place(k.Const), "Step": []any{c.Strides[1], c.Strides[0]},
		"PadTop": c.PadBefore[0], "PadBot": c.PadAfter[0], "PadLeft": c.PadBefore[1], "PadRight": c.PadAfter[1],
	}
	v := op.Results[0]
	stem := v.Name
	if b != nil {
		stem += "_conv"
	}
	name := w.unit(stem, "Conv", bottom, params)
	w.net[name].(map[string]any)["OutputChannels"] = k.Type.Shape[0]
	w.tensors[v] = name
	if b != nil {
		w.shape(b)
		w.result(op, "GOC", name, map[string]any{"BiasScaleGroupData": w.group("Bias", b.Const)})
	}
}

func (w *writer) concat(op *ir.Op) {
	v := op.Results[0]
	axis, ok := ir.ArgInt(op, ir.ParamAxis)
	if inter := op.Arg(ir.ParamInterleave); !ok || inter != nil && (!inter.IsConst() || inter.Const.Bool(0)) {
		w.fail(nil, "tensors are joined along a known axis, not interleaved", "")
	}
	w.shape(v)
	if w.err != nil {
		return
	}
	if axis < 0 {
		axis += int64(v.Type.Rank())
	}
	var bottoms []any
	for _, x := range op.ArgList(ir.ParamValues) {
		bottoms = append(bottoms, w.bottom(x))
	}
	w.result(op, "Concat", bottoms, map[string]any{"Dimension": axisOf(v, int(axis))})
}

func (w *writer) reshape(op *ir.Op) {
	s := w.shape(op.Results[0])
	w.result(op, "Reshape", w.bottom(op.Arg(ir.ParamX)), map[string]any{
		"ReshapedBatch": s[0], "ReshapedChannel": s[1], "ReshapedDepth": 1, "ReshapedHeight": s[2],
		"ReshapedWidth": s[3],
	})
}

func (w *writer) tile(op *ir.Op) {
	x, v := op.Arg(ir.ParamX), op.Results[0]
	have, want := w.shape(x), w.shape(v)
	var info []any
	for i, a := range []string{axisBatch, axisChannel, axisHeight, axisWidth} {
		if have[i] != want[i] && have[i] != 1 {
			w.fail(nil, "only axes of one element are repeated", x.Type.String())
		}
		info = append(info, map[string]any{"Dimension": a, "Size": want[i]})
	}
	w.result(op, "Broadcast", w.bottom(x), map[string]any{"BroadcastInfo": info})
}

// slice expresses a slice as one view for each axis that it cuts.
func (w *writer) slice(op *ir.Op) {
	x, v := op.Arg(ir.ParamX), op.Results[0]
	s, err := ir.SliceAttrs(op)
	if err != nil {
		w.fail(nil, err.Error(), "")
		return
	}
	have := w.shape(x)
	name := w.bottom(x)
	for i, a := range s {
		if a.Stride != 1 || a.Squeeze || a.Begin < 0 || a.Len < 1 {
			w.fail(nil, "a slice takes consecutive elements from a known first one, and keeps every dimension",
				fmt.Sprintf("dimension %d", i))
		}
		if w.err != nil {
			return
		}
		if n := have[4-len(s)+i]; a.Begin == 0 && a.Len == n {
			continue
		}
		name = w.unit(v.Name, "InputView", name, map[string]any{
			"Dimension": axisOf(x, i),
			"Offset":    a.Begin,
			"Size":      a.Len,
		})
	}
	w.shape(v)
	w.tensors[v] = name
}
