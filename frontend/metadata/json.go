package metadata

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// FileName is the name of the metadata in a compiled model's folder.
const FileName = "metadata.json"

// compiled is metadata.json as the model compiler writes it: an array of one object in which numbers, booleans and
// shapes are strings.
type compiled struct {
	SpecificationVersion json.Number       `json:"specificationVersion"`
	Author               string            `json:"author"`
	License              string            `json:"license"`
	Description          string            `json:"shortDescription"`
	Version              string            `json:"version"`
	UserDefined          map[string]string `json:"userDefinedMetadata"`
	Default              string            `json:"defaultFunctionName"`
	ModelType            struct {
		Name string `json:"name"`
	} `json:"modelType"`
	compiledFunction
	Functions []compiledFunction `json:"functions"`
}

type compiledFunction struct {
	Name          string            `json:"name"`
	Inputs        []compiledFeature `json:"inputSchema"`
	Outputs       []compiledFeature `json:"outputSchema"`
	States        []compiledFeature `json:"stateSchema"`
	Predicted     string            `json:"predictedFeatureName"`
	Probabilities string            `json:"predictedProbabilitiesName"`
}

type compiledFeature struct {
	Name        string `json:"name"`
	Description string `json:"shortDescription"`
	Type        string `json:"type"`
	Elem        string `json:"dataType"`
	Key         string `json:"keyType"`
	Colours     string `json:"colorspace"`
	Optional    string `json:"isOptional"`
	Shape       string `json:"shape"`
	Range       string `json:"shapeRange"`
	Enumerated  string `json:"enumeratedShapes"`
	Height      string `json:"height"`
	Width       string `json:"width"`
}

// kinds maps the feature types of metadata.json to Feature.Kind.
var kinds = map[string]string{
	"MultiArray": "multiArray", "Image": "image", "String": "string", "Int64": "int64", "Double": "double",
	"Dictionary": "dictionary", "Sequence": "sequence", "State": "state",
}

// elems maps its element types to MIL's.
var elems = map[string]string{
	"Float16": "fp16", "Float32": "fp32", "Double": "fp64", "Float64": "fp64", "Int32": "int32", "Int8": "int8",
}

// ParseJSON reads a compiled model's metadata.json. name is its name in errors.
func ParseJSON(name string, data []byte) (*Model, error) {
	var all []compiled
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: byte %d: %w", name, dec.InputOffset(), err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: the list of models is empty", name)
	}
	c := &all[0]
	m := &Model{
		Source: name, Form: strings.TrimPrefix(c.ModelType.Name, "MLModelType_"),
		Author: c.Author, License: c.License, Description: c.Description, Version: c.Version, Default: c.Default,
	}
	if c.SpecificationVersion != "" {
		n, err := c.SpecificationVersion.Int64()
		if err != nil {
			return nil, fmt.Errorf("%s: specificationVersion: want an integer, got %q", name, c.SpecificationVersion)
		}
		m.SpecificationVersion = n
	}
	for k, v := range c.UserDefined {
		m.UserDefined = append(m.UserDefined, KeyValue{k, v})
	}
	m.SortUserDefined()
	whole := len(c.Functions) == 0
	if whole {
		c.compiledFunction.Name = "main"
		c.Functions = []compiledFunction{c.compiledFunction}
	}
	for i := range c.Functions {
		f := &c.Functions[i]
		out := Function{Name: f.Name, Predicted: f.Predicted, Probabilities: f.Probabilities}
		for _, part := range []struct {
			from []compiledFeature
			to   *[]Feature
		}{{f.Inputs, &out.Inputs}, {f.Outputs, &out.Outputs}, {f.States, &out.States}} {
			for j := range part.from {
				x, err := part.from[j].feature()
				if err != nil {
					return nil, fmt.Errorf("%s: feature %q: %w", name, part.from[j].Name, err)
				}
				*part.to = append(*part.to, x)
			}
		}
		m.Functions = append(m.Functions, out)
	}
	return m, nil
}

// SortUserDefined orders the user-defined entries by key.
func (m *Model) SortUserDefined() {
	sort.Slice(m.UserDefined, func(i, j int) bool { return m.UserDefined[i].Key < m.UserDefined[j].Key })
}

func (c *compiledFeature) feature() (Feature, error) {
	f := Feature{Name: c.Name, Description: c.Description, Kind: c.Type, Elem: c.Elem, Optional: c.Optional == "1"}
	if k, ok := kinds[c.Type]; ok {
		f.Kind = k
	}
	if e, ok := elems[c.Elem]; ok {
		f.Elem = e
	}
	if f.Elem == "" {
		f.Elem = cmp.Or(kinds[c.Key], c.Key, strings.ToUpper(c.Colours))
	}
	if err := list(c.Shape, &f.Shape, "shape"); err != nil {
		return f, err
	}
	if err := list(c.Range, &f.Ranges, "shapeRange"); err != nil {
		return f, err
	}
	if err := list(c.Enumerated, &f.Enumerated, "enumeratedShapes"); err != nil {
		return f, err
	}
	if f.Shape == nil && c.Height != "" && c.Width != "" {
		h, err1 := strconv.ParseInt(c.Height, 10, 64)
		w, err2 := strconv.ParseInt(c.Width, 10, 64)
		if err1 != nil || err2 != nil {
			return f, fmt.Errorf("size %q x %q is not two integers", c.Height, c.Width)
		}
		f.Shape = []int64{h, w}
	}
	if slices.ContainsFunc(f.Shape, func(d int64) bool { return d < 0 }) {
		return f, fmt.Errorf("shape %s has a negative dimension", c.Shape)
	}
	return f, nil
}

// list reads a nested list of integers from a string.
func list[T any](text string, into *T, field string) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%s: want a list of integers, got %q", field, text)
	}
	return nil
}

// IsCompiled reports whether m is of a compiled model, whose program is a text
// beside it.
func (m *Model) IsCompiled() bool { return filepath.Base(m.Source) == FileName }
