package neuralnetwork

import (
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/ir"
)

// A layer is the layer that is being read. Its parameters are the fields of its Message.
type layer struct {
	*network
	*mlmodel.Message
	node  *mlmodel.Message
	kind  string
	in    []tensor
	names []string // of its outputs
}

// what names the layer in errors.
func (l *layer) what() string {
	name := l.node.Text("name")
	if name == "" && len(l.names) > 0 {
		name = l.names[0]
	}
	const most = 80
	if len(name) > most {
		name = name[:most] + "..."
	}
	return fmt.Sprintf("layer %q of kind %s", name, l.kind)
}

// refuse ends the reading with an error about the layer.
func (l *layer) refuse(format string, args ...any) {
	l.Stop(l.node.Errorf("%s: %s", l.what(), fmt.Sprintf(format, args...)))
}

// reject ends the reading with an error about a field of the layer.
func (l *layer) reject(field, format string, args ...any) {
	l.Stop(l.FieldErrorf(field, "%s: %s", l.what(), fmt.Sprintf(format, args...)))
}

// arg is short for an argument.
func arg(p ir.ParamName, v *ir.Value) ir.Arg { return ir.Arg{Param: p, Value: v} }

// on writes an operation on x.
func (l *layer) on(o *ir.Operation, x *ir.Value, args ...ir.Arg) *ir.Value {
	return l.Do(o, append([]ir.Arg{arg(ir.ParamX, x)}, args...)...)
}

// num returns a float.
func (l *layer) num(v float64) *ir.Value { return l.Num(ir.FP32, v) }

// or returns a float of the layer, or its default if it is 0 or absent.
func or(m *mlmodel.Message, field string, otherwise float64) float64 {
	if v := m.Float(field); v != 0 {
		return v
	}
	return otherwise
}

// plane returns an input as [sequence, channels, height, width], or as it is if it is not of rank 5, and whether it is
// of rank 5. Axes of a value with fewer dimensions count from the end as well.
func (l *layer) plane(i int) tensor {
	t := l.in[i]
	if s := t.v.Type.Shape; !t.five && len(s) == 5 {
		if s[1] != 1 {
			l.refuse("its input is %s; zinc reads layers on a batch of 1", t.v.Type)
		}
		return tensor{l.squeeze(t.v, 1), true}
	}
	return t
}

// full returns an input with all its dimensions.
func (l *layer) full(i int) *ir.Value {
	t := l.in[i]
	if t.five {
		return l.on(ir.OpExpandDims, t.v, arg(ir.ParamAxes, l.ints(1)))
	}
	return t.v
}

// image returns an input with at least channels, height and width, on which layers with kernels work.
func (l *layer) image(i int) tensor {
	t := l.plane(i)
	if t.v.Type.Rank() != 4 {
		l.refuse("its input is %s; the layer reads tensors of rank 4 and 5", t.v.Type)
	}
	return t
}

// alike returns all inputs in one layout.
func (l *layer) alike() (vs []*ir.Value, five bool) {
	five = !slices.ContainsFunc(l.in, func(t tensor) bool { return !t.five })
	for i, t := range l.in {
		if five {
			vs = append(vs, t.v)
		} else {
			vs = append(vs, l.full(i))
		}
	}
	return vs, five
}

// axisOf returns the index of an axis that counts from the end, of a value.
func (l *layer) axisOf(v *ir.Value, fromEnd int) int {
	a := v.Type.Rank() + fromEnd
	if a < 0 {
		l.refuse("its input is %s, and the layer reads the axis %d from the end", v.Type, -fromEnd)
	}
	return a
}

// size returns a dimension of a value, which must be known.
func (l *layer) size(v *ir.Value, axis int) int64 {
	d := v.Type.Shape[axis]
	if d < 0 {
		l.Stop(errSize)
	}
	return d
}

// vectorOf returns how many numbers are in an image, [sequence, channels, height, width].
func (l *layer) vectorOf(v *ir.Value) int64 {
	n := ir.TensorOf(ir.FP32, l.size(v, 1), l.size(v, 2), l.size(v, 3)).Elems()
	if n < 0 || n > math.MaxInt32 {
		l.refuse("its input is %s; want at most %d elements in a vector", v.Type, math.MaxInt32)
	}
	return n
}

// one returns a result of one tensor.
func one(v *ir.Value, five bool) []tensor { return []tensor{{v, five}} }

