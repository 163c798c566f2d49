package neuralnetwork

import (
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/ir"
)

// innerProduct reads channels, height and width of a tensor of rank 4 or 5 as one vector, and the last axis of others.
func (l *layer) innerProduct() []tensor {
	if l.Bool("int8DynamicQuantize") {
		l.reject("int8DynamicQuantize", "zinc does not quantize inputs while the network runs")
	}
	t, in, out := l.plane(0), l.Int("inputChannels"), l.Int("outputChannels")
	var bias []ir.Arg
	if l.Bool("hasBias") {
		bias = []ir.Arg{arg(ir.ParamBias, l.vector(l.Message, "bias", out))}
	}
	s := t.v.Type.Shape
	if len(s) < 4 {
		w := arg(ir.ParamWeight, l.matrix(l.Message, "weights", 0, out, in))
		if len(s) == 1 {
			x := l.on(ir.OpExpandDims, t.v, arg(ir.ParamAxes, l.ints(0)))
			return one(l.squeeze(l.on(ir.OpLinear, x, append(bias, w)...), 0), false)
		}
		return one(l.on(ir.OpLinear, t.v, append(bias, w)...), false)
	}
	x := t.v
	if s[2] != 1 || s[3] != 1 {
		x = l.Reshape(x, l.size(x, 0), l.vectorOf(x), 1, 1)
	}
	if c := x.Type.Shape[1]; c >= 0 && c != in {
		l.reject("inputChannels", "its input has %d channels, the weights have %d", c, in)
	}
	args := append(bias, arg(ir.ParamWeight, l.matrix(l.Message, "weights", 0, out, in, 1, 1)),
		arg(ir.ParamStrides, l.ints(1, 1)), arg(ir.ParamPadType, l.Str("valid")), arg(ir.ParamDilations, l.ints(1, 1)),
		arg(ir.ParamGroups, l.integer(1)))
	return one(l.on(ir.OpConv, x, args...), t.five)
}

// embedding reads an index for each element of the sequence.
func (l *layer) embedding() []tensor {
	t := l.image(0)
	n := l.size(t.v, 0)
	if t.v.Type.Elems() != n {
		l.refuse("its input is %s; want one number, the index, for each element of the sequence", t.v.Type)
	}
	v := l.looked(l.Reshape(t.v, n), l.Int("inputDim"), l.Int("outputChannels"))
	return one(l.Reshape(v, n, l.Int("outputChannels"), 1, 1), t.five)
}

// embeddingND replaces the last dimension, which is 1, by the embedding.
func (l *layer) embeddingND() []tensor {
	v := l.full(0)
	last := l.axisOf(v, -1)
	if d := v.Type.Shape[last]; d != 1 {
		l.refuse("its input is %s; want 1 for the last dimension", v.Type)
	}
	if last == 0 {
		return one(l.looked(v, l.Int("vocabSize"), l.Int("embeddingSize")), false)
	}
	return one(l.looked(l.squeeze(v, int64(last)), l.Int("vocabSize"), l.Int("embeddingSize")), false)
}

// looked returns rows of the table of embeddings, which has a column for each index in the file.
func (l *layer) looked(indices *ir.Value, count, size int64) *ir.Value {
	table := l.Transpose(l.vector(l.Message, "weights", size, count), 1, 0)
	v := l.on(ir.OpGather, table, arg(ir.ParamIndices, l.Cast(indices, ir.Int32)), arg(ir.ParamAxis, l.integer(0)))
	if l.Bool("hasBias") {
		v = l.Binary(ir.OpAdd, v, l.vector(l.Message, "bias", size))
	}
	return v
}

