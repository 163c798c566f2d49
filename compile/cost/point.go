package cost

// Point is a published time of a call, with the estimate of zinc's program of its graph. Times are in microseconds.
type Point struct {
	Chip, Graph         string
	US                  float64
	Estimate, Low, High float64
	// The estimates with constants that are fitted without the point, and without its family.
	Without, WithoutFamily float64
	Apart                  bool // parts of it are explained by no rate, so nothing is fitted to it
	Derived                bool // from a published rate, not measured as a time
}
