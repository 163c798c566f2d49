package convert

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/frontend/mlmodelc"
	"github.com/zinc-compiler/zinc/frontend/mlpackage"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
)

// A Form is a form of an ML program.
type Form string

// The forms, by the extension of their file or folder.
const (
	Package  Form = mlpackage.Ext
	Compiled Form = ".mlmodelc"
	Text     Form = ".mil"
)

// Forms are the forms that can be written.
var Forms = []Form{Package, Compiled, Text}

// FormOf returns the form of what is at a path, by its extension.
func FormOf(path string) (Form, bool) {
	ext := Form(strings.ToLower(filepath.Ext(filepath.Clean(path))))
	for _, f := range Forms {
		if f == ext {
			return f, true
		}
	}
	return "", false
}

// Options configure Plan.
type Options struct {
	// BuildInfo names the model compiler in a compiled model, by key.
	BuildInfo map[string]string
}

// Plan returns the files of the model at a path of one of the Forms.
func Plan(src *frontend.Source, path string, o Options) ([]atomicfile.File, error) {
	form, ok := FormOf(path)
	if !ok {
		return nil, fmt.Errorf("%s: want a path that ends in %s, %s or %s", path, Package, Compiled, Text)
	}
	if form == Text {
		return text(src, path)
	}
	weights, err := move(src)
	if err != nil {
		return nil, err
	}
	if form == Package {
		return pack(src, path, weights)
	}
	return compiled(src, path, weights, o)
}

// A weight is a weight file of a model and its path in the folder of another form.
type weight struct{ from, to string }

// move places every weight file in the folder of the weights, where a package's manifest and other readers expect
// them, and changes the paths in the program.
func move(src *frontend.Source) ([]weight, error) {
	names, err := src.Weights()
	if err != nil {
		return nil, err
	}
	var out []weight
	to := map[string]string{}
	taken := map[string]string{}
	for _, from := range names {
		to[from] = from
		if path.Dir(from) != mlpackage.WeightsFolder {
			to[from] = path.Join(mlpackage.WeightsFolder, path.Base(from))
		}
		if other, ok := taken[to[from]]; ok {
			return nil, fmt.Errorf("weight files %s and %s have the same name, and weights are in one folder, %s; "+
				"rename one", other, from, mlpackage.WeightsFolder)
		}
		taken[to[from]] = from
		out = append(out, weight{from, to[from]})
	}
	src.Spec.Program.Blobs(func(b *mil.BlobRef) {
		if rel, err := blobfile.Resolve(b.Path); err == nil && to[rel] != rel {
			b.Path = blobfile.ModelPath + to[rel]
		}
	})
	return out, nil
}

// copies returns the weight files below dir. A missing one is an error.
func copies(src *frontend.Source, dir string, ws []weight) ([]atomicfile.File, error) {
	var files []atomicfile.File
	for _, w := range ws {
		f, err := src.OpenWeights(w.from)
		if err != nil {
			return nil, err
		}
		f.Close() // only opened
		files = append(files, atomicfile.File{
			Path: filepath.Join(dir, filepath.FromSlash(w.to)),
			Write: func(out io.Writer) error {
				in, err := src.OpenWeights(w.from)
				if err != nil {
					return err
				}
				_, err = io.Copy(out, in)
				return errors.Join(err, in.Close())
			},
		})
	}
	return files, nil
}

// text returns the files of a MIL text. The weight files keep their paths, so that the text is the same again.
func text(src *frontend.Source, name string) ([]atomicfile.File, error) {
	names, err := src.Weights()
	if err != nil {
		return nil, err
	}
	var ws []weight
	for _, n := range names {
		ws = append(ws, weight{n, n})
	}
	for _, f := range src.Spec.Program.Funcs {
		f.Params = src.Spec.Ordered(f)
	}
	b, err := milText(src.Spec.Program)
	if err != nil {
		return nil, err
	}
	weights, err := copies(src, filepath.Dir(name), ws)
	return append([]atomicfile.File{atomicfile.Bytes(name, b)}, weights...), err
}

// milText prints a program without a newline at the end, as model compilers do.
func milText(p *mil.Program) ([]byte, error) {
	var b bytes.Buffer
	if err := mil.Print(&b, p); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// pack returns the files of a package.
func pack(src *frontend.Source, dir string, ws []weight) ([]atomicfile.File, error) {
	if src.Compiled {
		setBuildInfo(src.Spec.Program, nil)
	}
	spec, err := mlmodel.Encode(src.Spec)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(dir, filepath.FromSlash(mlpackage.SpecFolder))
	weights, err := copies(src, folder, ws)
	return append([]atomicfile.File{
		atomicfile.Bytes(filepath.Join(dir, mlpackage.ManifestName), mlpackage.Manifest(spec, len(ws) > 0)),
		atomicfile.Bytes(filepath.Join(folder, mlpackage.SpecName), spec),
	}, weights...), err
}

// specification returns the SHA-256 of a model's specification.
func specification(src *frontend.Source) ([sha256.Size]byte, error) {
	if src.Sum != nil {
		return *src.Sum, nil
	}
	if src.Compiled {
		setBuildInfo(src.Spec.Program, nil)
	}
	spec, err := mlmodel.Encode(src.Spec)
	return sha256.Sum256(spec), err
}

// compiled returns the files of a compiled model.
func compiled(src *frontend.Source, dir string, ws []weight, o Options) ([]atomicfile.File, error) {
	sum, err := specification(src)
	if err != nil {
		return nil, err
	}
	setBuildInfo(src.Spec.Program, o.BuildInfo)
	// A compiled model is in the order and the dialect that reading its specification returns.
	spec, err := mlmodel.Encode(src.Spec)
	if err != nil {
		return nil, err
	}
	m, err := mlmodel.Decode(bytes.NewReader(spec), int64(len(spec)), dir)
	if err != nil {
		return nil, err
	}
	code, err := milText(m.Program)
	if err != nil {
		return nil, err
	}
	about, err := mlmodelc.Metadata(m.Metadata, m.Program, src.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	data := mlmodelc.Data{SpecificationVersion: int32(m.Metadata.SpecificationVersion), Description: m.Description}
	weights, err := copies(src, dir, ws)
	return append([]atomicfile.File{
		atomicfile.Bytes(filepath.Join(dir, frontend.TextName), code),
		atomicfile.Bytes(filepath.Join(dir, metadata.FileName), about),
		atomicfile.Bytes(filepath.Join(dir, mlmodelc.DataName), data.Bytes(len(m.Program.Funcs))),
		atomicfile.Bytes(filepath.Join(dir, filepath.FromSlash(mlmodelc.AnalyticsName)), mlmodelc.Analytics(sum)),
	}, weights...), err
}
