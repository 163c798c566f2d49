// Package metadata reads a model's metadata: its author and license, and the meaning of each input
// and output.
//
// Input: the description of a model specification, which package mlmodel decodes, or the bytes of a compiled model's
// metadata.json (ParseJSON). Output: a Model, equal for both sources as far as both have the fields. WriteText prints
// it; its JSON format follows its fields.
//
// Invariants: metadata never changes what the program computes, and lists without an order (the user-defined keys) are
// sorted.
package metadata
