// Package mlmodel reads and writes model specifications: the protocol buffer in a .mlmodel file, alone or in a model
// package, as far as ML programs and descriptions are concerned.
//
// Input: the bytes of the file. Output: the description of the model and, if it is an ML program, its program as a
// syntax tree of package mil, without positions, which mil.Layout sets. The field numbers are from coremltools'
// mlmodel/format (Model, FeatureTypes, MIL).
//
// Invariants:
//
//   - An error names the file, the byte offset, the path of fields to it, the rule
//     and the value. No input makes the package panic.
//   - Memory is proportional to the part of the file that is read, not to its lengths and shapes; messages nest at most
//     MaxDepth deep; models in forms other than an ML program are skipped.
//   - The tree is the one that the parser makes of its text, and no node is in it twice.
//   - The tree does not depend on the order of map entries in the file, which has no meaning: functions and arguments
//     are sorted by name. So are the parameters of a function, which are unordered in the schema and have that order in
//     compiled models.
//   - Writing what was read returns an equal message, and equal models have equal bytes. Reader and writer have the
//     fields of a message from one table.
//   - Shapes that the description calls flexible become the function's
//     FlexibleShapeInformation, as in compiled models.
package mlmodel
