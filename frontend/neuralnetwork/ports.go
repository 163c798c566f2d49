package neuralnetwork

import (
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/ir"
)

// Values of NeuralNetwork.arrayInputShapeMapping and imageInputShapeMapping.
const (
	arrayExact = 1
	imageRank4 = 1
)

// layouts are the channels of images by their colour space, in the order of the tensor, by the name of their bias.
var layouts = map[string][]string{
	"RGB":               {"redBias", "greenBias", "blueBias"},
	"BGR":               {"blueBias", "greenBias", "redBias"},
	"GRAYSCALE":         {"grayBias"},
	"GRAYSCALE_FLOAT16": {"grayBias"},
}

// input writes the parameter of an input, and changes its description to the parameter's.
func (n *network) input(x *metadata.Feature) {
	v := &ir.Value{Name: n.reserved[x.Name], Type: ir.Type{DType: ir.FP32}}
	n.stem = v.Name
	edge := x.Name
	x.Name = v.Name
	switch x.Kind {
	case "image":
		channels := layouts[x.Elem]
		if channels == nil || len(x.Shape) != 2 {
			n.fail("input %q: want an image with a colour space and a size, got %s", edge, x.Type())
		}
		v.Type.Shape = append([]int64{1, int64(len(channels))}, n.dims(x)...)
	case "multiArray":
		if d, ok := ir.ParseDType(x.Elem); ok && (d == ir.FP16 || d == ir.Int32) {
			v.Type.DType = d
		} else {
			x.Elem = ir.FP32.String()
		}
		v.Type.Shape = n.dims(x)
	default:
		n.fail("input %q is a %s; zinc reads networks on images and arrays", edge, x.Kind)
	}
	if slices.ContainsFunc(v.Type.Shape, func(d int64) bool { return d == 0 || d > math.MaxInt32 }) {
		n.fail("input %q is %s; want dimensions of 1 to %d", edge, v.Type, math.MaxInt32)
	}
	if !v.Type.Static() {
		n.open = append(n.open, x)
	}
	n.fn.Body.Params = append(n.fn.Body.Params, v)
	t := tensor{v: v}
	if t.v.Type.DType != ir.FP32 {
		t.v = n.Cast(v, ir.FP32)
	}
	switch {
	case x.Kind == "image":
		t.five = n.m.Int("imageInputShapeMapping") != imageRank4
	case n.m.Int("arrayInputShapeMapping") != arrayExact:
		t.five = true
		switch v.Type.Rank() {
		case 1:
			t.v = n.Do(ir.OpExpandDims, ir.Arg{Param: ir.ParamX, Value: t.v},
				ir.Arg{Param: ir.ParamAxes, Value: n.Ints(0, 2, 3)})
		case 3:
			t.v = n.Do(ir.OpExpandDims, ir.Arg{Param: ir.ParamX, Value: t.v},
				ir.Arg{Param: ir.ParamAxes, Value: n.Ints(0)})
		default:
			n.fail("input %q has %d dimensions; arrays of this network have 1, channels, or 3, channels, height "+
				"and width",
				edge, v.Type.Rank())
		}
	}
	n.tensors[edge] = t
}

// dims returns the dimensions of an input, unknown ones if the network may have them.
func (n *network) dims(x *metadata.Feature) []int64 {
	dims := slices.Clone(x.Shape)
	if !n.flexible {
		x.Ranges, x.Enumerated = nil, nil
		return dims
	}
	for i := range dims {
		varies := len(x.Ranges) > 0 && x.Ranges[i][0] != x.Ranges[i][1] ||
			slices.ContainsFunc(x.Enumerated, func(s []int64) bool { return s[i] != dims[i] })
		if varies {
			dims[i] = ir.Unknown
		}
	}
	return dims
}

// shapes describes the shapes of inputs that are not fixed.
func (n *network) shapes() {
	if len(n.open) == 0 {
		return
	}
	flex := ir.Flexible{Default: map[string][]int64{}, Ranges: map[string][][2]int64{}}
	for _, x := range n.open {
		full := func(s []int64) []int64 {
			if x.Kind == "image" {
				return append([]int64{1, int64(len(layouts[x.Elem]))}, s...)
			}
			return s
		}
		flex.Default[x.Name] = full(x.Shape)
		if len(x.Enumerated) == 0 {
			r := x.Ranges
			if x.Kind == "image" {
				c := int64(len(layouts[x.Elem]))
				r = append([][2]int64{{1, 1}, {c, c}}, r...)
			}
			flex.Ranges[x.Name] = r
			continue
		}
		if flex.Enums == nil {
			flex.Enums = make([]map[string][]int64, len(x.Enumerated))
		}
		if len(flex.Enums) != len(x.Enumerated) {
			n.fail("input %q has %d enumerated shapes, another input has %d; zinc needs one of each for a "+
				"configuration",
				x.Name, len(x.Enumerated), len(flex.Enums))
		}
		for i, s := range x.Enumerated {
			if flex.Enums[i] == nil {
				flex.Enums[i] = map[string][]int64{}
			}
			flex.Enums[i][x.Name] = full(s)
		}
	}
	n.fn.Flex = flex
}

