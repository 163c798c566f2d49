package convert

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
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
	to := map[string]string{}
	var err error
	switch {
	case !ok:
		return nil, fmt.Errorf("%s: want a path that ends in %s, %s or %s", path, Package, Compiled, Text)
	case len(src.Spec.Pipeline) > 0 && form == Compiled:
		return pipeline(src, path, o)
	case len(src.Spec.Pipeline) > 0:
		return nil, onlyCompiled(path)
	case form == Text: // the weight files keep their paths, so that the text is the same again
		var names []string
		names, err = src.Weights()
		for _, n := range names {
			to[n] = n
		}
	default:
		to, err = move(src)
	}
	if err != nil {
		return nil, err
	}
	weights, err := copies(src, to)
	if err != nil {
		return nil, err
	}
	return plan(src, path, weights, o)
}

// PlanProgram is Plan for a program that replaces the one of the model, with weight files whose paths are those in the
// model's folder. The model keeps its description.
func PlanProgram(src *frontend.Source, program *mil.Program, weights []atomicfile.File, path string, o Options) (
	[]atomicfile.File, error) {
	if _, ok := FormOf(path); !ok {
		return nil, fmt.Errorf("%s: want a path that ends in %s, %s or %s", path, Package, Compiled, Text)
	}
	if len(src.Spec.Pipeline) > 0 {
		return nil, onlyCompiled(path)
	}
	spec, about := *src.Spec, *src.Spec.Metadata
	about.SpecificationVersion = max(about.SpecificationVersion, mlmodel.SpecificationVersion(program))
	spec.Program, spec.Metadata = program, &about
	out := *src
	out.Spec, out.Sum = &spec, nil
	return plan(&out, path, weights, o)
}

// plan returns the files of a model in the form that a path names.
func plan(src *frontend.Source, path string, weights []atomicfile.File, o Options) ([]atomicfile.File, error) {
	switch form, _ := FormOf(path); form {
	case Text:
		return text(src, path, weights)
	case Compiled:
		return compiled(src, path, weights, o)
	}
	if src.Compiled {
		setBuildInfo(src.Spec.Program, nil)
	}
	return Pack(path, src.Spec, weights)
}

// move places every weight file in the folder of the weights, where a package's manifest and other readers expect
// them, and changes the paths in the program. It returns the new place of each.
func move(src *frontend.Source) (map[string]string, error) {
	names, err := src.Weights()
	if err != nil {
		return nil, err
	}
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
	}
	src.Spec.Program.Blobs(func(b *mil.BlobRef) {
		if rel, err := blobfile.Resolve(b.Path); err == nil && to[rel] != rel {
			b.Path = blobfile.ModelPath + to[rel]
		}
	})
	return to, nil
}

