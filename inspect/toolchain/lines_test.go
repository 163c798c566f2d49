package toolchain

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// split writes text in pieces of a size and returns the lines.
func split(t testing.TB, text string, piece int) (out []string) {
	l := &Lines{Line: func(b []byte) error { out = append(out, string(b)); return nil }}
	for len(text) > 0 {
		n := min(piece, len(text))
		if _, err := l.Write([]byte(text[:n])); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLines(t *testing.T) {
	constant := func(n int) (string, []byte) {
		data := bytes.Repeat([]byte{0x3c, 1, 2}, n)[:n]
		return `  const %w: tensor<fp16, [9]> = hex "` + hex.EncodeToString(data) + `" from "weights.bin@64" @0:1:2`,
			data
	}
	const open, rest = "  const %w: tensor<fp16, [9]> = ", ` from "weights.bin@64" @0:1:2`
	for _, n := range []int{1, inlineBytes - 1, inlineBytes, 1000, headBytes, 3 * headBytes} {
		line, data := constant(n)
		want := open + Elided(data) + rest
		if n < inlineBytes {
			want = line
		}
		for _, piece := range []int{1, 7, 4096, 1 << 20} {
			if got := split(t, "a\n"+line+"\n\nb", piece); !slices.Equal(got, []string{"a", want, "", "b"}) {
				t.Errorf("%d bytes in pieces of %d: %q", n, piece, got)
			}
		}
	}
	// Long lines of another kind keep their ends, and a digest tells them apart.
	x := strings.Repeat("x", 2*headBytes)
	a, b := split(t, x+"1"+x, 100), split(t, x+"2"+x, 1<<20)
	if len(a) != 1 || len(a[0]) > lineBytes || a[0] == b[0] || !strings.HasPrefix(a[0], "xxx") ||
		!strings.HasSuffix(a[0], "xxx") {
		t.Errorf("%.40q %.40q", a, b)
	}
	if got := split(t, x+"1"+x, 1); !slices.Equal(got, a) {
		t.Error("a long line depends on how it is written")
	}
	if got := split(t, a[0], 1000); !slices.Equal(got, a) {
		t.Errorf("a line that was cut is cut again: %d bytes, then %d", len(a[0]), len(got[0]))
	}
	open1 := split(t, `= hex "`+x, 1000)
	if len(open1) != 1 || !strings.HasSuffix(open1[0], "without an end") {
		t.Errorf("%.80q", open1)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\n\nb = hex \"00\"\n"), 1)
	f.Add([]byte(`= hex "`+strings.Repeat("0", 9000)+`" x`), 4)
	f.Add([]byte(strings.Repeat("y", 9000)), 1000)
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		if piece < 1 {
			piece = 1
		}
		a, b := split(t, string(text), piece), split(t, string(text), 1<<20)
		if !slices.Equal(a, b) {
			t.Errorf("in pieces of %d %q, whole %q", piece, a, b)
		}
		for _, l := range a {
			if len(l) > 2*lineBytes {
				t.Errorf("a line of %d bytes", len(l))
			}
		}
	})
}

func FuzzVersion(f *testing.F) {
	f.Add("zinc 0.1.0, go1.26.8 linux/amd64\ntargets: h13, h13g\n")
	f.Add(`{"version":"0.1.0","revision":"0123456789ab","go":"go1.26","platform":"linux/amd64","targets":["h13"]}`)
	f.Fuzz(func(t *testing.T, out string) {
		v, err := parseVersion(out)
		if err != nil {
			return
		}
		if strings.ContainsRune(v.String(), '\n') || len(v.Targets) > maxNames {
			t.Errorf("%+v", v)
		}
	})
}
