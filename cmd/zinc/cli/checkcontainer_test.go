package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/inspect/report"
	"github.com/zinc-compiler/zinc/internal/shareddir"
)

// timedTask is a task's line of zinc run --timing.
var timedTask = regexp.MustCompile(`(?m)^  (\S+)  task (\d+) +([0-9.]+) us  (\S+)$`)

// TestCheckOfAContainerHasTheTimesOfARun compares what check says of a container's tasks with the virtual time that
// they take: of containers that Apple's compiler wrote, and of zinc's own.
func TestCheckOfAContainerHasTheTimesOfARun(t *testing.T) {
	own := filepath.Join(t.TempDir(), "own.hwx")
	if status, _, errs := call(t, filepath.Join(digits(t), "digits.mlmodelc"), "-o", own); status != statusOK {
		t.Fatal(errs)
	}
	apples, err := filepath.Glob(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "*.hwx"))
	if err != nil || len(apples) == 0 {
		t.Fatalf("no containers of Apple's: %v", err)
	}
	for _, path := range append(apples, own) {
		status, out, errs := call(t, "check", path, "--json")
		if status != statusOK {
			t.Errorf("%s: status %d: %s", path, status, errs)
			continue
		}
		var c report.Container
		if err := json.Unmarshal([]byte(out), &c); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range c.Procedures {
			for _, k := range p.Tasks {
				got = append(got, fmt.Sprint(p.Name, " ", k.Task, " ", k.Time, " ", k.Bound))
			}
		}
		status, out, errs = call(t, "run", path, "--timing", "--random", "1")
		if status != statusOK {
			t.Errorf("%s: status %d: %s", path, status, errs)
			continue
		}
		var want []string
		for _, m := range timedTask.FindAllStringSubmatch(out+errs, -1) {
			want = append(want, strings.Join(m[1:], " "))
		}
		if len(want) == 0 || strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: check says\n%s\nrun says\n%s", path, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// TestCheckOfAContainerKnowsLiveKernels holds that the kind of a product of two inputs says so on every version whose
// words tell.
func TestCheckOfAContainerKnowsLiveKernels(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.mil")
	text := `program(1.3) { func main<ios18>(tensor<fp16, [4, 64, 64]> x, tensor<fp16, [4, 64, 64]> y) {
		bool no = const()[name = string("no"), val = bool(false)];
		tensor<fp16, [4, 64, 64]> z = matmul(x = x, y = y, transpose_x = no, transpose_y = no)[name = string("z")];
	} -> (z); }`
	if err := os.WriteFile(model, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, on := range []string{"h13", "h14"} {
		out := filepath.Join(t.TempDir(), on+".hwx")
		if status, _, errs := call(t, model, "-o", out, "-t", on, "--place", "engine"); status != statusOK {
			t.Fatal(errs)
		}
		_, page, _ := call(t, "check", out, "--json")
		var c report.Container
		if err := json.Unmarshal([]byte(page), &c); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(c.Procedures[0].Tasks, func(k report.TaskTime) bool {
			return strings.Contains(k.Kind, "kernel=surface")
		}) {
			t.Errorf("%s: no task has a live kernel: %+v", on, c.Procedures[0].Tasks)
		}
	}
}
