package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/inspect/toolchain"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// ownVersion is the version document of this zinc.
func ownVersion() *toolchain.Version {
	v := &toolchain.Version{
		Version: compile.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Targets: target.Compiled(), Passes: passes.Names(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Module = moduleVersion(info.Main.Version)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				v.Revision = s.Value[:min(12, len(s.Value))]
			case "vcs.modified":
				v.Modified = s.Value == "true"
			}
		}
	}
	return v
}

// moduleVersion returns the version of the module that a build is of, "" for one from a checkout, whose revision the
// build has.
func moduleVersion(s string) string {
	if s == "(devel)" || strings.Contains(s, "+dirty") {
		return ""
	}
	return s
}

func newVersion(e *env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of zinc and the targets it knows",
		Long: `Version prints the version of zinc, the revision of its source if the build has it, and
the targets that it writes programs for. With --json it prints these as a document,
with the names of the passes in order; ` + "`zinc diff --zinc-b PATH`" + ` reads it from other
executables.`,
		Example: `  zinc version
  zinc version --json`,
		GroupID: groupZinc,
		Args:    operands(0, 0, "no operand"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := ownVersion()
			cmd.Root().Flags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden {
					v.Flags = append(v.Flags, f.Name)
				}
			})
			if asJSON {
				return jsonform.Document(e.out, v)
			}
			_, err := e.out.Write([]byte(v.Text()))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
