package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/cmd/zinc/cli"
)

// TestReadmeCommands runs every command of the README that begins with
// bin/zinc, in order, in a folder that holds the examples alone.
func TestReadmeCommands(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"digits", "patch"} {
		if err := os.CopyFS(filepath.Join(dir, "examples", name), os.DirFS(filepath.Join("..", "examples", name))); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("ZINC_CACHE", "")
	if err := os.Mkdir(filepath.Join(dir, "dist"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	ran := 0
	code := false
	for _, line := range strings.Split(string(readme), "\n") {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		args, ok := strings.CutPrefix(line, "bin/zinc ")
		if !code || !ok {
			continue
		}
		ran++
		var out, diag bytes.Buffer
		if status := cli.Main(strings.Fields(args), strings.NewReader(""), &out, &diag); status != 0 {
			t.Errorf("zinc %s: exit status %d\n%s", args, status, diag.Bytes())
		}
		if out.Len()+diag.Len() == 0 && !strings.Contains(args, "--output") {
			t.Errorf("zinc %s: printed nothing", args)
		}
	}
	if ran == 0 {
		t.Error("the README shows no command")
	}
}
