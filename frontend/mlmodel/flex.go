package mlmodel

import (
	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// flexible returns the attribute that compiled models have for inputs whose shape is not fixed. It returns nil if every
// input is fixed, or if the file describes none.
//
// If the program leaves the shape of an input open and the description fixes it, the described shape is the default and
// the only range.
func (d *decoder) flexible(at int64, f *mil.Func, desc *metadata.Function) (*mil.Arg, error) {
	if desc == nil {
		return nil, nil
	}
	features := map[string]*metadata.Feature{}
	for i := range desc.Inputs {
		features[desc.Inputs[i].Name] = &desc.Inputs[i]
	}
	flex := ir.Flexible{Default: map[string][]int64{}, Ranges: map[string][][2]int64{}}
	first := "" // input with enumerated shapes
	for _, p := range f.Params {
		x := features[p.Name]
		if x == nil || p.Type.Kind != mil.TensorType || !open(p.Type) {
			continue
		}
		x = asTensor(x, p.Type)
		if len(x.Shape) == 0 {
			continue
		}
		if len(x.Shape) != len(p.Type.Dims) {
			return nil, d.errorf(at, "the program has input %s as %s, but the description has %d dimensions", p.Name,
				p.Type, len(x.Shape))
		}
		flex.Default[p.Name] = x.Shape
		if n := len(x.Enumerated); n > 0 {
			if first == "" {
				first, flex.Enums = p.Name, make([]map[string][]int64, n)
			}
			if n != len(flex.Enums) {
				return nil, d.errorf(at, "input %s has %d enumerated shapes, but %s has %d; the lists must be of "+
					"equal length", p.Name, n, first, len(flex.Enums))
			}
			for i, s := range x.Enumerated {
				if flex.Enums[i] == nil {
					flex.Enums[i] = map[string][]int64{}
				}
				flex.Enums[i][p.Name] = s
			}
			continue
		}
		for i, n := range x.Shape {
			r := [2]int64{n, n}
			if len(x.Ranges) > 0 {
				r = x.Ranges[i]
			}
			flex.Ranges[p.Name] = append(flex.Ranges[p.Name], r)
		}
	}
	return unbuild.Flexible(&flex, func() *mil.Type { return d.scalarType("string") }), nil
}

// open reports whether a dimension of t is unknown.
func open(t *mil.Type) bool {
	for _, dim := range t.Dims {
		if dim.Kind == mil.VariadicDim {
			return false
		}
		if dim.Kind != mil.FixedDim {
			return true
		}
	}
	return false
}

// asTensor returns an image as the tensor that it becomes in the program: one
// image, its channels, height, width. Other features are returned unchanged.
func asTensor(x *metadata.Feature, t *mil.Type) *metadata.Feature {
	if x.Kind != "image" || len(t.Dims) != 4 || len(x.Shape) != 2 {
		return x
	}
	y := *x
	c := channels[x.Elem]
	y.Shape = append([]int64{1, c}, x.Shape...)
	y.Ranges, y.Enumerated = nil, nil
	if len(x.Ranges) > 0 {
		y.Ranges = append([][2]int64{{1, 1}, {c, c}}, x.Ranges...)
	}
	for _, s := range x.Enumerated {
		y.Enumerated = append(y.Enumerated, append([]int64{1, c}, s...))
	}
	return &y
}
