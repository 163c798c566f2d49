package cli

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
	"github.com/zinc-compiler/zinc/internal/jsonform"
)

// manJSON is what zinc man --json prints.
type manJSON struct {
	Files []fileJSON `json:"files"` // that were written
}

func newMan(e *env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages of zinc and its commands",
		Long: "Man writes a page for each command, zinc.1 and zinc-COMMAND.1, to FOLDER, which is\ncreated if " +
			"missing. They have the text of --help.",
		Example: "  zinc man man1\n  man ./man1/zinc-run.1",
		GroupID: groupZinc,
		Args:    operands(1, 1, "one FOLDER"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := manPages(cmd.Root(), args[0])
			if err != nil {
				return err
			}
			if err := atomicfile.Write(cmd.Context(), files...); err != nil {
				return err
			}
			if asJSON {
				list, err := written(files)
				return errors.Join(err, jsonform.Document(e.out, manJSON{list}))
			}
			e.note("%d pages written to %s", len(files), args[0])
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was written as JSON")
	return cmd
}

// manDate is the date in the heads of pages: the same build always gives the same bytes.
var manDate = time.Unix(0, 0).UTC()

// manPages returns the pages of a command and of its visible subcommands.
func manPages(c *cobra.Command, folder string) ([]atomicfile.File, error) {
	c.DisableAutoGenTag = true // its text contains its own date
	head := &doc.GenManHeader{Section: "1", Date: &manDate, Source: "zinc " + compile.Version, Manual: "zinc"}
	var b bytes.Buffer
	if err := doc.GenMan(c, head, &b); err != nil {
		return nil, err
	}
	page := withSections(b.Bytes(), manSections(c))
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + "." + head.Section
	files := []atomicfile.File{atomicfile.Bytes(filepath.Join(folder, name), page)}
	for _, s := range c.Commands() {
		if !s.IsAvailableCommand() || s.IsAdditionalHelpTopicCommand() {
			continue
		}
		below, err := manPages(s, folder)
		if err != nil {
			return nil, err
		}
		files = append(files, below...)
	}
	return files, nil
}

// withSections inserts sections before the list of related pages, which is the last section of a page that has it.
func withSections(page []byte, sections string) []byte {
	const last = "\n.SH SEE ALSO\n"
	at := bytes.LastIndex(page, []byte(last))
	if at < 0 {
		at = len(page) - 1
	}
	return slices.Concat(page[:at+1], []byte(sections), page[at+1:])
}

// manSections returns the environment and the exit statuses of a command as sections of its page.
func manSections(c *cobra.Command) string {
	var b strings.Builder
	entry := func(head, text string) {
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fP\n%s\n", head, manText(text))
	}
	b.WriteString(".SH ENVIRONMENT\n")
	for _, v := range Variables {
		if v.Flag == "" || c.Flag(v.Flag) != nil {
			entry(v.Name, v.Meaning)
		}
	}
	b.WriteString(".SH EXIT STATUS\n")
	if own := c.Annotations[ownStatus]; own != "" {
		b.WriteString(manText(own) + "\n")
		return b.String()
	}
	for _, s := range Statuses {
		text := s.Meaning
		if s.Example != "" {
			text += ": " + s.Example
		}
		entry(strconv.Itoa(s.Status), text)
	}
	return b.String()
}

// manText escapes text for a page.
func manText(s string) string {
	s = strings.NewReplacer(`\`, `\\`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
