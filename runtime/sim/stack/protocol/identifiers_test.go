package protocol

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// TestRowsMatchTheSharedPage: the complete set, with way and subsystem, against the shared
// page.
// Table C.15.
func TestRowsMatchTheSharedPage(t *testing.T) {
	ways := map[Direction]int{}
	for i := range Rows {
		r := &Rows[i]
		if r.ID != ID(i) || Logger.Row(uint32(i)) != r || ByName(r.Name) != r || Wire.Row(uint32(r.Wire)) != r {
			t.Errorf("row %#02x is filed under %#02x", i, uint32(r.ID))
		}
		if Logger.Of(r) != uint32(i) || Wire.Of(r) != uint32(r.Wire) {
			t.Errorf("%s has other identifiers", r.Name)
		}
		if r.Request == nil || r.Disposition == 0 || r.WireSource == 0 || r.Source == "" {
			t.Errorf("%s lacks a column", r.Name)
		}
		if (r.Way == ToHost) != (r.Disposition == Emitted) {
			t.Errorf("%s goes %v and is %v", r.Name, r.Way, r.Disposition)
		}
		ways[r.Way]++
	}
	if len(Rows) != 93 || ways[ToHost] != 14 || ways[Both] != 1 {
		t.Errorf("%d identifiers, %v", len(Rows), ways)
	}
	if Logger.Row(93) != nil || Logger.Row(uint32(Invalid)) != nil {
		t.Error("identifiers past 0x5c have rows")
	}
	if s := Rows[0x41].String(); s != "CMD = 0x41 [CSNE_CMD_PROCEDURE_CALL]" {
		t.Error(s)
	}
	if s := Rows[0].String(); s != "CMD = 0000 [CSNE_CMD_STOP]" {
		t.Error(s)
	}
	if ByName("IPC_ENDPOINT_TYPE_DATA_CHAINING") != nil {
		t.Error("the endpoint's type is no command")
	}

	src, err := os.ReadFile(filepath.Join(shareddir.Find(t), "spec", "commands.md"))
	if err != nil {
		t.Skip(err)
	}
	n := 0
	way := map[string]Direction{"H": ToFirmware, "F": ToHost, "B": Both}
	for _, m := range regexp.MustCompile(`\| (0x[0-9a-f]{2}) \| (\w+) \| ([HFB]) \| (\w+) `).
		FindAllStringSubmatch(strings.ReplaceAll(string(src), " | 0x", " | | 0x"), -1) {
		id, err := strconv.ParseUint(m[1], 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		r := Logger.Row(uint32(id))
		if r == nil || r.Name != m[2] || r.Way != way[m[3]] || r.Subsystem != m[4] {
			t.Errorf("%s: have %+v, want %v", m[1], r, m[2:])
		}
		n++
	}
	if n != 93 {
		t.Errorf("compared %d identifiers, want 93", n)
	}
}
