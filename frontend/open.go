package frontend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// TextName is the name of the MIL text in a model's folder.
const TextName = "model.mil"

// Options change how Open reads a model.
type Options struct {
	// WeightsDir stands for "@model_path" in the text; "" takes the folder of the
	// text.
	WeightsDir string
}

// A Model is an open model.
type Model struct {
	Program *ir.Program
	Path    string     // of the MIL text
	Source  *diag.File // the text, for diagnostics of later phases
	// Warnings holds what is odd about the text; no errors.
	Warnings *diag.List

	blobs *blobfile.Set
}

// Close unmaps the weight files. The constants of the program must not be used
// any more.
func (m *Model) Close() error {
	if m.blobs == nil {
		return nil
	}
	return m.blobs.Close()
}

// A FormError says that a model is in a form that Open does not read.
type FormError struct {
	Path string
	Form string // what it is
	Hint string // what to do
}

// Error returns the path, the form and what to do.
func (e *FormError) Error() string { return e.Path + ": " + e.Form + "; " + e.Hint }

const compileHint = "compile it with `xcrun coremlcompiler compile MODEL FOLDER` (coremlc) and give the .mlmodelc folder"

// refused are the forms of models that are not read, by the ending of the path
// in lower case.
var refused = map[string]string{
	".mlpackage": "a model package (.mlpackage) is not read yet",
	".mlmodel":   "a model specification (.mlmodel) is not read yet",
}

// Open reads the model at path. An error of the text, its types or its weights
// has all the diagnostics behind it, which diag.AsList returns; other errors are
// of the file system, or a *FormError.
func Open(path string, opts Options) (*Model, error) {
	name, err := textPath(path)
	if err != nil {
		return nil, err
	}
	src, err := readText(name)
	if err != nil {
		return nil, err
	}
	tree, list := mil.Parse(name, src)
	if len(tree.Funcs) == 0 && list.HasErrors() {
		return nil, list.Err()
	}
	dir := opts.WeightsDir
	if dir == "" {
		dir = filepath.Dir(name)
	}
	blobs, err := blobfile.OpenSet(dir)
	if err != nil {
		return nil, fmt.Errorf("folder of the weight files: %w", err)
	}
	// With errors in the text the rest of it is still worth a look.
	prog, more := build.Program(tree, blobs, build.Options{Partial: list.HasErrors()})
	list.Merge(more)
	list.Sort()
	if list.HasErrors() {
		blobs.Close() // only read from
		return nil, list.Err()
	}
	return &Model{Program: prog, Path: name, Source: tree.File, Warnings: list, blobs: blobs}, nil
}

// textPath returns the path of the MIL text of the model at path.
func textPath(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if form := refused[strings.ToLower(filepath.Ext(filepath.Clean(path)))]; form != "" {
		return "", &FormError{path, form, compileHint}
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
	return "", &FormError{path, "the folder has no " + TextName, "give a .mil file, a .mlmodelc folder or a folder with " + TextName}
}

// otherForms are forms of models without MIL text, by a file they have.
var otherForms = []struct{ file, form, hint string }{
	{"Manifest.json", refused[".mlpackage"], compileHint},
	{"model.espresso.net", "a compiled neural network has no MIL text", "convert the original model to an ML program (convert_to=\"mlprogram\") and compile that"},
}

// readText reads a file that must be a regular one.
func readText(name string) ([]byte, error) {
	info, err := os.Stat(name) // before opening, since opening a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &FormError{name, "not a regular file", "give a .mil file, a .mlmodelc folder or a folder with " + TextName}
	}
	if info.Size() > diag.MaxSource {
		return nil, &FormError{name, fmt.Sprintf("the text has %d bytes, the limit is %d", info.Size(), int64(diag.MaxSource)), "give a smaller model"}
	}
	return os.ReadFile(name)
}
