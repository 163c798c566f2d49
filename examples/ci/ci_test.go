package ci

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
)

const (
	script   = "budgets.sh"
	workflow = "zinc.yml"
	digits   = "../digits/digits.mlmodelc"
)

// asZinc makes the test's program run as zinc.
const asZinc = "ZINC_CI_TEST_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asZinc) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Setenv("ZINC_CACHE", "off") // a test must not use the user's cache
	os.Exit(m.Run())
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Flags that the files may use before zinc has them, each with why.
var notYet = map[string]string{}

var flag = regexp.MustCompile(`--[a-z][a-z-]*`)

// TestFlagsOfTheScriptExist checks every flag that the script passes to zinc, and every budget.
func TestFlagsOfTheScriptExist(t *testing.T) {
	text := strings.ReplaceAll(read(t, script), "\\\n", " ")
	found := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		_, call, ok := strings.Cut(line, `"$ZINC" `)
		if !ok {
			continue
		}
		args := []string{"--help"}
		for _, command := range []string{"verify", "diff"} {
			if strings.HasPrefix(call, command+" ") {
				args = []string{command, "--help"}
			}
		}
		var help, diag bytes.Buffer
		if status := cli.Main(args, strings.NewReader(""), &help, &diag); status != 0 {
			t.Fatalf("zinc %v: exit status %d\n%s", args, status, &diag)
		}
		known := flag.FindAllString(help.String(), -1)
		for _, f := range flag.FindAllString(call, -1) {
			found[f] = true
			if !slices.Contains(known, f) && notYet[f] == "" {
				t.Errorf("%s: zinc %s has no flag %s", script, strings.TrimSuffix(args[0], "--help"), f)
			}
		}
	}
	for _, f := range []string{"--max-dispatches", "--max-weight-bytes", "--max-estimate-us", "--min-engine-macs",
		"--max-error", "--report", "--markdown", "--base", "--max-slowdown", "--max-weight-growth",
		"--max-extra-dispatches", "--min-engine-ops"} {
		if !found[f] {
			t.Errorf("%s does not use %s", script, f)
		}
		delete(notYet, f)
	}
	// The workflow sets the budgets that the script has, and no others.
	set := regexp.MustCompile(`(?m)^\s+((?:MAX|MIN)_[A-Z_]+): `).FindAllStringSubmatch(read(t, workflow), -1)
	for _, m := range set {
		if !strings.Contains(text, `"${`+m[1]+`:=`) {
			t.Errorf("%s sets %s, which %s does not know", workflow, m[1], script)
		}
	}
	if n := strings.Count(text, `"${MAX_`) + strings.Count(text, `"${MIN_`); n != len(set) {
		t.Errorf("%s sets %d budgets, %s has %d", workflow, len(set), script, n)
	}
}

// TestWorkflowPostsTheReport checks that the workflow runs the script, posts its output even if a budget is exceeded,
// and has no other permission to write.
func TestWorkflowPostsTheReport(t *testing.T) {
	text := read(t, workflow)
	if strings.Contains(text, "\t") {
		t.Error("YAML knows no tabs")
	}
	for _, want := range []string{
		"on:\n  pull_request:", "permissions:\n  contents: read\n  pull-requests: write\n",
		`sh .github/` + script + ` "$MODEL"`, `--body-file "$RUNNER_TEMP/zinc/comment.md"`, "if: always()",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s does not have %q", workflow, want)
		}
	}
	if python, err := exec.LookPath("python3"); err == nil && exec.Command(python, "-c", "import yaml").Run() == nil {
		if out, err := exec.Command(python, "-c",
			"import sys, yaml; d = yaml.safe_load(open(sys.argv[1])); assert d['jobs']['budgets']['steps']", workflow).
			CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestScriptChecksBudgets runs the script on a model within its budgets and beyond each of them, with and without a
// change.
func TestScriptChecksBudgets(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("no shell")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(head, base string, env ...string) (status int, comment, log string) {
		t.Helper()
		out := t.TempDir()
		cmd := exec.Command(sh, script, head, base, out)
		cmd.Env = append(append(os.Environ(), asZinc+"=1", "ZINC="+self), env...)
		b, err := cmd.CombinedOutput()
		if exit, ok := err.(*exec.ExitError); ok {
			status = exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(head, "none") && status == 0 {
			if read(t, filepath.Join(out, "zinc.sarif")) == "" {
				t.Error("no SARIF log")
			}
		}
		return status, read(t, filepath.Join(out, "comment.md")), string(b)
	}
	status, comment, log := run(digits, digits)
	if status != 0 || !strings.Contains(comment, "**No difference.**") || !strings.Contains(comment,
		"No change in placement") || !strings.Contains(comment, "Outputs against the reference") {
		t.Errorf("exit status %d, comment\n%s\n%s", status, comment, log)
	}
	if status, comment, log = run(digits, "none"); status != 0 || strings.Contains(comment, "Against the base") {
		t.Errorf("without a base: exit status %d, comment\n%s\n%s", status, comment, log)
	}
	for _, budget := range []string{"MAX_DISPATCHES=0", "MAX_WEIGHT_BYTES=64", "MAX_ESTIMATE_US=1"} {
		status, comment, log := run(digits, digits, budget)
		if status != 4 {
			t.Errorf("%s: exit status %d\n%s", budget, status, log)
		}
		if !strings.Contains(comment, "1 budget exceeded") {
			t.Errorf("%s: the comment does not say so:\n%s", budget, comment)
		}
	}
	// changed is the model with another function behind its first layer.
	changed := func(op string) string {
		dir := t.TempDir()
		text := strings.Replace(read(t, filepath.Join(digits, "model.mil")), "relu(x = conv1)", op+"(x = conv1)", 1)
		if err := os.CopyFS(dir, os.DirFS(digits)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "model.mil"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	// By a table, so that outputs are off; on the CPU, so that there are more dispatches.
	if status, comment, log = run(changed("erf"), digits, "MAX_ERROR=0"); status != 4 ||
		!strings.Contains(log, "max-error") {
		t.Errorf("with an error of outputs: exit status %d, comment\n%s\n%s", status, comment, log)
	}
	// Within every absolute budget, the change makes the model slower than its base.
	if status, comment, log = run(digits, changed("sin"), "MAX_EXTRA_DISPATCHES=1"); status != 4 ||
		!strings.Contains(comment, "2 budgets exceeded") || !strings.Contains(log, "--max-slowdown allows 5 %") ||
		!strings.Contains(log, "the base has none, --max-weight-growth allows 10 %") {
		t.Errorf("with a slower model: exit status %d, comment\n%s\n%s", status, comment, log)
	}
	status, comment, log = run(changed("sin"), digits, "MAX_DISPATCHES=1")
	for _, want := range []string{"**1 change**", "#### mil: relu conv1\\_relu changed", "operation: relu -&gt; sin",
		"| base | h13 |", "| placement | "} {
		if !strings.Contains(comment, want) {
			t.Errorf("the comment has no %q:\n%s", want, comment)
		}
	}
	if status != 4 || !strings.Contains(comment, "```diff\n") || !strings.Contains(comment, "\n-") ||
		!strings.Contains(comment, "\n+") {
		t.Errorf("with an operation on the CPU: exit status %d, comment\n%s\n%s", status, comment, log)
	}
	if status, comment, _ = run("none.mil", digits); status != 1 || !strings.Contains(comment, "does not compile") {
		t.Errorf("without a model: exit status %d, comment\n%s", status, comment)
	}
}
