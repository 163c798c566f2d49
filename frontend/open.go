package frontend

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/regularfile"
	"github.com/zinc-compiler/zinc/ir"
)

// TextName is the name of the MIL text in a model's folder.
const TextName = "model.mil"

// Options configure Open.
type Options struct {
	// WeightsDir replaces "@model_path" in the text; "" means the folder of the text.
	WeightsDir string
	// Text, if not nil, replaces the model's program text. A network description has none.
	Text []byte
	// Name is the name of the text in diagnostics, "" for its path.
	Name string
	// Follow follows links inside the model's folder, also to files outside it.
	Follow bool
	// AssumeWeights opens a model whose weight files are missing, with assumed values. Model.Missing says which.
	AssumeWeights bool
	// KeepTree keeps the syntax tree of a MIL text in Model.Tree.
	KeepTree bool
	// KeepClasses keeps the outputs of a classifier: the class and the probability of each. Otherwise the program has
	// the tensor of the probabilities instead.
	KeepClasses bool
	// Stdin reads the path regularfile.Stdin; nil if that is the name of a file.
	Stdin *regularfile.Input
}

// text returns the text to read, and its name.
func (o *Options) text(name string, src []byte) (string, []byte) {
	if o.Text != nil {
		src = o.Text
	}
	if o.Name != "" {
		name = o.Name
	}
	return name, src
}

// A Model is an open model.
type Model struct {
	Program *ir.Program
	Path    string // of the MIL text, the model specification or the network description
	// the text, for diagnostics of later phases; for a specification, its program or neural network as text; nil for a
	// network description
	Source *diag.File
	// Tree is the text's syntax tree, with Options.KeepTree. It is nil for a specification.
	Tree *mil.Program
	// Metadata is the model's metadata, nil if the format has none.
	Metadata *Metadata
	// Warnings are the warnings about the text.
	Warnings *diag.List
	// Missing are the weight files that are missing, whose values were assumed.
	Missing []*build.Missing

	blobs *blobfile.Set
}

// Close unmaps the weight files. The constants of the program must not be used afterwards.
func (m *Model) Close() error {
	if m.blobs == nil {
		return nil
	}
	return m.blobs.Close()
}

// WeightStamp describes the weight files that the text names (see blobfile.Set.Stamp); "" if there are none.
func (m *Model) WeightStamp() string {
	if m.blobs == nil {
		return ""
	}
	return m.blobs.Stamp()
}

// A FormError reports that a model is in a format that Open does not read.
type FormError struct {
	Path string
	Form string // what it is
	Hint string // what to do
}

// Error returns the path, the form and what to do.
func (e *FormError) Error() string { return e.Path + ": " + e.Form + "; " + e.Hint }

// Metadata is a model's metadata.
type Metadata = metadata.Model

// Open reads the model at path: a MIL text, a folder with one (as a compiled model is), a model package, a model
// specification or a network description, detected from its content; or a MIL text from standard input, if
// opts.Stdin allows it. An error of the text, its types or its weights wraps all the diagnostics, which
// diag.AsList returns; one of a specification is an *mlmodel.Error, one of a description a *netplist.Error; other
// errors are of the file system or the manifest, or a *FormError.
func Open(path string, opts Options) (*Model, error) {
	if opts.Stdin.IsStdin(path) {
		return openStdin(opts)
	}
	if isSpec, err := specification(path); err != nil {
		return nil, err
	} else if isSpec {
		return openSpec(path, opts)
	}
	name, err := textPath(path)
	if err != nil {
		return nil, err
	}
	if isList, err := propertyList(name); err != nil {
		return nil, err
	} else if isList {
		if opts.Text != nil {
			return nil, &FormError{name, "a network description has no program text to replace",
				"change the description itself"}
		}
		return openNetplist(name, opts)
	}
	src, err := readText(name)
	if err != nil {
		return nil, err
	}
	dir := opts.WeightsDir
	if dir == "" {
		dir = filepath.Dir(name)
	}
	shown, src := opts.text(name, src)
	m, err := fromText(shown, src, &opts, func() (*blobfile.Set, error) {
		return blobfile.OpenSet(dir, opts.Follow)
	})
	if err != nil {
		return nil, err
	}
	m.Path = name
	if m.Metadata, err = besideText(name); err != nil {
		m.Close() // only read from
		return nil, err
	}
	return m, nil
}

