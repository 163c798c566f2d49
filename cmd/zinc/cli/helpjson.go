package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// helpJSON is what zinc help --json prints.
type helpJSON struct {
	Commands []commandJSON `json:"commands"` // zinc itself first, then by name
}

// commandJSON is a command.
type commandJSON struct {
	Command  string     `json:"command"`            // with those above it, as in zinc cache ls
	Usage    string     `json:"usage"`              // line
	Short    string     `json:"short"`              // what it does, in a line
	Long     string     `json:"long,omitempty"`     // text of the help
	Examples []string   `json:"examples,omitempty"` // command lines
	Flags    []flagJSON `json:"flags"`              // by name
}

// flagJSON is a flag of a command.
type flagJSON struct {
	Name      string `json:"name"`                // without dashes
	Shorthand string `json:"shorthand,omitempty"` // letter
	Type      string `json:"type"`                // bool, or the name or the words of the value
	Default   string `json:"default,omitempty"`   // value
	Help      string `json:"help"`                // what it does
}

// addHelpJSON gives the help command the flag --json, which prints all commands.
func (e *env) addHelpJSON(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		asJSON := c.Flags().Bool("json", false, "print every command with its flags as JSON")
		help := c.Run
		c.Run = nil
		c.RunE = func(c *cobra.Command, args []string) error {
			switch {
			case !*asJSON:
				help(c, args)
				return nil
			case len(args) > 0:
				return usagef("help: --json prints every command; leave out %q", args[0])
			}
			out := helpJSON{}
			out.add(root)
			return jsonform.Document(e.out, out)
		}
	}
}

// add adds a command that a user can run, and those below it.
func (h *helpJSON) add(c *cobra.Command) {
	if c.Hidden {
		return
	}
	if c.Runnable() {
		c.InheritedFlags() // cobra adds them to c.Flags here
		x := commandJSON{
			Command: c.CommandPath(), Usage: c.UseLine(), Short: c.Short, Long: c.Long, Flags: []flagJSON{},
		}
		for line := range strings.Lines(c.Example) {
			x.Examples = append(x.Examples, strings.TrimSpace(line))
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			name, usage := pflag.UnquoteUsage(f)
			if name == "" {
				name = f.Value.Type()
			}
			x.Flags = append(x.Flags, flagJSON{
				Name: f.Name, Shorthand: f.Shorthand, Type: name, Default: f.DefValue, Help: usage,
			})
		})
		h.Commands = append(h.Commands, x)
	}
	for _, sub := range c.Commands() {
		h.add(sub)
	}
}
