package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/internal/jsonform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

func newTargets(e *env) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "targets [NAME]...",
		GroupID: groupUnderstand,
		Short:   "List the targets: chips, versions, limits, and how each number is known",
		Long: `Targets prints a line for each hardware target: the chips that run its programs, the
version of its task descriptors, the CPU subtype of its containers, the cores, whether
zinc writes programs for it or recorded forms alone (column Lowers), how many recorded
programs of Apple's compiler the rules were read from, the chip whose published times the
estimates are fitted to, and how many of its numbers are inferred from another target. With
names of targets or of chips it prints everything about those: each number with its grade
and its source.

recorded: words that Apple's compiler wrote show it. measured: on the hardware. decoded:
a published reading of the vendor's tables. inferred: from another target.

Every --target takes the names of chips too: m2, a17pro, "M1 Max".`,
		Example: `  zinc targets
  zinc targets "M1 Max" a17pro
  zinc targets --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, names []string) error {
			tables := target.All
			if len(names) > 0 {
				tables = nil
			}
			for _, n := range names {
				t, err := lookupTarget(n)
				if err != nil {
					return usagef("targets: %w", err)
				}
				tables = append(tables, t)
			}
			doc := targetsJSON{}
			for _, t := range tables {
				doc.Targets = append(doc.Targets, targetOf(t))
			}
			switch {
			case asJSON:
				return jsonform.Document(e.out, doc)
			case len(names) > 0:
				return doc.details(e.out)
			}
			return doc.lines(e.out)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// targetsJSON is what `zinc targets --json` prints.
type targetsJSON struct {
	Targets []targetJSON `json:"targets"` // oldest generation first, or in the order of the names
}

// targetJSON is one target.
type targetJSON struct {
	Name    string        `json:"name"`                     // as --target takes it
	Chips   []target.Chip `json:"chips,omitempty"`          // that run its programs
	Version int           `json:"version"`                  // of the task descriptors that the hardware reads
	Subtype uint32        `json:"subtype"`                  // CPU subtype of its containers
	Cores   int64         `json:"cores"`                    // cores that kernels are distributed over
	Writes  bool          `json:"writes"`                   // whether zinc writes programs for it
	Whole   bool          `json:"writes_whole"`             // whether it writes every program, not recorded forms alone
	Records int           `json:"recorded_programs"`        // of the vendor's compiler that the rules were read from
	Kinds   string        `json:"recorded_kinds,omitempty"` // what these programs compute
	FormsOf string        `json:"forms_of,omitempty"`       // target whose recorded forms are written too, inferred
	Timed   string        `json:"timed"`                    // chip whose published times the estimates are fitted to
	Own     bool          `json:"timed_here"`               // whether that chip runs this target's programs
	// Columns are the numbers of the target's table.
	Columns []columnJSON `json:"columns"`
}

// columnJSON is one number of a target.
type columnJSON struct {
	Name  string `json:"name"`  // of the column
	Doc   string `json:"doc"`   // what it is
	Value any    `json:"value"` // the number, text, or list of texts
	target.Basis
}

func targetOf(t *target.Table) targetJSON {
	r := cost.RatesOf(t)
	j := targetJSON{
		Name:    t.Name,
		Chips:   target.ChipsOf(t.Name),
		Version: t.Version,
		Subtype: t.Subtype,
		Cores:   t.Cores,
		Writes:  compiles(t),
		Whole:   t.Whole(),
		Records: t.Programs,
		Kinds:   t.Kinds,
		FormsOf: t.FormsOf,
		Timed:   r.Chip,
		Own:     r.Target() == t.Name,
	}
	for _, c := range t.Columns() {
		if s, ok := c.Value.(fmt.Stringer); ok {
			c.Value = s.String()
		}
		j.Columns = append(j.Columns, columnJSON{Name: c.Name, Doc: c.Doc, Value: c.Value, Basis: c.Basis})
	}
	return j
}

// inferred counts the columns that are inferred from another target.
func (j *targetJSON) inferred() (n int) {
	for _, c := range j.Columns {
		if c.Grade == target.Inferred {
			n++
		}
	}
	return n
}

// lines prints a line for each target.
func (d *targetsJSON) lines(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "target\tchips\tversion\tsubtype\tcores\tzinc writes\trecorded programs\ttimes of\tinferred")
	for i := range d.Targets {
		t := &d.Targets[i]
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%d of %d\n", t.Name, dash(target.ChipNames(t.Name)), t.Version,
			t.Subtype, t.Cores, t.writes(), dash(nonzero(t.Records)), t.times(), t.inferred(), len(t.Columns))
	}
	return tw.Flush()
}

// writes says what zinc writes for the target.
func (j *targetJSON) writes() string {
	switch {
	case j.Whole:
		return "programs"
	case j.FormsOf != "":
		return "recorded forms, " + j.FormsOf + "'s (inferred)"
	case j.Writes:
		return "recorded forms"
	}
	return "none: places and estimates"
}

// times says on which chip estimates are based.
func (j *targetJSON) times() string {
	if j.Own {
		return j.Timed
	}
	return "(" + j.Timed + ")"
}

// details prints everything about each target.
func (d *targetsJSON) details(w io.Writer) error {
	for i := range d.Targets {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := d.Targets[i].text(w); err != nil {
			return err
		}
	}
	return nil
}

func (j *targetJSON) text(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", j.Name)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range j.Chips {
		fmt.Fprintf(tw, "  %s\t%s\t%d cores\t%s\t%s\n", c.Name, dash(c.SoC), c.Cores, c.Grade, c.Source)
	}
	if len(j.Chips) == 0 {
		fmt.Fprintln(tw, "  no known chip")
	}
	fmt.Fprintln(tw)
	for _, c := range j.Columns {
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\n", c.Name, valueText(c.Value), c.Grade, c.Doc, c.Source)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	own := "; none were published for a chip of this target"
	if j.Own {
		own = ""
	}
	_, err := fmt.Fprintf(w, "\n  zinc writes %s. Estimates are fitted to published times of the %s%s.\n", j.writes(),
		j.Timed, own)
	return err
}

// valueText is the text of a column's value, "-" for none.
func valueText(v any) string {
	if list, ok := v.([]string); ok {
		return dash(strings.Join(list, ","))
	}
	return dash(fmt.Sprint(v))
}

// dash is s, or "-" for an empty text.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// nonzero is the text of a number, "" for 0.
func nonzero(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// lookupTarget returns the table of a target or chip. The error of an unknown name has the name that is most like it.
func lookupTarget(name string) (*target.Table, error) {
	t, err := target.Lookup(name)
	if err == nil {
		return t, nil
	}
	if near := ir.NearestOf(strings.ToLower(name), target.Spellings(everyTable)); near != "" {
		err = fmt.Errorf("%w; did you mean %s?", err, near)
	}
	return nil, err
}

// chipsToo ends the usage of --target.
const chipsToo = ", or a chip by name, as in m1 (zinc targets)"

// targetsUsage is the usage of a --target that takes several.
func targetsUsage() string {
	return "hardware `TARGETS`, separated by commas, or all: " + strings.Join(target.Names(), ", ") + chipsToo
}

func everyTable(*target.Table) bool { return true }

// compiles reports whether zinc writes programs for a target.
func compiles(t *target.Table) bool { return t.TD != 0 }

// targetFlag is the value of --target: the name of a target or of a chip, or a list of them. It holds targets' names;
// a name that is unknown stays as it is, and is reported when the target is looked up.
type targetFlag struct{ names *string }

// String returns the targets.
func (f targetFlag) String() string {
	if f.names == nil {
		return ""
	}
	return *f.names
}

// Type is the type of a flag's value, as in help.
func (targetFlag) Type() string { return "string" }

// Set reads names separated by commas.
func (f targetFlag) Set(text string) error {
	list := strings.Split(text, ",")
	for i, n := range list {
		if t, err := target.Lookup(n); err == nil {
			list[i] = t.Name
		}
	}
	*f.names = strings.Join(slices.Compact(list), ",")
	return nil
}
