package reduce

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/frontend/mlpackage"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/filename"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/transform/convert"
)

// defaultWeights is the path of the weight file in a folder of its own.
const defaultWeights = "weights/weight.bin"

// Write writes a program so that package frontend opens path again. A path that ends in .mil is the text, with the
// weight file beside it under the text's name and .weights.bin; one that ends in .mlpackage is a package; any other
// path is a folder, made where it is missing, with model.mil and weights/weight.bin. Files are replaced together or not
// at all. A weight file that the program has no use for is not written, and not removed.
func Write(ctx context.Context, p *ir.Program, path string) (*unbuild.Text, error) {
	t, files, err := Plan(p, path)
	if err != nil {
		return nil, err
	}
	return t, atomicfile.Write(ctx, files...)
}

// Plan returns what Write writes.
func Plan(p *ir.Program, path string) (*unbuild.Text, []atomicfile.File, error) {
	_, _, weights := parts(path)
	t, err := unbuild.Program(p, weights)
	if err != nil {
		return nil, nil, err
	}
	text, blobs := Files(path)
	if form, _ := convert.FormOf(path); form == convert.Package {
		files, err := pack(p, path, t)
		return t, files, err
	}
	files := []atomicfile.File{atomicfile.Bytes(text, t.MIL)}
	if len(t.Blobs) > 0 {
		files = append(files, atomicfile.File{Path: blobs, Write: t.WriteWeights})
	}
	return t, files, nil
}

// pack returns the files of a package with the program of t, which describes its inputs and outputs by their types.
func pack(p *ir.Program, dir string, t *unbuild.Text) ([]atomicfile.File, error) {
	tree, list := mil.Parse(dir, t.MIL)
	if list.HasErrors() {
		return nil, list.Err()
	}
	about, list := mlmodel.Describe(p, tree)
	if list.HasErrors() {
		return nil, list.Err()
	}
	var weights []atomicfile.File
	if len(t.Blobs) > 0 {
		weights = append(weights, atomicfile.File{Path: defaultWeights, Write: t.WriteWeights})
	}
	return convert.Pack(dir, &mlmodel.Model{Metadata: about, Program: tree}, weights)
}

// parts returns the folder of the model that is written to path, the name of the text or specification in it, and the
// name of the weight file as the text has it.
func parts(path string) (dir, name, weights string) {
	switch form, _ := convert.FormOf(path); form {
	case convert.Text:
		dir, name = filepath.Split(path)
		stem := unbuild.Identifier(strings.TrimSuffix(name, filepath.Ext(name)))
		return dir, name, filename.Join(stem, ".weights.bin", filename.Max)
	case convert.Package:
		return filepath.Join(path, filepath.FromSlash(mlpackage.SpecFolder)), mlpackage.SpecName, defaultWeights
	}
	return path, frontend.TextName, defaultWeights
}

// Files returns the paths of the files that Write writes: the text or the specification, and the weight file where the
// program needs one.
func Files(path string) (text, weights string) {
	dir, name, w := parts(path)
	return filepath.Join(dir, name), filepath.Join(dir, filepath.FromSlash(w))
}

// Writable reports why Write could not write to path, nil when it could: a search that takes an hour is not to end with
// nothing. It leaves no file or folder behind.
func Writable(path string) error {
	text, weights := Files(path)
	for _, f := range []string{text, weights} {
		s, err := atomicfile.Stage(f)
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
