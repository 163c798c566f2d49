package frontend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/mlmodelc"
)

// describedText is a text whose input is x.
const describedText = `program(1.3)
{
    func main<ios18>(tensor<fp16, [2]> x) {
            tensor<fp16, [2]> y = relu(x = x);
        } -> (y);
}
`

// TestDescriptionMustFitTheProgram checks that a compiled model whose description is not about its program is refused,
// with the file and the input.
func TestDescriptionMustFitTheProgram(t *testing.T) {
	described := func(name string) []byte {
		feature := "\x0a" + string(rune(len(name))) + name
		return []byte("\x0a" + string(rune(len(feature))) + feature)
	}
	for _, c := range []struct {
		data []byte
		want string
	}{
		{(&mlmodelc.Data{SpecificationVersion: 9, Description: described("x")}).Bytes(1), ""},
		{(&mlmodelc.Data{SpecificationVersion: 9, Description: described("z")}).Bytes(1), "input x of function main"},
		{(&mlmodelc.Data{SpecificationVersion: 9}).Bytes(1), "input x of function main is not described"},
		{(&mlmodelc.Data{SpecificationVersion: 9, Description: append(described("x"), described("z")...)}).Bytes(1),
			"2 inputs are described for function main, which has 1"},
		{(&mlmodelc.Data{SpecificationVersion: 9, Description: []byte("\x0a\x7f")}).Bytes(1), "description"},
		{[]byte("short"), "truncated"},
	} {
		dir := filepath.Join(t.TempDir(), "m.mlmodelc")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{TextName: []byte(describedText), mlmodelc.DataName: c.data} {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		s, err := OpenSource(dir, Options{})
		switch {
		case err == nil && c.want == "":
			if s.Name != "m" || !s.Compiled || s.Spec.Metadata.SpecificationVersion != 9 {
				t.Errorf("source is %+v", s)
			}
			s.Close() // only read from
		case err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), mlmodelc.DataName):
			t.Errorf("%q: %v, want %q", c.data, err, c.want)
		}
	}
}
