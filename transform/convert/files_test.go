package convert

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/blobfile/blobfiletest"
	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mlmodelc"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// convertTo writes the model at from in the form of to.
func convertTo(t *testing.T, from, to string, o Options) error {
	t.Helper()
	src, err := frontend.OpenSource(from, frontend.Options{})
	if err != nil {
		return err
	}
	defer src.Close()
	files, err := Plan(src, to, o)
	if err != nil {
		return err
	}
	return atomicfile.Write(t.Context(), files...)
}

// writeText writes a text that adds a constant of each of the weight files.
func writeText(t *testing.T, dir string, weights ...string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [2]> x) {\n")
	last := "x"
	for i, w := range weights {
		path := filepath.Join(dir, filepath.FromSlash(w))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		blob := blobfiletest.Blob{Type: blobfile.Float16, Elems: 2, Data: []byte{0, 0x3c, 0, byte(i)}}
		at := blobfiletest.Write(t, path, blob)
		fmt.Fprintf(&b, "            tensor<fp16, [2]> y%d = add(x = %s, y = tensor<fp16, [2]>(BLOBFILE(path = "+
			"string(\"@model_path/%s\"), offset = uint64(%d))));\n", i, last, w, at[0])
		last = fmt.Sprint("y", i)
	}
	fmt.Fprintf(&b, "        } -> (%s);\n}\n", last)
	name := filepath.Join(dir, "m.mil")
	if err := os.WriteFile(name, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestWeightsAreMovedToTheirFolder checks that weight files anywhere in the model's folder are in the folder of weights
// of a package and of a compiled model, and that the program finds them there.
func TestWeightsAreMovedToTheirFolder(t *testing.T) {
	dir := t.TempDir()
	text := writeText(t, dir, "m.weights.bin", "weights/w.bin", "a/b.bin")
	want := program(t, text, nil)
	for _, to := range []string{"m.mlpackage", "m.mlmodelc"} {
		to = filepath.Join(dir, to)
		if err := convertTo(t, text, to, Options{}); err != nil {
			t.Fatal(err)
		}
		got := program(t, to, nil)
		for _, r := range [][2]string{{"weights/b.bin", "a/b.bin"}, {"weights/m.weights.bin", "m.weights.bin"}} {
			got = strings.ReplaceAll(got, r[0], r[1])
		}
		if header(got) != header(want) {
			t.Errorf("%s is\n%s\nwant\n%s", to, got, want)
		}
	}
	text = writeText(t, t.TempDir(), "weights/w.bin", "w.bin")
	if err := convertTo(t, text, filepath.Join(dir, "two.mlpackage"), Options{}); err == nil ||
		!strings.Contains(err.Error(), "w.bin and weights/w.bin have the same name") {
		t.Errorf("two files of one name: %v", err)
	}
}

// TestFeaturesThatNoDescriptionHas checks the errors of a text whose metadata.json describes its input in a way that
// specifications do not have, and of a specification that leaves out the type of its input.
func TestFeaturesThatNoDescriptionHas(t *testing.T) {
	for _, c := range []struct{ feature, want string }{
		{`"type":"Foo"`, `type "Foo", want one of int64, double, string, image, multiArray`},
		{`"type":""`, `type "", want one of int64`},
		{`"type":"isOptional"`, `type "isOptional", want one of int64`},
		{`"type":"Dictionary","dataType":"Double"`, `key type "fp64", want one of int64, string`},
		{`"type":"Sequence"`, `element type "", want one of int64, string`},
		{`"type":"MultiArray","dataType":"UInt8"`, `element type "UInt8", want one of fp16, fp32`},
		{`"type":"Image","colorspace":"CMYK"`, `colour space "CMYK", want one of BGR, GRAYSCALE`},
	} {
		dir := t.TempDir()
		if err := os.Rename(writeText(t, dir), filepath.Join(dir, frontend.TextName)); err != nil {
			t.Fatal(err)
		}
		about := fmt.Sprintf(`[{"inputSchema":[{"name":"x",%s}]}]`, c.feature)
		if err := os.WriteFile(filepath.Join(dir, metadata.FileName), []byte(about), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, to := range []string{"m.mlpackage", "m.mlmodelc"} {
			err := convertTo(t, dir, filepath.Join(t.TempDir(), to), Options{})
			if err == nil || !strings.Contains(err.Error(), "feature x of function main has "+c.want) {
				t.Errorf("%s as %s: %v, want %s", c.feature, to, err, c.want)
			}
		}
	}

	dir := t.TempDir()
	src, err := frontend.OpenSource(writeText(t, dir), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	src.Spec.Description = []byte{1<<3 | 2, 3, 1<<3 | 2, 1, 'x'} // input { name: "x" }
	_, err = Plan(src, filepath.Join(dir, "m.mlmodelc"), Options{})
	if err == nil || !strings.Contains(err.Error(), "feature x of function main has no type") {
		t.Errorf("an input without a type: %v", err)
	}
}

// header returns a printed program without the name of its file.
func header(s string) string {
	lines := strings.SplitAfter(s, "\n")
	kept := lines[:0]
	for _, l := range lines {
		if !strings.HasPrefix(l, "file ") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "")
}

// TestPairsAreEqual compares what is written with the compiled models of Apple's compiler. Its order of the entries
// that users add to the metadata is random, and version 3304 wrote metadata.json in another order and without states.
func TestPairsAreEqual(t *testing.T) {
	compiled, _ := filepath.Glob(filepath.Join(shareddir.Find(t), "pairs", "*.mlmodelc"))
	if len(compiled) == 0 {
		t.Skip("no folder pairs with models as packages and as Apple's compiler wrote them")
	}
	for _, want := range compiled {
		name := strings.TrimSuffix(filepath.Base(want), ".mlmodelc")
		text, err := os.ReadFile(filepath.Join(want, frontend.TextName))
		if err != nil {
			t.Fatal(err)
		}
		info := map[string]string{}
		for _, key := range []string{"coremlc-version", "coremlc-component-MIL"} {
			_, rest, _ := strings.Cut(string(text), `{"`+key+`", "`)
			info[key], _, _ = strings.Cut(rest, `"`)
		}
		got := filepath.Join(t.TempDir(), name+".mlmodelc")
		pack := strings.TrimSuffix(want, ".mlmodelc") + ".mlpackage"
		if err := convertTo(t, pack, got, Options{BuildInfo: info}); err != nil {
			t.Error(err)
			continue
		}
		old := strings.HasPrefix(info["coremlc-version"], "3304.")
		for _, f := range []string{frontend.TextName, metadata.FileName, mlmodelc.AnalyticsName, mlmodelc.DataName} {
			a, err1 := os.ReadFile(filepath.Join(want, filepath.FromSlash(f)))
			b, err2 := os.ReadFile(filepath.Join(got, filepath.FromSlash(f)))
			same := bytes.Equal(a, b) || f == metadata.FileName && old ||
				f == mlmodelc.DataName && len(a) == len(b) && bytes.Equal(a[:83], b[:83])
			if err1 != nil || err2 != nil || !same {
				t.Errorf("%s: %s differs: %v, %v", name, f, err1, err2)
			}
		}
	}
}
