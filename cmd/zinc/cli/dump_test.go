package cli

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/testform"
)

// dumped runs dump on bytes.
func dumped(t testing.TB, b []byte, args ...string) (status int, out, errs string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.bin")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	status = Main(append([]string{"dump", path}, args...), nil, &o, &e)
	return status, o.String(), e.String()
}

// emitted compiles the example model to one of the formats of --emit.
func emitted(t testing.TB, args ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "digits.hwx")
	if args[0] != "pair" {
		path = filepath.Join(t.TempDir(), "digits.out")
		args = []string{"--emit=" + args[0]}
	} else {
		args = nil
	}
	var o, e bytes.Buffer
	model := filepath.Join(digits(t), "digits.mlmodelc")
	if status := Main(append([]string{model, "-o", path}, args...), nil, &o, &e); status != statusOK {
		t.Fatalf("exit status %d: %s", status, &e)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// heapWriter records the largest heap while text is written to it.
type heapWriter struct {
	n, next int
	most    uint64
}

func (w *heapWriter) Write(b []byte) (int, error) {
	if w.n += len(b); w.n >= w.next {
		w.next += 1 << 20
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		w.most = max(w.most, m.HeapAlloc)
	}
	return len(b), nil
}

// TestDumpDoesNotHoldItsTextInMemory checks that the text and JSON of a large container are written
// as they are generated.
func TestDumpDoesNotHoldItsTextInMemory(t *testing.T) {
	size := testform.Of(3, 6, 6) << 20
	f, err := hwx.Read(emitted(t, "pair"))
	if err != nil {
		t.Fatal(err)
	}
	more := make([]byte, size)
	random := rand.NewChaCha8([32]byte{1})
	if _, err := io.ReadFull(random, more); err != nil {
		t.Fatal(err)
	}
	f.Gaps = append(f.Gaps, hwx.Gap{Off: f.Size, Data: more})
	f.Size += int64(size)
	b, err := hwx.Encode(f)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "large.hwx")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	b, more, f = nil, nil, nil
	for _, form := range []string{"--color=never", "--color=always", "--json"} {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		w := &heapWriter{}
		if status := Main([]string{"dump", path, "--raw", form}, nil, w, io.Discard); status != statusOK {
			t.Fatalf("exit status %d", status)
		}
		if w.n < 3*size {
			t.Fatalf("%s: %d bytes of text of a file of %d", form, w.n, size)
		}
		if w.most > m.HeapAlloc+uint64(2*size) {
			t.Errorf("%s: the heap grows from %d to %d bytes while a file of %d is printed as %d", form, m.HeapAlloc,
				w.most, size, w.n)
		}
	}
}

// TestDumpColoursOnlyTerminals checks that only terminals get colours by default, and that the text
// is otherwise the same.
func TestDumpColoursOnlyTerminals(t *testing.T) {
	for _, c := range []struct {
		flag, noColor, term string
		terminal, want      bool
	}{
		{flag: "auto", term: "xterm", terminal: true, want: true}, {flag: "auto", term: "xterm", terminal: false,
			want: false}, {flag: "auto", noColor: "1", term: "xterm", terminal: true, want: false},
		{flag: "auto", term: "dumb", terminal: true, want: false}, {flag: "always", noColor: "1", term: "dumb",
			terminal: false, want: true}, {flag: "never", term: "xterm", terminal: true, want: false},
	} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		if got := (&env{color: c.flag}).colors(c.terminal); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	b := emitted(t, "pair")
	escape := regexp.MustCompile("\x1b\\[[0-9]*m")
	for _, args := range [][]string{{"--all"}, {"--raw"}, {"--task", "0"}} {
		_, plain, _ := dumped(t, b, args...)
		_, coloured, _ := dumped(t, b, append(args, "--color=always")...)
		if !escape.MatchString(coloured) || escape.ReplaceAllString(coloured, "") != plain {
			t.Errorf("%v: the text has no colours, or differs from the plain text", args)
		}
	}
}
