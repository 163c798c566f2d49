package explore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/regularfile"
	"github.com/zinc-compiler/zinc/ir"
)

// Source is where a model is.
type Source struct {
	Path    string
	Weights string // folder for "@model_path", "" for the model's own
	Stdin   *regularfile.Input
}

func (s Source) frontend() frontend.Options {
	return frontend.Options{WeightsDir: s.Weights, AssumeWeights: true, Stdin: s.Stdin}
}

// model is a model that the server shows.
type model struct {
	Name   string   `json:"name"` // unique among the models
	SHA256 string   `json:"sha256"`
	Bytes  int      `json:"bytes"`
	Lines  int      `json:"lines"`
	Funcs  []string `json:"functions,omitempty"`
	// Shapes are the inputs whose shape can be chosen, with their defaults.
	Shapes map[string][]int64 `json:"shapes,omitempty"`
	// Fixed is set if the model has no text and cannot be edited.
	Fixed bool `json:"fixed,omitempty"`

	source    Source
	folder    string // of the text
	constants int64  // bytes of the constants
	text      string
	file      string // base name of the text, for diagnostics
	edits     memory
}

// openModel reads a model's text. A text with errors is also a model: the page shows the errors.
func openModel(src Source) (*model, error) {
	m := &model{source: src, Name: nameOf(src.Path)}
	opened, err := frontend.Open(src.Path, src.frontend())
	switch list := diag.AsList(err); {
	case list != nil:
		f := list.All()[0].Span.File
		if f == nil {
			return nil, err
		}
		m.text, m.file = f.Src, f.Name
	case err != nil:
		return nil, err
	default:
		defer opened.Close()
		m.file = opened.Path
		if opened.Source != nil {
			m.text = opened.Source.Src
		} else {
			m.Fixed = true
		}
		m.constants = ir.ConstantBytes(opened.Program)
		for _, f := range opened.Program.Funcs {
			m.Funcs = append(m.Funcs, f.Name)
			for n, d := range f.Flex.Default {
				if m.Shapes == nil {
					m.Shapes = map[string][]int64{}
				}
				m.Shapes[n] = slices.Clone(d)
			}
		}
	}
	if abs, err := filepath.Abs(m.file); err == nil {
		m.folder = filepath.Dir(abs)
	}
	m.file = filepath.Base(filepath.ToSlash(m.file))
	sum := sha256.Sum256([]byte(m.text))
	m.SHA256, m.Bytes, m.Lines = hex.EncodeToString(sum[:]), len(m.text), strings.Count(m.text, "\n")+1
	return m, nil
}

// nameOf returns the base name of a model's path, or its folder's if the file has the usual name of texts.
func nameOf(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	if filepath.Base(abs) == frontend.TextName {
		abs = filepath.Dir(abs)
	}
	base := filepath.Base(abs)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// unique numbers models with the same name.
func unique(ms []*model) {
	seen := map[string]int{}
	for _, m := range ms {
		n := seen[m.Name]
		seen[m.Name]++
		if n > 0 {
			m.Name = fmt.Sprintf("%s~%d", m.Name, n+1)
		}
	}
}

var errFixed = errors.New("the model is a network description, which has no text to edit")

// open opens the model with its own text or another one.
func (m *model) open(text *string) (*frontend.Model, error) {
	o, err := m.frontend(text)
	if err != nil {
		return nil, err
	}
	return frontend.Open(m.source.Path, o)
}

// frontend returns the options that open the model with its own text or another one.
func (m *model) frontend(text *string) (frontend.Options, error) {
	o := m.source.frontend()
	switch {
	case m.Fixed && text != nil:
		return o, errFixed
	case m.Fixed:
		return o, nil
	case text == nil:
		text = &m.text
	}
	o.Name, o.Text = m.file, []byte(*text)
	return o, nil
}
