// Package convert writes an ML program in another of its forms: a model package (.mlpackage), a compiled model
// (.mlmodelc) or MIL text (.mil).
//
// Input: a model as its files have it (frontend.Source). Output: the files of the other form, for
// atomicfile.Write. Weight files are copied, never held in memory.
//
// Invariants: the program is the same statement by statement, value by value; a text becomes the same text again
// through a package. What a form cannot represent is refused by name. Equal models become equal bytes.
package convert
