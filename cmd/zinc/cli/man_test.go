package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manual runs zinc man and returns the pages by file name.
func manual(t *testing.T) map[string][]byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "man1")
	var out, log bytes.Buffer
	if status := run(t.Context(), []string{"man", dir}, strings.NewReader(""), &out, &log); status != 0 {
		t.Fatalf("status %d: %s", status, log.String())
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string][]byte{}
	for _, e := range entries {
		if pages[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return pages
}

func TestManHasAllCommandsAndFlags(t *testing.T) {
	pages := manual(t)
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		text := strings.ReplaceAll(string(pages[name]), `\-`, "-")
		delete(pages, name)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(text, "--"+f.Name) {
				t.Errorf("%s does not have --%s", name, f.Name)
			}
		})
		for _, s := range c.Commands() {
			if s.IsAvailableCommand() {
				check(s)
			}
		}
	}
	root := newRoot(&env{})
	root.InitDefaultCompletionCmd()
	check(root)
	for name := range pages {
		t.Errorf("%s does not belong to any command", name)
	}
}

// TestManListsVariablesAndStatuses holds every page to a section with the variables that matter to the command, and one
// with the exit statuses.
func TestManListsVariablesAndStatuses(t *testing.T) {
	for name, text := range manual(t) {
		page := strings.ReplaceAll(string(text), `\-`, "-")
		head, rest, ok := strings.Cut(page, ".SH ENVIRONMENT\n")
		variables, rest, ok2 := strings.Cut(rest, ".SH EXIT STATUS\n")
		statuses, _, _ := strings.Cut(rest, ".SH ")
		if !ok || !ok2 || !strings.Contains(variables, "NO_COLOR") {
			t.Errorf("%s lacks its sections: %s", name, page)
		}
		if with := strings.Contains(head, "--cache"); strings.Contains(variables, cacheEnv) != with {
			t.Errorf("%s has the flag --cache: %t; it lists %s: %t", name, with, cacheEnv, !with)
		}
		if want := Statuses[len(Statuses)-1].Meaning; strings.Contains(statuses, want) == (name == "zinc-diff.1") {
			t.Errorf("%s: exit statuses are %s", name, statuses)
		}
	}
}

func TestManIsDeterministic(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	first := manual(t)
	t.Setenv("SOURCE_DATE_EPOCH", "")
	for name, text := range manual(t) {
		if !bytes.Equal(text, first[name]) {
			t.Errorf("%s differs between two runs", name)
		}
	}
}

// TestManPagesFormatWithoutWarnings formats the pages with groff, if it is installed.
func TestManPagesFormatWithoutWarnings(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff")
	}
	for name, text := range manual(t) {
		cmd := exec.Command(groff, "-man", "-Tascii", "-ww", "-z")
		cmd.Stdin = bytes.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
