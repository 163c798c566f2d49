package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// everyCommand calls f for each command that a user can run, with the words that name it.
func everyCommand(f func(c *cobra.Command, words []string)) {
	var walk func(c *cobra.Command, words []string)
	walk = func(c *cobra.Command, words []string) {
		if c.Hidden {
			return
		}
		f(c, words)
		for _, s := range c.Commands() {
			walk(s, append(words[:len(words):len(words)], s.Name()))
		}
	}
	root := newRoot(&env{})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	walk(root, nil)
}

// TestHelpFitsTheTerminal holds every line of every help to 80 columns.
func TestHelpFitsTheTerminal(t *testing.T) {
	everyCommand(func(c *cobra.Command, words []string) {
		for _, flag := range []string{"--help", helpAll} {
			var out, diag bytes.Buffer
			args := append(words[:len(words):len(words)], flag)
			status := run(context.Background(), args, strings.NewReader(""), &out, &diag)
			if status != 0 || diag.Len() > 0 {
				t.Errorf("zinc %v: status %d, %s", args, status, &diag)
			}
			if !strings.Contains(out.String(), "Usage:") && !c.IsAdditionalHelpTopicCommand() {
				t.Errorf("zinc %v prints no usage: %q", args, &out)
			}
			for line := range strings.Lines(out.String()) {
				n := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
				theirs := c.Parent() != nil && c.Parent().Name() == "completion" // cobra's own text
				if n > helpWidth && !theirs {
					t.Errorf("zinc %v: %d columns: %s", args, n, line)
				}
			}
		}
	})
}

// TestEveryFlagIsInTheHelp compares the flags of a command with those that its whole help lists.
func TestEveryFlagIsInTheHelp(t *testing.T) {
	everyCommand(func(c *cobra.Command, words []string) {
		var out, diag bytes.Buffer
		run(context.Background(), append(words[:len(words):len(words)], helpAll), strings.NewReader(""), &out, &diag)
		for _, line := range strings.Split(c.LocalFlags().FlagUsages(), "\n") {
			for _, word := range strings.Fields(line)[:min(2, len(strings.Fields(line)))] {
				if strings.HasPrefix(word, "--") && !strings.Contains(out.String(), word) {
					t.Errorf("zinc %v %s does not list %s", words, helpAll, word)
				}
			}
		}
	})
}

func TestExamplesAreBrokenBetweenWords(t *testing.T) {
	for _, x := range [][2]string{
		{"  zinc a b", "  zinc a b"},
		{"  zinc check model.mil --op 'a b c'", "  zinc check model.mil --op \\\n      'a b c'"},
		{"  zinc explain 'model name with spaces.mil':21", "  zinc explain \\\n      'model name with spaces.mil':21"},
	} {
		if got := commandLine(x[0], 30); got != x[1] {
			t.Errorf("%q is broken to %q, want %q", x[0], got, x[1])
		}
	}
}
