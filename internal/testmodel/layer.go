package testmodel

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Layers is the number of kinds of Layer.
const Layers = 4

// Layer returns the text of a model of one layer with weights from a seed. Layers of one kind differ in coefficients
// only, so that each can be an adapter of another.
func Layer(kind int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, uint64(kind)))
	weights := func(n int) string {
		x := make([]string, n)
		for i := range x {
			x[i] = fmt.Sprint(float64(1+r.IntN(15)) / 16) // no zeros, which are packed differently
		}
		return strings.Join(x, ", ")
	}
	conv := func(channels, side, kernel, pad int) string {
		x := fmt.Sprintf("tensor<fp16, [1, %d, %d, %d]>", channels, side, side)
		return fmt.Sprintf(`%[1]s x) {
			tensor<fp16, [%[2]d, %[2]d, %[3]d, %[3]d]> weight = const()[name = string("weight"), `+
			`val = tensor<fp16, [%[2]d, %[2]d, %[3]d, %[3]d]>([%[5]s])];
			string pad_type = const()[name = string("pad_type"), val = string("custom")];
			tensor<int32, [4]> pad = const()[name = string("pad"), val = tensor<int32, [4]>([%[4]d, %[4]d, %[4]d, `+
			`%[4]d])];
			tensor<int32, [2]> one = const()[name = string("one"), val = tensor<int32, [2]>([1, 1])];
			%[1]s y = conv(dilations = one, groups = int32(1), pad = pad, pad_type = pad_type, strides = one, `+
			`weight = weight, x = x)[name = string("y")];`, x, channels, kernel, pad,
			weights(channels*channels*kernel*kernel))
	}
	var body string
	switch kind {
	case 0:
		body = conv(8, 8, 3, 1)
	case 1:
		body = conv(16, 4, 1, 0)
	case 2:
		body = fmt.Sprintf(`tensor<fp16, [1, 16]> x) {
			tensor<fp16, [8, 16]> weight = const()[name = string("weight"), val = tensor<fp16, [8, 16]>([%s])];
			tensor<fp16, [8]> bias = const()[name = string("bias"), val = tensor<fp16, [8]>([%s])];
			tensor<fp16, [1, 8]> y = linear(bias = bias, weight = weight, x = x)[name = string("y")];`,
			weights(8*16), weights(8))
	default:
		body = fmt.Sprintf(`tensor<fp16, [4, 32]> x) {
			tensor<fp16, [32, 16]> weight = const()[name = string("weight"), val = tensor<fp16, [32, 16]>([%s])];
			bool no = const()[name = string("no"), val = bool(false)];
			tensor<fp16, [4, 16]> p = matmul(transpose_x = no, transpose_y = no, x = x, y = weight)[name = string("p")];
			tensor<fp16, [4, 16]> y = relu(x = p)[name = string("y")];`, weights(32*16))
	}
	return "program(1.3)\n{\n\tfunc main<ios18>(" + body + "\n\t} -> (y);\n}\n"
}
