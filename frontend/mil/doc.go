// Package mil reads and writes MIL text, the text form of Core ML's model intermediate language in compiled models.
//
// Input: the bytes of a model.mil, of either dialect (program(1.0) with
// its tensor<T, []> scalars, program(1.3) with bare types, or a mixture). Output: a syntax tree in which every node has
// its position, and a diag.List of everything found wrong; Print writes a tree as text again, and Layout gives a tree
// that was built without a text the positions of that text.
//
// Invariants:
//
//   - Parse never panics and returns a Program even when there are errors, with
//     the statements that could be read. Recovery is at statement boundaries, so
//     one run reports every error of a file.
//   - Time and memory are proportional to the length of the text, not to declared sizes; nesting is limited to
//     MaxNesting.
//   - Parse(Print(p)) is Equal to p for every p that Parse returned without
//     errors. Positions, white space and comments are not part of that equality.
//   - A literal of a million numbers is one node that refers to its text; it is converted exactly, on request
//     (Literal.Floats and its siblings).
//
// The tree is syntax: names are not resolved, types not inferred, numbers not
// rounded to their element type, weight files not opened.
//
// # Grammar
//
// No grammar is published; this one covers what real files contain.
//
//	program  = "program" "(" number ")" [attrs] "{" {func} "}"
//	func     = "func" name [opset] "(" params ")" [attrs] "{" {stmt} "}" "->" outs ";"
//	opset    = "<" name ">"
//	params   = [type name {"," type name}]
//	attrs    = "[" [arg {"," arg}] "]"
//	stmt     = [results "="] name [opset] "(" [arg {"," arg}] ")" [attrs] {block} ";"
//	results  = params | "(" params ")"
//	block    = ["(" params ")"] "{" {stmt} "}" "->" outs
//	outs     = "(" [name {"," name}] ")"
//	arg      = name "=" value
//	type     = scalar
//	         | "tensor" "<" scalar "," "[" [dim {"," dim}] "]" ">"
//	         | "list" "<" type "," dim ">" | "state" "<" type ">"
//	         | "dict" "<" type "," type ">" | "tuple" "<" [type {"," type}] ">"
//	dim      = integer | "?" | name | "..."
//	value    = name | atom | list | dict | tuple | type "(" payload ")"
//	payload  = atom | list | dict | tuple
//	         | "BLOBFILE" "(" "path" "=" value "," "offset" "=" value ")"
//	list     = "[" [value {"," value}] "]"
//	tuple    = "(" [value {"," value}] ")"
//	dict     = "{" ["{" value "," value "}" {"," "{" value "," value "}"}] "}"
//	atom     = number | string | "true" | "false"
//
// A name is letters, digits and "_", and may contain ".", "/" (unless it opens a comment) and "@". It may begin with a
// digit and may be a word of the grammar, an operation or a type: what follows a word decides its meaning. Numbers are
// decimal or hexadecimal, with "inf" and "nan". Comments are "//" and "/* */". No compiled model with nested blocks was
// available: the syntax of block is modelled after the function's.
package mil
