package diag

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestPositionsCountLinesAndColumnsFromOne(t *testing.T) {
	f := NewFile("a.mil", "ab\n\ncd\r\n")
	for _, c := range []struct {
		off  int
		want string
	}{{0, "a.mil:1:1"}, {2, "a.mil:1:3"}, {3, "a.mil:2:1"}, {4, "a.mil:3:1"}, {7, "a.mil:3:4"}, {8, "a.mil:4:1"},
		{9, "a.mil"}, {-1, "a.mil"}} {
		if got := f.Position(PosAt(c.off)).String(); got != c.want {
			t.Errorf("offset %d is %s, want %s", c.off, got, c.want)
		}
	}
	if got := (Span{}).String(); got != "" {
		t.Errorf("no span is %q", got)
	}
}

func at(f *File, start, end int) Span { return Span{f, PosAt(start), PosAt(end)} }

func TestTextShowsAWindowOfTheSource(t *testing.T) {
	long := strings.Repeat("a", 150) + "BAD" + strings.Repeat("z", 150)
	for _, c := range []struct {
		name, src  string
		start, end int
		want       string
	}{
		{name: "plain", src: "  y = f(x)\n", start: 6, end: 7, want: "    y = f(x)\n        ^\n"},
		{name: "tail", src: "y = conv(x)", start: 4, end: 8, want: "    y = conv(x)\n        ^~~~\n"},
		{name: "no length", src: "abc", start: 1, end: 1, want: "    abc\n     ^\n"},
		{name: "end of text", src: "abc", start: 3, end: 3, want: "    abc\n       ^\n"},
		{name: "over the line's end", src: "ab cd\nef", start: 3, end: 8, want: "    ab cd\n       ^~\n"},
		{name: "carriage return", src: "ab\r\ncd", start: 0, end: 2, want: "    ab\n    ^~\n"},
		{name: "tab and wide text", src: "\té\tx", start: 4, end: 5, want: "    é x\n      ^\n"},
		{name: "control characters", src: "a\x1b[1m\xffb", start: 6, end: 7, want: "    a.[1m.b\n          ^\n"},
		{name: "long line", src: long, start: 150, end: 153, want: "    ... " + strings.Repeat("a", 40) + "BAD" +
			strings.Repeat("z", 57) + " ...\n" + strings.Repeat(" ", 48) + "^~~\n"},
		{name: "long line, at its start", src: long, start: 0, end: 300, want: "    " + strings.Repeat("a", 100) +
			" ...\n    ^" + strings.Repeat("~", 99) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Diagnostic{Span: at(NewFile("f", c.src), c.start, c.end), Message: "m"}
			_, got, _ := strings.Cut(d.Text(), "\n")
			if got != c.want {
				t.Errorf("text is\n%q, want\n%q", got, c.want)
			}
		})
	}
}

func TestTextShowsNotesAndHint(t *testing.T) {
	f := NewFile("model.mil", "a\nb\n")
	var l List
	l.Errorf(at(f, 2, 3), "shape", "conv", "weight has %d", 32).Note(at(f, 0, 1), "x is declared").Note(Span{}, "seen").
		WithHint("do this")
	var b bytes.Buffer
	if err := l.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := "model.mil:2:1: error: conv: weight has 32\n    b\n    ^\nnote: x is declared at model.mil:1:1\nnote: " +
		"seen\nhint: do this\n"
	if b.String() != want {
		t.Errorf("text is\n%swant\n%s", &b, want)
	}
}

func TestListCountsBeyondItsLimit(t *testing.T) {
	f := NewFile("f", strings.Repeat("x", MaxKept+10))
	var l, m List
	for i := range MaxKept + 5 {
		l.Errorf(at(f, i, i+1), "c", "", "m")
	}
	m.Warningf(at(f, 0, 1), "c", "", "w")
	l.Merge(&m)
	l.Merge(nil)
	if l.Errors() != MaxKept+5 || l.Warnings() != 1 || len(l.All()) != MaxKept {
		t.Errorf("%d errors, %d warnings, %d kept", l.Errors(), l.Warnings(), len(l.All()))
	}
	var b bytes.Buffer
	if err := l.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("and %d errors, 1 warning more\n", MaxKept+5-MaxShown); !strings.HasSuffix(b.String(),
		want) {
		t.Errorf("text does not end in %q", want)
	}
	var doc struct{ Errors, Warnings, Omitted int }
	b.Reset()
	if err := json.NewEncoder(&b).Encode(l.Document()); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Errors != MaxKept+5 || doc.Omitted != 6 {
		t.Errorf("JSON says %+v, %v", doc, err)
	}
}

func TestSortOrdersAndRemovesRepeats(t *testing.T) {
	a, b := NewFile("a", "xxxx"), NewFile("b", "xxxx")
	var l List
	l.Errorf(at(b, 0, 1), "c", "", "4")
	l.Errorf(at(a, 2, 3), "c", "", "3")
	l.Warningf(at(a, 1, 2), "c", "", "2")
	l.Errorf(at(a, 1, 2), "c", "", "1")
	l.Errorf(at(a, 1, 2), "c", "", "1")
	l.Sort()
	got := ""
	for _, d := range l.All() {
		got += d.Message
	}
	if got != "1234" || l.Errors() != 3 {
		t.Errorf("order is %s with %d errors, want 1234 and 3", got, l.Errors())
	}
}

func TestErrIgnoresWarnings(t *testing.T) {
	var l List
	l.Warningf(Span{}, "c", "", "odd")
	if err := l.Err(); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	l.Errorf(Span{}, "c", "add", "bad")
	l.Errorf(Span{}, "c", "", "worse")
	err := l.Err()
	if err == nil || err.Error() != "error: add: bad (and 1 more)" {
		t.Errorf("error is %v", err)
	}
	if AsList(fmt.Errorf("compile: %w", err)) != &l || AsList(errors.New("x")) != nil {
		t.Error("AsList does not find the list")
	}
}
