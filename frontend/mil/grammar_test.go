package mil

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

// TestEditorGrammarHasTheLanguage holds the grammar of the editor against the language: every element type, and every
// statement's operation and arguments, have the scopes of the example's text.
func TestEditorGrammarHasTheLanguage(t *testing.T) {
	b, err := os.ReadFile("../../editors/vscode/syntaxes/mil.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Repository map[string]struct{ Match, Begin string }
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	rule := func(name string) *regexp.Regexp {
		// Go's regular expressions have no look-ahead, so the text ahead is matched too.
		r, err := regexp.Compile(strings.ReplaceAll(g.Repository[name].Match, "(?=", "(?:"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r
	}
	kind, operation, argument := rule("type"), rule("operation"), rule("argument")
	for d := ir.Bool; ; d++ {
		name := d.String()
		if strings.Contains(name, "(") {
			break
		}
		if kind.FindString(name) != name {
			t.Errorf("the grammar has no element type %s", name)
		}
	}
	text, err := os.ReadFile("../../examples/digits/digits.mlmodelc/model.mil")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.Contains(line, "> conv1 = ") {
			continue
		}
		if m := operation.FindStringSubmatch(line); m == nil || m[1] != "conv" {
			t.Errorf("operation %q in %s", m, line)
		}
		if n := len(argument.FindAllString(line, -1)); n != 9 { // 8 of the operation, and its name
			t.Errorf("%d arguments in %s", n, line)
		}
	}
}
