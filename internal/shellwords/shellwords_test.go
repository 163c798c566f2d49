package shellwords_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shellwords"
)

func TestSplitFollowsShellQuoting(t *testing.T) {
	for line, want := range map[string][]string{
		"":                              nil,
		"  a  b\tc\n":                   {"a", "b", "c"},
		`--shape x=1x3 --weights 'a b'`: {"--shape", "x=1x3", "--weights", "a b"},
		`a"b c"d ''`:                    {"ab cd", ""},
		`"a \"b\" \n" 'c\d' e\ f`:       {`a "b" \n`, `c\d`, "e f"},
	} {
		if got, err := shellwords.Split(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`a 'b`, `"a`, `a\`} {
		if got, err := shellwords.Split(line); err == nil {
			t.Errorf("%q: %q", line, got)
		}
	}
}

func TestQuotedWordsSplitIntoOneWord(t *testing.T) {
	for _, w := range []string{"", "plain-1.2/x=3", "a b", "it's", `"`, `a\b`, "ü", "$HOME", "*", "a\nb"} {
		q := shellwords.Quote(w)
		if got, err := shellwords.Split(q); err != nil || len(got) != 1 || got[0] != w {
			t.Errorf("%q quoted is %s, which reads %q, %v", w, q, got, err)
		}
		if w != "" && !strings.ContainsAny(w, " '\"\\ü$*\n") && q != w {
			t.Errorf("%q is quoted without need: %s", w, q)
		}
	}
}
