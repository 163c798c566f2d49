package toolchain_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/inspect/toolchain/toolchaintest"
	"github.com/zinc-compiler/zinc/passes"
)

const digits = "../../examples/digits/digits.mlmodelc"

func open(t *testing.T, path string) *toolchain.Executable {
	t.Helper()
	x, err := toolchain.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// empty holds that nothing was left in a folder.
func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestExecutable builds a zinc of another version and compiles with it.
func TestExecutable(t *testing.T) {
	exe := toolchaintest.Build(t, toolchaintest.Renamed("9.8.7"), toolchaintest.NoCanonicalise)
	x := open(t, exe)
	if x.Version.Version != "9.8.7" || !slices.Equal(x.Version.Passes, passes.Names()) ||
		!slices.Contains(x.Version.Targets, "h13") {
		t.Errorf("version %+v", x.Version)
	}
	t.Run("everything", func(t *testing.T) {
		dir := t.TempDir()
		r, err := x.Compile(t.Context(), toolchain.Request{Model: digits, Target: "h13", Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{r.Container, r.Descriptor, r.Database} {
			if info, err := os.Stat(p); err != nil || info.Size() == 0 {
				t.Errorf("%q: %v", p, err)
			}
		}
		var report struct {
			Tasks int `json:"tasks"`
		}
		if err := json.Unmarshal(r.Report, &report); err != nil || report.Tasks == 0 {
			t.Errorf("report: %v, %d tasks", err, report.Tasks)
		}
		var names []string
		for _, p := range r.Passes {
			names = append(names, p.Name)
			text, err := os.ReadFile(p.Path)
			if err != nil || int64(len(text)) != p.Bytes || strings.Count(string(text), "\n") != p.Lines ||
				p.Function != "main" {
				t.Errorf("%+v: %d bytes, %v", p, len(text), err)
			}
			if !strings.HasSuffix(string(text), "}\n") || !strings.Contains(string(text), "hex (") ||
				strings.Contains(string(text), "zinc:") {
				t.Errorf("%s: text ends in %q", p.Name, text[max(0, len(text)-80):])
			}
		}
		if !slices.Equal(names, passes.Names()) || !strings.Contains(r.Messages, "8 of 8 operations") ||
			len(r.Missing) > 0 {
			t.Errorf("passes %q, messages %q, missing %q", names, r.Messages, r.Missing)
		}
		if info, err := os.Stat(r.Dir); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("the folder is open to others: %v %v", info.Mode(), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		empty(t, dir)
	})
	t.Run("older", func(t *testing.T) {
		old := open(t, toolchaintest.Older(t, exe, "--debug-db", "--report", "--print-after"))
		if old.Version.Version != "9.8.7" || old.Version.Passes != nil || old.Knows("report") ||
			!old.Knows("precision") {
			t.Errorf("version %+v", old.Version)
		}
		r, err := old.Compile(t.Context(), toolchain.Request{Model: digits})
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if r.Container == "" || r.Descriptor == "" || r.Database != "" || r.Report != nil || len(r.Passes) > 0 {
			t.Errorf("%+v", r)
		}
		if want := []string{"--debug-db", "--report", "--print-after"}; !slices.Equal(r.Missing, want) {
			t.Errorf("missing %q, want %q", r.Missing, want)
		}
	})
	t.Run("all bytes of constants", func(t *testing.T) {
		// One that prints all bytes gives the same programs as one that elides them.
		var got [2]*toolchain.Result
		for i, x := range []*toolchain.Executable{x, open(t, toolchaintest.Older(t, exe, "--elide-constants"))} {
			if x.Knows("elide-constants") != (i == 0) {
				t.Error("the wrong one knows --elide-constants")
			}
			r, err := x.Compile(t.Context(), toolchain.Request{Model: digits})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got[i] = r
		}
		if len(got[0].Passes) != len(got[1].Passes) || len(got[0].Passes) == 0 {
			t.Fatalf("%d and %d passes", len(got[0].Passes), len(got[1].Passes))
		}
		for i := range got[0].Passes {
			a, err := os.ReadFile(got[0].Passes[i].Path)
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(got[1].Passes[i].Path)
			if err != nil || string(a) != string(b) {
				t.Errorf("after %s: %v\n%s\n%s", got[0].Passes[i].Name, err, a, b)
			}
		}
	})
	t.Run("refusals", func(t *testing.T) {
		dir := t.TempDir()
		for _, c := range []struct {
			q      toolchain.Request
			status int
			say    string
		}{
			{toolchain.Request{Model: filepath.Join(dir, "none.mil")}, 1, "it refuses the model"},
			{toolchain.Request{Model: digits, Target: "m99"}, 2, "m99"},
			{toolchain.Request{Model: digits, Flags: []string{"--no-such-flag"}}, 2, "unknown flag: --no-such-flag"},
		} {
			c.q.Dir = dir
			_, err := x.Compile(t.Context(), c.q)
			var refused *toolchain.RefusedError
			if !errors.As(err, &refused) || refused.Status != c.status || !strings.Contains(err.Error(), c.say) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%+v: %v", c.q, err)
			}
		}
		for _, flags := range [][]string{{"-o/tmp/x"}, {"--output=x"}, {"--cpuprofile", "x"}, {"--"}, {"other.mil"},
			{"-t=h13"}, {"--debug-db=x"}, {"--a\x00"}} {
			if _, err := x.Compile(t.Context(), toolchain.Request{Model: digits, Flags: flags, Dir: dir}); err == nil ||
				errors.As(err, new(*toolchain.RefusedError)) {
				t.Errorf("%q: %v", flags, err)
			}
		}
		empty(t, dir)
	})
	t.Run("many", func(t *testing.T) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				r, err := x.Compile(t.Context(), toolchain.Request{
					Model:    digits,
					NoPasses: true,
					Flags:    []string{"--precision", "fp16"},
				})
				if err != nil {
					t.Error(err)
					return
				}
				if len(r.Passes) > 0 || r.Container == "" {
					t.Errorf("%+v", r)
				}
				r.Close()
			})
		}
		wg.Wait()
	})
	t.Run("replaced", func(t *testing.T) {
		later := time.Now().Add(time.Hour)
		if err := os.Chtimes(exe, later, later); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Compile(t.Context(), toolchain.Request{Model: digits}); err == nil ||
			!strings.Contains(err.Error(), "open it again") {
			t.Errorf("%v", err)
		}
	})
}

