package ir

import "testing"

func TestEveryFormIsComplete(t *testing.T) {
	for _, n := range Names() {
		for _, d := range Forms(n) {
			if d.Infer == nil || d.Doc == "" || len(d.Params) == 0 {
				t.Errorf("%s %s: incomplete row", n, d.Since)
			}
			seen := map[ParamName]bool{}
			for _, p := range d.Params {
				if seen[p.Name] || p.Types == 0 {
					t.Errorf("%s %s: parameter %s twice or without a class", n, d.Since, p.Name)
				}
				seen[p.Name] = true
			}
		}
	}
	if got := len(Names()); got < 130 {
		t.Errorf("%d operations", got)
	}
}