// batchedMatmul multiplies two inputs, or one with weights [out, in] as they are stored.
func (l *layer) batchedMatmul() []tensor {
	if l.Bool("int8DynamicQuantize") {
		l.reject("int8DynamicQuantize", "zinc does not quantize inputs while the network runs")
	}
	if len(l.in) == 2 {
		vs, five := l.alike()
		return one(l.on(ir.OpMatMul, vs[0], arg(ir.ParamY, vs[1]),
			arg(ir.ParamTransposeX, l.flag(l.Bool("transposeA"))),
			arg(ir.ParamTransposeY, l.flag(l.Bool("transposeB")))), five)
	}
	in, out := l.Int("weightMatrixFirstDimension"), l.Int("weightMatrixSecondDimension")
	args := []ir.Arg{arg(ir.ParamWeight, l.matrix(l.Message, "weights", 0, out, in))}
	if l.Bool("hasBias") {
		args = append(args, arg(ir.ParamBias, l.vector(l.Message, "bias", out)))
	}
	v := l.full(0)
	if v.Type.Rank() == 1 {
		v = l.on(ir.OpExpandDims, v, arg(ir.ParamAxes, l.ints(0)))
		return one(l.squeeze(l.on(ir.OpLinear, v, args...), 0), false)
	}
	return one(l.on(ir.OpLinear, v, args...), false)
}

func (l *layer) gather() []tensor {
	return one(l.on(ir.OpGather, l.full(0), arg(ir.ParamIndices, l.Cast(l.full(1), ir.Int32)),
		arg(ir.ParamAxis, l.integer(l.Int("axis")))), false)
}

func (l *layer) batchnorm() []tensor {
	t, c := l.image(0), l.Int("channels")
	var args []ir.Arg
	add := func(p ir.ParamName) {
		if l.Has(string(p)) {
			args = append(args, arg(p, l.vector(l.Message, string(p), c)))
		}
	}
	add(ir.ParamGamma)
	add(ir.ParamBeta)
	args = append(args, arg(ir.ParamEpsilon, l.num(or(l.Message, "epsilon", 1e-5))))
	if !l.Bool("computeMeanVar") {
		for _, p := range []ir.ParamName{ir.ParamMean, ir.ParamVariance} {
			args = append(args, arg(p, l.vector(l.Message, string(p), c)))
		}
		return one(l.on(ir.OpBatchNorm, t.v, args...), t.five)
	}
	if !l.Bool("instanceNormalization") && t.v.Type.Shape[0] != 1 {
		l.reject("computeMeanVar", "statistics over %s; zinc reads those of one image", t.v.Type)
	}
	return one(l.on(ir.OpInstanceNorm, t.v, args...), t.five)
}

// mvn subtracts the mean and, if normalizeVariance is set, divides by the deviation.
func (l *layer) mvn() []tensor {
	t := l.image(0)
	axes := []int64{2, 3}
	if l.Bool("acrossChannels") {
		axes = []int64{1, 2, 3}
	}
	if l.Bool("normalizeVariance") {
		l.warnf("%s: epsilon is added to the variance; the format does not say where it is added", l.what())
		return one(l.on(ir.OpLayerNorm, t.v, arg(ir.ParamAxes, l.ints(axes...)),
			arg(ir.ParamEpsilon, l.num(or(l.Message, "epsilon", 1e-6)))), t.five)
	}
	return one(l.Binary(ir.OpSub, t.v, l.over(ir.OpReduceMean, t.v, axes...)), t.five)
}

func (l *layer) l2normalize() []tensor {
	t := l.image(0)
	return one(l.on(ir.OpL2Norm, t.v, arg(ir.ParamEpsilon, l.num(or(l.Message, "epsilon", 1e-6)))), t.five)
}

func (l *layer) layerNormalization() []tensor {
	v, shape := l.full(0), l.Ints("normalizedShape")
	var axes []int64
	for i := range shape {
		axes = append(axes, int64(i-len(shape)))
	}
	return one(l.on(ir.OpLayerNorm, v, arg(ir.ParamAxes, l.ints(axes...)),
		arg(ir.ParamGamma, l.vector(l.Message, "gamma", shape...)),
		arg(ir.ParamBeta, l.vector(l.Message, "beta", shape...)),
		arg(ir.ParamEpsilon, l.num(l.Float("eps")))), false)
}

func (l *layer) lrn() []tensor {
	t := l.image(0)
	return one(l.on(ir.OpLocalResponseNorm, t.v, arg(ir.ParamSize, l.integer(l.Int("localSize"))),
		arg(ir.ParamAlpha, l.num(l.Float("alpha"))), arg(ir.ParamBeta, l.num(l.Float("beta"))),
		arg(ir.ParamK, l.num(or(l.Message, "k", 1)))), t.five)
}

