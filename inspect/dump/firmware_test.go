package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/lower/td"
)

// TestFirmwareContainersArePrinted prints a firmware container, detected by its content, as
// text and JSON, and checks the error for a corrupt one.
func TestFirmwareContainersArePrinted(t *testing.T) {
	b, err := afpp.Encode(&afpp.Package{Programs: []*afpp.Program{{
		Generic:    afpp.Generic{Identity: 7, Image: uint32(td.V10.Version), Base: 0x30000000, Size: afpp.PageSize},
		Text:       afpp.Text{Images: [][]byte{make([]byte, td.ImageSize)}},
		Operations: []afpp.Operation{{Name: "copy", Class: 4, Tasks: 1}},
		Procedures: []afpp.Procedure{{Name: "net", Operations: 1,
			Bars:   []afpp.Bar{{Usage: afpp.UsageInput, Address: 0x30000000, Size: 64}},
			Inputs: []afpp.Port{{Name: "x"}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ok, out, errs := dumped(t, b)
	if !ok || !strings.HasPrefix(out, "firmware container, version 1.0, 1 programs\n") ||
		!strings.Contains(out, "\nprocedure net\n") {
		t.Errorf("ok is %v\n%s%s", ok, out, errs)
	}
	ok, out, errs = dumped(t, b, "json")
	var j struct {
		Kind    string
		Headers struct {
			Programs []struct{ Procedures []struct{ Name string } }
		}
		Procedures []struct{ Tasks []struct{ Engine string } }
	}
	if err := json.Unmarshal([]byte(out), &j); !ok || err != nil || j.Kind != "firmware" ||
		len(j.Headers.Programs) != 1 ||
		j.Headers.Programs[0].Procedures[0].Name != "net" || len(j.Procedures) != 1 || len(j.Procedures[0].Tasks) != 1 {
		t.Errorf("ok is %v, %v\n%s%s", ok, err, out, errs)
	}
	ok, out, errs = dumped(t, b[:len(b)-1])
	if ok || !strings.Contains(out, "\ntask 0 at ") ||
		!strings.Contains(errs, "file.bin: afpp: byte ") || !strings.Contains(errs, "program 0.") {
		t.Errorf("cut: ok is %v\n%s%s", ok, out, errs)
	}
}

// TestTasksOfSeveralProgramsAreSeparate also checks that the offsets of words are those in
// the file, for a valid and a corrupt container.
func TestTasksOfSeveralProgramsAreSeparate(t *testing.T) {
	program := func(id uint64) *afpp.Program {
		return &afpp.Program{
			Generic: afpp.Generic{
				Identity: id, Image: uint32(td.V10.Version), Base: 0x30000000, Size: afpp.PageSize,
			},
			Text:       afpp.Text{Images: [][]byte{make([]byte, td.ImageSize)}},
			Operations: []afpp.Operation{{Name: "copy", Class: 4, Tasks: 1}},
			Procedures: []afpp.Procedure{{Name: "net", Operations: 1,
				Bars:   []afpp.Bar{{Usage: afpp.UsageInput, Address: 0x30000000, Size: 64}},
				Inputs: []afpp.Port{{Name: "x"}}}},
		}
	}
	b, err := afpp.Encode(&afpp.Package{Programs: []*afpp.Program{program(7), program(8)}})
	if err != nil {
		t.Fatal(err)
	}
	ok, out, errs := dumped(t, b, "task=0/net:0", "json")
	var task struct {
		Task []struct {
			Kind string `json:"attested_kind"`
		}
	}
	if err := json.Unmarshal([]byte(out), &task); !ok || err != nil || len(task.Task) != 1 ||
		strings.Contains(task.Task[0].Kind, "step=") {
		t.Errorf("the only task of a program: ok is %v, %v\n%s%s", ok, err, out, errs)
	}
	broken := bytes.Clone(b)
	first := (afpp.HeaderSize + afpp.Align - 1) / afpp.Align * afpp.Align
	broken[first+afpp.HeaderSize+0x10]++ // the kind of the first section of program 0
	second := first + (len(b)-first)/2   // both programs are of one size
	for name, b := range map[string][]byte{"whole": b, "broken": broken} {
		_, out, errs := dumped(t, b, "headers", "raw", "json")
		var j struct {
			Raw []struct {
				Name   string
				Offset int
				Words  []string
			}
		}
		if err := json.Unmarshal([]byte(out), &j); err != nil || len(j.Raw) != 3 {
			t.Fatalf("%s: %v\n%s%s", name, err, out, errs)
		}
		for i, x := range j.Raw[1:] {
			want := [...]int{first, second}[i]
			if magic := fmt.Sprintf("%08x", afpp.MagicProgram); x.Offset != want || x.Words[0] != magic {
				t.Errorf("%s: program %d at %#x begins with %s, want %#x, %s", name, i, x.Offset, x.Words[0], want,
					magic)
			}
		}
	}
}
