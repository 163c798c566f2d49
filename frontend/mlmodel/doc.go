// Package mlmodel reads model specifications: the protocol buffer in a .mlmodel
// file, alone or in a model package, as far as ML programs and descriptions go.
//
// Input: the bytes of the file. Output: the description of the
// model, and, when it is an ML program, its program as a syntax tree of package
// mil, without positions: mil.Layout sets those of its text. The field
// numbers are those of coremltools' mlmodel/format (Model, FeatureTypes, MIL).
//
// Invariants:
//
//   - An error names the file, the byte offset, the path of fields to it, the rule
//     and the value. No input makes the package panic.
//   - Memory is proportional to the part of the file that is read, whatever its
//     lengths and shapes say; messages nest at most MaxDepth deep; models in other
//     forms than an ML program are passed over, not read.
//   - The tree is the one that the parser makes of its text, and no node is in it twice.
//   - The tree does not depend on the order of map entries in the file, which means
//     nothing: functions and arguments are sorted by name, and so are the
//     parameters of a function, which the schema says are unordered and which
//     compiled models have in that order too.
//   - Shapes that the description calls flexible become the function's
//     FlexibleShapeInformation, as in compiled models.
package mlmodel
