package node

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// sample describes a file with two sections, one of them cut.
func sample() *Node {
	sections := List("sections")
	for _, s := range []struct {
		name          string
		at            uint64
		size, present int
	}{{"text", 0x40, 16, 16}, {"\x1b[31mko\ts", 0x1000, 8, 5}} {
		n := Row("", "  {name}\t{at}\t{size:#x}{+present}", s.name, Hex(s.at), s.size, s.present)
		n.AddIf(s.present != s.size, Row("", "\t{missing} missing", s.size-s.present))
		sections.Add(n.Add(Text("\n")))
	}
	return Row("file", "file {name:q}, {-count} sections{+magic}\n", "a{b}<c>", len(sections.Parts), Hex(0xbeef)).Add(
		sections, Object("", Value("same", []int{1}), Value("took", time.Second)), List("none"), List("notes",
			Row("", "{}\n", "x\ny")))
}

func TestTextHasLinesOfRows(t *testing.T) {
	const want = "file \"a{b}<c>\", 2 sections\n" +
		"  text       0x40    0x10\n" +
		"  \ufffd[31mko\ts  0x1000  0x8  3 missing\n" +
		"x\ufffdy\n"
	var b strings.Builder
	if err := sample().WriteText(&b); err != nil || b.String() != want {
		t.Errorf("%v\n%q, want\n%q", err, &b, want)
	}
	if err := sample().WriteText(full{}); !errors.Is(err, errFull) {
		t.Errorf("a writer that fails: %v", err)
	}
}

func TestJSONHasKeysInOrder(t *testing.T) {
	const want = `{"name":"a{b}<c>","magic":"0xbeef","sections":[` +
		`{"name":"text","at":"0x40","size":16,"present":16},` +
		`{"name":"\u001b[31mko\ts","at":"0x1000","size":8,"present":5,"missing":3}],` +
		`"same":[1],"took":"1s","none":[],"notes":["x\ny"]}`
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(sample()); err != nil || b.String() != want+"\n" {
		t.Errorf("%v\n%s, want\n%s", err, &b, want)
	}
	if _, err := json.Marshal(List("", Value("", func() {}))); err == nil {
		t.Error("a function is JSON")
	}
}

func TestRowsNeedAFieldForEachValue(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a row has more values than fields")
		}
	}()
	Row("", "{a}", 1, 2)
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
