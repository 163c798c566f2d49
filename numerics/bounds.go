package numerics

// Why names the reason why the engine's results of an operation differ from exact ones.
type Why uint8

// Reasons.
const (
	Unstated    Why = iota
	Movement        // they do not: bits are copied or chosen
	Elementwise     // one rounding of an exact function
	Product         // sums of products through the first stage
	Table           // a table of 33 knots
	Composite       // several roundings and a table
)

// String names the reason in reports.
func (w Why) String() string {
	return [...]string{"unstated", "movement", "elementwise", "product", "table", "composite"}[w]
}

// GroupError bounds the error of the accumulator's first stage: a sum of groups of four products differs from the exact
// sum by at most GroupError times the sum of the products' magnitudes. See "Products" in docs/numerics.md.
const GroupError = 7.0 / 4096
