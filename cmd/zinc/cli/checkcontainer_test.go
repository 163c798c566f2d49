package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
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
