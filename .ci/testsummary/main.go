// Testsummary reads what "go test -json" prints and writes what a reader of a test run needs: the
// output of failed tests, a line for each package, how many tests were skipped and why, and last the
// names of the failed ones. It exits with 1 when a test or a package failed, or when no test ran.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// event is one line of go test -json (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// place is the file and line that go test prints before a test's message.
var place = regexp.MustCompile(`^\s*\S+_test\.go:\d+: |^\s*\S+\.go:\d+: `)

func main() {
	output := map[string][]string{} // by package and test
	skips := map[string]int{}       // by reason
	passed, skipped := 0, 0
	var failed, broken []string // tests, and packages that fail without one of their tests
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var e event
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			fmt.Println(in.Text()) // printed by the go command itself
			continue
		}
		key := e.Package + e.ImportPath + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			output[key] = append(output[key], e.Output)
			continue
		case "pass":
			if e.Test != "" {
				passed++
			} else {
				fmt.Printf("ok    %s  %.1f s\n", e.Package, e.Elapsed)
			}
		case "skip":
			if e.Test != "" {
				skipped++
				skips[reason(output[key])]++
			}
		case "fail", "build-fail":
			fmt.Print(strings.Join(output[key], ""))
			if e.Test != "" {
				failed = append(failed, e.Package+" "+e.Test)
				break
			}
			fmt.Printf("FAIL  %s%s  %.1f s\n", e.Package, e.ImportPath, e.Elapsed)
			own := func(name string) bool { return strings.HasPrefix(name, e.Package+" ") }
			if !slices.ContainsFunc(failed, own) {
				broken = append(broken, e.Package+e.ImportPath)
			}
		default:
			continue
		}
		delete(output, key)
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
	fmt.Printf("%d tests passed, %d failed, %d skipped\n", passed, len(failed), skipped)
	for _, why := range slices.Sorted(maps.Keys(skips)) {
		fmt.Printf("  skipped %4d: %s\n", skips[why], why)
	}
	for _, name := range failed {
		fmt.Println("failed:", name)
	}
	for _, name := range broken {
		fmt.Println("failed outside a test:", name)
	}
	if len(failed)+len(broken) > 0 || passed == 0 {
		os.Exit(1)
	}
}

// reason is what a test said when it was skipped.
func reason(lines []string) string {
	for _, l := range lines {
		if place.MatchString(l) {
			return strings.TrimSpace(place.ReplaceAllString(l, ""))
		}
	}
	return "no reason"
}
