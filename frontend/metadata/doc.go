// Package metadata holds what a model says of itself beside its program: who
// made it, under which licence, and what each input and output means.
//
// What goes in: the description of a model specification, which package mlmodel
// decodes, or the bytes of a compiled model's metadata.json (ParseJSON). What
// comes out: a Model, the same whichever of the two it came from as far as both
// hold it; WriteText prints it, and its JSON form is that of its fields.
//
// What always holds: nothing here changes what the program computes, and lists
// without an order of their own (the user-defined keys) are sorted.
package metadata
