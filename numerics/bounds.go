package numerics

// Why names the reason why the engine's results of an operation differ from exact ones.
type Why uint8

// Reasons.
const (
	Unstated Why = iota
	Movement     // they do not: bits are copied or chosen
	Rounded      // results are rounded, and perhaps what they are computed from
	Table        // they come from a table of 33 knots
)

// GroupError bounds the error of the accumulator's first stage: a sum of groups of four products differs from the exact
// sum by at most GroupError times the sum of the products' magnitudes. See "Products" in docs/numerics.md.
const GroupError = 7.0 / 4096