// stdinName is the name of standard input in diagnostics.
const stdinName = "stdin"

// openStdin reads a MIL text from standard input. Its weight files are in the current folder if no other is set.
func openStdin(opts Options) (*Model, error) {
	src, err := opts.Stdin.Read(regularfile.Stdin)
	if err != nil {
		return nil, err
	}
	if len(src) > diag.MaxSource {
		return nil, &FormError{stdinName, fmt.Sprintf("the text has %d bytes, the limit is %d", len(src),
			int64(diag.MaxSource)), "use a smaller model"}
	}
	dir := cmp.Or(opts.WeightsDir, ".")
	shown, src := opts.text(stdinName, src)
	m, err := fromText(shown, src, &opts, func() (*blobfile.Set, error) {
		return blobfile.OpenSet(dir, opts.Follow)
	})
	if err != nil {
		return nil, err
	}
	m.Path = shown
	return m, nil
}

// fromText builds the program of a MIL text, with weight files from the Set that open returns.
func fromText(name string, src []byte, o *Options, open func() (*blobfile.Set, error)) (*Model, error) {
	tree, list := mil.Parse(name, src)
	m, err := fromTree(tree, list, o, open)
	if err == nil && o.KeepTree {
		m.Tree = tree
	}
	return m, err
}

// fromTree is fromText for a parsed text; list contains its diagnostics.
func fromTree(tree *mil.Program, list *diag.List, o *Options, open func() (*blobfile.Set, error)) (*Model, error) {
	if len(tree.Funcs) == 0 && list.HasErrors() {
		return nil, list.Err()
	}
	blobs, err := open()
	if err != nil {
		return nil, fmt.Errorf("folder of the weight files: %w", err)
	}
	// Check the rest of the text even if it has errors.
	var missing []*build.Missing
	prog, more := build.Program(tree, blobs, build.Options{
		Partial: list.HasErrors(),
		Assume:  o.AssumeWeights,
		Keep:    o.KeepTree,
		Classes: o.KeepClasses,
		Missing: &missing,
	})
	list.Merge(more)
	list.Sort()
	if list.HasErrors() {
		blobs.Close() // only read from
		return nil, list.Err()
	}
	return &Model{Program: prog, Source: tree.File, Warnings: list, Missing: missing, blobs: blobs}, nil
}

// textPath returns the path of the MIL text of the model at path.
func textPath(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return path, nil
	}
	name := filepath.Join(path, TextName)
	switch _, err := os.Stat(name); {
	case err == nil:
		return name, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	for _, known := range otherForms {
		if _, err := os.Stat(filepath.Join(path, known.file)); err == nil {
			return "", &FormError{path, known.form, known.hint}
		}
	}
	return "", &FormError{path, "the folder has no " + TextName, giveHint}
}

// otherForms are forms of models without MIL text, by a file that is in their folder.
var otherForms = []struct{ file, form, hint string }{
	{"model.espresso.net", "a compiled neural network has no MIL text", convertHint},
	{"model0", "a compiled pipeline has several programs", "open one of the folders in it, such as model0"},
}

const giveHint = "use a .mlmodelc or .mlpackage folder, a .mlmodel with an ML program or a neural network, a .mil " +
	"file or a network description (.plist)"

// readText reads a regular file.
func readText(name string) ([]byte, error) {
	info, err := os.Stat(name) // before opening, since opening a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &FormError{name, "not a regular file", giveHint}
	}
	if info.Size() > diag.MaxSource {
		return nil, &FormError{name, fmt.Sprintf("the text has %d bytes, the limit is %d", info.Size(),
			int64(diag.MaxSource)), "use a smaller model"}
	}
	return os.ReadFile(name)
}
