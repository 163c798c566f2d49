package numerics

// Bound is the allowed difference d of an engine's fp16 result y from the interpreter's:
//
//	|d| <= ULP*ulp16(y) + Abs + Rel*|y| + Acc*S
//
// where S is the root of the sum of the squared products (a*b)^2 of one output element (for a sum, of its squared
// terms). The zero Bound means equal bits.
type Bound struct {
	ULP float64 // units in the last place of fp16 at y
	Abs float64 // absolute
	Rel float64 // of |y|
	Acc float64 // of the root of the sum of squared products
}

// IsExact reports whether the bound demands equal bits.
func (b Bound) IsExact() bool { return b == Bound{} }

// At returns the bound as an absolute difference at the value y, for the
// accumulation scale s (0 if there is none).
func (b Bound) At(y, s float64) float64 {
	if y < 0 {
		y = -y
	}
	return b.ULP*float64(ULP16(float32(y))) + b.Abs + b.Rel*y + b.Acc*s
}

// AccFactor is the factor of S in the bound of products: see "Products" in
// docs/numerics.md for the derivation.
const AccFactor = 1.0 / 1024

// Why names the reason of a bound.
type Why uint8

// Reasons.
const (
	Unstated    Why = iota
	Movement        // bits are copied or chosen: equal
	Elementwise     // one rounding of an exact function: 1 ulp
	Product         // sums of products through the first stage
	Table           // a 33-knot table: the table's own worst error, which the caller knows
	Composite       // several roundings and a table: modelled
)

// String names the reason in reports.
func (w Why) String() string {
	return [...]string{"unstated", "movement", "elementwise", "product", "table", "composite"}[w]
}

// Bound returns the bound of an operation for the reason w. tableAbs is the worst absolute error that the generator of
// the operation's lookup table states, 0 when the operation needs no table; it enters tables and composites. An
// operation without a stated reason has the bound of composites.
func (w Why) Bound(tableAbs float64) Bound {
	switch w {
	case Movement:
		return Bound{}
	case Elementwise:
		return Bound{ULP: 1}
	case Product:
		return Bound{ULP: 1, Acc: AccFactor}
	case Table:
		return Bound{ULP: 1, Abs: tableAbs}
	}
	// A mean, a difference, a product and a root, each rounded once: four roundings, each of at most one last place at
	// the result's scale. Modelled.
	return Bound{ULP: 4, Rel: 4.0 / 2048, Acc: AccFactor, Abs: tableAbs}
}

// GroupError bounds the error of the accumulator's first stage: a sum of groups of four products differs from the exact
// sum by at most GroupError times the sum of the products' magnitudes. See "Products" in docs/numerics.md.
const GroupError = 7.0 / 4096
