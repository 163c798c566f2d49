package report

import (
	"fmt"
	"strings"
	"testing"
)

// TestPagesHaveTheNamesAndColoursOfParts compares what scripts and style sheets say of the parts with Parts.
func TestPagesHaveTheNamesAndColoursOfParts(t *testing.T) {
	script, err := Shared.ReadFile("parts.js")
	if err != nil {
		t.Fatal(err)
	}
	list := ""
	for _, p := range Parts {
		list += fmt.Sprintf("  %s: %q,\n", p.Use, p.Name)
		for _, rule := range []string{
			fmt.Sprintf("\n  --%s: light-dark(", p.Use), fmt.Sprintf("\n.c-%s { background: var(--%[1]s); }", p.Use),
		} {
			if !strings.Contains(partColors, rule) {
				t.Errorf("parts.css has no %q", rule)
			}
		}
	}
	if !strings.Contains(string(script), "{\n"+list+"};") {
		t.Errorf("parts.js has other names or another order than\n%s", list)
	}
}