// preprocess writes what is done to images before the network.
func (n *network) preprocess(inputs []metadata.Feature) {
	images := map[string]*metadata.Feature{}
	for i := range inputs {
		if f := &n.about.Functions[0].Inputs[i]; f.Kind == "image" {
			images[f.Name] = f
		}
	}
	for _, m := range n.m.Messages("preprocessing") {
		edge := m.Text("featureName")
		x := images[edge]
		if edge == "" && len(images) == 1 { // which need not be named
			for _, x = range images {
			}
		}
		if x == nil {
			n.Stop(m.Errorf("the preprocessing is for input %q, which is not one of the %d images of the model", edge,
				len(images)))
		}
		t := n.tensors[x.Name]
		n.stem = n.reserved[x.Name]
		c := int64(len(layouts[x.Elem]))
		switch {
		case m.Has("scaler"):
			s := m.Message("scaler")
			scale := s.Float("channelScale")
			if scale == 0 {
				n.Stop(s.Errorf("channelScale is 0, which makes every image the same; want a scale such as 1"))
			}
			bias := make([]float64, c)
			for i, name := range layouts[x.Elem] {
				bias[i] = s.Float(name)
			}
			t.v = n.scaled(t.v, []float64{scale}, bias)
		case m.Has("meanImage"):
			mm := m.Message("meanImage")
			data, _ := mm.Data("meanImage")
			mean := ir.Const{Type: ir.TensorOf(ir.FP32, c, x.Shape[0], x.Shape[1]), Data: data}
			if mean.Type.Bytes() != int64(len(data)) {
				n.Stop(mm.Errorf("the mean image has %d bytes, an image of %s needs %d", len(data),
					ir.ShapeString(mean.Type.Shape), mean.Type.Bytes()))
			}
			t.v = n.Binary(ir.OpSub, t.v, n.Const(&mean))
		}
		n.tensors[x.Name] = t
	}
}

// scaled writes x * scale + bias, each one number or one for each channel.
func (n *network) scaled(x *ir.Value, scale, bias []float64) *ir.Value {
	same := func(vs []float64, v float64) bool {
		return !slices.ContainsFunc(vs, func(w float64) bool { return w != v })
	}
	if !same(scale, 1) {
		x = n.Binary(ir.OpMul, x, n.channels(scale))
	}
	if !same(bias, 0) {
		x = n.Binary(ir.OpAdd, x, n.channels(bias))
	}
	return x
}

// channels returns a constant with a number for each channel, or a scalar.
func (n *network) channels(vs []float64) *ir.Value {
	if !slices.ContainsFunc(vs, func(v float64) bool { return v != vs[0] }) {
		return n.Num(ir.FP32, vs[0])
	}
	c := &ir.Const{Type: ir.TensorOf(ir.FP32, int64(len(vs)), 1, 1)}
	for _, v := range vs {
		c.Data = ir.AppendElem(c.Data, ir.FP32, v)
	}
	return n.Const(c)
}

// outputs writes the results of the function, and changes their descriptions to what they are. last is the output of
// the last layer.
func (n *network) outputs(f *metadata.Function, last string) {
	class := n.about.Form == "neuralNetworkClassifier"
	for i := range f.Outputs {
		x := &f.Outputs[i]
		if class && (x.Name == f.Predicted || x.Name == f.Probabilities) {
			continue
		}
		v := n.output(x)
		n.fn.Body.Outputs = append(n.fn.Body.Outputs, v)
	}
	if class {
		n.classify(f, last)
	}
	if len(n.fn.Body.Outputs) == 0 {
		n.fail("the model has no output")
	}
}

