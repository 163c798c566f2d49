package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
)

// maxReadme is the number of lines that the README may have: it is for someone who has never seen zinc.
const maxReadme = 140

// TestReadmeCommands runs every command that the README and commands.md show, in order, in a folder that holds the
// examples alone, for a user without a cache. A block marked console also has what each command prints; go generate
// ./docs writes it.
func TestReadmeCommands(t *testing.T) {
	for _, page := range []string{"../README.md", "commands.md"} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			path, err := filepath.Abs(page)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			inExamples(t)
			got, ran := transcript(t, string(text))
			if ran == 0 {
				t.Error("the page shows no command")
			}
			if got == string(text) {
				return
			}
			if !*update {
				t.Errorf("the output on the page is not current; go generate ./docs rewrites it. Want:\n%s", got)
			} else if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		})
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(readme, []byte("\n")); n > maxReadme {
		t.Errorf("README.md has %d lines, want at most %d", n, maxReadme)
	}
}

// inExamples changes to a folder that holds copies of the examples that the pages use.
func inExamples(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"digits", "load", "coreml", "patch"} {
		from := os.DirFS(filepath.Join("..", "examples", name))
		if err := os.CopyFS(filepath.Join(dir, "examples", name), from); err != nil {
			t.Fatal(err)
		}
	}
	home := t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, home)
	}
	t.Setenv("ZINC_CACHE", "")
	t.Chdir(dir)
}

// transcript runs the zinc commands of a page's code blocks and returns the page with the output of
// those in console blocks, and the number of commands.
func transcript(t *testing.T, page string) (string, int) {
	t.Helper()
	var out []string
	block, ran := "", 0
	for _, line := range strings.Split(page, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		if isFence {
			if block != "" {
				fence = ""
			}
			block = fence
			out = append(out, line)
			continue
		}
		args, isCommand := strings.CutPrefix(line, map[string]string{"sh": "zinc ", "console": "$ zinc "}[block])
		if block == "console" && !isCommand {
			continue // what the command printed when the page was written
		}
		out = append(out, line)
		if !isCommand || !slices.Contains([]string{"sh", "console"}, block) {
			continue
		}
		ran++
		var printed bytes.Buffer
		if status := cli.Main(strings.Fields(args), strings.NewReader(""), &printed, &printed); status != 0 {
			t.Errorf("zinc %s: exit status %d\n%s", args, status, printed.Bytes())
		}
		if printed.Len() == 0 && !strings.Contains(args, "--output") {
			t.Errorf("zinc %s: printed nothing", args)
		}
		if block == "console" {
			out = append(out, strings.Split(strings.TrimSuffix(printed.String(), "\n"), "\n")...)
		}
	}
	return strings.Join(out, "\n"), ran
}
