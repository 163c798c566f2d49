package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/filename"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// TestLongNamesAreCut compiles, reads back and splits a model whose file, function, input and statement have names as
// long as a file system takes them, and some longer.
func TestLongNamesAreCut(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	stem, value := strings.Repeat("A", filename.Max-5), strings.Repeat("v", 300)
	model := stem + ".mil"
	put(t, model, []byte(`program(1.3)
{
    func `+value+`f<ios18>(tensor<fp16, [1, 8, 4, 4]> `+value+`) {
        tensor<fp16, [1, 8, 4, 4]> `+value+`m = mul(x = `+value+`, y = `+value+`);
        tensor<fp16, [1, 8, 4, 4]> `+value+`n = exp(x = `+value+`m);
    } -> (`+value+`n);
}
`))
	bare := strings.Repeat("B", filename.Max-1)
	for _, args := range [][]string{
		{model}, {model}, // the second time from the cache
		{"dump", stem + ".hwx"},
		{model, "-o", bare}, {"diff", bare, stem + ".hwx"},
		{model, "--emit", "td", "-o", stem + ".td"},
		{"split", model, "--parts", "2", "-o", "parts"},
	} {
		if status, _, msg := call(t, args...); status != 0 {
			t.Errorf("%.60q: status %d: %.400s", args, status, msg)
		}
	}
	status, _, msg := call(t, "lint", model, "--range", "*=-8:8", "--write-inputs", "lint")
	if status == statusInternal || strings.Contains(msg, "cannot write") {
		t.Errorf("lint: status %d: %.400s", status, msg)
	}
	if found, err := filepath.Glob(filepath.Join("lint", "*", "*.npy")); err != nil || len(found) == 0 {
		t.Errorf("lint wrote no input: %v", err)
	}
	if parts, err := os.ReadDir("parts"); err != nil || len(parts) != 2 {
		t.Errorf("%d parts, %v; want 2", len(parts), err)
	}
	_, weights := reduce.Files(model)
	if n := len(filepath.Base(weights)); n > filename.Max {
		t.Errorf("the name of the weight file has %d bytes", n)
	}
}
