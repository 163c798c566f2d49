package target

import "slices"

// Family is a generation of the engine's hardware; a later one supports everything that an earlier one does.
type Family int

// Families, with the numbers of the vendor's table.
const (
	A11Legacy Family = iota
	A12
	A13
	A14
	A15
	A16
	A17
)

var familyNames = []string{"A11Legacy", "A12", "A13", "A14", "A15", "A16", "A17"}

// String returns the family's name.
func (f Family) String() string { return familyNames[f] }

// ParseFamily is the inverse of String.
func ParseFamily(name string) (Family, bool) {
	i := slices.Index(familyNames, name)
	return Family(max(i, 0)), i >= 0
}

// Generation is the column of ir.Operation.Native: 0 0 for A13 and earlier, for which no measurements are published, 1
// for A14, 2 for A15 and later.
func (f Family) Generation() int { return int(min(max(f, A13), A15) - A13) }
