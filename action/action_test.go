package action

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
	"github.com/zinc-compiler/zinc/internal/sarif/sariftest"
)

// asZinc makes the test's program run as zinc.
const asZinc = "ZINC_ACTION_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asZinc) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Setenv("ZINC_CACHE", "off") // a test must not use the user's cache
	os.Exit(m.Run())
}

// at returns the path of a file of the repository.
func at(t *testing.T, path ...string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join(append([]string{".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// script runs a script in a folder, with this program as zinc, and returns its exit status and what it prints.
func script(t *testing.T, dir string, env []string, name string, args ...string) (int, string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no shell")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", append([]string{name}, args...)...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), []string{asZinc + "=1", "ZINC=" + self}, env)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !asExit(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func asExit(err error, to **exec.ExitError) (ok bool) {
	*to, ok = err.(*exec.ExitError)
	return ok
}

const modelPath = "models/digits.mlmodelc"

// repository returns a clone of a repository whose branch main has the example model with an operation in place of its
// first activation, and whose work tree has another one there.
func repository(t *testing.T, base, change string) string {
	t.Helper()
	origin, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b", "-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	git(origin, "init", "-q", "-b", "main")
	model := os.DirFS(at(t, "examples/digits/digits.mlmodelc"))
	if err := os.CopyFS(filepath.Join(origin, modelPath), model); err != nil {
		t.Fatal(err)
	}
	activation := func(dir, op string) {
		text := filepath.Join(dir, modelPath, "model.mil")
		replaced := regexp.MustCompile(`\w+\(x = conv1\)`).ReplaceAllString(read(t, text), op+"(x = conv1)")
		write(t, text, replaced)
	}
	activation(origin, base)
	git(origin, "add", ".")
	git(origin, "commit", "-q", "-m", "model")
	git(".", "clone", "-q", "--depth=1", "file://"+origin, clone)
	git(clone, "checkout", "-q", "-b", "change")
	activation(clone, change)
	return clone
}

// review runs review.sh as the Action does and returns the comment.
func review(t *testing.T, clone, model, base string, flags ...string) (status int, comment, log string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	summary, output := filepath.Join(t.TempDir(), "summary"), filepath.Join(t.TempDir(), "output")
	status, log = script(t, clone, []string{"GITHUB_STEP_SUMMARY=" + summary, "GITHUB_OUTPUT=" + output},
		at(t, "action/review.sh"), append([]string{model, base, out}, flags...)...)
	comment = read(t, filepath.Join(out, "comment.md"))
	named := "comment=" + filepath.Join(out, "comment.md\n")
	if read(t, summary) != comment || !strings.Contains(read(t, output), named) {
		t.Error("summary or output of the step differ from the comment")
	}
	if log := filepath.Join(out, "zinc.sarif"); strings.Contains(read(t, output), "sarif="+log+"\n") {
		if err := sariftest.Check([]byte(read(t, log))); err != nil {
			t.Error(err)
		}
	} else if status != 1 {
		t.Error("no SARIF log")
	}
	if left, err := exec.Command("git", "-C", clone, "worktree", "list").Output(); err != nil ||
		bytes.Count(left, []byte("\n")) != 1 {
		t.Errorf("work trees are left: %s%v", left, err)
	}
	return status, comment, log
}

// budgets are the Action's default ones.
func budgets(t *testing.T) []string {
	t.Helper()
	return strings.Fields(parsed(t).Inputs["budgets"].Default)
}

func TestReviewPassesAndFailsARelativeBudget(t *testing.T) {
	status, comment, log := review(t, repository(t, "relu", "relu"), modelPath, "main", budgets(t)...)
	if status != 0 || !strings.Contains(comment, "**No difference.**") {
		t.Errorf("without a change: exit status %d\n%s\n%s", status, comment, log)
	}
	// So small a model is faster where sin, which this engine does not have, keeps it on the CPU.
	slower := repository(t, "sin", "relu")
	status, comment, log = review(t, slower, modelPath, "main", budgets(t)...)
	if status != 4 || !strings.Contains(log, "--max-slowdown allows 5 %") {
		t.Errorf("with a slower model: exit status %d\n%s", status, log)
	}
	for _, want := range []string{"3 budgets exceeded", "### Against the base", "operation: sin -&gt; relu",
		"| base | h13 |"} {
		if !strings.Contains(comment, want) {
			t.Errorf("the comment has no %q:\n%s", want, comment)
		}
	}
	loose := []string{"--max-slowdown=9000%", "--max-extra-dispatches=1"}
	if status, _, log = review(t, slower, modelPath, "main", loose...); status != 0 {
		t.Errorf("with larger budgets: exit status %d\n%s", status, log)
	}
}

func TestReviewOfAModelThatTheBaseDoesNotHave(t *testing.T) {
	clone := repository(t, "relu", "relu")
	fresh := filepath.Join(clone, "fresh.mlmodelc")
	if err := os.CopyFS(fresh, os.DirFS(filepath.Join(clone, modelPath))); err != nil {
		t.Fatal(err)
	}
	status, comment, log := review(t, clone, "fresh.mlmodelc", "main", budgets(t)...)
	if status != 0 || !strings.Contains(comment, "The base branch does not have this model.") {
		t.Errorf("exit status %d\n%s\n%s", status, comment, log)
	}
	own := append(budgets(t), "--max-estimate-us=1")
	if status, _, _ = review(t, clone, "fresh.mlmodelc", "main", own...); status != 4 {
		t.Errorf("with a budget of its own: exit status %d", status)
	}
	if status, comment, _ = review(t, clone, modelPath, "", "--require-engine"); status != 0 ||
		strings.Contains(comment, "base") {
		t.Errorf("without a base: exit status %d\n%s", status, comment)
	}
	if status, comment, _ = review(t, clone, "none.mil", "main"); status != 1 ||
		!strings.Contains(comment, "see the log") {
		t.Errorf("without a model: exit status %d\n%s", status, comment)
	}
}

// actionFile is action.yml.
type actionFile struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Runs struct {
		Using string
		Steps []struct {
			ID, Shell, Run, Uses, If string
			Env                      map[string]string
		}
	}
}

func parsed(t *testing.T) (a actionFile) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, at(t, "action.yml"))), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestActionIsComposite holds the file against its scripts: every step of a shell names it, runs a script that exists,
// takes inputs from the environment alone, and reads inputs that are declared.
func TestActionIsComposite(t *testing.T) {
	a := parsed(t)
	if a.Runs.Using != "composite" || len(a.Runs.Steps) != 4 {
		t.Fatalf("the action has %d steps, %q", len(a.Runs.Steps), a.Runs.Using)
	}
	for _, s := range a.Runs.Steps {
		if (s.Run != "") == (s.Uses != "") || s.Run != "" && s.Shell == "" {
			t.Errorf("a step runs %q and uses %q with shell %q", s.Run, s.Uses, s.Shell)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("a value is pasted into a script: %s", s.Run)
		}
		for _, m := range regexp.MustCompile(`\$GITHUB_ACTION_PATH/(\S+?)"`).FindAllStringSubmatch(s.Run, -1) {
			if _, err := os.Stat(at(t, m[1])); err != nil {
				t.Error(err)
			}
		}
	}
	for _, m := range regexp.MustCompile(`inputs\.(\w+)`).FindAllStringSubmatch(read(t, at(t, "action.yml")), -1) {
		if _, ok := a.Inputs[m[1]]; !ok {
			t.Errorf("input %s is not declared", m[1])
		}
	}
}

// TestInstallTakesTheReleaseOfThisMachine serves a release whose zinc is a script.
func TestInstallTakesTheReleaseOfThisMachine(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil || !slices.Contains([]string{"linux", "darwin"}, runtime.GOOS) {
		t.Skip("no curl, or no archive of this kind")
	}
	arch := runtime.GOARCH
	if arch == "arm" {
		arch = "armv7"
	}
	name := fmt.Sprintf("zinc_9.8.7_%s_%s.tar.gz", runtime.GOOS, arch)
	var archive bytes.Buffer
	z := gzip.NewWriter(&archive)
	files := tar.NewWriter(z)
	exe := "#!/bin/sh\necho zinc 9.8.7\n"
	if err := files.WriteHeader(&tar.Header{Name: "zinc", Mode: 0o755, Size: int64(len(exe))}); err != nil {
		t.Fatal(err)
	}
	files.Write([]byte(exe))
	files.Close()
	z.Close()
	sum := fmt.Sprintf("%x", sha256.Sum256(archive.Bytes()))
	served := map[string]string{name: archive.String()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, folder := range []string{"/latest/download/", "/download/v9.8.7/"} {
			if text, ok := served[strings.TrimPrefix(r.URL.Path, folder)]; ok {
				w.Write([]byte(text))
				return
			}
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	for sums, want := range map[string]string{
		sum + "  " + name + "\n":                     "",
		strings.Repeat("0", 64) + "  " + name + "\n": "has the SHA-256 " + sum,
		sum + "  zinc_9.8.7_plan9_mips.tar.gz\n":     "has no archive for",
	} {
		served["checksums.txt"] = sums
		for _, version := range []string{"latest", "9.8.7", "v9.8.7"} {
			bin, path := filepath.Join(t.TempDir(), "bin"), filepath.Join(t.TempDir(), "path")
			env := []string{"ZINC_RELEASES=" + server.URL, "ZINC_BIN=" + bin, "GITHUB_PATH=" + path,
				"ZINC_VERSION=" + version}
			status, log := script(t, ".", env, at(t, "action/install.sh"))
			_, err := os.Stat(filepath.Join(bin, "zinc"))
			switch {
			case want != "" && (status == 0 || !strings.Contains(log, want) || err == nil):
				t.Errorf("%s: status %d, %s, want %q; %v", version, status, log, want, err)
			case want == "" && (status != 0 || err != nil || read(t, path) != bin+"\n" ||
				!strings.Contains(log, "9.8.7")):
				t.Errorf("%s: status %d, %s; %v", version, status, log, err)
			}
		}
	}
	status, log := script(t, ".", []string{"ZINC_RELEASES=" + server.URL, "ZINC_VERSION=1", "ZINC_BIN=" + t.TempDir()},
		at(t, "install.sh"))
	if status == 0 || !strings.Contains(log, "cannot fetch "+server.URL+"/download/v1/checksums.txt") {
		t.Errorf("another version: status %d, %s", status, log)
	}
}

func TestPreCommitChecksEachModelOnce(t *testing.T) {
	var hooks []struct{ ID, Entry, Language, Files string }
	if err := yaml.Unmarshal([]byte(read(t, at(t, ".pre-commit-hooks.yaml"))), &hooks); err != nil || len(hooks) != 1 {
		t.Fatalf("%d hooks, %v", len(hooks), err)
	}
	clone := repository(t, "relu", "relu")
	write(t, filepath.Join(clone, "a b.mil"), read(t, at(t, "runtime/sim/stack/e5rt/testdata/tiny.mil")))
	files := []string{modelPath + "/model.mil", modelPath + "/weights/weight.bin", "a b.mil"}
	kinds := regexp.MustCompile(hooks[0].Files)
	for _, f := range files {
		if !kinds.MatchString(f) {
			t.Errorf("the hook leaves out %s", f)
		}
	}
	if kinds.MatchString("model.milk") {
		t.Error("the hook takes model.milk")
	}
	hook := at(t, hooks[0].Entry)
	status, log := script(t, clone, nil, hook, append([]string{"--require-engine"}, files...)...)
	if status != 0 || strings.Count(log, ", function main") != 2 {
		t.Errorf("status %d\n%s", status, log)
	}
	if status, log = script(t, clone, nil, hook, append([]string{"--max-estimate-us=1"}, files...)...); status != 4 {
		t.Errorf("beyond a budget: status %d\n%s", status, log)
	}
	if status, log = script(t, clone, []string{"ZINC=/no/zinc"}, hook, files...); status != 1 ||
		!strings.Contains(log, "not installed") {
		t.Errorf("without zinc: status %d\n%s", status, log)
	}
}

// TestMakeCompilesWhatChanged runs the example for make.
func TestMakeCompilesWhatChanged(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make")
	}
	clone := repository(t, "relu", "relu")
	for _, name := range []string{"Makefile", "zinc.mk"} {
		write(t, filepath.Join(clone, name), read(t, at(t, "examples/make", name)))
	}
	run := func(want string, args ...string) {
		t.Helper()
		write(t, filepath.Join(clone, "run.sh"), "unset MAKEFLAGS\nexec make \"$@\"\n")
		status, log := script(t, clone, nil, "run.sh", args...)
		if (status == 0) != (want != "fail") || want != "fail" && !strings.Contains(log, want) {
			t.Errorf("make %v: status %d\n%s\nwant %q", args, status, log, want)
		}
	}
	run("8 of 8 operations")
	for _, name := range []string{"build/digits.hwx", "build/digits.e5"} {
		if _, err := os.Stat(filepath.Join(clone, name)); err != nil {
			t.Error(err)
		}
	}
	run("Nothing to be done")
	run("no change found", "check")
	run("fail", "check", "ZINC_BUDGETS=--max-estimate-us=1")
}
