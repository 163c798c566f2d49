package neuralnetwork_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// Encoders of fields. The numbers are from NeuralNetwork.proto, so that a wrong one in zinc's schema shows.

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

func num(n protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), uint64(v))
}

func nums(n protowire.Number, vs ...int64) []byte {
	var b []byte
	for _, v := range vs {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return bin(n, b)
}

func flt(n protowire.Number, v float32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, n, protowire.Fixed32Type), math.Float32bits(v))
}

func flts(n protowire.Number, vs ...float32) []byte {
	var b []byte
	for _, v := range vs {
		b = protowire.AppendFixed32(b, math.Float32bits(v))
	}
	return bin(n, b)
}

func bin(n protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), b)
}

func msg(n protowire.Number, parts ...[]byte) []byte { return bin(n, join(parts...)) }

func text(n protowire.Number, s string) []byte { return bin(n, []byte(s)) }

// noise returns n numbers between lo and hi, always the same.
func noise(n int, lo, hi float32) []float32 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	out := make([]float32, n)
	for i := range out {
		out[i] = lo + (hi-lo)*r.Float32()
	}
	return out
}

// weights is a WeightParams of n floats.
func weights(n protowire.Number, count int) []byte { return msg(n, flts(1, noise(count, -1, 1)...)) }

// halves is a WeightParams of n fp16 numbers: 1, -2, 0.5 and so on.
func halves(n protowire.Number, count int) []byte {
	var b []byte
	for i := range count {
		b = binary.LittleEndian.AppendUint16(b, []uint16{0x3c00, 0xc000, 0x3800, 0xb555}[i%4])
	}
	return msg(n, bin(2, b))
}

// indexed is a WeightParams of n indices of some bits, with how they are quantized.
func indexed(n protowire.Number, count, bits int, how []byte) []byte {
	raw := make([]byte, (count*bits+7)/8)
	for i, v := range noise(len(raw), 0, 256) {
		raw[i] = byte(int(v + float32(i)))
	}
	return msg(n, bin(30, raw), msg(40, num(1, int64(bits)), how))
}

func table(bits int) []byte { return msg(102, flts(1, noise(1<<bits, -1, 1)...)) }

func linear(channels int) []byte {
	return msg(101, flts(1, noise(channels, 0.1, 0.2)...), flts(2, noise(channels, -1, 1)...))
}

// border is a BorderAmounts in a field.
func border(n protowire.Number, top, bottom, left, right int64) []byte {
	return msg(n, msg(10, num(1, top), num(2, bottom)), msg(10, num(1, left), num(2, right)))
}

func valid(n protowire.Number, top, bottom, left, right int64) []byte {
	return msg(n, border(1, top, bottom, left, right))
}

// layer is a layer with its kind and parameters.
func layer(name string, in, out []string, params []byte) []byte {
	b := text(1, name)
	for _, s := range in {
		b = append(b, text(2, s)...)
	}
	for _, s := range out {
		b = append(b, text(3, s)...)
	}
	return msg(1, b, params)
}

// array describes an array of floats.
func array(n protowire.Number, name string, shape ...int64) []byte {
	return msg(n, text(1, name), msg(3, msg(5, nums(1, shape...), num(2, 65568))))
}

// network is a specification of version 4 with one network.
func network(description []byte, parts ...[]byte) []byte {
	return join(num(1, 4), bin(2, description), msg(500, parts...))
}

// A sample is a network of one kind of layer.
type sample struct {
	name   string
	model  []byte
	inputs map[string][]int64 // shapes
}

// one is a network of one layer on x that has the outputs y, y2 and so on. A second layer may follow.
func one(name string, shape []int64, outs int, params []byte) sample {
	return chain(name, shape, layer("the layer", []string{"x"}, ys(outs), params))
}

func ys(n int) []string {
	return []string{"y", "y2", "y3", "y4", "y5"}[:n]
}

// chain is a network of layers between x and y.
func chain(name string, shape []int64, layers ...[]byte) sample {
	return sample{name, network(join(array(1, "x", shape...), array(10, "y")), layers...),
		map[string][]int64{"x": shape}}
}

// two is a network of one layer on x and z.
func two(name string, x, z []int64, params []byte) sample {
	return sample{name, network(join(array(1, "x", x...), array(1, "z", z...), array(10, "y")),
		layer("the layer", []string{"x", "z"}, []string{"y"}, params)), map[string][]int64{"x": x, "z": z}}
}

// image is a network whose input is an image.
func image(name string, colours, channels int64, parts ...[]byte) sample {
	in := msg(1, text(1, "x"), msg(3, msg(4, num(1, 7), num(2, 6), num(3, colours))))
	return sample{name, network(join(in, array(10, "y")), append(parts, layer("sum", []string{"x"}, []string{"y"},
		msg(230, flt(1, 1))))...), map[string][]int64{"x": {1, channels, 6, 7}}}
}

