package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/cmd/zinc/opref"
	"github.com/zinc-compiler/zinc/target"
)

func newOps(e *env) *cobra.Command {
	var targets, format string
	var natives, asJSON bool
	cmd := &cobra.Command{
		Use:     "ops [NAME]...",
		GroupID: groupUnderstand,
		Short:   "List the operations: parameters, forms, and where they run",
		Long: `Ops prints the table of operations: for each, its forms by operation set with
parameters, element types and defaults, and for each target whether the engine runs it,
through which rule and within which limits. Without a NAME it prints one line for each
operation, and finally how many of the operations that the hardware supports run on the
engine; with names, it prints everything about those operations.

--native compares, for each operation, the published table of native operations with
what zinc does: the rule or pass that handles the operation, or why it stays on the CPU.
hardware-cannot is a gate or a limit, zinc-cannot-yet an operation or form that no rule
lowers, not-worth-it one that would take longer on the engine.`,
		Example: `  zinc ops
  zinc ops conv --target h13,h16
  zinc ops --native
  zinc ops --target h13 --format md >docs/ops.md`,
		RunE: func(_ *cobra.Command, names []string) error {
			var ts []*target.Table
			list := strings.Split(targets, ",")
			if targets == "all" {
				list = target.Names()
			}
			for _, n := range list {
				t, err := lookupTarget(strings.TrimSpace(n))
				if err != nil {
					return usagef("--target: %w", err)
				}
				ts = append(ts, t)
			}
			rows, err := opref.Rows(ts, names...)
			if err != nil {
				return usagef("ops: %w", err)
			}
			switch {
			case format == "json" || asJSON:
				return opref.JSON(e.out, ts, rows)
			case natives:
				return opref.Natives(e.out, ts, rows)
			case format == "md":
				return opref.Markdown(e.out, ts, rows)
			}
			return opref.Text(e.out, ts, rows, len(names) > 0)
		},
	}
	f := cmd.Flags()
	targets = defaultTarget
	f.VarP(targetFlag{&targets}, "target", "t", targetsUsage())
	f.BoolVar(&natives, "native", false, "compare with what the hardware runs natively (text, json)")
	f.BoolVar(&asJSON, "json", false, "print JSON, as --format json does")
	f.Var(newChoice(&format, "text", "md", "json"), "format", "format of the table: text, md (Markdown) or json")
	return cmd
}
