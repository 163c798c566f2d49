// Package digits is zinc's example model: a small convolutional network that
// tells handwritten-looking digits apart, with everything that made it.
//
// Input: a seed. [Draw] draws a digit from strokes that it bends,
// turns, thickens and dusts with noise; [Train] fits the network of [Layers]
// on such drawings; [WriteBundle] writes the result as a compiled Core ML
// model, whose text [Program] gives and whose weights are fp16.
//
// What comes out, checked in beside this file:
//
//   - digits.mlmodelc: model.mil, weights/weight.bin and metadata.json. The
//     program takes image, tensor<fp16, [1, 1, 28, 28]> with 0 for paper and 1
//     for ink, and gives probs, tensor<fp16, [1, 10, 1, 1]>, one probability a
//     digit.
//   - testdata/0.npy to testdata/9.npy: one image a digit in that input form,
//     drawn from [ImageSeed] and never trained on.
//
// Invariants: the same seed gives the same bytes. One goroutine does
// the arithmetic in a fixed order, every product is rounded by a conversion
// before it is added (so that no processor fuses the two), and nothing is
// taken from package math whose last bit may differ between processors. Pixels
// are multiples of 1/256, so an image is the same number in fp16 and float32.
//
// The folder's programs:
//
//	go run ./examples/digits/train          # train, print accuracy, write the files
//	go run ./examples/digits/train -check   # train, compare with the files instead
//	go run ./examples/digits/show IMAGE.npy SCORES.npy
package digits