// exact is a network of one layer on arrays as they are.
func exact(name string, shape []int64, params []byte) sample {
	s := one(name, shape, 1, params)
	s.model = network(join(array(1, "x", shape...), array(10, "y")), num(5, 1),
		layer("the layer", []string{"x"}, []string{"y"}, params))
	return s
}

// cube is the shape of most samples: channels, height, width.
var cube = []int64{4, 6, 7}

// gatesOf are the weights of a recurrent layer: matrices on 4 inputs and 3 outputs, vectors.
func gatesOf(matrices, recursions, vectors []protowire.Number) []byte {
	var b []byte
	for i, n := range matrices {
		b = append(b, msg(n, flts(1, noise(12+i, -1, 1)[i:]...))...)
	}
	for i, n := range recursions {
		b = append(b, msg(n, flts(1, noise(9+2*i, -1, 1)[2*i:]...))...)
	}
	for i, n := range vectors {
		b = append(b, msg(n, flts(1, noise(3+3*i, -1, 1)[3*i:]...))...)
	}
	return b
}

func lstmWeights(n protowire.Number) []byte {
	return msg(n, gatesOf([]protowire.Number{1, 2, 3, 4}, []protowire.Number{20, 21, 22, 23},
		[]protowire.Number{40, 41, 42, 43, 60, 61, 62}))
}

// sequence is a network that reads channels as a sequence before a recurrent layer of 4 inputs.
func sequence(name string, outs int, params []byte) sample {
	return chain(name, []int64{4, 1, 5},
		layer("to sequence", []string{"x"}, []string{"s"}, msg(310, nums(1, 3, 1, 2, 0))),
		layer("recurrent", []string{"s"}, append([]string{"r"}, ys(outs)[1:]...), params),
		layer("back", []string{"r"}, []string{"y"}, msg(310, nums(1, 2, 1, 0, 3))))
}

