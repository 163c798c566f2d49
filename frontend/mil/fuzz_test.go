package mil

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// FuzzParse parses any bytes. Parsing must not panic, its messages must be printable, and a program without errors must
// print as text that parses to the same program.
func FuzzParse(f *testing.F) {
	for _, c := range constructs {
		f.Add([]byte(wrap(c.src)))
	}
	f.Add([]byte("program(1.0)[buildInfo = dict<tensor<string, []>, tensor<string, []>>({})]{func f(){}->();func " +
		"g<ios18>(fp16 x)[a = 1]{}->(x);}"))
	f.Add([]byte(wrap(`fp16 a, fp16 b = cond(pred = p)[] () { fp16 c = f(); } -> (c, c) () { } -> (x, x);`)))
	for _, src := range shortModels(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		p, l := Parse("fuzz.mil", src)
		var out bytes.Buffer
		if err := l.WriteText(&out); err != nil {
			t.Fatal(err)
		}
		if err := writeJSON(&out, l.Document()); err != nil {
			t.Fatal(err)
		}
		if l.HasErrors() {
			return
		}
		for _, fn := range p.Funcs {
			for _, s := range fn.Body.Stmts {
				evaluate(t, append(s.Args[:len(s.Args):len(s.Args)], s.Attrs...))
			}
		}
		roundTrip(t, "fuzz.mil", p)
	})
}

// shortModels returns the short models of the shared folder, none if it is absent: unlike a test, a fuzz target is
// useful without them.
func shortModels(f *testing.F) (out [][]byte) {
	dirs := []string{os.Getenv(shareddir.Env)}
	for up := ".."; len(up) < 30; up = filepath.Join(up, "..") {
		dirs = append(dirs, filepath.Join(up, "shared"))
	}
	const short = 4000
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "corpus", "*", "model.mil"))
		if err != nil {
			f.Fatal(err)
		}
		for _, n := range names {
			src, err := os.ReadFile(n)
			if err != nil {
				f.Fatal(err)
			}
			if len(src) <= short {
				out = append(out, src)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// evaluate converts every literal and checks the number of values.
func evaluate(t *testing.T, args []Arg) {
	for _, a := range args {
		l, ok := a.Value.(*Literal)
		if !ok {
			continue
		}
		n, want := 0, 0
		for range l.Atoms() {
			n++
		}
		if v, err := l.Floats(); err == nil {
			want = len(v)
		} else if v, err := l.Strings(); err == nil {
			want = len(v)
		} else if v, err := l.Bools(); err == nil {
			want = len(v)
		} else {
			want = n
		}
		if n != l.Len() || want != l.Len() {
			t.Fatalf("%s: %d atoms, %d values, Len %d", l.text, n, want, l.Len())
		}
	}
}
