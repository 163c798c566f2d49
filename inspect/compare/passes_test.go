package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/inspect/toolchain/toolchaintest"
	"github.com/zinc-compiler/zinc/target"
)

// request is a model for h13 with its programs after the passes.
func request(path string) Request {
	return Request{
		Path:    path,
		Compile: compile.Options{Target: target.H13, Precision: "declared", SplitKernel: true},
		Passes:  true,
	}
}

func opened(t *testing.T, q Request) *Side {
	t.Helper()
	s, err := Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// only returns the changes at a level, effects among them.
func only(l Level, cs []*Change) (out []*Change) {
	for _, c := range cs {
		if c.Level == l {
			out = append(out, c)
		}
		out = append(out, only(l, c.Effects)...)
	}
	return out
}

// folded is a model that pass canonicalise makes shorter: a reshape of a reshape.
func folded(t *testing.T) string {
	body := `        tensor<int32, [4]> s = const()[name = string("s"), val = tensor<int32, [4]>([1, 8, 8, 8])];
        tensor<int32, [4]> r = const()[name = string("r"), val = tensor<int32, [4]>([1, 8, 4, 16])];
` + stmt("[1, 8, 8, 8]", "a", "reshape", "x = x, shape = s", "a") + stmt(small, "b", "reshape", "x = a, shape = r",
		"b") + stmt(small, "c", "relu", "x = b", "c")
	return network(t, function("main", small, body, "c"))
}

// TestPassOfDepartureIsNamed checks after which pass a setting makes the programs differ.
func TestPassOfDepartureIsNamed(t *testing.T) {
	body := "        tensor<fp32, [1, 8, 4, 16]> y = relu(x = x)[name = string(\"y\")];"
	dir := network(t, strings.ReplaceAll(function("main", small, body, "y"), "tensor<fp16, "+small+"> x",
		"tensor<fp32, "+small+"> x"))
	b := request(dir)
	b.Compile.Precision = "fp16"
	r := compared(t, opened(t, request(dir)), opened(t, b), Options{})
	if len(r.Changes) != 1 || r.Changes[0].Subject != "precision" {
		t.Fatalf("%q", lines(r.Changes))
	}
	got := only(Passes, r.Changes)
	if len(got) != 1 || got[0].Pass != "convert-precision" ||
		got[0].Subject != "program of main after pass convert-precision" {
		t.Fatalf("%+v", got)
	}
	expectDetail(t, got[0].Details, "- %y: tensor<fp32, [1, 8, 4, 16]> = relu(x = %x)")
}

// TestEqualModelsDifferAfterNoPass also checks that a line that passes do not change is stored once.
func TestEqualModelsDifferAfterNoPass(t *testing.T) {
	a, b := opened(t, request(digits(t))), opened(t, request(digits(t)))
	expect(t, compared(t, a, b, Options{Levels: []Level{Passes}}))
	all := 0
	for i := range a.trace.shots {
		all += len(a.trace.shots[i].lines)
	}
	if n := len(a.trace.lines); n*4 > all {
		t.Errorf("%d lines are kept of %d", n, all)
	}
	if i := slices.IndexFunc(a.trace.lines, func(l string) bool { return strings.Contains(l, "hex (") }); i < 0 {
		t.Error("no constant was put apart")
	}
}

// TestWeightsDifferByDigest checks that a weight differs by its digest, and not by its position in the file or the
// lines of the text.
func TestWeightsDifferByDigest(t *testing.T) {
	dir := digits(t)
	r := compared(t, opened(t, request(dir)),
		opened(t, request(changed(t, dir, nil, setWeight(t, "conv2_weight", 100, 0x4400)))),
		Options{Levels: []Level{Passes}})
	if len(r.Changes) != 1 || r.Changes[0].Pass != "select-function" || len(r.Changes[0].Details) != 3 {
		t.Fatalf("%q %q", lines(r.Changes), r.Changes[0].Details)
	}
	expectDetail(t, r.Changes[0].Details, "1 line differs: const %conv2_weight")
	r = compared(t, opened(t, request(dir)), opened(t, request(changed(t, dir, func(s string) string {
		return "\n\n" + s
	}, nil))), Options{Levels: []Level{Passes}})
	expect(t, r)
}

// TestStatementInFrontIsOneChange checks that a statement in front of 3000 others is one change, and one line of the
// program after each pass.
func TestStatementInFrontIsOneChange(t *testing.T) {
	var body strings.Builder
	const n = 3000
	x := "x"
	for i := range n {
		y := fmt.Sprintf("y%d", i)
		op, args := "relu", "x = "+x
		if i%2 == 1 {
			op, args = "sub", "x = "+x+", y = x"
		}
		body.WriteString(stmt("[1, 1, 1, 16]", y, op, args, y))
		x = y
	}
	a := function("main", "[1, 1, 1, 16]", body.String(), x)
	b := strings.Replace(a, "relu(x = x)", "relu(x = front)", 1)
	b = strings.Replace(b, "{\n", "{\n"+stmt("[1, 1, 1, 16]", "front", "abs", "x = x", "front"), 1)
	r := compared(t, opened(t, request(network(t, a))), opened(t, request(network(t, b))), Options{})
	if len(r.Changes) != 1 || lines(r.Changes)[0] != "mil: abs front added" {
		t.Fatalf("%d changes: %q", len(r.Changes), lines(r.Changes)[:min(8, len(lines(r.Changes)))])
	}
	got := only(Passes, r.Changes)
	if len(got) != 1 || got[0].Pass != "select-function" {
		t.Fatalf("%+v", got)
	}
	expectDetail(t, got[0].Details, "2 lines differ: %y0, %front")
}

// TestListsOfPassesMayDiffer compares programs after different lists of passes.
func TestListsOfPassesMayDiffer(t *testing.T) {
	if c := passList([]string{"a", "b", "c"}, []string{"a", "b", "c"}); c != nil {
		t.Errorf("%+v", c)
	}
	c := passList([]string{"a", "b", "c", "d"}, []string{"a", "c", "b", "e"})
	if len(c) != 1 {
		t.Fatalf("%+v", c)
	}
	for _, want := range []string{"d: only A runs it, after c", "e: only B runs it, after b", "A runs it after"} {
		expectDetail(t, c[0].Details, want)
	}
}

// TestVersionsOfZincAreCompared compares with another zinc, in which a pass does nothing.
func TestVersionsOfZincAreCompared(t *testing.T) {
	exe := toolchaintest.Build(t, toolchaintest.Renamed("9.8.7"), toolchaintest.NoCanonicalise)
	by := func(path string) Request {
		x, err := toolchain.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		q := request(folded(t))
		q.Executable, q.Compiler = x, x.Version.String()
		return q
	}
	own := request(folded(t))
	own.Compiler = compile.Version
	t.Run("injected", func(t *testing.T) {
		r := compared(t, opened(t, by(exe)), opened(t, own), Options{})
		if len(r.Changes) != 1 || lines(r.Changes)[0] != "settings: compiler version changed" ||
			r.Changes[0].Details[0] != "9.8.7 -> "+compile.Version {
			t.Fatalf("%q", lines(r.Changes))
		}
		got := only(Passes, r.Changes)
		if len(got) != 1 || got[0].Pass != "canonicalise" {
			t.Fatalf("%+v", got)
		}
		expectDetail(t, lines(r.Changes), "  placement: reshape a removed")
		for _, l := range r.Levels {
			if (l.Missing != "") != (l.Level == IR) {
				t.Errorf("%s: %q", l.Level, l.Missing)
			}
		}
	})
	t.Run("the same", func(t *testing.T) {
		q := by(exe)
		q.Path = digits(t)
		other := own
		other.Path = q.Path
		r := compared(t, opened(t, q), opened(t, other), Options{})
		for _, c := range append(only(Passes, r.Changes), only(Tasks, r.Changes)...) {
			t.Errorf("%+v", c)
		}
	})
	t.Run("older", func(t *testing.T) {
		r := compared(t, opened(t, by(toolchaintest.Older(t, exe, "--debug-db", "--report", "--print-after"))),
			opened(t, own), Options{})
		if len(r.Changes) != 1 || len(only(Tasks, r.Changes)) == 0 {
			t.Fatalf("%q", lines(r.Changes))
		}
		missing := map[Level]string{}
		for _, l := range r.Levels {
			missing[l.Level] = l.Missing
		}
		if !strings.Contains(missing[Passes], "does not know --print-after") || !strings.Contains(missing[Placement],
			"does not know --report") || missing[Tasks] != "" {
			t.Errorf("%q", missing)
		}
		// The one database there is names the tasks.
		if s := only(Tasks, r.Changes)[0].Subject; !strings.Contains(s, " by ") {
			t.Errorf("subject %q", s)
		}
	})
	t.Run("hostile", func(t *testing.T) {
		version := "echo 'zinc 1.2.3, go1.26 linux/amd64'"
		help := "printf '  -o, --output OUT\\n      --report FORM\\n      --print-after NAME\\n      --debug-db ZDB\\n'"
		for _, c := range []struct{ name, compile string }{
			{"garbage", "echo x >model.hwx; echo y >model.e5; echo z >model.zdb"},
			{"null function", "'" + exe + `' "$@" >/dev/null; echo '{"functions": [null]}'`},
			{"no report", "'" + exe + `' "$@" >/dev/null; echo '{"functions": 3}'`},
			{"odd programs", "'" + exe +
				`' "$@" 2>/dev/null; printf '// after \033[2J\n%%\n%%"\n@@ @: @1 from "\\\n}\n\nx\n// after ` +
				`\033[2J\nfunc %%\n' >&2`},
			{"another database", "'" + exe + `' "$@"; printf x >>model.zdb`},
			{"another descriptor", "'" + exe + `' "$@"; : >model.e5`},
		} {
			t.Run(c.name, func(t *testing.T) {
				q := by(toolchaintest.Script(t, version, help, c.compile))
				r, err := func() (*Result, error) {
					s, err := Open(t.Context(), q)
					if err != nil {
						return nil, err
					}
					defer s.Close()
					return Compare(t.Context(), s, opened(t, own), Options{})
				}()
				if err != nil {
					t.Log(err)
					return
				}
				var b strings.Builder
				if err := r.Text(&b, TextOptions{}); err != nil || strings.Contains(b.String(), "\x1b") || r.Same {
					t.Errorf("%v, same %v\n%q", err, r.Same, b.String())
				}
			})
		}
	})
	t.Run("refused", func(t *testing.T) {
		q := by(exe)
		q.Path, q.Compile.Func = digits(t), "nowhere"
		s := opened(t, q)
		if !strings.Contains(s.noPair, "it refuses the model") || !strings.Contains(s.noPair, "nowhere") {
			t.Errorf("%q", s.noPair)
		}
		q.Extra = []string{"--no-such-flag"}
		if _, err := Open(t.Context(), q); err == nil || !strings.Contains(err.Error(), "unknown flag") {
			t.Errorf("%v", err)
		}
	})
}
