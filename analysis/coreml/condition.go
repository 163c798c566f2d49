package coreml

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Measure is a number that an operation has: work that is counted, or a fact that decides which rate applies.
type Measure string

// Measures. features.of computes them; an operation has only some.
const (
	Bytes     Measure = "bytes"     // of inputs, constants and the first output
	Flops     Measure = "flops"     // 2 for each multiply-accumulate, divided by the product of the dilations
	Bias      Measure = "bias"      // flops, and an addition for each output if there is a bias
	Window    Measure = "window"    // outputs times the elements of a window
	Elements  Measure = "elements"  // of all operands, constants too
	Inputs    Measure = "inputs"    // elements of the first operand
	Outputs   Measure = "outputs"   // elements of the first output
	Intensity Measure = "intensity" // flops a byte of input, weight, bias and output
	Rows      Measure = "rows"      // rows of a matrix product
	Depth     Measure = "depth"     // length of the sums of a matrix product
	Columns   Measure = "columns"   // columns of a matrix product
	Ragged    Measure = "ragged"    // columns modulo 16
	Batch     Measure = "batch"     // 1 if a transpose moves the first dimension, else 0
)

// measures are all of them, in the order of the documentation.
var measures = []Measure{Bytes, Flops, Bias, Window, Elements, Inputs, Outputs, Intensity, Rows, Depth, Columns,
	Ragged, Batch}

// Condition compares a measure with a number.
type Condition struct {
	Measure  Measure
	Relation string // one of relations
	Value    float64
}

// relations, the longer ones first, since a reader tries them in this order.
var relations = []string{"<=", ">=", "<", ">", "="}

// Conditions hold if each of them does.
type Conditions []Condition

// holds reports whether the conditions hold; an unknown measure fails.
func (cs Conditions) holds(f *features) bool {
	for _, c := range cs {
		if !c.holds(f.of(c.Measure)) {
			return false
		}
	}
	return true
}

func (c Condition) holds(x float64) bool {
	switch c.Relation {
	case "<":
		return x < c.Value
	case "<=":
		return x <= c.Value
	case ">":
		return x > c.Value
	case ">=":
		return x >= c.Value
	}
	return x == c.Value
}

// String returns the conditions as in a file: "intensity>=11 intensity<62"; "-" for none.
func (cs Conditions) String() string {
	if len(cs) == 0 {
		return "-"
	}
	parts := make([]string, len(cs))
	for i, c := range cs {
		parts[i] = string(c.Measure) + c.Relation + number(c.Value)
	}
	return strings.Join(parts, " ")
}

// number writes a number with the fewest digits that read back the same.
func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// parseConditions reads what String writes.
func parseConditions(text string) (out Conditions, err error) {
	if text == "-" {
		return nil, nil
	}
	for _, part := range strings.Fields(text) {
		c, err := parseCondition(part)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if out == nil {
		return nil, fmt.Errorf("no conditions; want such as intensity<11, or - for none")
	}
	return out, nil
}

func parseCondition(part string) (Condition, error) {
	for _, rel := range relations {
		name, value, ok := strings.Cut(part, rel)
		if !ok {
			continue
		}
		if !slices.Contains(measures, Measure(name)) {
			return Condition{}, fmt.Errorf("condition %q: unknown measure %q; want %s", part, name, measureList())
		}
		x, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return Condition{}, fmt.Errorf("condition %q: %q is not a number", part, value)
		}
		return Condition{Measure: Measure(name), Relation: rel, Value: x}, nil
	}
	return Condition{}, fmt.Errorf("condition %q has no relation; want such as intensity<11", part)
}

// measureList returns the names of all measures.
func measureList() string {
	names := make([]string, len(measures))
	for i, m := range measures {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}
