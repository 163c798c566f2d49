package interp

// withoutKernel lists the rows of the op table that the interpreter refuses.
var withoutKernel = []string{}