// output returns the value of an output, in the shape and with the name that the model has it.
func (n *network) output(x *metadata.Feature) *ir.Value {
	edge := x.Name
	t, ok := n.tensors[edge]
	if !ok {
		n.fail("output %q of the model is not an output of a layer", edge)
	}
	n.stem = n.reserved[edge]
	v := t.v
	switch x.Kind {
	case "image":
		if v.Type.Rank() == 5 {
			v = n.squeeze(v, 0)
		}
		channels := layouts[x.Elem]
		if s := v.Type.Shape; len(s) != 4 || s[0] != 1 || s[1] != int64(len(channels)) {
			n.fail("output %q is an image in %s, but the network returns %s", edge, x.Elem, v.Type)
		}
		if s := v.Type.Shape; v.Type.Static() {
			x.Shape, x.Ranges, x.Enumerated = s[2:], nil, nil
		}
	default:
		if t.five {
			v = n.declared(v, x.Shape)
		}
		elem := ir.FP32
		if d, ok := ir.ParseDType(x.Elem); ok && x.Kind == "multiArray" && (d == ir.FP16 || d == ir.Int32) {
			elem = d
			v = n.Cast(v, d)
		}
		x.Kind, x.Elem, x.Shape, x.Ranges, x.Enumerated = "multiArray", elem.String(), nil, nil, nil
		if v.Type.Static() {
			x.Shape = v.Type.Shape
		}
	}
	if v.Def == nil || n.given[v] || v == t.v && v.Name != n.reserved[edge] {
		v = n.Do(ir.OpIdentity, ir.Arg{Param: ir.ParamX, Value: v})
	}
	n.given[v] = true
	x.Name = n.reserved[edge]
	if v.Name != x.Name {
		if t.v.Name == x.Name {
			t.v.Name = n.name(x.Name)
		}
		delete(n.taken, v.Name)
		v.Name = x.Name
	}
	return v
}

// declared gives [sequence, channels, height, width] the shape of an array: the declared one if it has as many
// elements, else the one without leading dimensions of 1.
func (n *network) declared(v *ir.Value, shape []int64) *ir.Value {
	s := v.Type.Shape
	if want := ir.TensorOf(ir.FP32, shape...); v.Type.Static() && len(shape) > 0 && want.Elems() == v.Type.Elems() {
		return n.Reshape(v, shape...)
	}
	switch {
	case s[0] != 1:
		return n.Do(ir.OpExpandDims, ir.Arg{Param: ir.ParamX, Value: v}, ir.Arg{Param: ir.ParamAxes, Value: n.Ints(1)})
	case s[2] == 1 && s[3] == 1:
		return n.squeeze(v, 0, 2, 3)
	}
	return n.squeeze(v, 0)
}

func (n *network) squeeze(v *ir.Value, axes ...int64) *ir.Value {
	return n.Do(ir.OpSqueeze, ir.Arg{Param: ir.ParamX, Value: v}, ir.Arg{Param: ir.ParamAxes, Value: n.Ints(axes...)})
}

// classify writes the class of the highest probability and the probabilities by class. The labels are in the order of
// the tensor.
func (n *network) classify(f *metadata.Function, last string) {
	edge := n.m.Text("labelProbabilityLayerName")
	if edge == "" {
		edge = last
	}
	t, ok := n.tensors[edge]
	if !ok {
		n.fail("the probabilities are in tensor %q, which no layer has as an output", edge)
	}
	labels, key := &ir.Const{Type: ir.Type{Kind: ir.List, DType: ir.String}}, "string"
	labels.Strings = n.m.Message("stringClassLabels").Texts("vector")
	if ints := n.m.Message("int64ClassLabels").Ints("vector"); len(ints) > 0 {
		labels, key = ir.ConstInts(ir.Int64, ints...), "int64"
		labels.Type = ir.Type{Kind: ir.List, DType: ir.Int64, Len: int64(len(ints))}
	}
	labels.Type.Len = max(labels.Type.Len, int64(len(labels.Strings)))
	if count := labels.Type.Len; !t.v.Type.Static() || t.v.Type.Elems() != count || count == 0 {
		n.fail("the network has %d class labels, but tensor %q of probabilities is %s", count, edge, t.v.Type)
	}
	n.stem = edge
	p := n.Reshape(t.v, labels.Type.Len)
	if p == t.v {
		p = n.Do(ir.OpIdentity, ir.Arg{Param: ir.ParamX, Value: p})
	}
	out := n.All(ir.OpClassify, ir.Arg{Param: ir.ParamProbabilities, Value: p},
		ir.Arg{Param: ir.ParamClasses, Value: n.Const(labels)})
	for i, name := range []string{f.Predicted, f.Probabilities} {
		delete(n.taken, out[i].Name)
		if out[i].Name = n.reserved[name]; out[i].Name == "" {
			out[i].Name = n.name(edge + "_" + ir.OpClassify.Name)
		}
		if t.v.Name == out[i].Name {
			t.v.Name = n.name(edge)
		}
	}
	delete(n.taken, p.Name)
	p.Name = n.name(edge + "_probabilities") // what an application without texts and dictionaries reads
	for i := range f.Outputs {
		switch x := &f.Outputs[i]; x.Name {
		case f.Predicted:
			x.Kind, x.Name = key, out[0].Name
		case f.Probabilities:
			x.Kind, x.Elem, x.Name = "dictionary", key, out[1].Name
		}
	}
	f.Predicted, f.Probabilities = out[0].Name, out[1].Name
	n.fn.Body.Outputs = append(n.fn.Body.Outputs, out...)
}
