package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/inspect/dump"
)

// TestDumpDocNamesEveryFlagAndKey checks that docs/dump.md names every flag that chooses a part, and every key of the
// JSON except the keys of headers and of what other packages print.
func TestDumpDocNamesEveryFlagAndKey(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "dump.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	for _, p := range dump.Parts {
		if !strings.Contains(doc, "`--"+p.Name+"`") {
			t.Errorf("no `--%s`", p.Name)
		}
	}
	others := map[string]bool{"headers": true, "e5": true, "statements": true, "source": true, "fields": true}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				if !strings.Contains(doc, "`"+k+"`") && !strings.Contains(doc, "."+k+"`") {
					t.Errorf("no `%s`", k)
				}
				if !others[k] {
					walk(x)
				}
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	pair := emitted(t, "pair")
	for _, c := range []struct {
		b    []byte
		args []string
	}{
		{pair, []string{"--all", "--task", "0"}},
		{pair, []string{"--raw", "--all"}},
		{pair[:19000], []string{"--all"}},
		{emitted(t, "records"), []string{"--all"}},
		{emitted(t, "images"), []string{"--all", "--task", "1"}},
		{emitted(t, "afpp"), []string{"--all", "--task", "1"}},
	} {
		_, out, errs := dumped(t, c.b, append(c.args, "--json")...)
		var v any
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Fatalf("%v: %v\n%s", c.args, err, errs)
		}
		walk(v)
	}
}
