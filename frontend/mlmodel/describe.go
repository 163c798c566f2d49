package mlmodel

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// Describe returns the description of a program that has none: its inputs, outputs and states, by their names in the
// text that the program was built from. The list has an error for a port that a description cannot represent, and a
// warning for one whose elements Core ML does not accept.
func Describe(p *ir.Program, tree *mil.Program) (*metadata.Model, *diag.List) {
	m := &metadata.Model{Form: ProgramForm, SpecificationVersion: SpecificationVersion(tree)}
	list := new(diag.List)
	for i, f := range p.Funcs {
		text := tree.Funcs[i]
		out := metadata.Function{Name: text.Name}
		describe := func(word, name string, pos diag.Pos, v *ir.Value) metadata.Feature {
			x, fault := port(v)
			x.Name = name
			if fault != "" {
				list.Errorf(tree.NameSpan(pos, name), codeSpec, "", "%s %s of function %s %s", word, name, f.Name,
					fault)
			} else if x.Elem == "" {
				list.Warningf(tree.NameSpan(pos, name), codeSpec, "", "%s %s of function %s has elements of type %s; "+
					"Core ML accepts %s", word, name, f.Name, v.Type.DType,
					strings.Join(slices.Sorted(maps.Keys(arrayTypeNumbers)), ", "))
			}
			return x
		}
		for j, v := range f.Body.Params {
			x := describe("input", text.Params[j].Name, text.Params[j].Pos, v)
			if x.Kind == "state" {
				out.States = append(out.States, x)
				continue
			}
			if x.Shape != nil && len(x.Shape) == 0 {
				x.Shape = []int64{1} // as coremltools describes scalars
			}
			flexibility(&x, v.Name, &f.Flex)
			out.Inputs = append(out.Inputs, x)
		}
		for j, v := range f.Body.Outputs {
			r := &text.Body.Outputs[j]
			x, ok := class(v)
			if x.Name = r.Name; !ok {
				x = describe("output", r.Name, r.NamePos, v)
			} else if x.Kind == "dictionary" {
				out.Probabilities = r.Name
			} else {
				out.Predicted = r.Name
			}
			out.Outputs = append(out.Outputs, x)
		}
		m.Functions = append(m.Functions, out)
	}
	if m.Default = p.Funcs[0].Name; m.Func("main") != nil {
		m.Default = "main"
	}
	if len(m.Functions) == 1 && m.Default == "main" {
		m.Default = ""
	}
	return m, list
}

// class describes a result of classify: the class, or the probability of each by class.
func class(v *ir.Value) (x metadata.Feature, ok bool) {
	if v.Def == nil || !v.Def.Is(ir.OpClassify) {
		return x, false
	}
	label := v.Def.Results[0]
	if v == label {
		return metadata.Feature{Kind: label.Type.DType.String()}, true
	}
	return metadata.Feature{Kind: "dictionary", Elem: label.Type.DType.String()}, true
}

// port describes an input, output or state without what is flexible in it. fault says why that is not possible.
func port(v *ir.Value) (x metadata.Feature, fault string) {
	x = metadata.Feature{Kind: "multiArray"}
	switch v.Type.Kind {
	case ir.Tensor:
	case ir.State:
		x.Kind = "state"
	default:
		return x, "has type " + v.Type.String() + "; a model has only tensors and states"
	}
	if name := v.Type.DType.String(); arrayTypeNumbers[name] != 0 {
		x.Elem = name
	}
	if v.Type.Static() {
		x.Shape = append([]int64{}, v.Type.Shape...)
	}
	return x, ""
}

// flexibility adds the shapes that an input of the program can have.
func flexibility(x *metadata.Feature, name string, flex *ir.Flexible) {
	if d := flex.Default[name]; d != nil {
		x.Shape = d
	}
	x.Ranges = flex.Ranges[name]
	for _, config := range flex.Enums {
		if s := config[name]; s != nil {
			x.Enumerated = append(x.Enumerated, s)
		}
	}
}

// describable returns an error for a feature that a description cannot represent, such as one of a type that only a
// metadata.json names.
func describable(m *metadata.Model) error {
	for i := range m.Functions {
		f := &m.Functions[i]
		for _, x := range slices.Concat(f.Inputs, f.Outputs, f.States) {
			if fault := fault(&x); fault != "" {
				return fmt.Errorf("%s: feature %s of function %s has %s", m.Source, x.Name, f.Name, fault)
			}
		}
	}
	return nil
}

// fault returns what a description cannot represent of a feature, and what it can.
func fault(x *metadata.Feature) string {
	among := func(what, value string, known []string) string {
		if slices.Contains(known, value) {
			return ""
		}
		return fmt.Sprintf("%s %q, want one of %s", what, value, strings.Join(known, ", "))
	}
	if fault := among("type", x.Kind, featureTypeSchema.messages()); fault != "" {
		return fault
	}
	switch x.Kind {
	case "dictionary":
		return among("key type", x.Elem, dictionarySchema.messages())
	case "sequence":
		return among("element type", x.Elem, sequenceSchema.messages())
	}
	if x.Elem == "" {
		return "" // as Describe leaves it, with a warning
	}
	switch x.Kind {
	case "multiArray", "state":
		return among("element type", x.Elem, slices.Sorted(maps.Keys(arrayTypeNumbers)))
	case "image":
		return among("colour space", x.Elem, slices.Sorted(maps.Keys(colourNumbers)))
	}
	return ""
}

