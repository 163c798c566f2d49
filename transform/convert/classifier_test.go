package convert

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/metadata"
)

// TestClassifiersKeepTheirOutputs writes a text that classifies as a package, as a compiled model and as a package
// again. The outputs are the class and a dictionary in each of them, and the last text is the first.
func TestClassifiersKeepTheirOutputs(t *testing.T) {
	for _, c := range []struct{ key, classes, element string }{
		{"string", `list<string, 2>(["cat", "dog"])`, "String"},
		{"int64", `list<int64, 2>([7, 9])`, "Int64"},
	} {
		dir := t.TempDir()
		at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
		read := func(parts ...string) string {
			t.Helper()
			b, err := os.ReadFile(at(parts...))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		text := `program(1.3)
{
    func main<ios18>(tensor<fp32, [2]> x) {
            tensor<fp32, [2]> p = softmax(axis = int32(0), x = x);
            KEY label, dict<KEY, fp64> probs = classify(classes = ` + c.classes + `, probabilities = p);
        } -> (probs, p, label);
}`
		text = strings.ReplaceAll(text, "KEY", c.key)
		if err := os.WriteFile(at("m.mil"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		steps := []string{"m.mil", "a.mlpackage", "b.mlmodelc", "c.mlpackage", "d.mil"}
		for i, to := range steps[1:] {
			if err := convertTo(t, at(steps[i]), at(to), Options{}); err != nil {
				t.Fatalf("%s as %s: %v", steps[i], to, err)
			}
		}
		if got := read("d.mil"); got != text {
			t.Errorf("the text is\n%s\nwant\n%s", got, text)
		}
		about, err := metadata.ParseJSON(metadata.FileName, []byte(read("b.mlmodelc", metadata.FileName)))
		if err != nil {
			t.Fatal(err)
		}
		src, err := frontend.OpenSource(at("c.mlpackage"), frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		f := src.Spec.Metadata.Functions[0]
		if f.Predicted != "label" || f.Probabilities != "probs" {
			t.Errorf("the package predicts %q, %q", f.Predicted, f.Probabilities)
		}
		both := map[string][]metadata.Feature{"package": f.Outputs, "json": about.Functions[0].Outputs}
		for from, outs := range both {
			var kinds []string
			for _, x := range outs {
				kinds = append(kinds, x.Name+": "+x.Type())
			}
			want := "probs: dictionary " + c.key + ", p: multiArray fp32 [2], label: " + c.key
			if got := strings.Join(kinds, ", "); got != want {
				t.Errorf("outputs of the %s are %s, want %s", from, got, want)
			}
		}
		if want := `"formattedType" : "Dictionary (` + c.element + ` → Double)"`; !strings.Contains(
			read("b.mlmodelc", metadata.FileName), want) {
			t.Errorf("metadata.json lacks %s", want)
		}
	}
}
