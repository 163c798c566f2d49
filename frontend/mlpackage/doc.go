// Package mlpackage finds the model specification in a model package, a folder
// whose Manifest.json lists what stands under Data.
//
// What goes in: the path of the folder. What comes out: a Package, whose root is
// the folder of the specification (the weight files stand under it) and which
// opens the specification itself.
//
// What always holds: nothing outside the package is opened, whatever the manifest
// or a link in the folder says; a path of the manifest with "..", an absolute one
// or one with a drive is refused before it is looked at.
package mlpackage
