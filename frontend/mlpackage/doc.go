// Package mlpackage finds the model specification in a model package, a folder whose Manifest.json lists the contents
// of Data.
//
// Input: the path of the folder. Output: a Package, whose root is
// the folder of the specification (which contains the weight files) and which opens the specification itself.
//
// Invariants: no file outside the package is opened, even if the manifest or a link in the folder refers to one; a path
// of the manifest with "..", an absolute one or one with a drive is refused before it is used.
package mlpackage
