package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestColorsAreOnlyWhereTheyAreWanted(t *testing.T) {
	const escape = "\x1b["
	model := "../../../examples/digits/digits.mlmodelc"
	text, err := os.ReadFile(filepath.Join(model, "model.mil"))
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.mil")
	if err := os.WriteFile(other, bytes.Replace(text, []byte("relu("), []byte("tanh("), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", model}, {"diff", model, other, "--weights", model}, {"dump", model},
		{"check", "no-such-model"},
		{"verify", model}, {"lint", model, "--range", "image=-1e4:1e4", "--work", "0"},
	} {
		for _, color := range []string{"auto", "never"} {
			if _, out, errs := call(t, append(args, "--color", color)...); strings.Contains(out+errs, escape) {
				t.Errorf("zinc %s: colors in a pipe with --color %s", strings.Join(args, " "), color)
			}
		}
		_, plain, plainErrs := call(t, args...)
		_, out, errs := call(t, append(args, "--color", "always")...)
		if !strings.Contains(out+errs, escape) {
			t.Errorf("zinc %s: no colors with --color always", strings.Join(args, " "))
		}
		if bare(out) != plain || bare(errs) != plainErrs {
			t.Errorf("zinc %s: the text with colors differs", strings.Join(args, " "))
		}
	}
}

// bare removes the escape sequences of colors.
func bare(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return b.String() + s
		}
		b.WriteString(s[:i])
		s = s[i:]
		s = s[strings.IndexByte(s, 'm')+1:]
	}
}

func TestTintedKeepsTheFirstStyleOfAPlace(t *testing.T) {
	var b strings.Builder
	io.WriteString(&painter{w: &b, tints: errorTints}, "zinc: error: x\n  ^~~\n")
	got := b.String()
	want := styleBold + "zinc:" + styleOff + " " + styleRed + "error:" + styleOff + " x\n" + styleGreen + "  ^~~" +
		styleOff + "\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLongLinesHaveNoColors checks that a long line is written immediately instead of being kept in memory, and that
// the next line has colors again.
func TestLongLinesHaveNoColors(t *testing.T) {
	var out bytes.Buffer
	p := &painter{w: &out, tints: dumpTints}
	piece := strings.Repeat(`"x" `, 256)
	const pieces = 1000
	for range pieces {
		if _, err := io.WriteString(p, piece); err != nil {
			t.Fatal(err)
		}
	}
	if cap(p.line) > 4*longestTinted {
		t.Errorf("%d bytes of a line are kept", cap(p.line))
	}
	if _, err := io.WriteString(p, "end\nhead\n"); err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat(piece, pieces) + "end\n" + styleBold + "head" + styleOff + "\n"; out.String() != want {
		t.Errorf("%d bytes, want %d; they end in %q", out.Len(), len(want), out.String()[out.Len()-40:])
	}
}
