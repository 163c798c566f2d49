package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/manpage"
)

func newMan(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages of zinc and its commands",
		Long: "Man writes a page for each command, zinc.1 and zinc-COMMAND.1, to FOLDER, which is\ncreated if " +
			"missing. They have the text of --help.",
		Example: "  zinc man man1\n  man ./man1/zinc-run.1",
		GroupID: groupInspect,
		Args:    operands(1, 1, "one FOLDER"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o777); err != nil {
				return err
			}
			var files []atomicfile.File
			for _, p := range manpage.Pages(cmd.Root(), "zinc "+compile.Version) {
				files = append(files, atomicfile.Bytes(filepath.Join(args[0], p.Name), p.Text))
			}
			if err := atomicfile.Write(cmd.Context(), files...); err != nil {
				return err
			}
			fmt.Fprintf(e.err, "zinc: %d pages written to %s\n", len(files), args[0])
			return nil
		},
	}
}