const (
	sayVersion = `echo 'zinc 1.2.3 0123456789ab modified, go1.26 linux/amd64'; echo 'targets: h13, h15'`
	sayHelp    = `printf '  -o, --output OUT.hwx   container\n      --report FORM   a report\n      --print-after ` +
		`NAME   a program\n'`
)

// TestHostile runs executables that misbehave.
func TestHostile(t *testing.T) {
	small := toolchain.Limits{
		Time:     time.Hour, // not what stops them
		Messages: 4 << 10,
		Programs: 64 << 10,
		Printed:  1 << 20,
		Report:   4 << 10,
		Files:    1 << 20,
	}
	for _, c := range []struct{ name, compile, say string }{
		{"endless report", `while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done`,
			"its report exceeded the limit of 4 KiB"},
		{"endless messages", `while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >` +
			`&2; done`, "what it says exceeded the limit of 4 KiB"},
		{"endless program", `echo '// after x' >&2; while :; do echo '  ` +
			`%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' >&2; ` +
			`done`, "the programs after its passes exceeded the limit of 64 KiB"},
		{"endless line", `echo '// after x' >&2; while :; do printf ` +
			`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >&2; ` +
			`done`, "what it prints of programs exceeded the limit of 1 MiB"},
		{"endless passes", `while :; do echo '// after x' >&2; done`, "limit of"},
		{"large file", `dd if=/dev/zero of=big bs=65536 count=64 2>/dev/null; sleep 60`,
			"its files exceeded the limit of 1 MiB"},
		{"large file at the end", `dd if=/dev/zero of=big bs=65536 count=64 2>/dev/null`,
			"its files exceeded the limit of 1 MiB"},
		{"nothing written", `exit 0`, "succeeded but wrote no model.hwx"},
		{"a link", `ln -s /etc/passwd model.hwx; : >model.e5`, "want a regular file"},
		{"a folder", `mkdir model.hwx; : >model.e5`, "want a regular file"},
		{"a signal", `kill -9 $$`, "it was killed: signal: killed"},
		{"a fault", `echo 'zinc: internal error: x' >&2; exit 3`, "it failed internally: internal error: x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := open(t, toolchaintest.Script(t, sayVersion, sayHelp, c.compile))
			if got := x.Version.String(); got != "1.2.3 0123456789ab modified" {
				t.Errorf("version %q", got)
			}
			dir := t.TempDir()
			_, err := x.Compile(t.Context(), toolchain.Request{Model: digits, Dir: dir, Limits: small})
			if err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("%v, wanted %q", err, c.say)
			}
			empty(t, dir)
		})
	}
	t.Run("time", func(t *testing.T) {
		x := open(t, toolchaintest.Script(t, sayVersion, sayHelp, `sleep 600 & sleep 600`))
		_, err := x.Compile(t.Context(), toolchain.Request{
			Model:  digits,
			Limits: toolchain.Limits{Time: 200 * time.Millisecond},
		})
		if err == nil || !strings.Contains(err.Error(), "its time exceeded the limit of 200ms") {
			t.Error(err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		x := open(t, toolchaintest.Script(t, sayVersion, sayHelp, `sleep 600`))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if _, err := x.Compile(ctx, toolchain.Request{Model: digits}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	t.Run("what it leaves running", func(t *testing.T) {
		x := open(t, toolchaintest.Script(t, sayVersion, sayHelp, `sleep 600 & echo h >model.hwx; echo d >model.e5`))
		r, err := x.Compile(t.Context(), toolchain.Request{Model: digits})
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
	})
}

// TestOpen refuses files that are not zinc executables.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, say string }{
		{filepath.Join(dir, "none"), "no such file"},
		{dir, "is not a regular file"},
		{plain, "is not executable"},
		{toolchaintest.Script(t, "exit 1", sayHelp, ""), "does not report a zinc version: exit status 1"},
		{toolchaintest.Script(t, "echo hello", sayHelp, ""), "has not the form of zinc's"},
		{toolchaintest.Script(t, `echo '{"version": 3}'`, sayHelp, ""), "does not report a zinc version"},
		{toolchaintest.Script(t, `echo '{}'`, sayHelp, ""), "names no version"},
		{toolchaintest.Script(t, `printf '{"version": "1\\u001b[2J"}'`, sayHelp, ""), "where a short name is wanted"},
		{toolchaintest.Script(t, `printf '{"version": "1\\u009b2J"}'`, sayHelp, ""), "where a short name is wanted"},
		{toolchaintest.Script(t, "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done",
			sayHelp, ""), "exceeded the limit of 1 MiB"},
		{toolchaintest.Script(t, sayVersion, "echo nothing", ""), "its help has no --output"},
		{toolchaintest.Script(t, sayVersion, "exit 4", ""), "does not list its flags"},
	} {
		if _, err := toolchain.Open(t.Context(), c.path); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s: %v, wanted %q", c.path, err, c.say)
		}
	}
}
