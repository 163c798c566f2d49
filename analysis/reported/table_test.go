package reported

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/inspect/explain"
)

// TestTable checks the form of every line: a known rule, an identifier of its own, a sentence, a link.
func TestTable(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(reportsTSV, "\n"), "\n")
	if want := "id\trule\tchips\tsystems\tsays\tlink"; lines[0] != want {
		t.Errorf("the columns are %q, want %q", lines[0], want)
	}
	for i, line := range lines {
		if n := strings.Count(line, "\t"); n != 5 {
			t.Errorf("line %d has %d tabs, want 5", i+1, n)
		}
	}
	if got := len(Reports()); got != len(lines)-1 || got < 50 {
		t.Errorf("%d reports of known rules in %d lines, want one a line and at least 50", got, len(lines)-1)
	}
	seen, id := map[string]bool{}, regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, r := range Reports() {
		if seen[r.ID] || !id.MatchString(r.ID) {
			t.Errorf("identifier %q is not one, or not the only one", r.ID)
		}
		seen[r.ID] = true
		if r.Says == "" || strings.HasSuffix(r.Says, ".") || len(r.Says) > 130 {
			t.Errorf("%s: %q is not a sentence of at most 130 bytes without its full stop", r.ID, r.Says)
		}
	}
}

// TestLinks checks that every link is one of a public thread, repository or file.
func TestLinks(t *testing.T) {
	path := regexp.MustCompile(`^/[\w.-]+/[\w.-]+(/(issues|pull)/[0-9]+|/blob/[\w./-]+)?$`)
	threads := 0
	for _, r := range Reports() {
		u, err := url.Parse(r.Link)
		if err != nil || u.Scheme+"://"+u.Host != "https://github.com" || u.RawQuery != "" ||
			!path.MatchString(u.Path) {
			t.Errorf("%s: %q is not a link to a thread, a repository or a file", r.ID, r.Link)
		}
		if strings.Contains(u.Path, "/issues/") || strings.Contains(u.Path, "/pull/") {
			threads++
		}
	}
	t.Logf("%d links, %d of them to threads", len(Reports()), threads)
}

// TestRulesAreWhole checks that each rule has a report, something that finds it, and a recipe that exists.
func TestRulesAreWhole(t *testing.T) {
	for i := range Rules {
		r := &Rules[i]
		if len(of(r.Name)) == 0 {
			t.Errorf("%s has no report", r.Name)
		}
		n := 0
		for _, is := range []bool{r.op != nil, r.value != nil, r.fn != nil} {
			if is {
				n++
			}
		}
		if n != 1 || (r.op != nil) != (len(r.ops) > 0) {
			t.Errorf("%s: %d functions and %d operations; want one function, and operations with op alone", r.Name, n,
				len(r.ops))
		}
		known := r.Recipe == ""
		for _, x := range explain.Recipes {
			known = known || x.Name == r.Recipe
		}
		if !known {
			t.Errorf("%s: unknown recipe %q", r.Name, r.Recipe)
		}
	}
}
