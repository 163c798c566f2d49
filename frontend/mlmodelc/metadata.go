package mlmodelc

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
)

// releases are the systems that run a version of specifications first: macOS, then iOS, tvOS and macCatalyst, then
// watchOS and visionOS. Files with 6, 7 and 9 were seen.
var releases = map[int64]struct{ mac, phone, watch, vision string }{
	6:  {"12.0", "15.0", "8.0", "1.0"},
	7:  {"13.0", "16.0", "9.0", "1.0"},
	8:  {"14.0", "17.0", "10.0", "1.0"},
	9:  {"15.0", "18.0", "11.0", "2.0"},
	10: {"26.0", "26.0", "26.0", "26.0"},
}

// Metadata returns metadata.json of a model with a program, or of a pipeline with several. name is the name of the file
// or folder that it is compiled from, without the extension. It returns an error for what no compiled model is known
// of.
func Metadata(about *metadata.Model, ps []*mil.Program, name string) ([]byte, error) {
	system, ok := releases[about.SpecificationVersion]
	if !ok {
		return nil, fmt.Errorf("specification version %d is not known; compiled models of 6 to 10 are written",
			about.SpecificationVersion)
	}
	whole := about.Func(about.Default)
	if whole == nil && len(about.Functions) > 0 {
		whole = &about.Functions[0]
	}
	if whole == nil {
		return nil, fmt.Errorf("the model is described without its functions")
	}
	for i := range about.Functions {
		f := &about.Functions[i]
		if f.Predicted != "" && f.Probabilities == "" {
			return nil, fmt.Errorf("the model is a regressor, which predicts %s; no compiled one is known, so only "+
				"packages and texts of it are written", f.Predicted)
		}
		for _, x := range slices.Concat(f.Inputs, f.Outputs, f.States) {
			switch x.Kind {
			case "":
				return nil, fmt.Errorf("feature %s of function %s has no type", x.Name, f.Name)
			case "sequence":
				return nil, fmt.Errorf("feature %s of function %s is a sequence; no compiled model with one is known",
					x.Name, f.Name)
			case "dictionary":
				if x.Elem != "int64" && x.Elem != "string" {
					return nil, fmt.Errorf("feature %s of function %s is a dictionary with the key type %q, want "+
						"int64 or string", x.Name, f.Name, x.Elem)
				}
			}
		}
	}
	var functions []any
	if about.Whole() == nil {
		for i := range about.Functions {
			functions = append(functions, function(&about.Functions[i], ps[0]))
		}
	}
	var bodies []*mil.Func
	for _, p := range ps {
		bodies = append(bodies, p.Func(whole.Name))
	}
	form := dictionary{{"name", "MLModelType_" + about.Form}}
	if about.Form == mlmodel.PipelineForm {
		form = append(form, pair{"structure", slices.Repeat([]any{dictionary{
			{"name", "MLModelType_" + mlmodel.ProgramForm},
		}}, len(ps))})
	}
	user := dictionary{}
	for _, kv := range about.UserDefined {
		user = append(user, pair{kv.Key, kv.Value})
	}
	return appendJSON(nil, []any{dictionary{
		{"modelType", form},
		{"author", optional(about.Author)},
		{"inputSchema", features(whole.Inputs)},
		{"modelParameters", []any{}},
		{"functions", functions},
		{"generatedClassName", className(name)},
		{"availability", dictionary{
			{"macOS", system.mac}, {"tvOS", system.phone}, {"iOS", system.phone}, {"macCatalyst", system.phone},
			{"visionOS", system.vision}, {"watchOS", system.watch},
		}},
		{"shortDescription", optional(about.Description)},
		{"version", optional(about.Version)},
		{"specificationVersion", about.SpecificationVersion},
		{"method", "predict"},
		{"metadataOutputVersion", "3.0"},
		{"defaultFunctionName", optional(about.Default)},
		{"stateSchema", features(whole.States)},
		{"isUpdatable", "0"},
		{"userDefinedMetadata", user},
		{"outputSchema", features(whole.Outputs)},
		{"storagePrecision", optional(storagePrecision(bodies...))},
		{"license", optional(about.License)},
		{"mlProgramOperationTypeHistogram", histogram(bodies...)},
		{"computePrecision", computePrecision(bodies...)},
	}.present()}, 0), nil
}

// optional returns a text that is absent if it is empty.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// present returns the entries without those that are absent.
func (d dictionary) present() dictionary {
	out := make(dictionary, 0, len(d))
	for _, p := range d {
		list, isList := p.value.([]any)
		if p.value != nil && !(isList && list == nil) {
			out = append(out, p)
		}
	}
	return out
}

// function describes a function of several.
func function(f *metadata.Function, p *mil.Program) dictionary {
	body := p.Func(f.Name)
	return dictionary{
		{"outputSchema", features(f.Outputs)},
		{"name", f.Name},
		{"mlProgramOperationTypeHistogram", histogram(body)},
		{"stateSchema", features(f.States)},
		{"inputSchema", features(f.Inputs)},
		{"storagePrecision", optional(storagePrecision(body))},
		{"computePrecision", computePrecision(body)},
	}.present()
}

