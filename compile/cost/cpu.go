package cost

import "math"

// The constants of the CPU's estimate.
var (
	cpuProducts = Constant{
		Name:  "CPU: products",
		Value: 400e9,
		Unit:  "fp16 operations/s",
		Source: "fitted to a published observation: the framework leaves a square fp16 product of 384 to the CPU and " +
			"gives one of 512 to the engine; with the estimates of the engine, rates from 351e9 to 559e9 do so, " +
			"for a constant second operand and for a live one",
		Known: Fitted,
	}
	cpuBandwidth = Constant{
		Name:   "CPU: bandwidth",
		Value:  10e9,
		Unit:   "B/s",
		Source: "the framework's published table of backends; no measurement of the M1 is held against it",
		Known:  Published,
	}
	cpuPeak = Constant{
		Name:   "CPU: operations on elements",
		Value:  20e9,
		Unit:   "operations/s",
		Source: "the framework's published table of backends; no measurement of the M1 is held against it",
		Known:  Published,
	}
	cpuCurve = Constant{
		Name:  "CPU: operations of a function of an element",
		Value: 16,
		Source: "assumed of operations that the engine takes from a table, of norms, pooling and softmax; others " +
			"take one",
		Known: Modelled,
	}
)

// Work is what the CPU does for an operation.
type Work struct {
	MACs     int64
	Elements int64 // of the largest tensor
	Bytes    int64 // read and written
	Curve    bool  // each element takes a function of several operations
}

// CPU returns what the CPU takes for some work: the longest of its products, its operations on elements and its bytes,
// each at a rate of its own. It may be several times off: it is for weighing work against a dispatch.
func CPU(w Work) Time {
	each := 1.0
	if w.Curve {
		each = cpuCurve.Value
	}
	return seconds(math.Max(2*float64(w.MACs)/cpuProducts.Value,
		math.Max(each*float64(w.Elements)/cpuPeak.Value, float64(w.Bytes)/cpuBandwidth.Value)))
}
