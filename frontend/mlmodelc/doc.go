// Package mlmodelc reads and writes the files of a compiled model besides its program and weights: coremldata.bin,
// analytics/coremldata.bin and metadata.json.
//
// Input: what the model specification says (package mlmodel). Output: the bytes that Apple's model compiler writes for
// it. They were found from public models that exist in both forms, 18 pairs and 6 fixtures with a metadata.json;
// docs/convert.md lists what those show and what is inferred.
//
// Invariants: equal models have equal bytes. A description is copied from the specification, so nothing in it is lost.
// No input makes the package panic, and memory is proportional to the input.
package mlmodelc
