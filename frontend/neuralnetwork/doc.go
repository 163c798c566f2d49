// Package neuralnetwork reads neural networks, the older form of Core ML models, as programs.
//
// Input: the bytes of a neural network in a model specification and the description of the model. Output: an ir.Program
// that computes in fp32, the only type of the format (ir.SourceForm), and the description of it as an ML program.
//
// The layouts, the defaults and the shapes are from coremltools' NeuralNetwork.proto and its validator. In the layout
// of rank 5, [sequence, batch, channels, height, width], the batch is always 1, because inputs have 1 and no layer
// changes it; a tensor of rank 5 is therefore a value [sequence, channels, height, width].
//
// Invariants:
//
//   - The layers are one table. A layer of another kind, and what the format leaves open, is an error that names the
//     layer and its place in the file.
//   - Weights that are floats are parts of the input. Indices of tables are packed again, and other quantized values
//     become floats where no operation of MIL has them: memory is proportional to the input.
//   - Every layer ends in a value with the name of its output, spelled as MIL text spells names.
package neuralnetwork