// softmax is over the channels.
func (l *layer) softmax() []tensor {
	t := l.plane(0)
	return one(l.on(ir.OpSoftmax, t.v, arg(ir.ParamAxis, l.integer(int64(l.axisOf(t.v, -3))))), t.five)
}

func (l *layer) softmaxND() []tensor {
	return one(l.on(ir.OpSoftmax, l.full(0), arg(ir.ParamAxis, l.integer(l.Int("axis")))), false)
}

// A gate is a part of a recurrent layer: the fields of its weights.
type gate struct{ weight, recursion, bias, peephole string }

// The gates in the order of the blocks in MIL.
var (
	rnnGates = []gate{{"weightMatrix", "recursionMatrix", "biasVector", ""}}
	gruGates = []gate{
		{"resetGateWeightMatrix", "resetGateRecursionMatrix", "resetGateBiasVector", ""},
		{"outputGateWeightMatrix", "outputGateRecursionMatrix", "outputGateBiasVector", ""},
		{"updateGateWeightMatrix", "updateGateRecursionMatrix", "updateGateBiasVector", ""},
	}
	lstmGates = []gate{
		{"inputGateWeightMatrix", "inputGateRecursionMatrix", "inputGateBiasVector", "inputGatePeepholeVector"},
		{"forgetGateWeightMatrix", "forgetGateRecursionMatrix", "forgetGateBiasVector", "forgetGatePeepholeVector"},
		{"outputGateWeightMatrix", "outputGateRecursionMatrix", "outputGateBiasVector", "outputGatePeepholeVector"},
		{"blockInputWeightMatrix", "blockInputRecursionMatrix", "blockInputBiasVector", ""},
	}
)

// joined returns the weights of the gates as one constant. values, if not nil, may change the weights of a gate.
func (l *layer) joined(m *mlmodel.Message, gates []gate, field func(g gate) string, change func(g int, c *ir.Const),
	shape ...int64) *ir.Value {
	all := &ir.Const{}
	name := ""
	for i, g := range gates {
		f := field(g)
		if f == "" {
			continue
		}
		c := l.dense(l.weights(m, f, shape...), 0)
		if change != nil {
			change(i, c)
		}
		all.Data = append(all.Data, c.Data...)
		name = f
	}
	all.Type = ir.TensorOf(ir.FP32, append([]int64{int64(len(all.Data)) / 4 / product(shape[1:])}, shape[1:]...)...)
	return l.constant(name, all)
}

func product(ds []int64) int64 {
	n := int64(1)
	for _, d := range ds {
		n *= d
	}
	return n
}

// recurrentActivations are the activations that MIL names in recurrent layers. Those with numbers have one choice of
// them, by the format's text.
var recurrentActivations = map[string]string{
	"linear": "linear", "sigmoid": "sigmoid", "tanh": "tanh", "ReLU": "relu", "scaledTanh": "scaled_tanh",
	"sigmoidHard": "sigmoid_hard",
}

// activationName returns the name of an activation of a recurrent layer.
func (l *layer) activationName(m *mlmodel.Message) *ir.Value {
	kind, sub, err := m.Choice()
	if err != nil {
		l.Stop(err)
	}
	name, ok := recurrentActivations[kind]
	if !ok {
		l.Stop(m.Errorf("%s: activation %s in a recurrent layer", l.what(), kind))
	}
	if kind == "linear" && (sub.Float("alpha") != 1 || sub.Float("beta") != 0) {
		l.Stop(sub.Errorf("%s: a linear activation of a recurrent layer other than the identity", l.what()))
	}
	if kind == "ReLU" || kind == "linear" {
		l.warnf("%s: Core ML limits the sums of its gates to -50 and 50 before %s, which MIL does not", l.what(), kind)
	}
	return l.Str(name)
}

// activationNames returns the arguments with the activations of a recurrent layer.
func (l *layer) activationNames(ms []*mlmodel.Message, params ...ir.ParamName) []ir.Arg {
	if len(ms) != len(params) {
		l.refuse("it has %d activations, want %d", len(ms), len(params))
	}
	var args []ir.Arg
	for i, p := range params {
		args = append(args, arg(p, l.activationName(ms[i])))
	}
	return args
}

