// Package frontend opens models: it finds the program and the weight files that belong to it, and
// converts them to a program of the intermediate representation.
//
// Input: the path of a .mil file, of a compiled model (.mlmodelc), of any folder with a model.mil, of a model package
// (.mlpackage), of a specification (.mlmodel) with an ML program or a neural network (see package neuralnetwork), or of
// a network description (a property list, see package netplist), detected from its content. Output: an ir.Program whose
// constants are windows of mapped files, until Close, with the model's metadata (Metadata); or an error with all the
// diagnostics of the text (diag.AsList).
//
// Invariants: a specification becomes the syntax tree that its MIL text would become, with positions in that text, so a
// model is the same program in both forms, and a diagnostic of either shows a line of the text in Model.Source. A
// neural network becomes the text of a program that computes the same, whose weight file is in memory. No file outside
// the model's folder, or the folder set for its weights, is opened, even if the text or a manifest names one.
// Other forms of models are refused by name, with the way to convert them.
package frontend
