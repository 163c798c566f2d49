package manpage

import (
	"bytes"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// tree is a command line with all that a page must get right.
func tree() *cobra.Command {
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{
		Use: "tool FILE", Short: "Do things", Run: run,
		Long:    "Tool does things.\n\n.not a request\n'nor this\nA back\\slash.\n\n  kept  as it is\n\nThe end.",
		Example: "  tool file --count 3\n  .hidden",
	}
	root.Flags().IntP("count", "c", 2, "do it `N` times")
	root.Flags().Bool("quiet", false, "say nothing")
	root.Flags().String("secret", "", "not shown")
	if err := root.Flags().MarkHidden("secret"); err != nil {
		panic(err)
	}
	root.PersistentFlags().String("form", "text", "form of errors")
	root.AddCommand(
		&cobra.Command{Use: "walk [WAY]", Short: "Walk \"somewhere\"", Run: run},
		&cobra.Command{Use: "away", Short: "Gone", Run: run, Hidden: true},
	)
	return root
}

func TestPages(t *testing.T) {
	pages := Pages(tree(), "tool 1")
	if !reflect.DeepEqual(pages, Pages(tree(), "tool 1")) {
		t.Error("a second time they are others")
	}
	var names []string
	for _, p := range pages {
		names = append(names, p.Name)
	}
	if want := []string{"tool.1", "tool-walk.1"}; !reflect.DeepEqual(names, want) {
		t.Errorf("pages %q, want %q", names, want)
	}
	text := string(pages[0].Text)
	for _, want := range []string{
		".TH \"TOOL\" \"1\" \"\" \"tool 1\" \"zinc\"\n", "\ntool \\- Do things\n", "\n\\&.not a request\n",
		"\n\\&'nor this\n", "back\\eslash",
		".B \"\\-c, \\-\\-count N\"\ndo it N times (default 2)\n", "\n  .hidden\n", ".BR \"tool\\-walk\" (1)\n",
		".SH \"OPTIONS\"\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q:\n%s", want, text)
		}
	}
	for _, never := range []string{"secret", "away", "\n.not", "\n'nor"} {
		if strings.Contains(text, never) {
			t.Errorf("the page has %q", never)
		}
	}
	if walk := string(pages[1].Text); !strings.Contains(walk, "OPTIONS OF ALL COMMANDS") ||
		!strings.Contains(walk, `.BR "tool" (1)`) {
		t.Errorf("the page of walk:\n%s", walk)
	}
}

// TestRoff has groff read the pages, where the machine has it.
func TestRoff(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff")
	}
	for _, p := range Pages(tree(), "tool 1") {
		cmd := exec.Command(groff, "-man", "-Tascii", "-ww", "-z")
		cmd.Stdin = bytes.NewReader(p.Text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", p.Name, err, out)
		}
	}
}
