package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/target"
)

func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of zinc and the targets it knows",
		Example: "  zinc version",
		GroupID: groupInspect,
		Args:    operands(0, 0, "no operand"),
		RunE: func(*cobra.Command, []string) error {
			rev := ""
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					switch {
					case s.Key == "vcs.revision":
						rev += " " + s.Value[:min(12, len(s.Value))]
					case s.Key == "vcs.modified" && s.Value == "true":
						rev += " modified"
					}
				}
			}
			_, err := fmt.Fprintf(e.out, "zinc %s%s, %s %s/%s\ntargets: %s\n", compile.Version, rev,
				runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(target.Compiled(), ", "))
			return err
		},
	}
}
