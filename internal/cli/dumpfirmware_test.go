package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/lower/td"
)

// TestDumpFirmware prints a firmware container, told by its content, as text and
// as JSON, and says where a broken one is wrong.
func TestDumpFirmware(t *testing.T) {
	b, err := afpp.Encode(&afpp.Package{Programs: []*afpp.Program{{
		Generic:    afpp.Generic{Identity: 7, Image: td.VersionV10, Base: 0x30000000, Size: afpp.PageSize},
		Text:       afpp.Text{Images: [][]byte{make([]byte, td.ImageSize)}},
		Operations: []afpp.Operation{{Name: "copy", Class: 4, Tasks: 1}},
		Procedures: []afpp.Procedure{{Name: "net", Operations: 1, Bars: []afpp.Bar{{Usage: afpp.UsageInput, Address: 0x30000000, Size: 64}}, Inputs: []afpp.Port{{Name: "x"}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.bin")
	run := func(b []byte, args ...string) (int, string, string) {
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		status := Main(append([]string{"dump", path}, args...), nil, &out, &errs)
		return status, out.String(), errs.String()
	}
	status, out, errs := run(b)
	if status != statusOK || !strings.HasPrefix(out, "firmware container, version 1.0, 1 programs\n") || !strings.Contains(out, "\nprocedure net\n") {
		t.Errorf("exit status %d\n%s%s", status, out, errs)
	}
	status, out, errs = run(b, "--json")
	var j struct {
		Kind    string
		Headers struct {
			Programs []struct{ Procedures []struct{ Name string } }
		}
		Procedures []struct{ Tasks []struct{ Engine string } }
	}
	if err := json.Unmarshal([]byte(out), &j); status != statusOK || err != nil || j.Kind != "firmware" || len(j.Headers.Programs) != 1 ||
		j.Headers.Programs[0].Procedures[0].Name != "net" || len(j.Procedures) != 1 || len(j.Procedures[0].Tasks) != 1 {
		t.Errorf("exit status %d, %v\n%s%s", status, err, out, errs)
	}
	status, out, errs = run(b[:len(b)-1])
	if status != statusInput || !strings.Contains(out, "\ntask 0 at ") || !strings.Contains(errs, "model.bin: afpp: byte ") || !strings.Contains(errs, "program 0.") {
		t.Errorf("cut: exit status %d\n%s%s", status, out, errs)
	}
}
