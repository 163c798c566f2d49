// Package frontend opens models: it finds the MIL text and the weight files that
// belong together, and makes a program of them.
//
// What goes in: the path of a .mil file, of a .mlmodelc folder or of any folder
// with a model.mil. What comes out: an ir.Program whose constants are windows of
// mapped files, until Close; or an error, behind which stand all the diagnostics
// of the text (diag.AsList).
//
// What always holds: nothing outside the model's folder, or the one given for
// its weights, is opened, whatever the text says; forms of models that are not
// read are refused by name, with the way to convert them.
package frontend
