package docs

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/inspect/compare"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
)

// TestDiff holds diff.md against the levels and the fields of the JSON.
func TestDiff(t *testing.T) {
	b, err := os.ReadFile("diff.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, l := range compare.Levels {
		if row := "| `" + string(l.Level) + "` | " + l.Doc + " |\n"; !strings.Contains(text, row) {
			t.Errorf("diff.md has no row %s", row)
		}
	}
	for _, v := range []any{compare.Result{}, compare.Summary{}, compare.Coverage{}, compare.Change{}, compare.Range{},
		toolchain.Version{}} {
		x := reflect.TypeOf(v)
		for i := range x.NumField() {
			name, _, _ := strings.Cut(x.Field(i).Tag.Get("json"), ",")
			if x.Field(i).IsExported() && !strings.Contains(text, "`"+name+"`") {
				t.Errorf("diff.md does not say what `%s` of %s is", name, x.Name())
			}
		}
	}
}
