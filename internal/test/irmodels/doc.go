// Package irmodels writes programs of the intermediate form that have the structure and size of published models: a
// one-stage object detector and a segmenter. Tests and examples use them where a real model would be too large to keep
// in the repository.
//
// In: the name of a model. Out: an ir.Program of one function, main, whose weights are random.
//
// Invariants: the same version of the package writes the same program each time. Every weight is scaled by the number
// of terms of its product, so that values stay in the range of fp16. The models are not trained: their structure,
// shapes and cost are a real model's, and their results mean nothing.
package irmodels
