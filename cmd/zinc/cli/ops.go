package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/cmd/zinc/opref"
	"github.com/zinc-compiler/zinc/target"
)

func newOps(e *env) *cobra.Command {
	var targets, format string
	cmd := &cobra.Command{
		Use:     "ops [NAME]...",
		GroupID: groupInspect,
		Short:   "List the operations: parameters, forms, and where they run",
		Long: `Ops prints the table of operations: for each, its forms by operation set with
parameters, element types and defaults, and for each target whether the engine runs it,
through which rule and within which limits. Without a NAME it prints one line for each
operation; with names, everything about these.`,
		Example: `  zinc ops
  zinc ops conv --target h13,h16
  zinc ops --target h13 --format md >docs/ops.md`,
		RunE: func(_ *cobra.Command, names []string) error {
			var ts []*target.Table
			list := strings.Split(targets, ",")
			if targets == "all" {
				list = target.Names()
			}
			for _, n := range list {
				t, err := target.Lookup(strings.TrimSpace(n))
				if err != nil {
					return usagef("--target: %w", err)
				}
				ts = append(ts, t)
			}
			rows, err := opref.Rows(ts, names...)
			if err != nil {
				return usagef("ops: %w", err)
			}
			switch format {
			case "md":
				return opref.Markdown(e.out, ts, rows)
			case "json":
				return opref.JSON(e.out, ts, rows)
			}
			return opref.Text(e.out, rows, len(names) > 0)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&targets, "target", "t", "h13", "hardware `TARGETS`, separated by commas, or all: "+
		strings.Join(target.Names(), ", "))
	f.Var(newChoice(&format, "text", "md", "json"), "format", "format of the table: text, md (Markdown) or json")
	return cmd
}
