package target

import (
	"fmt"
	"slices"
	"strings"
)

// Grade is how well a fact about a target is known.
type Grade string

// Grades, best first.
const (
	Recorded Grade = "recorded" // recorded programs of the vendor's compiler show it
	Measured Grade = "measured" // on the hardware
	// Published is of estimates: published times of the chip, of programs that are not zinc's.
	Published Grade = "published"
	Decoded   Grade = "decoded"  // published readings of the vendor's tables
	Inferred  Grade = "inferred" // from another target, or from an order of names
)

// Chip is a chip under the name that its buyers know.
type Chip struct {
	Name   string `json:"name"`          // as sold
	SoC    string `json:"soc,omitempty"` // the vendor's number of it, "" if no source has it
	Target string `json:"target"`        // whose programs it runs
	Cores  int    `json:"cores"`         // of its engines together, as published with it
	Grade  Grade  `json:"grade"`         // how it is known which target it runs
	Source string `json:"source"`        // of that
}

// Sources of the table of chips.
const (
	guide34  = "sbryngelson/ane-guide, chapter 34: the table from board types to architectures"
	guide12  = "sbryngelson/ane-guide, chapters 12 and 34: the machine reports it"
	studyM6  = "751K/Apple-Neural-Engine-Microarchitecture-Study-M6: the machine reports it"
	byOrder  = "by order: one generation a year from the A14, h13, to the A20, h19"
	sameTier = "as the Pro and Max of its generation: it has the dies of two of them"
)

// Chips are the chips of each generation, oldest first, the smallest first.
var Chips = []Chip{
	chip("A14", "T8101", "h13", 16, Decoded, "one architecture with the M1"),
	chip("M1", "T8103", "h13", 16, Decoded, guide34),
	chip("M1 Pro", "T6000", "h13g", 16, Decoded, guide34),
	chip("M1 Max", "T6001", "h13g", 16, Measured, guide12),
	chip("M1 Ultra", "T6002", "h13g", 32, Decoded, guide34),
	chip("A15", "T8110", "h14", 16, Inferred, byOrder),
	chip("M2", "T8112", "h14", 16, Decoded, guide34),
	chip("M2 Pro", "T6020", "h14g", 16, Measured, guide12),
	chip("M2 Max", "T6021", "h14g", 16, Decoded, guide34),
	chip("M2 Ultra", "T6022", "h14g", 32, Inferred, sameTier),
	chip("A16", "T8120", "h15", 16, Inferred, byOrder),
	chip("M3", "T8122", "h15", 16, Decoded, guide34),
	chip("M3 Pro", "T6030", "h15g", 16, Decoded, guide34),
	chip("M3 Max", "T6031", "h15g", 16, Decoded, guide34),
	chip("M3 Ultra", "T6032", "h15g", 32, Inferred, sameTier),
	chip("A17 Pro", "T8130", "h16", 16, Inferred, byOrder),
	chip("M4", "T8132", "h16g", 16, Measured, studyM6),
	chip("M4 Pro", "T6040", "h16g", 16, Decoded, guide34),
	chip("M4 Max", "T6041", "h16g", 16, Decoded, guide34),
	chip("A18", "", "h17", 16, Inferred, byOrder),
	chip("A18 Pro", "T8140", "h17", 16, Inferred, byOrder),
	chip("M5", "T8142", "h17", 16, Decoded, guide34),
	chip("M5 Pro", "T6050", "h17s", 16, Measured, guide12),
	chip("M5 Max", "T6051", "h17s", 16, Decoded, guide34),
	chip("A19", "", "h18", 16, Inferred, byOrder),
	chip("A19 Pro", "T8150", "h18", 16, Inferred, byOrder),
	chip("M6", "T8152", "h18g", 32, Measured, studyM6),
	chip("A20", "", "h19", 16, Decoded, "751K/Apple-Neural-Engine-Microarchitecture-Study-M6, its author's word"),
}

// chip returns a row of Chips.
func chip(name, soc, target string, cores int, g Grade, source string) Chip {
	return Chip{Name: name, SoC: soc, Target: target, Cores: cores, Grade: g, Source: source}
}

// ChipsOf returns the chips that run a target's programs.
func ChipsOf(target string) (of []Chip) {
	for _, c := range Chips {
		if c.Target == target {
			of = append(of, c)
		}
	}
	return of
}

// Generations returns the smallest chip of each generation of those in Macs: M1, M2 and so on.
func Generations() (of []Chip) {
	for _, c := range Chips {
		if strings.HasPrefix(c.Name, "M") && !strings.Contains(c.Name, " ") {
			of = append(of, c)
		}
	}
	return of
}

// ChipNames returns the names of the chips that run a target's programs, separated by commas.
func ChipNames(target string) string {
	var names []string
	for _, c := range ChipsOf(target) {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

var separators = strings.NewReplacer(" ", "", "-", "", "_", "")

// spelling returns a name as names are compared: in lower case, without separators and the vendor's name.
func spelling(name string) string {
	return strings.TrimPrefix(separators.Replace(strings.ToLower(name)), "apple")
}

// chipOf returns the chip of a spelling, nil for none. "a17" is the A17 Pro, since no chip is called A17.
func chipOf(want string) *Chip {
	for _, more := range []string{"", "pro"} {
		for i := range Chips {
			c := &Chips[i]
			if want+more == spelling(c.Name) || c.SoC != "" && want == spelling(c.SoC) {
				return c
			}
		}
	}
	return nil
}

// Lookup returns the table of a target, by its name, by the name of a chip that runs its programs in any spelling ("M1
// Max", "m1max", "a17-pro"), or by the chip's number. The error lists the targets.
func Lookup(name string) (*Table, error) {
	want := spelling(name)
	if c := chipOf(want); c != nil {
		want = c.Target
	}
	if i := slices.IndexFunc(All, func(t *Table) bool { return t.Name == want }); i >= 0 {
		return All[i], nil
	}
	return nil, fmt.Errorf("unknown target %q: zinc knows %s, and chips by name, as in m1 or \"M2 Pro\"", name,
		strings.Join(Names(), ", "))
}

// Spellings returns the names that Lookup takes, chips as one word in lower case, of the targets that want accepts.
func Spellings(want func(*Table) bool) []string {
	targets := names(want)
	ns := slices.Clone(targets)
	for _, c := range Chips {
		if slices.Contains(targets, c.Target) {
			ns = append(ns, spelling(c.Name))
		}
	}
	return ns
}
