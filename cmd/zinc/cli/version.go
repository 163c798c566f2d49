package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/toolchain"
)

// ownVersion is the version document of this zinc.
func ownVersion() *toolchain.Version {
	v := &toolchain.Version{
		Version: compile.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Targets: target.Compiled(), Passes: passes.Names(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
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
		GroupID: groupInspect,
		Args:    operands(0, 0, "no operand"),
		RunE: func(*cobra.Command, []string) error {
			v := ownVersion()
			if asJSON {
				return jsonform.Write(e.out, v)
			}
			_, err := e.out.Write([]byte(v.Text()))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
