package compile

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// FlexibleInput is an input whose shape is chosen when the model is compiled or called, and the shape that a report is
// for.
type FlexibleInput struct {
	Function string  `json:"function"` // in one configuration of its shapes
	Input    string  `json:"input"`    // name of the input
	Shape    []int64 `json:"shape"`    // -1 for a dimension that stays unknown
	// Ranges are the least and the most of each dimension, with -1 for no limit; absent where the model lists shapes or
	// states nothing.
	Ranges [][2]int64 `json:"ranges,omitempty"`
	// Listed are the other shapes that the model lists.
	Listed [][]int64 `json:"listed,omitempty"`
}

// flexible returns the inputs of a function whose shapes are not fixed by its text.
func flexible(name string, f *ir.Func) (out []FlexibleInput) {
	for _, v := range f.Body.Params {
		if v.Type.Kind != ir.Tensor {
			continue
		}
		x := FlexibleInput{Function: name, Input: v.Name, Ranges: f.Flex.Ranges[v.Name]}
		for _, e := range f.Flex.Enums {
			if s := e[v.Name]; s != nil {
				x.Listed = append(x.Listed, s)
			}
		}
		ranged := slices.ContainsFunc(x.Ranges, func(r [2]int64) bool { return r[0] != r[1] })
		if !v.Type.Static() || ranged || len(x.Listed) > 1 {
			out = append(out, x)
		}
	}
	return out
}

// resolve sets the shapes of a report's flexible inputs to the shapes of the function that was compiled.
func (r *Report) resolve(f *ir.Func) {
	for i := range r.Flexible {
		x := &r.Flexible[i]
		for _, v := range f.Body.Params {
			if v.Name == x.Input {
				x.Shape = slices.Clone(v.Type.Shape)
			}
		}
		x.Listed = slices.DeleteFunc(x.Listed, func(s []int64) bool { return slices.Equal(s, x.Shape) })
	}
}
