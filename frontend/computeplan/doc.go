// Package computeplan reads what Core ML decided about a model: for each operation the device that runs it, the devices
// that could, its share of the estimated time, and in some formats the estimates and the reasons.
//
// Input: a dump of MLComputePlan or of Core ML's analytics, as Xcode and public tools write it: JSON, lines of JSON, an
// old-style property list, MIL text with attributes, a table or a log. The format is detected from the content. Output:
// a Plan, equal for every format as far as each has the fields; and with Join, which operation of a model each
// operation of the plan is.
//
// Invariants:
//
//   - A file is read whole or refused with an Error that has its place. Files have at most MaxBytes, nested values at
//     most MaxDepth levels, plans at most MaxOperations. Memory is proportional to the length of the file.
//   - A weight that is missing is not 0. Nothing is guessed: an operation that cannot be joined is not compared.
//   - Fields that identify a person or a device are not read.
package computeplan