// description writes a ModelDescription.
func (e *encoder) description(m *metadata.Model) {
	if f := m.Whole(); f != nil {
		e.ports(descriptionSchema, f)
	} else {
		for i := range m.Functions {
			e.message(descriptionSchema, "functions", func() {
				e.text(functionDescriptionSchema, "name", m.Functions[i].Name)
				e.ports(functionDescriptionSchema, &m.Functions[i])
			})
		}
		e.text(descriptionSchema, "defaultFunctionName", m.Default)
	}
	if m.Description+m.Version+m.Author+m.License == "" && len(m.UserDefined) == 0 {
		return
	}
	e.message(descriptionSchema, "metadata", func() {
		e.text(metadataSchema, "shortDescription", m.Description)
		e.text(metadataSchema, "versionString", m.Version)
		e.text(metadataSchema, "author", m.Author)
		e.text(metadataSchema, "license", m.License)
		for _, kv := range m.UserDefined { // by key
			e.message(metadataSchema, "userDefined", func() {
				e.text(entrySchema, "key", kv.Key)
				e.text(entrySchema, "value", kv.Value)
			})
		}
	})
}

// ports writes the fields that describe a function, or a model of one.
func (e *encoder) ports(s schema, f *metadata.Function) {
	e.features(s, "input", f.Inputs)
	e.features(s, "output", f.Outputs)
	e.text(s, "predictedFeatureName", f.Predicted)
	e.text(s, "predictedProbabilitiesName", f.Probabilities)
	e.features(s, "state", f.States)
}

func (e *encoder) features(s schema, name string, xs []metadata.Feature) {
	for i := range xs {
		x := &xs[i]
		e.message(s, name, func() {
			e.text(featureSchema, "name", x.Name)
			e.text(featureSchema, "shortDescription", x.Description)
			e.message(featureSchema, "type", func() {
				e.message(featureTypeSchema, x.Kind, func() { e.feature(x) })
				e.flag(featureTypeSchema, "isOptional", x.Optional)
			})
		})
	}
}

// feature writes the contents of the message that a feature's kind names.
func (e *encoder) feature(x *metadata.Feature) {
	switch x.Kind {
	case "multiArray":
		e.array(x)
	case "image":
		e.image(x)
	case "state":
		e.message(stateSchema, "arrayType", func() { e.array(x) })
	case "dictionary":
		e.message(dictionarySchema, x.Elem, func() {})
	case "sequence":
		e.message(sequenceSchema, x.Elem, func() {})
	}
}

// arrayTypeNumbers and colourNumbers are arrayTypes and colourSpaces the other way.
var arrayTypeNumbers, colourNumbers = inverse(arrayTypes), inverse(colourSpaces)

// inverse returns the numbers of names.
func inverse(names map[uint64]string) map[string]uint64 {
	m := map[string]uint64{}
	for n, name := range names {
		m[name] = n
	}
	return m
}

func (e *encoder) array(x *metadata.Feature) {
	e.integers(arraySchema, "shape", x.Shape)
	e.number(arraySchema, "dataType", arrayTypeNumbers[x.Elem])
	switch {
	case len(x.Enumerated) > 0:
		e.message(arraySchema, "enumeratedShapes", func() {
			for _, s := range x.Enumerated {
				e.message(shapesSchema, "shapes", func() { e.integers(shapeSchema, "shape", s) })
			}
		})
	case len(x.Ranges) > 0:
		e.message(arraySchema, "shapeRange", func() {
			for _, r := range x.Ranges {
				e.sizeRange(shapeRangeSchema, "sizeRanges", r)
			}
		})
	}
	if x.Value == nil {
		return
	}
	switch v := *x.Value; x.Elem {
	case "fp64":
		e.b = protowire.AppendTag(e.b, arraySchema.named("doubleDefaultValue").num, protowire.Fixed64Type)
		e.b = protowire.AppendFixed64(e.b, math.Float64bits(v))
	case "fp16", "fp32":
		e.b = protowire.AppendTag(e.b, arraySchema.named("floatDefaultValue").num, protowire.Fixed32Type)
		e.b = protowire.AppendFixed32(e.b, math.Float32bits(float32(v)))
	default:
		e.b = protowire.AppendTag(e.b, arraySchema.named("intDefaultValue").num, protowire.VarintType)
		e.b = protowire.AppendVarint(e.b, uint64(int64(v)))
	}
}

func (e *encoder) sizeRange(s schema, name string, r [2]int64) {
	e.message(s, name, func() {
		e.number(sizeRangeSchema, "lowerBound", uint64(r[0]))
		e.number(sizeRangeSchema, "upperBound", uint64(r[1]))
	})
}

// image writes an ImageFeatureType. The shapes of x are [height, width].
func (e *encoder) image(x *metadata.Feature) {
	size := func(s schema, shape []int64) {
		if len(shape) == 2 {
			e.number(s, "width", uint64(shape[1]))
			e.number(s, "height", uint64(shape[0]))
		}
	}
	size(imageSchema, x.Shape)
	e.number(imageSchema, "colorSpace", colourNumbers[x.Elem])
	switch {
	case len(x.Enumerated) > 0:
		e.message(imageSchema, "enumeratedSizes", func() {
			for _, shape := range x.Enumerated {
				e.message(imageSizesSchema, "sizes", func() { size(imageSizeSchema, shape) })
			}
		})
	case len(x.Ranges) == 2:
		e.message(imageSchema, "imageSizeRange", func() {
			e.sizeRange(imageRangeSchema, "widthRange", x.Ranges[1])
			e.sizeRange(imageRangeSchema, "heightRange", x.Ranges[0])
		})
	}
}
