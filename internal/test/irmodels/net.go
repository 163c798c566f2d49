package irmodels

import (
	"slices"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// Model is a model that the package writes.
type Model struct {
	Name  string
	Doc   string // one line: structure, input, outputs
	write func(n *net)
}

// Models lists the models by name.
var Models = []Model{
	{"unet", "segmenter: convolutions, pooling, transposed convolutions, concatenated skips; 1x1x256x256 to a mask",
		segmenter},
	{"yolo", "detector: convolutions with silu, upsampling, concatenation, a head with a softmax over 1x16x4x8400; " +
		"1x3x640x640 to 8,400 boxes", detector},
}

// Find returns the model of a name, or nil.
func Find(name string) *Model {
	if i := slices.IndexFunc(Models, func(m Model) bool { return m.Name == name }); i >= 0 {
		return &Models[i]
	}
	return nil
}

// seed decides the weights.
const seed = 15

// Program writes the model.
func (m *Model) Program() *ir.Program {
	n := &net{g: irbuild.New(seed)}
	m.write(n)
	p := n.g.Program()
	p.BuildInfo = []ir.KeyValue{{Key: "zinc-example", Value: m.Name}}
	return p
}

// net is a model being written.
type net struct{ g *irbuild.Graph }

// input adds an input.
func (n *net) input(name string, t ir.DType, shape ...int64) *ir.Value {
	v := n.g.InputOf(t, shape...)
	v.Name = name
	return v
}

// op adds an operation with one result; args alternates names and values.
func (n *net) op(name, result string, args ...any) *ir.Value {
	v := n.g.Op(name, args...)
	v.Name, v.Def.Name = result, result
	return v
}

// weights adds a constant for products of the given number of terms.
func (n *net) weights(name string, terms int64, shape ...int64) *ir.Value {
	w, scale := n.g.Weights(shape...), irbuild.Scale(terms)
	w = n.g.Filled(ir.FP16, func(i int64) float64 { return w.Const.Float(i) * scale }, shape...)
	w.Name = name
	return w
}

// channels is the number of channels of a tensor in the order NCHW.
func channels(x *ir.Value) int64 { return x.Type.Shape[1] }

// conv adds a convolution with a bias that keeps the height and width, divided by stride.
func (n *net) conv(name string, x *ir.Value, out, kernel, stride int64) *ir.Value {
	in, pad := channels(x), kernel/2
	return n.op("conv", name, "x", x, "weight", n.weights(name+"_weight", in*kernel*kernel, out, in, kernel, kernel),
		"bias", n.weights(name+"_bias", 64, out), "strides", []int64{stride, stride}, "pad_type", "custom",
		"pad", []int64{pad, pad, pad, pad}, "dilations", []int64{1, 1}, "groups", 1)
}

// concat joins tensors along an axis.
func (n *net) concat(name string, axis int, values ...*ir.Value) *ir.Value {
	return n.op("concat", name, "values", values, "axis", axis, "interleave", false)
}

// slice takes size elements of an axis from begin on.
func (n *net) slice(name string, x *ir.Value, axis int, begin, size int64) *ir.Value {
	at, sizes := make([]int64, x.Type.Rank()), slices.Clone(x.Type.Shape)
	at[axis], sizes[axis] = begin, size
	return n.op("slice_by_size", name, "x", x, "begin", at, "size", sizes)
}

// reshape gives a tensor another shape.
func (n *net) reshape(name string, x *ir.Value, shape ...int64) *ir.Value {
	return n.op("reshape", name, "x", x, "shape", shape)
}

// cast converts a tensor to another element type.
func (n *net) cast(name string, x *ir.Value, t ir.DType) *ir.Value {
	return n.op("cast", name, "x", x, "dtype", t.String())
}