// samples has networks of every kind of layer that the evaluator knows.
func samples() []sample {
	vector := []int64{12}
	quarter := nums(20, 2, 3)
	out := []sample{
		one("conv", cube, 1, msg(100, num(1, 6), num(2, 2), num(10, 2), quarter, nums(30, 2, 1), nums(40, 1, 2),
			valid(50, 1, 2, 0, 3), num(70, 1), weights(90, 72), weights(91, 6))),
		one("conv of halves", cube, 1, msg(100, num(1, 6), num(2, 4), msg(51), halves(90, 216))),
		one("conv same", cube, 1, msg(100, num(1, 2), num(2, 4), nums(20, 4, 2), nums(30, 2, 2), msg(51),
			weights(90, 64))),
		one("conv same, start", cube, 1, msg(100, num(1, 2), num(2, 4), nums(20, 4, 2), nums(30, 2, 2),
			msg(51, num(1, 1)), weights(90, 64))),
		one("depthwise", cube, 1, msg(100, num(1, 4), num(2, 1), num(10, 4), msg(51), weights(90, 36))),
		one("deconv", cube, 1, msg(100, num(1, 6), num(2, 4), num(10, 2), quarter, nums(30, 2, 2),
			valid(50, 1, 2, 0, 3), num(60, 1), num(70, 1), weights(90, 72), weights(91, 6))),
		one("deconv same", cube, 1, msg(100, num(1, 3), num(2, 4), nums(30, 2, 2), msg(51), num(60, 1),
			weights(90, 108))),
		one("deconv to a smaller shape", cube, 1, msg(100, num(1, 3), num(2, 4), nums(30, 2, 2), valid(50, 0, 0, 0, 0),
			num(60, 1), weights(90, 108), nums(100, 10, 14))),
		one("deconv to a larger shape", cube, 1, msg(100, num(1, 3), num(2, 4), nums(30, 2, 2), valid(50, 0, 0, 0, 0),
			num(60, 1), num(70, 1), weights(90, 108), weights(91, 3), nums(100, 15, 14))),
		one("max", cube, 1, msg(120, nums(10, 2, 2), nums(20, 2, 2), msg(30))),
		one("average", cube, 1, msg(120, num(1, 1), nums(10, 3, 3), nums(20, 2, 2), valid(30, 1, 1, 1, 0))),
		one("average without padding", cube, 1, msg(120, num(1, 1), nums(20, 2, 2), msg(31), num(50, 1))),
		one("max to the last", cube, 1, msg(120, nums(10, 3, 2), nums(20, 2, 2), msg(32, nums(10, 0, 0)))),
		one("max to the last, padded", cube, 1, msg(120, nums(20, 2, 2), msg(32, nums(10, 1, 0)))),
		one("L2", cube, 1, msg(120, num(1, 2), nums(10, 2, 2), msg(30))),
		one("global max", cube, 1, msg(120, msg(30), num(60, 1))),
		one("global average", cube, 1, msg(120, num(1, 1), msg(30), num(60, 1))),
		one("global L2", cube, 1, msg(120, num(1, 2), msg(30), num(60, 1))),
		one("inner product", vector, 1, msg(140, num(1, 12), num(2, 5), num(10, 1), weights(20, 60), weights(21, 5))),
		exact("inner product on rows", []int64{3, 4}, msg(140, num(1, 4), num(2, 5), weights(20, 20))),
		one("batchnorm", cube, 1, msg(160, num(1, 4), weights(15, 4), weights(16, 4), weights(17, 4),
			msg(18, flts(1, 1, 2, 3, 0.5)))),
		one("instance norm", cube, 1, msg(160, num(1, 4), num(5, 1), num(6, 1), flt(10, 0.01), weights(15, 4),
			weights(16, 4))),
		one("one PReLU", cube, 1, msg(130, msg(25, weights(1, 1)))),
		one("mvn", cube, 1, msg(165, num(1, 1), num(2, 1), flt(3, 0.1))),
		one("mean", cube, 1, msg(165)),
		one("l2normalize", cube, 1, msg(170, flt(1, 0.5))),
		one("softmax", cube, 1, msg(175)),
		one("lrn", cube, 1, msg(180, flt(1, 0.3), flt(2, 0.7), num(3, 3), flt(4, 2))),
		one("crop", cube, 1, msg(190, border(1, 1, 2, 0, 3))),
		two("crop to another", cube, []int64{1, 3, 2}, msg(190, nums(5, 1, 2))),
		one("pad", cube, 1, msg(200, msg(1, flt(1, 3)), border(10, 1, 2, 0, 3))),
		one("reflect", cube, 1, msg(200, msg(2), border(10, 1, 2, 0, 3))),
		one("replicate", cube, 1, msg(200, msg(3), border(10, 1, 2, 0, 3))),
		one("upsample nearest", cube, 1, msg(210, nums(1, 2, 3))),
		one("upsample", cube, 1, msg(210, nums(1, 2, 3), num(5, 1))),
		one("upsample to the corners", cube, 1, msg(210, nums(1, 2, 3), num(5, 1), num(6, 1))),
		one("upsample from the middle", cube, 1, msg(210, nums(1, 2, 3), num(5, 1), num(6, 2))),
		one("sum with a number", cube, 1, msg(230, flt(1, 2))),
		two("sum", cube, cube, msg(230)),
		two("sum of channels", cube, []int64{4}, msg(230)),
		one("product with a number", cube, 1, msg(231, flt(1, 2))),
		two("product", cube, []int64{1, 6, 7}, msg(231)),
		two("average of two", cube, cube, msg(240)),
		two("larger", cube, cube, msg(260)),
		two("smaller", cube, cube, msg(261)),
		two("dot", vector, vector, msg(270)),
		one("scale", cube, 1, msg(245, nums(1, 4), weights(2, 4), num(3, 1), nums(4, 1, 6, 7), weights(5, 42))),
		one("bias", cube, 1, msg(250, nums(1, 4, 6, 7), weights(2, 168))),
		one("reshape", cube, 1, msg(300, nums(1, 2, 12, 7))),
		one("reshape rows", cube, 1, msg(300, nums(1, 2, 12, 7), num(2, 1))),
		one("flatten", cube, 1, msg(301)),
		one("flatten rows", cube, 1, msg(301, num(1, 1))),
		one("permute", cube, 1, msg(310, nums(1, 0, 3, 1, 2))),
		two("concat", cube, []int64{2, 6, 7}, msg(320)),
		two("concat sequences", cube, cube, msg(320, num(100, 1))),
		one("repeat", cube, 1, msg(340, num(1, 3))),
		one("to depth", []int64{2, 4, 6}, 1, msg(345, num(2, 2))),
		one("to space", []int64{8, 2, 3}, 1, msg(345, num(1, 1), num(2, 2))),
		one("shuffle", []int64{8, 2, 3}, 1, msg(345, num(1, 2), num(2, 2))),
		one("slice", cube, 1, msg(350, num(1, 1), num(2, -1), num(3, 2), num(4, 1))),
		one("slice to the end", cube, 1, msg(350, num(1, -2), num(2, 0), num(4, 2))),
		one("split", cube, 2, msg(330, num(1, 2))),
		exact("matmul", []int64{2, 3, 4}, msg(1045, num(5, 4), num(6, 5), num(7, 1), weights(8, 20), weights(9, 5))),
		exact("transpose", []int64{2, 3, 4}, msg(985, nums(1, 2, 0, 1))),
		exact("softmaxND", []int64{2, 3, 4}, msg(950, num(1, -1))),
		chain("embedding", []int64{1}, layer("e", []string{"x"}, []string{"e"}, msg(150, num(1, 5), num(2, 3),
			num(10, 1),
			weights(20, 15), weights(21, 3))), layer("p", []string{"e"}, []string{"y"}, msg(310, nums(1, 2, 1, 0, 3)))),
		chain("constant", cube, layer("c", nil, []string{"c"}, msg(290, nums(1, 4, 6, 7), weights(2, 168))),
			layer("s", []string{"x", "c"}, []string{"y"}, msg(230))),
		sequence("rnn", 1, msg(400, num(1, 4), num(2, 3), msg(10, msg(30)), num(15, 1), num(20, 1),
			gatesOf([]protowire.Number{30}, []protowire.Number{31}, []protowire.Number{32}))),
		sequence("gru", 2, msg(410, num(1, 4), num(2, 3), msg(10, msg(40)), msg(10, msg(30)), num(15, 1), num(20, 1),
			gatesOf([]protowire.Number{30, 31, 32}, []protowire.Number{50, 51, 52}, []protowire.Number{70, 71, 72}),
			num(100, 1))),
		sequence("lstm", 3, msg(420, num(1, 4), num(2, 3), msg(10, msg(40)), msg(10, msg(30)), msg(10, msg(30)),
			msg(15, num(10, 1), num(20, 1), num(30, 1), num(40, 1), flt(60, 0.7)), lstmWeights(20))),
		sequence("last of lstm", 1, msg(420, num(1, 4), num(2, 3), msg(10, msg(40)), msg(10, msg(30)), msg(10, msg(30)),
			msg(15, num(20, 1)), lstmWeights(20), num(100, 1))),
		sequence("lstm of both directions", 5, msg(430, num(1, 4), num(2, 3), msg(10, msg(40)), msg(10, msg(30)),
			msg(10, msg(30)), msg(11, msg(40)), msg(11, msg(30)), msg(11, msg(30)), msg(15, num(10, 1), num(20, 1)),
			lstmWeights(20), lstmWeights(20))),
		image("RGB", 20, 3, msg(2, msg(10, flt(10, 0.5), flt(20, 1), flt(21, 2), flt(22, 3)))),
		image("BGR", 30, 3, msg(2, text(1, "x"), msg(10, flt(10, 0.5), flt(20, 1), flt(21, 2), flt(22, 3)))),
		image("gray", 10, 1, msg(2, msg(10, flt(10, 0.5), flt(30, 7)))),
		image("mean", 30, 3, msg(2, msg(11, flts(1, noise(126, 0, 255)...)))),
	}
	for k, params := range map[protowire.Number][]byte{
		5: join(flt(1, 2), flt(2, 3)), 10: nil, 15: flt(1, 0.3), 20: flt(1, 0.3), 25: weights(1, 4), 30: nil,
		31: join(flt(1, 2), flt(2, 0.5)), 40: nil, 41: join(flt(1, 0.2), flt(2, 0.5)), 50: flt(1, 2), 60: nil, 70: nil,
		71: join(weights(1, 4), weights(2, 1)),
	} {
		out = append(out, one("activation "+string('A'+rune(k)), cube, 1, msg(130, msg(k, params))))
	}
	for k := range int64(8) {
		out = append(out, one("unary "+string('0'+rune(k)), cube, 1, msg(220, num(1, k), flt(2, 1.5), flt(3, 0.1),
			flt(4, 3), flt(5, 0.5))))
	}
	for k := range int64(10) {
		out = append(out, one("reduce "+string('0'+rune(k)), cube, 1, msg(280, num(1, k), flt(2, 20), num(3, 2+k%3))))
	}
	for k := range int64(2) {
		out = append(out, one("reduce axes "+string('0'+rune(k)), cube, 1, msg(280, num(1, 1), num(3, k))))
	}
	for k := range int64(4) {
		out = append(out, one("resize "+string('0'+rune(k)), cube, 1, msg(211, nums(1, 11, 5), msg(2, num(1, k)))))
	}
	for bits := 1; bits <= 8; bits++ {
		conv := func(how []byte) []byte {
			return msg(100, num(1, 5), num(2, 4), msg(51), indexed(90, 180, bits, how), num(70, 1),
				indexed(91, 5, bits, table(bits)))
		}
		name := string('0' + rune(bits))
		out = append(out,
			one("table of bits "+name, cube, 1, conv(table(bits))),
			one("scale of bits "+name, cube, 1, conv(linear(1))),
			one("scales of bits "+name, cube, 1, conv(linear(5))),
			one("deconv of bits "+name, cube, 1, msg(100, num(1, 5), num(2, 4), valid(50, 0, 0, 0, 0), num(60, 1),
				indexed(90, 180, bits, linear(5)))))
	}
	return out
}
