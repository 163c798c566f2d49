package mlmodel

import (
	"strconv"

	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
)

// flexAttr is the attribute of a function with the shapes of its inputs.
const flexAttr = "FlexibleShapeInformation"

// flexible returns the attribute that compiled models have for inputs whose shape is not fixed: their default shapes,
// then the ranges of their dimensions or their enumerated shapes. It returns nil if every input is fixed, or if the
// file describes none.
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
	defaults, ranges := &mil.Dict{}, &mil.Dict{}
	var enums []*metadata.Feature
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
		defaults.Entries = append(defaults.Entries, mil.Entry{
			Key:   name(p.Name),
			Value: mil.IntLiteral(nil, []int{len(x.Shape)}, x.Shape),
		})
		if len(x.Enumerated) > 0 {
			enums = append(enums, x)
			continue
		}
		var flat []int64
		for i, n := range x.Shape {
			r := [2]int64{n, n}
			if len(x.Ranges) > 0 {
				r = x.Ranges[i]
			}
			flat = append(flat, r[:]...)
		}
		ranges.Entries = append(ranges.Entries, mil.Entry{
			Key:   name(p.Name),
			Value: mil.IntLiteral(nil, []int{len(x.Shape), 2}, flat),
		})
	}
	if len(defaults.Entries) == 0 {
		return nil, nil
	}
	top := &mil.Tuple{}
	top.Type = &mil.Type{Kind: mil.TupleType}
	add := func(word string, dict *mil.Dict, t *mil.Type) {
		if len(dict.Entries) == 0 {
			return
		}
		top.Type.Args = append(top.Type.Args, &mil.Type{
			Kind: mil.TupleType,
			Args: []*mil.Type{d.scalarType("string"), t},
		})
		top.Elems = append(top.Elems, &mil.Tuple{Elems: []mil.Value{name(word), dict}})
	}
	add("DefaultShapes", defaults, d.shapesType())
	add("RangeDims", ranges, d.rangesType())
	configs, err := d.configurations(at, enums)
	if err != nil {
		return nil, err
	}
	add("EnumeratedShapes", configs, d.dictOf(d.shapesType()))
	return &mil.Arg{Name: flexAttr, Value: top}, nil
}

// Types of the parts of the attribute.

func (d *decoder) shapesType() *mil.Type {
	return d.dictOf(&mil.Type{Kind: mil.TensorType, Elem: "int32", Dims: []mil.Dim{{Kind: mil.UnknownDim}}})
}

func (d *decoder) rangesType() *mil.Type {
	return d.dictOf(&mil.Type{
		Kind: mil.ListType,
		Dims: []mil.Dim{{Kind: mil.UnknownDim}},
		Args: []*mil.Type{{Kind: mil.TensorType, Elem: "int32", Dims: []mil.Dim{{Size: 2}}}},
	})
}

func (d *decoder) dictOf(t *mil.Type) *mil.Type {
	return &mil.Type{Kind: mil.DictType, Args: []*mil.Type{d.scalarType("string"), t}}
}

// name returns a string.
func name(s string) *mil.Literal { return mil.StringLiteral(nil, nil, []string{s}) }

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

// configurations returns a dictionary of shapes by input for each configuration:
// the shapes of the inputs at one index of their lists, which must have the same length.
func (d *decoder) configurations(at int64, enums []*metadata.Feature) (*mil.Dict, error) {
	out := &mil.Dict{}
	if len(enums) == 0 {
		return out, nil
	}
	n := len(enums[0].Enumerated)
	for _, x := range enums {
		if len(x.Enumerated) != n {
			return nil, d.errorf(at, "input %s has %d enumerated shapes, but %s has %d; the lists must be of equal "+
				"length",
				x.Name, len(x.Enumerated), enums[0].Name, n)
		}
	}
	for i := range n {
		shapes := &mil.Dict{}
		for _, x := range enums {
			s := x.Enumerated[i]
			shapes.Entries = append(shapes.Entries, mil.Entry{
				Key: name(x.Name), Value: mil.IntLiteral(nil, []int{len(s)}, s),
			})
		}
		out.Entries = append(out.Entries, mil.Entry{
			Key:   name(strconv.Itoa(i)),
			Value: shapes,
		})
	}
	return out, nil
}