// sequence returns the input of a recurrent layer as [sequence, batch, features], and the state in another input or
// zeros.
func (l *layer) sequence() *ir.Value {
	t := l.image(0)
	if s := t.v.Type.Shape; s[2] != 1 || s[3] != 1 {
		l.refuse("its input is %s; want height and width of 1", t.v.Type)
	}
	return l.on(ir.OpExpandDims, l.squeeze(t.v, 2, 3), arg(ir.ParamAxes, l.ints(1)))
}

// state returns the state in an input, or zeros of [1, size].
func (l *layer) state(i int, size int64) *ir.Value {
	if i < len(l.in) {
		return l.Reshape(l.image(i).v, 1, size)
	}
	c := &ir.Const{Type: ir.TensorOf(ir.FP32, 1, size)}
	c.Data = make([]byte, c.Type.Bytes())
	return l.constant("zeros", c)
}

// states writes results of a recurrent layer, [sequence, batch, features] and [batch, features] of states.
func (l *layer) states(vs []*ir.Value) []tensor {
	var out []tensor
	for i, v := range vs[:min(len(vs), len(l.names))] {
		if i == 0 {
			v = l.squeeze(v, 1)
		}
		out = append(out, tensor{l.on(ir.OpExpandDims, v, arg(ir.ParamAxes, l.ints(2, 3))), l.in[0].five})
	}
	if len(out) < len(l.names) {
		l.refuse("it has %d outputs, want at most %d", len(l.names), len(out))
	}
	return out
}

// direction returns the word for the order in which a layer reads the sequence. The outputs of a reversed one are in
// the order of processing, as in MIL: coremltools writes this layer for MIL's operations without turning them.
func (l *layer) direction() ir.Arg {
	return arg(ir.ParamDirection, l.Str(map[bool]string{false: "forward", true: "reverse"}[l.Bool("reverseInput")]))
}

// recurrent writes a recurrent layer without cells.
func (l *layer) recurrent(o *ir.Operation, gates []gate, biased string, args ...ir.Arg) []tensor {
	in, size := l.Int("inputVectorSize"), l.Int("outputVectorSize")
	args = append(args, l.direction(), arg(ir.ParamOutputSequence, l.flag(l.Bool("sequenceOutput"))),
		arg(ir.ParamWeightIH, l.joined(l.Message, gates, func(g gate) string { return g.weight }, nil, size, in)),
		arg(ir.ParamWeightHH, l.joined(l.Message, gates, func(g gate) string { return g.recursion }, nil, size, size)))
	if l.Bool(biased) {
		args = append(args, arg(ir.ParamBias, l.joined(l.Message, gates, func(g gate) string { return g.bias }, nil,
			size)))
	}
	args = append(args, arg(ir.ParamX, l.sequence()), arg(ir.ParamInitialH, l.state(1, size)))
	return l.states(l.All(o, args...))
}

func (l *layer) simpleRecurrent() []tensor {
	return l.recurrent(ir.OpRNN, rnnGates, "hasBiasVector",
		l.activationNames([]*mlmodel.Message{l.Message.Message("activation")}, ir.ParamActivation)...)
}

func (l *layer) gru() []tensor {
	return l.recurrent(ir.OpGRU, gruGates, "hasBiasVectors",
		l.activationNames(l.Messages("activations"), ir.ParamRecurrentActivation, ir.ParamActivation)...)
}

