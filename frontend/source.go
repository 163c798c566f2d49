package frontend

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/frontend/mlmodelc"
	"github.com/zinc-compiler/zinc/frontend/neuralnetwork"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// A Source is a model as its files have it: what another form of the model is written from.
type Source struct {
	// Spec is the model as a specification. The program is in the order of a text.
	Spec *mlmodel.Model
	// Name is the name of the model's file or folder, without the extension.
	Name string
	// Sum is the SHA-256 of the specification, nil if the model is not in that form.
	Sum *[sha256.Size]byte
	// Compiled is set for the folder of a compiled model, whose build information names the compiler.
	Compiled bool

	// Warnings are about the text, and about what other forms may not support.
	Warnings *diag.List

	blobs *blobfile.Set
}

// Close closes the folder of the weights.
func (s *Source) Close() error { return s.blobs.Close() }

// Weights returns the weight files that the program names, as paths in the model's folder, sorted. A path that is
// refused is an error.
func (s *Source) Weights() ([]string, error) {
	seen := map[string]bool{}
	var fault error
	s.Spec.Program.Blobs(func(b *mil.BlobRef) {
		rel, err := blobfile.Resolve(b.Path)
		fault = errors.Join(fault, err)
		seen[rel] = true
	})
	return slices.Sorted(maps.Keys(seen)), fault
}

// OpenWeights opens one of the weight files; the caller closes it.
func (s *Source) OpenWeights(rel string) (io.ReadCloser, error) { return s.blobs.Find(rel) }

// OpenSource reads the model at path, an ML program in any form but a network description, without building its
// program, if its files describe its inputs and outputs. Errors are as for Open.
func OpenSource(path string, opts Options) (*Source, error) {
	s, err := openAnySource(path, opts)
	if err != nil {
		return nil, err
	}
	s.Name = stdinName
	if abs, err := filepath.Abs(path); err == nil && !opts.Stdin.IsStdin(path) {
		base := filepath.Base(abs)
		s.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	return s, nil
}

func openAnySource(path string, opts Options) (*Source, error) {
	if !opts.Stdin.IsStdin(path) {
		isSpec, err := specification(path)
		if err != nil {
			return nil, err
		}
		if isSpec {
			return specSource(path, &opts)
		}
		if s, err := compiledSource(path, &opts); s != nil || err != nil {
			return s, err
		}
	}
	return textSource(path, opts)
}

func specSource(path string, opts *Options) (*Source, error) {
	s, spec, err := decodeSpec(path, opts.Follow)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if len(spec.Pipeline) > 0 {
		return s.pipelineSource(path, spec, opts)
	}
	switch {
	case spec.Program == nil && neuralnetwork.Is(spec.Metadata.Form):
		return s.networkSource(spec, opts)
	case spec.Program == nil:
		return nil, formError(path, spec)
	}
	if err := mil.Layout(s.name+" as text", spec.Program); err != nil {
		return nil, err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(s.file, 0, s.size)); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	out := &Source{Spec: spec, Sum: (*[sha256.Size]byte)(sum.Sum(nil))}
	out.blobs, err = s.blobs(opts)
	return out, err
}

// pipelineSource reads a pipeline of ML programs, which is not a program itself.
func (s *source) pipelineSource(path string, spec *mlmodel.Model, opts *Options) (*Source, error) {
	for i, part := range spec.Parts {
		if part.Program == nil || len(part.Pipeline) > 0 || spec.Metadata.Form != mlmodel.PipelineForm {
			return nil, formError(path, spec)
		}
		if err := mil.Layout(fmt.Sprintf("%s: model %d as text", s.name, i), part.Program); err != nil {
			return nil, err
		}
	}
	out := &Source{Spec: spec, Warnings: new(diag.List)}
	var err error
	out.blobs, err = s.blobs(opts)
	return out, err
}

// Parts returns the models of a pipeline, which share its weights; none of another model.
func (s *Source) Parts() []*Source {
	var out []*Source
	for _, part := range s.Spec.Parts {
		out = append(out, &Source{Spec: part, Name: s.Name, Compiled: s.Compiled, blobs: s.blobs})
	}
	return out
}

// compiledSource reads a compiled model with the description of its inputs and outputs. It returns nil for a folder
// without one.
func compiledSource(path string, opts *Options) (*Source, error) {
	text, err := textPath(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(text)
	data, err := fileBeside(text, mlmodelc.DataName)
	if data == nil || err != nil {
		return nil, err
	}
	name := filepath.Join(dir, mlmodelc.DataName)
	d, err := mlmodelc.ParseData(name, data)
	if err != nil {
		return nil, err
	}
	about, err := mlmodel.DecodeDescription(d.Description, name)
	if err != nil {
		return nil, err
	}
	about.SpecificationVersion = int64(d.SpecificationVersion)
	src, err := readText(text)
	if err != nil {
		return nil, err
	}
	tree, list := mil.Parse(text, src)
	if list.HasErrors() {
		return nil, list.Err()
	}
	blobs, err := blobfile.OpenSet(cmp.Or(opts.WeightsDir, dir), opts.Follow)
	if err != nil {
		return nil, err
	}
	s := &Source{
		Spec:     &mlmodel.Model{Metadata: about, Description: d.Description, Program: tree},
		Compiled: true,
		blobs:    blobs,
	}
	return s, s.matches(name)
}

// textSource reads a text, and describes its inputs and outputs by the metadata beside it or by their types.
func textSource(path string, opts Options) (*Source, error) {
	opts.KeepTree, opts.KeepClasses, opts.AssumeWeights = true, true, true // no value is read
	m, err := Open(path, opts)
	if err != nil {
		return nil, err
	}
	if m.Tree == nil {
		m.Close() // only read from
		return nil, &FormError{path, "a network description is not an ML program", giveHint}
	}
	s := &Source{Spec: &mlmodel.Model{Metadata: m.Metadata, Program: m.Tree}, Warnings: m.Warnings, blobs: m.blobs}
	if m.Metadata == nil {
		var list *diag.List
		if s.Spec.Metadata, list = mlmodel.Describe(m.Program, m.Tree); list.HasErrors() {
			m.Close() // only read from
			return nil, list.Err()
		}
		s.Warnings.Merge(list)
	}
	if info, err := os.Stat(path); err == nil {
		s.Compiled = info.IsDir()
	}
	s.Spec.Order = order(m.Tree)
	s.Spec.Metadata.SpecificationVersion = max(s.Spec.Metadata.SpecificationVersion,
		mlmodel.SpecificationVersion(m.Tree))
	return s, s.matches(m.Path)
}

// matches reports inputs of functions that are described but not there, or the other way.
func (s *Source) matches(name string) error {
	for _, f := range s.Spec.Program.Funcs {
		about := s.Spec.Metadata.Func(f.Name)
		if about == nil {
			s.Close() // only read from
			return fmt.Errorf("%s: function %s is not described", name, f.Name)
		}
		described := map[string]bool{}
		for _, x := range slices.Concat(about.Inputs, about.States) {
			described[x.Name] = true
		}
		for _, p := range f.Params {
			if !described[p.Name] {
				s.Close() // only read from
				return fmt.Errorf("%s: input %s of function %s is not described", name, p.Name, f.Name)
			}
		}
		if len(described) != len(f.Params) {
			s.Close() // only read from
			return fmt.Errorf("%s: %s described for function %s, which has %d", name,
				diag.Count(len(described), "input is", "inputs are"), f.Name, len(f.Params))
		}
	}
	return nil
}
