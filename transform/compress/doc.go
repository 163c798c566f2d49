// Package compress stores the weights of a program in fewer bytes and says what that costs and saves.
//
// In: a program with dense weights, a target, inputs, and the forms to try (Forms). Out: for each form and each weight
// the bytes, whether the engine reads them as they are stored, the estimated time, and the error of the outputs
// compared with fp32 (Study); a mixture of forms whose error is within a limit; and the compressed program (Apply),
// which Plan writes as a model with the operations that coremltools writes.
//
// Invariants: the values of a compressed weight are those that the fold of its constexpr operation returns, so that
// what is measured is what readers of the model get. Codebooks come from k-means in one dimension, found without random
// numbers. The same program, inputs and options give the same result on any number of workers.
package compress