// copies returns the weight files at other paths in a model's folder. A missing one is an error.
func copies(src *frontend.Source, to map[string]string) ([]atomicfile.File, error) {
	var files []atomicfile.File
	for _, from := range slices.Sorted(maps.Keys(to)) {
		f, err := src.OpenWeights(from)
		if err != nil {
			return nil, err
		}
		f.Close() // only opened
		files = append(files, atomicfile.File{
			Path: to[from],
			Write: func(out io.Writer) error {
				in, err := src.OpenWeights(from)
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

// below returns files with their paths below a folder.
func below(dir string, files ...atomicfile.File) []atomicfile.File {
	for i := range files {
		files[i].Path = filepath.Join(dir, filepath.FromSlash(files[i].Path))
	}
	return files
}

// text returns the files of a MIL text.
func text(src *frontend.Source, name string, weights []atomicfile.File) ([]atomicfile.File, error) {
	for _, f := range src.Spec.Program.Funcs {
		f.Params = src.Spec.Ordered(f)
	}
	b, err := milText(src.Spec.Program)
	return append([]atomicfile.File{atomicfile.Bytes(name, b)}, below(filepath.Dir(name), weights...)...), err
}

// milText prints a program without a newline at the end, as model compilers do.
func milText(p *mil.Program) ([]byte, error) {
	var b bytes.Buffer
	if err := mil.Print(&b, p); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Pack returns the files of a package at dir. The paths of the weights are those in the model's folder.
func Pack(dir string, m *mlmodel.Model, weights []atomicfile.File) ([]atomicfile.File, error) {
	spec, err := mlmodel.Encode(m)
	if err != nil {
		return nil, err
	}
	return append([]atomicfile.File{
		atomicfile.Bytes(filepath.Join(dir, mlpackage.ManifestName), mlpackage.Manifest(spec, len(weights) > 0)),
	}, below(filepath.Join(dir, filepath.FromSlash(mlpackage.SpecFolder)),
		append([]atomicfile.File{atomicfile.Bytes(mlpackage.SpecName, spec)}, weights...)...)...), nil
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
func compiled(src *frontend.Source, dir string, weights []atomicfile.File, o Options) ([]atomicfile.File, error) {
	sum, err := specification(src)
	if err != nil {
		return nil, err
	}
	m, code, err := translated(src, dir, o)
	if err != nil {
		return nil, err
	}
	about, err := mlmodelc.Metadata(m.Metadata, []*mil.Program{m.Program}, src.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	data := mlmodelc.Data{SpecificationVersion: int32(m.Metadata.SpecificationVersion), Description: m.Description}
	return below(dir, append([]atomicfile.File{
		atomicfile.Bytes(frontend.TextName, code),
		atomicfile.Bytes(metadata.FileName, about),
		atomicfile.Bytes(mlmodelc.DataName, data.Bytes(len(m.Program.Funcs))),
		atomicfile.Bytes(mlmodelc.AnalyticsName, mlmodelc.Analytics(sum)),
	}, weights...)...), nil
}

// onlyCompiled reports that a pipeline cannot be written in another form.
func onlyCompiled(path string) error {
	return fmt.Errorf("%s: a pipeline has several programs, and is written only as a compiled model (%s)", path,
		Compiled)
}

// translated returns a model and its text in the order and the dialect that reading its specification returns, as a
// compiled model has it.
func translated(src *frontend.Source, dir string, o Options) (*mlmodel.Model, []byte, error) {
	setBuildInfo(src.Spec.Program, o.BuildInfo)
	spec, err := mlmodel.Encode(src.Spec)
	if err != nil {
		return nil, nil, err
	}
	m, err := mlmodel.Decode(bytes.NewReader(spec), int64(len(spec)), dir)
	if err != nil {
		return nil, nil, err
	}
	code, err := milText(m.Program)
	return m, code, err
}

// pipeline returns the files of a compiled pipeline: each model in a folder of its own, with its weights.
func pipeline(src *frontend.Source, dir string, o Options) ([]atomicfile.File, error) {
	var files []atomicfile.File
	var programs []*mil.Program
	var versions []int64
	for i, part := range src.Parts() {
		folder := fmt.Sprintf("model%d", i)
		to, err := move(part)
		if err != nil {
			return nil, err
		}
		weights, err := copies(part, to)
		if err != nil {
			return nil, err
		}
		m, code, err := translated(part, folder, o)
		if err != nil {
			return nil, err
		}
		data := mlmodelc.Data{SpecificationVersion: int32(m.Metadata.SpecificationVersion), Description: m.Description}
		files = append(files, below(folder, append([]atomicfile.File{
			atomicfile.Bytes(frontend.TextName, code),
			atomicfile.Bytes(mlmodelc.DataName, data.Bytes(len(m.Program.Funcs))),
		}, weights...)...)...)
		programs, versions = append(programs, m.Program), append(versions, m.Metadata.SpecificationVersion)
	}
	about, err := mlmodelc.Metadata(src.Spec.Metadata, programs, src.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	data := mlmodelc.Data{
		SpecificationVersion: int32(src.Spec.Metadata.SpecificationVersion), Description: src.Spec.Description,
	}
	return below(dir, append([]atomicfile.File{
		atomicfile.Bytes(metadata.FileName, about),
		atomicfile.Bytes(mlmodelc.DataName, data.Pipeline(versions)),
		atomicfile.Bytes(mlmodelc.NamesName, mlmodelc.Names(src.Spec.Names, len(programs))),
		atomicfile.Bytes(mlmodelc.AnalyticsName, mlmodelc.PipelineAnalytics(len(programs))),
	}, files...)...), nil
}
