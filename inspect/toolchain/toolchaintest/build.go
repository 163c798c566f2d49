// Package toolchaintest makes zinc executables for tests: other versions of the
// compiler.
//
// In: edits of source files. Out: the path of an executable that was built from this
// source with them, or of a script that represents one.
//
// Invariants: the source itself stays as it is (go build -overlay). A test is
// skipped, saying why, where there is no go command or no shell, and with -short, since
// linking takes seconds.
package toolchaintest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Edit replaces a text, which a file of the module must have once.
type Edit struct{ File, Old, New string }

// Build builds cmd/zinc with edits.
func Build(t testing.TB, edits ...Edit) string {
	t.Helper()
	if testing.Short() {
		t.Skip("linking another zinc takes seconds")
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command to build another zinc with")
	}
	out, err := exec.Command(goCommand, "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	root, dir := strings.TrimSpace(string(out)), t.TempDir()
	replaced := map[string]string{}
	for _, e := range edits {
		from := filepath.Join(root, filepath.FromSlash(e.File))
		at := from
		if to := replaced[from]; to != "" {
			at = to
		}
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), e.Old); n != 1 {
			t.Fatalf("%s has %q %d times, wanted once", e.File, e.Old, n)
		}
		to := filepath.Join(dir, strings.ReplaceAll(e.File, "/", "_"))
		if err := os.WriteFile(to, []byte(strings.Replace(string(text), e.Old, e.New, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
		replaced[from] = to
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "zinc.exe")
	cmd := exec.Command(goCommand, "build", "-buildvcs=false", "-overlay", list, "-o", exe, "./cmd/zinc")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return exe
}

// Renamed is the edit by which an executable calls itself another version.
func Renamed(version string) Edit {
	return Edit{"compile/compile.go", `const Version = "0.1.0"`, `const Version = "` + version + `"`}
}

// NoCanonicalise is an edit that takes the work of pass canonicalise away.
var NoCanonicalise = Edit{"passes/list.go",
	`"needs folded constants; fewer forms for the passes below", run: canonicalise}`,
	`"needs folded constants; fewer forms for the passes below", run: func(*State) error { _ = canonicalise; return ` +
		`nil }}`}

// Script writes a shell script that represents an executable: what it does for
// `version`, for `--help` and for anything else.
func Script(t testing.TB, version, help, compile string) string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil || os.PathSeparator != '/' {
		t.Skip("no shell")
	}
	path := filepath.Join(t.TempDir(), "zinc")
	text := "#!" + sh + "\ncase \"$*\" in\nversion*)\n" + version + "\n;;\n--help)\n" + help + "\n;;\n*)\n" + compile +
		"\n;;\nesac\n"
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

// Older is a script that runs an executable as one of before `version --json` and
// without some flags, given with their dashes.
func Older(t testing.TB, exe string, lacks ...string) string {
	t.Helper()
	var refused, hidden []string
	for _, f := range lacks {
		refused = append(refused, "*"+f+"*")
		hidden = append(hidden, "-e ' "+f+" '")
	}
	quoted := "'" + exe + "'"
	return Script(t,
		"case \"$*\" in *--json*) echo 'zinc: unknown flag: --json' >&2; exit 2;; esac\nexec "+quoted+" version",
		quoted+" --help-all | grep -v "+strings.Join(hidden, " "),
		"case \"$*\" in "+strings.Join(refused, "|")+") echo 'zinc: unknown flag' >&2; exit 2;; esac\nexec "+quoted+
			" \"$@\"")
}
