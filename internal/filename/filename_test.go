package filename

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNamesThatFitStay(t *testing.T) {
	for _, stem := range []string{"", "a", strings.Repeat("a", Max-4)} {
		if got := Join(stem, ".hwx", Max); got != stem+".hwx" {
			t.Errorf("%q became %q", stem, got)
		}
	}
	if got, want := Beside(filepath.Join("d", "m"), ".e5"), filepath.Join("d", "m.e5"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLongNamesStayDistinct(t *testing.T) {
	seen := map[string]string{}
	for _, fill := range []string{"a", "é", "漢", "😀", "\xff"} {
		for _, end := range []string{"", "x", "y"} {
			stem := strings.Repeat(fill, 300) + end
			got := Join(stem, ".hwx", Max)
			if len(got) > Max || !strings.HasSuffix(got, ".hwx") || got != Join(stem, ".hwx", Max) {
				t.Errorf("%q became %q with %d bytes", stem, got, len(got))
			}
			if utf8.ValidString(stem) && !utf8.ValidString(got) {
				t.Errorf("%q is cut within a character", got)
			}
			if other, ok := seen[got]; ok {
				t.Errorf("%q and %q both became %q", stem, other, got)
			}
			seen[got] = stem
		}
	}
	if got := Join(strings.Repeat("a", 300), strings.Repeat("b", 300), Max); !strings.HasSuffix(got, "b") {
		t.Errorf("the suffix is lost: %q", got)
	}
}

func TestTextsGetDistinctNames(t *testing.T) {
	seen := map[string]string{}
	long := strings.Repeat("a", 90)
	for _, text := range []string{
		"x", "a.b", "a_b", "a/b", "ä", "ö", "..", "", "\xff", long, long + "x", long + "é",
	} {
		got := Of(text, 80)
		if other, ok := seen[got]; ok || len(got) > 80 || strings.ContainsAny(got, `./\`) {
			t.Errorf("%q became %q, as did %q", text, got, other)
		}
		seen[got] = text
	}
	if got := Of("x_1-y", 80); got != "x_1-y" {
		t.Errorf("a plain name became %q", got)
	}
}
