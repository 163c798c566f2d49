package opref

import (
	"fmt"
	"io"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// Comparison holds what zinc does on one target against what its hardware does.
type Comparison struct {
	Target string `json:"target"` // name of the target
	Native Share  `json:"native"` // operations that the hardware runs natively
	Bridge Share  `json:"bridge"` // operations that only a larger engine program holds
	// Others are on the engine and neither native nor a bridge.
	Others []string `json:"others,omitempty"`
}

// Share is how many of some operations leave nothing to the CPU.
type Share struct {
	Operations int      `json:"operations"` // number of operations
	Engine     int      `json:"engine"`     // run there
	Rewritten  int      `json:"rewritten"`  // become part of a transfer, or nothing
	Missing    []string `json:"missing"`    // on the CPU
}

// Off counts those that leave nothing to the CPU.
func (s *Share) off() int { return s.Engine + s.Rewritten }

// Compare compares rows with the hardware of the targets that they were made for.
func Compare(ts []*target.Table, rows []Row) []Comparison {
	out := make([]Comparison, 0, len(ts))
	for k, t := range ts {
		c := Comparison{Target: t.Name}
		c.Native.Missing, c.Bridge.Missing = []string{}, []string{}
		for i := range rows {
			p := &rows[i].Placement[k]
			var s *Share
			switch p.Native {
			case ir.Native.String():
				s = &c.Native
			case ir.Bridge.String():
				s = &c.Bridge
			default:
				if p.Unit == ir.Engine.String() {
					c.Others = append(c.Others, rows[i].Name)
				}
				continue
			}
			s.Operations++
			switch p.Unit {
			case ir.Engine.String():
				s.Engine++
			case ir.CPU.String():
				s.Missing = append(s.Missing, rows[i].Name)
			default:
				s.Rewritten++
			}
		}
		out = append(out, c)
	}
	return out
}

// String is the comparison in one line.
func (c *Comparison) String() string {
	s := fmt.Sprintf("%s: %d of %d native operations on the engine (%d of them in transfers or rewritten by the "+
		"compiler); "+
		"%d of %d bridge operations", c.Target, c.Native.off(), c.Native.Operations, c.Native.Rewritten, c.Bridge.off(),
		c.Bridge.Operations)
	if n := len(c.Others); n > 0 {
		s += fmt.Sprintf("; %d that the table does not list as either", n)
	}
	return s
}

// Natives writes for each target a line for each operation that the published table lists, what the hardware does
// with it beside what zinc does, and the comparison.
func Natives(w io.Writer, ts []*target.Table, rows []Row) error {
	cs := Compare(ts, rows)
	for k := range ts {
		for _, support := range []ir.Support{ir.Native, ir.Bridge, ir.Gated, ir.None} {
			for i := range rows {
				p := &rows[i].Placement[k]
				if p.Native != support.String() {
					continue
				}
				does := p.Unit + ", " + p.by() + p.Rule
				if p.Verdict != "" {
					does = fmt.Sprintf("%s, %s (%s)", p.Unit, p.Verdict, p.Rule)
				}
				if _, err := fmt.Fprintf(w, "%-5s %-40s %-7s %s\n", p.Target, rows[i].Name, p.Native,
					does); err != nil {
					return err
				}
			}
		}
		if _, err := fmt.Fprintln(w, cs[k].String()); err != nil {
			return err
		}
		if missing := slices.Concat(cs[k].Native.Missing, cs[k].Bridge.Missing); len(missing) > 0 {
			if _, err := fmt.Fprintf(w, "on the CPU: %v\n", missing); err != nil {
				return err
			}
		}
	}
	return nil
}
