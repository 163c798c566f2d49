package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/internal/shellwords"
)

// ownFlags say what a command prints or requires. The next command has its own.
var ownFlags = []string{"base", "first-departure", "json", "progress", "prove", "sarif"}

// follow returns the line that runs the command of that name, "" for the root, with some words, and with the flags
// of a command that runs that say what is compiled and how it runs, as far as the other has them.
func follow(cmd *cobra.Command, name string, words ...string) string {
	to := cmd.Root()
	line := []string{"zinc"}
	if name != "" {
		to, line = find(to, name), append(line, name)
	}
	line = append(line, words...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		other := to.Flags().Lookup(f.Name)
		_, budget := f.Value.(*limitFlag)
		if other == nil || other.Value.Type() != f.Value.Type() || budget || slices.Contains(ownFlags, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			line = append(line, "--"+f.Name+"="+v)
		}
	})
	for i := range line {
		line[i] = shellwords.Quote(line[i])
	}
	return strings.Join(line, " ")
}

// find returns the command of that name below another.
func find(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name {
			return sub
		}
	}
	return c
}
