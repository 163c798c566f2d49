package cost

import (
	"math"
	"slices"
)

// Measured is a graph whose time on the M1 was published.
type Measured struct {
	Name string
	US   float64 // of one call
	// Fitted reports that the bandwidth of inputs and outputs was fitted to this graph;
	// the other graphs are held out.
	Fitted bool
	// ZeroCopy reports that the host did not copy inputs and outputs.
	ZeroCopy bool
	// Estimate is the model's estimate for zinc's program of the graph, in
	// microseconds, which package compile's TestEstimatesOfMeasuredGraphs checks.
	Estimate float64
	// Published is the estimate of the published model with its own constants: the
	// maximum, for the whole graph, of products by peak and bytes by bandwidth, plus
	// the dispatch.
	Published float64
	// The graph is Count convolutions with Kernel, Channels and Image, or Count
	// products with Rows, Inner and Outer dimensions.
	Kernel, Channels, Image int
	Valid                   bool // without padding
	Rows, Inner, Outer      int
	Count                   int
}

// MeasuredGraphs are published times to compare the model with. The sources state the
// shapes, so zinc can compile the graphs.
var MeasuredGraphs = []Measured{
	{Name: "3x3 convolution, 64 channels, 16x16", US: 231, Estimate: 218.6, Published: 251.8, Fitted: true, Kernel: 3,
		Channels: 64, Image: 16, Valid: true, Count: 1},
	{Name: "3x3 convolution, 64 channels, 32x32", US: 248, Estimate: 247.2, Published: 266.4, Kernel: 3, Channels: 64,
		Image: 32, Valid: true, Count: 1},
	{Name: "3x3 convolution, 64 channels, 64x64", US: 395, Estimate: 416.8, Published: 352.9, Fitted: true, Kernel: 3,
		Channels: 64, Image: 64, Valid: true, Count: 1},
	{Name: "3x3 convolution, 64 channels, 128x128", US: 1062, Estimate: 1099, Published: 700.6, Kernel: 3, Channels: 64,
		Image: 128, Valid: true, Count: 1},
	{Name: "3x3 convolution, 64 channels, 256x256", US: 3814, Estimate: 3834.6, Published: 2095, Fitted: true,
		Kernel: 3, Channels: 64, Image: 256, Valid: true, Count: 1},
	{Name: "3x3 convolution, 256 channels, 28x28", US: 510, Estimate: 449.4, Published: 514.6, Kernel: 3, Channels: 256,
		Image: 28, Count: 1},
	{Name: "product 4096 by 4096 by 4096", US: 28633, Estimate: 48097.3, Published: 42518.9, Rows: 4096, Inner: 4096,
		Outer: 4096, Count: 1},
	{Name: "product 1 by 64 by 64", US: 230, Estimate: 190.3, Published: 230.9, Rows: 1, Inner: 64, Outer: 64,
		Count: 1},
	{Name: "eight products 1024 by 1024 by 1024, no copies", US: 2110, Estimate: 2206.9, Published: 5516.1,
		ZeroCopy: true, Rows: 1024, Inner: 1024, Outer: 1024, Count: 8},
}

// Spread is the distribution of the errors of estimates.
type Spread struct {
	Count       int
	Median, P90 float64 // of the factors by which they are off in either direction, 1 and more
}

// spread returns the Spread of ratios of estimates to reference times.
func spread(ratios []float64) Spread {
	if len(ratios) == 0 {
		return Spread{}
	}
	fs := make([]float64, len(ratios))
	for i, r := range ratios {
		fs[i] = max(r, 1/r)
	}
	slices.Sort(fs)
	median := (fs[(len(fs)-1)/2] + fs[len(fs)/2]) / 2
	return Spread{len(fs), median, fs[int(math.Ceil(.9*float64(len(fs))))-1]}
}

// MeasuredSpread returns the errors of the estimates, or of the published model's estimates, for the measured graphs
// that the model was fitted to or for the others.
func MeasuredSpread(fitted, published bool) Spread { return spread(measuredRatios(fitted, published)) }

func measuredRatios(fitted, published bool) []float64 {
	var rs []float64
	for _, m := range MeasuredGraphs {
		if m.Fitted != fitted {
			continue
		}
		if published {
			rs = append(rs, m.Published/m.US)
		} else {
			rs = append(rs, m.Estimate/m.US)
		}
	}
	return rs
}

// Family is a family of recorded tasks, with the errors of the estimates relative to the
// times in their headers.
type Family struct {
	Name string
	Spread
	Ratio float64 // estimate by header at the median
}

// allFamilies represents all families together; it comes first.
const allFamilies = "all"

// Families are the families of recorded tasks of 1 us and more, which TestRecorded
// checks. The time in a header is the vendor's own estimate, from bytes alone.
var Families = []Family{
	{allFamilies, Spread{80, 1.11, 1.39}, 0.95},
	{"binary_runtime", Spread{10, 1.36, 1.74}, 0.64},
	{"chain", Spread{1, 1.18, 1.18}, 0.85},
	{"chain_base", Spread{2, 1.17, 1.28}, 0.94},
	{"chain_ffn", Spread{3, 1.18, 1.28}, 0.86},
	{"chain_pair", Spread{5, 1.06, 1.07}, 0.94},
	{"chain_residual", Spread{1, 1.74, 1.74}, 0.58},
	{"conv_probe", Spread{35, 1.04, 1.18}, 0.97},
	{"convolution", Spread{1, 1.16, 1.16}, 0.86},
	{"encoder_slice", Spread{1, 1, 1}, 1},
	{"encoder_transpose", Spread{1, 1, 1}, 1},
	{"env_activation", Spread{1, 1.31, 1.31}, 1.31},
	{"env_broadcast", Spread{6, 1.28, 1.28}, 1.28},
	{"floor", Spread{1, 2.54, 2.54}, 0.39},
	{"layout_tile", Spread{1, 1, 1}, 1},
	{"logical_not", Spread{1, 1.45, 1.45}, 0.69},
	{"matmul", Spread{4, 1.12, 1.18}, 0.88},
	{"reduction", Spread{2, 1.35, 1.39}, 0.72},
	{"rrmm_matvec", Spread{1, 1.2, 1.2}, 0.83},
	{"unary", Spread{3, 1.27, 1.27}, 0.79},
}