// className returns a name as an identifier of the programs that Xcode generates.
func className(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			return c
		}
		return '_'
	}, name)
}

func features(xs []metadata.Feature) []any {
	out := []any{}
	for i := range xs {
		out = append(out, feature(&xs[i]))
	}
	return out
}

// elements are the names of element types in metadata.json.
var elements = map[string]string{
	"fp16": "Float16", "fp32": "Float32", "fp64": "Double", "bf16": "BFloat16",
	"int4": "Int4", "int8": "Int8", "int16": "Int16", "int32": "Int32", "int64": "Int64",
	"uint1": "UInt1", "uint2": "UInt2", "uint3": "UInt3", "uint4": "UInt4", "uint6": "UInt6",
	"uint8": "UInt8", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}

func feature(x *metadata.Feature) dictionary {
	flag := func(set bool) string { return map[bool]string{true: "1", false: "0"}[set] }
	if x.Kind == "image" {
		return image(x, flag)
	}
	kind := title(x.Kind)
	switch x.Kind {
	case "dictionary":
		key := title(x.Elem)
		return dictionary{
			{"type", kind}, {"name", x.Name}, {"isOptional", flag(x.Optional)}, {"keyType", key},
			{"formattedType", kind + " (" + key + " → Double)"}, {"shortDescription", x.Description},
		}
	case "string", "int64", "double":
		return dictionary{
			{"type", kind}, {"name", x.Name}, {"isOptional", flag(x.Optional)}, {"formattedType", kind},
			{"shortDescription", x.Description},
		}
	}
	elem := elements[x.Elem]
	formatted := kind + " (" + strings.TrimSuffix(elem+" "+times(x.Shape, strconv.FormatInt), " ") + ")"
	var flexibility, ranges, shapes any
	switch {
	case len(x.Ranges) > 0:
		flexibility, ranges = times(x.Ranges, extent), lists(x.Ranges)
	case len(x.Enumerated) > 0:
		flexibility, shapes = enumeration(x.Enumerated), lists(x.Enumerated)
	}
	if x.Flexible() {
		return dictionary{
			{"dataType", elem}, {"type", kind}, {"shapeRange", ranges}, {"enumeratedShapes", shapes}, {"name", x.Name},
			{"shapeFlexibility", flexibility}, {"shape", list(x.Shape)}, {"hasShapeFlexibility", "1"},
			{"isOptional", flag(x.Optional)}, {"formattedType", formatted}, {"shortDescription", x.Description},
		}.present()
	}
	return dictionary{
		{"name", x.Name}, {"dataType", elem}, {"shape", list(x.Shape)}, {"hasShapeFlexibility", "0"},
		{"isOptional", flag(x.Optional)}, {"shortDescription", x.Description}, {"formattedType", formatted},
		{"type", kind},
	}
}

// title returns a kind of feature as metadata.json spells it.
func title(kind string) string { return strings.ToUpper(kind[:1]) + kind[1:] }

// image describes an image, whose shapes are [height, width].
func image(x *metadata.Feature, flag func(bool) string) dictionary {
	height, width := "0", "0"
	if len(x.Shape) == 2 {
		height, width = strconv.FormatInt(x.Shape[0], 10), strconv.FormatInt(x.Shape[1], 10)
	}
	word, colour := "Color", x.Elem == "RGB" || x.Elem == "BGR"
	if !colour {
		word = "Grayscale"
	}
	return dictionary{
		{"height", height}, {"colorspace", x.Elem}, {"hasSizeFlexibility", flag(x.Flexible())}, {"width", width},
		{"name", x.Name}, {"isColor", flag(colour)}, {"isOptional", flag(x.Optional)},
		{"formattedType", "Image (" + word + " " + width + " × " + height + ")"}, {"type", "Image"},
		{"shortDescription", x.Description},
	}
}

// times joins the dimensions of a shape.
func times[T any](shape []T, text func(T, int) string) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = text(n, 10)
	}
	return strings.Join(parts, " × ")
}

// extent formats the range of a dimension.
func extent(r [2]int64, base int) string {
	low, high := strconv.FormatInt(r[0], base), strconv.FormatInt(r[1], base)
	switch {
	case r[1] < 0:
		return low + "..."
	case low == high:
		return low
	}
	return low + "..." + high
}

// enumeration formats the shapes that a feature can have.
func enumeration(shapes [][]int64) string {
	parts := make([]string, len(shapes))
	for i, s := range shapes {
		parts[i] = times(s, strconv.FormatInt)
	}
	return strings.Join(parts, " | ")
}

// list formats integers as a list.
func list(ns []int64) string { return strings.ReplaceAll(fmt.Sprint(ns), " ", ", ") }

// lists formats lists of integers as a list.
func lists[T [2]int64 | []int64](all []T) string {
	return strings.ReplaceAll(fmt.Sprint(all), " ", ", ")
}