// lstm writes a long short-term memory of one direction or both.
func (l *layer) lstm() []tensor {
	p := l.Message.Message("params")
	in, size := l.Int("inputVectorSize"), l.Int("outputVectorSize")
	both := l.kind == "biDirectionalLSTM"
	if p.Bool("coupledInputAndForgetGate") {
		l.Stop(p.FieldErrorf("coupledInputAndForgetGate", "%s: coupled gates, which MIL's lstm lacks", l.what()))
	}
	clip := or(p, "cellClipThreshold", 50)
	args := []ir.Arg{
		arg(ir.ParamOutputSequence, l.flag(p.Bool("sequenceOutput"))),
		arg(ir.ParamClip, l.num(clip)),
	}
	type set struct{ ih, hh, bias, peephole ir.ParamName }
	sets := []set{{ir.ParamWeightIH, ir.ParamWeightHH, ir.ParamBias, ir.ParamPeephole},
		{ir.ParamWeightIHBack, ir.ParamWeightHHBack, ir.ParamBiasBack, ir.ParamPeepholeBack}}
	ms, acts := l.Messages("weightParams"), "activations"
	width := size
	if both {
		acts, width = "activationsForwardLSTM", 2*size
		args = append(args, arg(ir.ParamDirection, l.Str("bidirectional")))
		back := l.kinds(l.Messages("activationsBackwardLSTM"))
		if fore := l.kinds(l.Messages(acts)); fore != back {
			l.reject("activationsBackwardLSTM",
				"activations %s; those of the other direction are %s, and MIL's lstm has one set", back, fore)
		}
	} else {
		args = append(args, l.direction())
	}
	args = append(args, l.activationNames(l.Messages(acts), ir.ParamRecurrentActivation, ir.ParamCellActivation,
		ir.ParamActivation)...)
	if want := width / max(size, 1); int64(len(ms)) != want {
		l.refuse("it has %d sets of weights, want %d", len(ms), want)
	}
	for i, m := range ms {
		s := sets[i]
		args = append(args,
			arg(s.ih, l.joined(m, lstmGates, func(g gate) string { return g.weight }, nil, size, in)),
			arg(s.hh, l.joined(m, lstmGates, func(g gate) string { return g.recursion }, nil, size, size)))
		if p.Bool("hasBiasVectors") {
			args = append(args, arg(s.bias, l.joined(m, lstmGates, func(g gate) string { return g.bias },
				l.forget(p.Bool("forgetBias")), size)))
		} else if p.Bool("forgetBias") {
			l.Stop(p.FieldErrorf("forgetBias", "%s: a bias of the forget gate without biases", l.what()))
		}
		if p.Bool("hasPeepholeVectors") {
			args = append(args, arg(s.peephole, l.joined(m, lstmGates, func(g gate) string { return g.peephole }, nil,
				size)))
		}
	}
	if both {
		args = append(args, arg(ir.ParamInitialH, l.pairOfStates(1, 3, size)),
			arg(ir.ParamInitialC, l.pairOfStates(2, 4, size)))
	} else {
		args = append(args, arg(ir.ParamInitialH, l.state(1, size)), arg(ir.ParamInitialC, l.state(2, size)))
	}
	vs := l.All(ir.OpLSTM, append(args, arg(ir.ParamX, l.sequence()))...)
	if !both {
		return l.states(vs)
	}
	// The format has the states of each direction as outputs of their own.
	outs := vs[:1]
	for dir := range int64(2) {
		for _, s := range vs[1:] {
			if len(l.names) > 1 {
				outs = append(outs[:len(outs):len(outs)], l.Slice(s, 1, dir*size, (dir+1)*size))
			}
		}
	}
	return l.states(outs)
}

// pairOfStates returns the states in two inputs, of both directions, or zeros.
func (l *layer) pairOfStates(i, j int, size int64) *ir.Value {
	if j < len(l.in) {
		return l.Builder.Concat(1, l.state(i, size), l.state(j, size))
	}
	return l.state(len(l.in), 2*size)
}

// kinds returns the kinds of activations as text.
func (l *layer) kinds(ms []*mlmodel.Message) string {
	s := ""
	for _, m := range ms {
		kind, _, _ := m.Choice()
		s += kind + " "
	}
	return s
}

// forget returns what adds 1 to the biases of the forget gate.
func (l *layer) forget(set bool) func(g int, c *ir.Const) {
	if !set {
		return nil
	}
	return func(g int, c *ir.Const) {
		if lstmGates[g].bias != "forgetGateBiasVector" {
			return
		}
		data := make([]byte, 0, len(c.Data))
		for i := range c.Elems() {
			data = ir.AppendElem(data, ir.FP32, float64(float32(c.Float(i))+1))
		}
		c.Data = data
	}
}
