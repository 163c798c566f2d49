package frontend

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/frontend/mlpackage"
	"github.com/zinc-compiler/zinc/frontend/neuralnetwork"
	"github.com/zinc-compiler/zinc/internal/diag"
)

const convertHint = "convert the original model to an ML program (coremltools: convert(..., " +
	"convert_to=\"mlprogram\")) and use that"

// specHints state what to do with models that are not ML programs, by their form; others must be converted again.
var specHints = map[string]string{
	"serializedModel": "use the model from which it was created",
}

// specification reports whether the model at path is a package or a specification: a folder with the suffix of a
// package or with a manifest and without MIL text, or a file with the suffix of a specification.
func specification(path string) (bool, error) {
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	ext := strings.ToLower(filepath.Ext(filepath.Clean(path)))
	if !info.IsDir() {
		return ext == ".mlmodel", nil
	}
	if ext == ".mlpackage" {
		return true, nil
	}
	if _, err := os.Stat(filepath.Join(path, TextName)); err == nil {
		return false, nil
	}
	_, err = os.Stat(filepath.Join(path, mlpackage.ManifestName))
	return err == nil, nil
}

// A source is an open specification with the folder of its weights.
type source struct {
	name string // of the specification, for messages
	dir  string
	file *os.File
	size int64
	root blobfile.Folder
}

func (s *source) close() {
	if s.file != nil {
		s.file.Close() // only read from
	}
	if s.root != nil {
		s.root.Close()
	}
}

// openSource opens the specification at path, in a package or alone.
func openSource(path string, follow bool) (*source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	s := &source{}
	if info.IsDir() {
		p, err := mlpackage.Open(path, follow)
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("package %s: %w", path, err)
			}
			return nil, err
		}
		s.name, s.dir, s.root = p.Spec, p.Dir, p.Root
		s.file, s.size, err = p.OpenSpec()
		if err != nil {
			s.close()
			return nil, err
		}
		return s, nil
	}
	if !info.Mode().IsRegular() {
		return nil, &FormError{path, "not a regular file", giveHint}
	}
	s.name, s.dir, s.size = path, filepath.Dir(path), info.Size()
	if s.file, err = os.Open(path); err != nil {
		return nil, err
	}
	if s.root, err = blobfile.OpenFolder(s.dir, follow); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// blobs returns the folder of the weights, which opts may replace. A second call would have none.
func (s *source) blobs(opts *Options) (*blobfile.Set, error) {
	if opts.WeightsDir != "" {
		return blobfile.OpenSet(opts.WeightsDir, opts.Follow)
	}
	root := s.root
	s.root = nil // the Set closes it
	return blobfile.NewSet(root, s.dir), nil
}

// decodeSpec opens and reads a specification. The caller closes the source.
func decodeSpec(path string, follow bool) (*source, *mlmodel.Model, error) {
	s, err := openSource(path, follow)
	if err != nil {
		return nil, nil, err
	}
	spec, err := mlmodel.Decode(s.file, s.size, s.name)
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, spec, nil
}

// openSpec reads a package or a specification.
func openSpec(path string, opts Options) (*Model, error) {
	s, spec, err := decodeSpec(path, opts.Follow)
	if err != nil {
		return nil, err
	}
	defer s.close()
	switch {
	case spec.Program == nil && neuralnetwork.Is(spec.Metadata.Form):
		return s.openNetwork(spec, &opts)
	case spec.Program == nil:
		return nil, formError(path, spec)
	}
	blobs := func() (*blobfile.Set, error) { return s.blobs(&opts) }
	shown, src := opts.text(s.name+" as text", nil)
	var m *Model
	if src != nil {
		m, err = fromText(shown, src, &opts, blobs)
	} else if err = mil.Layout(shown, spec.Program); err == nil {
		m, err = fromTree(spec.Program, new(diag.List), &opts, blobs)
	}
	if err != nil {
		return nil, err
	}
	m.Path, m.Metadata = s.name, spec.Metadata
	if len(spec.Pipeline) > 0 {
		i := slices.Index(spec.Pipeline, mlmodel.ProgramForm)
		m.Warnings.Warningf(diag.Span{}, "pipeline", "", "%s: only the ML program of this pipeline is compiled, model "+
			"%d of %d (%s); Core ML runs the others before and after it", s.name, i+1, len(spec.Pipeline),
			shortened(spec.Pipeline))
	}
	return m, nil
}

// formError returns an error for a model that is neither an ML program nor a neural network.
func formError(path string, spec *mlmodel.Model) error {
	form := spec.Metadata.Form
	if n := len(spec.Pipeline); n > 0 {
		form = fmt.Sprintf("this is a pipeline of %s (%s); only pipelines with one ML program are read, and those "+
			"of ML programs alone are converted", diag.Count(n, "model", "models"), shortened(spec.Pipeline))
		return &FormError{path, form, "save the ML programs as packages of their " +
			"own (coremltools: utils.save_spec of each model of the pipeline)"}
	}
	hint, ok := specHints[form]
	if !ok {
		hint = convertHint
	}
	return &FormError{path, "this is a model of the form " + form + "; only ML programs (" + mlmodel.ProgramForm +
		") and neural networks are read", hint}
}

// shortened returns the first forms of a pipeline's models, as text.
func shortened(forms []string) string {
	const most = 8
	if len(forms) > most {
		return strings.Join(forms[:most], ", ") + ", ..."
	}
	return strings.Join(forms, ", ")
}

// maxMetadata limits the size of a compiled model's metadata, in bytes.
const maxMetadata = 16 << 20

// besideText returns the metadata in the folder of a MIL text, or nil.
func besideText(name string) (*Metadata, error) {
	data, err := fileBeside(name, metadata.FileName)
	if data == nil || err != nil {
		return nil, err
	}
	return metadata.ParseJSON(filepath.Join(filepath.Dir(name), metadata.FileName), data)
}

// fileBeside returns the contents of a file in the folder of a MIL text, nil if there is none: the program does not
// need it.
func fileBeside(text, name string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Dir(text))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	if info.Size() > maxMetadata {
		return nil, fmt.Errorf("%s: the file has %d bytes, the limit is %d",
			filepath.Join(filepath.Dir(text), name), info.Size(), maxMetadata)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxMetadata))
}

// Describe returns the metadata of the model at path, in any form of specification, and its program as MIL text, "" if
// Open refuses its form or a layer of a neural network. The program is not built and its weights are not opened. For a
// MIL text Describe returns the metadata beside it, or nil, and no text.
func Describe(path string) (*Metadata, string, error) {
	isSpec, err := specification(path)
	if err != nil {
		return nil, "", err
	}
	if !isSpec {
		name, err := textPath(path)
		if err != nil {
			return nil, "", err
		}
		m, err := besideText(name)
		return m, "", err
	}
	s, err := openSource(path, false)
	if err != nil {
		return nil, "", err
	}
	defer s.close()
	spec, err := mlmodel.Decode(s.file, s.size, s.name)
	if err != nil {
		return nil, "", err
	}
	switch {
	case spec.Program == nil && neuralnetwork.Is(spec.Metadata.Form):
		n, err := s.network(spec, &Options{})
		if fault := (*mlmodel.Error)(nil); errors.As(err, &fault) {
			return spec.Metadata, "", nil // Open says why
		} else if err != nil {
			return nil, "", err
		}
		return spec.Metadata, string(n.text.MIL), n.blobs.Close()
	case spec.Program == nil:
		return spec.Metadata, "", nil
	}
	if err := mil.Layout(s.name, spec.Program); err != nil {
		return nil, "", err
	}
	return spec.Metadata, spec.Program.File.Src, nil
}
