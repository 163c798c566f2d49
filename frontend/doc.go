// Package frontend opens models: it finds the program and the weight files that
// belong together, and makes a program of the intermediate representation.
//
// What goes in: the path of a .mil file, of a compiled model (.mlmodelc), of any
// folder with a model.mil, of a model package (.mlpackage), of a specification
// (.mlmodel) that holds an ML program, or of a network description (a property
// list, see package netplist), which its content tells. What comes out: an ir.Program whose
// constants are windows of mapped files, until Close, with what the model says of
// itself (Metadata); or an error, behind which stand all the diagnostics of the
// text (diag.AsList).
//
// What always holds: a specification becomes MIL text and goes the way of a text
// from there on, so that a model is the same program in both forms, and a
// diagnostic of either shows a line of text, which Model.Source holds. Nothing
// outside the model's folder, or the one given for its weights, is opened,
// whatever the text or a manifest says. Forms of models that are not read are
// refused by name, with the way to convert them.
package frontend
