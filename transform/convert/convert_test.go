package convert

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
)

// throughPackage returns the text of a model after its specification was written and read.
func throughPackage(t *testing.T, src *frontend.Source) []byte {
	t.Helper()
	spec, err := mlmodel.Encode(src.Spec)
	if err != nil {
		t.Fatal(err)
	}
	m, err := mlmodel.Decode(bytes.NewReader(spec), int64(len(spec)), "spec")
	if err != nil {
		t.Error(err)
		return nil
	}
	again, err := mlmodel.Encode(m)
	if err != nil || !bytes.Equal(spec, again) {
		t.Errorf("the specification is other bytes when it is written again: %v", err)
	}
	for _, f := range m.Program.Funcs {
		f.Params = m.Ordered(f)
	}
	b, err := milText(m.Program)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestTextIsTheSameThroughAPackage checks that a text is the same after it was in a package: byte for byte, if a
// compiler wrote it, or the same program with the same constants, if somebody wrote numbers or arguments otherwise.
func TestTextIsTheSameThroughAPackage(t *testing.T) {
	shared := shareddir.Find(t)
	var names []string
	for _, pattern := range []string{"corpus/*/model.mil", "conformance/cases/*/model.mil"} {
		found, _ := filepath.Glob(filepath.Join(shared, pattern))
		names = append(names, found...)
	}
	equal := 0
	for _, name := range names {
		src, err := frontend.OpenSource(name, frontend.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		var want bytes.Buffer
		if err := mil.Print(&want, src.Spec.Program); err != nil {
			t.Fatal(err)
		}
		got := throughPackage(t, src)
		src.Close() // only read from
		if bytes.Equal(got, bytes.TrimSuffix(want.Bytes(), []byte("\n"))) {
			equal++
		} else if program(t, name, nil) != program(t, name, got) {
			t.Errorf("%s is another program", name)
		}
	}
	if rest := len(names) - equal; rest > 7 {
		t.Errorf("%d of %d texts are spelled otherwise, want 7, which were written by hand", rest, len(names))
	}
}

// program returns the program of the text at a path, or of another text instead of it, with its constants.
func program(t *testing.T, name string, text []byte) string {
	t.Helper()
	m, err := frontend.Open(name, frontend.Options{Text: text, AssumeWeights: true})
	if err != nil {
		t.Error(err)
		return ""
	}
	defer m.Close()
	var b bytes.Buffer
	if err := ir.Print(&b, m.Program); err != nil {
		t.Fatal(err)
	}
	return place.ReplaceAllString(b.String(), "")
}

// place is a position in a printed program.
var place = regexp.MustCompile(` @[0-9]+:[0-9]+:[0-9]+`)