// A row is a kind of layer: how many inputs and outputs it has, and what writes it. -1 is any number.
type row struct {
	low, high, outs int
	write           func(l *layer) []tensor
}

// The kinds of layers.
var layers map[string]row

func init() {
	layers = map[string]row{
		"convolution":           {1, 2, 1, (*layer).convolution},
		"pooling":               {1, 1, 1, (*layer).pooling},
		"activation":            {1, 1, 1, (*layer).activation},
		"innerProduct":          {1, 1, 1, (*layer).innerProduct},
		"embedding":             {1, 1, 1, (*layer).embedding},
		"embeddingND":           {1, 1, 1, (*layer).embeddingND},
		"batchnorm":             {1, 1, 1, (*layer).batchnorm},
		"mvn":                   {1, 1, 1, (*layer).mvn},
		"l2normalize":           {1, 1, 1, (*layer).l2normalize},
		"layerNormalization":    {1, 1, 1, (*layer).layerNormalization},
		"lrn":                   {1, 1, 1, (*layer).lrn},
		"softmax":               {1, 1, 1, (*layer).softmax},
		"softmaxND":             {1, 1, 1, (*layer).softmaxND},
		"crop":                  {1, 2, 1, (*layer).crop},
		"padding":               {1, 1, 1, (*layer).padding},
		"constantPad":           {1, 1, 1, (*layer).constantPad},
		"upsample":              {1, 1, 1, (*layer).upsample},
		"resizeBilinear":        {1, 1, 1, (*layer).resizeBilinear},
		"unary":                 {1, 1, 1, (*layer).unary},
		"clip":                  {1, 1, 1, (*layer).clip},
		"clampedReLU":           {1, 1, 1, (*layer).clampedReLU},
		"gelu":                  {1, 1, 1, (*layer).gelu},
		"add":                   {1, -1, 1, combined(ir.OpAdd)},
		"multiply":              {1, -1, 1, combined(ir.OpMul)},
		"average":               {1, -1, 1, (*layer).average},
		"max":                   {1, -1, 1, combined(ir.OpMaximum)},
		"min":                   {1, -1, 1, combined(ir.OpMinimum)},
		"dot":                   {2, 2, 1, (*layer).dot},
		"scale":                 {1, 1, 1, (*layer).scale},
		"bias":                  {1, 1, 1, (*layer).bias},
		"reduce":                {1, 1, 1, (*layer).reduce},
		"loadConstant":          {0, 0, 1, (*layer).loadConstant},
		"loadConstantND":        {0, 0, 1, (*layer).loadConstantND},
		"reshape":               {1, 1, 1, (*layer).reshape},
		"flatten":               {1, 1, 1, (*layer).flatten},
		"permute":               {1, 1, 1, (*layer).permute},
		"transpose":             {1, 1, 1, (*layer).transpose},
		"concat":                {1, -1, 1, (*layer).concat},
		"concatND":              {1, -1, 1, (*layer).concatND},
		"split":                 {1, 1, -1, (*layer).split},
		"splitND":               {1, 1, -1, (*layer).splitND},
		"stack":                 {1, -1, 1, (*layer).stack},
		"sequenceRepeat":        {1, 1, 1, (*layer).sequenceRepeat},
		"tile":                  {1, 1, 1, (*layer).tile},
		"reorganizeData":        {1, 1, 1, (*layer).reorganizeData},
		"slice":                 {1, 1, 1, (*layer).slice},
		"sliceStatic":           {1, 1, 1, (*layer).sliceStatic},
		"reverse":               {1, 1, 1, (*layer).reverse},
		"simpleRecurrent":       {1, 2, 2, (*layer).simpleRecurrent},
		"gru":                   {1, 2, 2, (*layer).gru},
		"uniDirectionalLSTM":    {1, 3, 3, (*layer).lstm},
		"biDirectionalLSTM":     {1, 5, 5, (*layer).lstm},
		"copy":                  {1, 1, 1, func(l *layer) []tensor { return l.in }},
		"ceil":                  {1, 1, 1, function(ir.OpCeil)},
		"floor":                 {1, 1, 1, function(ir.OpFloor)},
		"sign":                  {1, 1, 1, function(ir.OpSign)},
		"round":                 {1, 1, 1, function(ir.OpRound)},
		"exp2":                  {1, 1, 1, function(ir.OpExp2)},
		"sin":                   {1, 1, 1, function(ir.OpSin)},
		"cos":                   {1, 1, 1, function(ir.OpCos)},
		"tan":                   {1, 1, 1, function(ir.OpTan)},
		"asin":                  {1, 1, 1, function(ir.OpAsin)},
		"acos":                  {1, 1, 1, function(ir.OpAcos)},
		"atan":                  {1, 1, 1, function(ir.OpAtan)},
		"sinh":                  {1, 1, 1, function(ir.OpSinh)},
		"cosh":                  {1, 1, 1, function(ir.OpCosh)},
		"tanh":                  {1, 1, 1, function(ir.OpTanh)},
		"atanh":                 {1, 1, 1, function(ir.OpAtanh)},
		"erf":                   {1, 1, 1, function(ir.OpErf)},
		"equal":                 {1, 2, 1, compared(ir.OpEqual)},
		"notEqual":              {1, 2, 1, compared(ir.OpNotEqual)},
		"lessThan":              {1, 2, 1, compared(ir.OpLess)},
		"lessEqual":             {1, 2, 1, compared(ir.OpLessEqual)},
		"greaterThan":           {1, 2, 1, compared(ir.OpGreater)},
		"greaterEqual":          {1, 2, 1, compared(ir.OpGreaterEqual)},
		"logicalOr":             {2, 2, 1, logical(ir.OpLogicalOr)},
		"logicalXor":            {2, 2, 1, logical(ir.OpLogicalXor)},
		"logicalAnd":            {2, 2, 1, logical(ir.OpLogicalAnd)},
		"logicalNot":            {1, 1, 1, logical(ir.OpLogicalNot)},
		"modBroadcastable":      {2, 2, 1, broadcast(ir.OpMod)},
		"minBroadcastable":      {2, -1, 1, broadcast(ir.OpMinimum)},
		"maxBroadcastable":      {2, -1, 1, broadcast(ir.OpMaximum)},
		"addBroadcastable":      {2, -1, 1, broadcast(ir.OpAdd)},
		"powBroadcastable":      {2, 2, 1, broadcast(ir.OpPow)},
		"divideBroadcastable":   {2, 2, 1, broadcast(ir.OpRealDiv)},
		"floorDivBroadcastable": {2, 2, 1, broadcast(ir.OpFloorDiv)},
		"multiplyBroadcastable": {2, -1, 1, broadcast(ir.OpMul)},
		"subtractBroadcastable": {2, 2, 1, broadcast(ir.OpSub)},
		"whereBroadcastable":    {3, 3, 1, (*layer).where},
		"batchedMatmul":         {1, 2, 1, (*layer).batchedMatmul},
		"gather":                {2, 2, 1, (*layer).gather},
		"argMax":                {1, 1, 1, argument(ir.OpReduceArgmax)},
		"argMin":                {1, 1, 1, argument(ir.OpReduceArgmin)},
		"squeeze":               {1, 1, 1, (*layer).squeezeAxes},
		"expandDims":            {1, 1, 1, (*layer).expandDims},
		"flattenTo2D":           {1, 1, 1, (*layer).flattenTo2D},
		"reshapeStatic":         {1, 1, 1, (*layer).reshapeStatic},
		"rankPreservingReshape": {1, 1, 1, (*layer).rankPreservingReshape},
		"reduceL1":              {1, 1, 1, reduction(ir.OpReduceL1Norm)},
		"reduceL2":              {1, 1, 1, reduction(ir.OpReduceL2Norm)},
		"reduceMax":             {1, 1, 1, reduction(ir.OpReduceMax)},
		"reduceMin":             {1, 1, 1, reduction(ir.OpReduceMin)},
		"reduceSum":             {1, 1, 1, reduction(ir.OpReduceSum)},
		"reduceProd":            {1, 1, 1, reduction(ir.OpReduceProd)},
		"reduceMean":            {1, 1, 1, reduction(ir.OpReduceMean)},
		"reduceLogSum":          {1, 1, 1, reduction(ir.OpReduceLogSum)},
		"reduceSumSquare":       {1, 1, 1, reduction(ir.OpReduceSumSquare)},
		"reduceLogSumExp":       {1, 1, 1, reduction(ir.OpReduceLogSumExp)},
	}
}

// Constants. Their names in ir.Builder are names of fields in Message.
func (l *layer) ints(vs ...int64) *ir.Value { return l.Builder.Ints(vs...) }
func (l *layer) integer(v int64) *ir.Value  { return l.Builder.Int(v) }
func (l *layer) flag(v bool) *ir.Value      { return l.Builder.Bool(v) }
