package reduce

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/target"
)

func TestParseCommand(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string // nil: an error
	}{
		{"grep -q x", []string{"grep", "-q", "x", "{}"}},
		{"  a\t{}  b ", []string{"a", "{}", "b"}},
		{"a --model={}", []string{"a", "--model={}"}},
		{`a 'b c' "d 'e" f\ g`, []string{"a", "b c", "d 'e", "f g", "{}"}},
		{`a '' "\"" "\n" 'x\'`, []string{"a", "", `"`, `\n`, `x\`, "{}"}},
		{`a b"c"'d'`, []string{"a", "bcd", "{}"}},
		{"", nil}, {" \n", nil}, {"a 'b", nil}, {`a "b`, nil}, {`a b\`, nil},
	} {
		x, err := ParseCommand(c.in)
		switch {
		case c.want == nil && err == nil:
			t.Errorf("%q: %q, wanted an error", c.in, x.Args)
		case c.want != nil && (err != nil || !slices.Equal(x.Args, c.want)):
			t.Errorf("%q: %v, %v, wanted %q", c.in, x, err, c.want)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, s := range []string{"grep -q x", `a 'b c' "d\"" \ `, "{}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := ParseCommand(s)
		if err != nil {
			return
		}
		// Words quoted one by one come out as they are.
		var b strings.Builder
		for _, a := range x.Args {
			b.WriteString("'" + strings.ReplaceAll(a, "'", `'\''`) + "' ")
		}
		y, err := ParseCommand(b.String())
		if err != nil || !slices.Equal(x.Args, y.Args) {
			t.Fatalf("%q gives %q, quoted %+v, %v", s, x.Args, y, err)
		}
	})
}

func TestBuiltins(t *testing.T) {
	for _, c := range []struct{ in, err string }{
		{"verify", ""}, {"outputs-differ", ""}, {"compile-error=a=b", ""},
		{"verify=x", "takes no argument"}, {"compile-error", "compile-error=TEXT"},
		{"compile-error=", "compile-error=TEXT"},
	} {
		ask, err := ParseBuiltin(c.in, verify.Options{Compile: compile.Options{Target: target.H13}})
		if c.err == "" && (ask == nil || err != nil) || c.err != "" &&
			(err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v", c.in, err)
		}
	}
	if ask, err := ParseBuiltin("./verify.sh",
		verify.Options{Compile: compile.Options{Target: target.H13}}); ask != nil || err != nil {
		t.Errorf("a command is taken for a built-in predicate: %v", err)
	}
	if err := caught(func() error {
		panic("x")
	}); failure(nil, err) != "panic" || failure(&verify.Result{Verdict: verify.Fail}, nil) != "outputs" ||
		failure(nil, context.Canceled) != "error" {
		t.Errorf("failures are not told apart")
	}
}
