package dump

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/internal/regularfile"
)

// describeModel describes a model for JSON by its metadata, which may be nil.
func describeModel(m *frontend.Metadata) *node.Node {
	return node.Object("").AddIf(m != nil, node.Value("metadata", m))
}

// model prints a model's folder or specification: its metadata as comments, then the program as MIL text. For a model
// that is not an ML program only the metadata is printed. done is false for other files.
func (c *printer) model(path string) (done bool, err error) {
	if c.Stdin.IsStdin(path) {
		return false, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	if !info.IsDir() && !strings.EqualFold(filepath.Ext(path), ".mlmodel") {
		return false, nil
	}
	m, text, err := frontend.Describe(path)
	if err != nil {
		return true, err
	}
	if err := c.wholeOnly(path, "a model"); err != nil {
		return true, err
	}
	if c.Raw {
		return true, &OptionError{"raw", "a model is not a single file: pass the path of a file in it"}
	}
	c.metadata = m
	switch {
	case text != "":
		return true, c.text(m.Source, []byte(text))
	case info.IsDir() && (m == nil || m.IsCompiled()):
		return false, nil // the text is in the folder
	case c.JSON:
		return true, c.whole("model", describeModel(m), nil)
	}
	return true, m.WriteText(c.out, "")
}

// MIL prints the text of the model at path, as it is in its file, or as zinc writes the program of a specification.
// Positions in diagnostics refer to it.
func MIL(w io.Writer, path string, stdin *regularfile.Input) error {
	name, text := path, ""
	if !stdin.IsStdin(path) {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.IsDir() || strings.EqualFold(filepath.Ext(path), ".mlmodel") {
			var m *frontend.Metadata
			if m, text, err = frontend.Describe(path); err != nil {
				return err
			}
			if text == "" && m != nil && !m.IsCompiled() {
				_, err := frontend.Open(path, frontend.Options{})
				return err // why it has no text
			}
			name = filepath.Join(path, frontend.TextName)
		}
	}
	if text == "" {
		b, err := stdin.Read(name)
		if err != nil {
			return err
		}
		if KindOf(b) != KindText {
			return fmt.Errorf("%s: not a model with MIL text", path)
		}
		text = string(b)
	}
	_, err := io.WriteString(w, text)
	return err
}
