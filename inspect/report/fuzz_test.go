package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
)

// FuzzForms writes any report in every form, as a report of another version of the compiler may contain anything: none
// may panic, and JSON and CSV must be valid.
func FuzzForms(f *testing.F) {
	for _, s := range []string{
		`{}`,
		`{"function": "main", "target": "h13", "ops": [{"op": "conv", "name": "a", "unit": "cpu", "line": 3}]}`,
		`{"function": "<script>", "target": "h13", "ops": [{"op": "a,\"b", "name": "|x|", "unit": "engine"}],
			"estimate": {}}`,
		`{"functions": [{"function": "f"}, null], "cuts": [{}], "tables": [{}]}`,
	} {
		f.Add("m.mil", []byte(s))
	}
	f.Fuzz(func(t *testing.T, model string, data []byte) {
		var r compile.Report
		if json.Unmarshal(data, &r) != nil || !whole(&r) {
			return
		}
		for _, form := range Formats {
			var b bytes.Buffer
			if form.Write(&b, &Document{Model: model, Report: &r}) != nil {
				continue
			}
			switch form.Name {
			case "json", "sarif":
				if !json.Valid(b.Bytes()) {
					t.Errorf("%s is invalid: %s", form.Name, &b)
				}
			case "csv", "summary":
				if _, err := csv.NewReader(&b).ReadAll(); err != nil {
					t.Errorf("%s: %v", form.Name, err)
				}
			}
		}
	})
}

// whole reports whether no function is null, which readers of reports refuse.
func whole(r *compile.Report) bool {
	for _, f := range r.Functions {
		if f == nil || !whole(f) {
			return false
		}
	}
	return true
}
