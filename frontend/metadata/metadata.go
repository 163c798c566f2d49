package metadata

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Model is the metadata of a model.
type Model struct {
	Source string `json:"source,omitempty"` // file with the metadata
	// field of the specification that contains the model, such as mlProgram
	Form                 string     `json:"form,omitempty"`
	SpecificationVersion int64      `json:"specification_version,omitempty"`
	Author               string     `json:"author,omitempty"`
	License              string     `json:"license,omitempty"`
	Description          string     `json:"description,omitempty"`
	Version              string     `json:"version,omitempty"`
	UserDefined          []KeyValue `json:"user_defined,omitempty"` // by key
	Default              string     `json:"default_function,omitempty"`
	Functions            []Function `json:"functions,omitempty"` // in the order of the source
}

// KeyValue is one entry of a dictionary of strings.
type KeyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Function describes one function of a model.
type Function struct {
	Name          string    `json:"name"` // main where the source describes the model as a whole
	Inputs        []Feature `json:"inputs,omitempty"`
	Outputs       []Feature `json:"outputs,omitempty"`
	States        []Feature `json:"states,omitempty"`
	Predicted     string    `json:"predicted_feature,omitempty"`       // output with the predicted class or value
	Probabilities string    `json:"predicted_probabilities,omitempty"` // output with the probability of each class
}

// Feature describes one input, output or state.
type Feature struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// multiArray, image, string, int64, double, dictionary, sequence, state
	Kind string `json:"kind"`
	// of an array or state, as in MIL (fp32); colour space of an image; key or element type of the others
	Elem     string `json:"element,omitempty"`
	Optional bool   `json:"optional,omitempty"`

	// Shape is the required shape, or the default one of a flexible feature; [height, width] of an image.
	Shape      []int64    `json:"shape,omitempty"`
	Ranges     [][2]int64 `json:"ranges,omitempty"`            // low and high of each dimension; high -1: unbounded
	Enumerated [][]int64  `json:"enumerated_shapes,omitempty"` // the allowed shapes
	// of every element of an optional array that is not set
	Value *float64 `json:"default_value,omitempty"`
}

// Flexible reports whether the feature can have more than one shape.
func (f *Feature) Flexible() bool { return len(f.Ranges) > 0 || len(f.Enumerated) > 0 }

// Func returns the description of the function of that name, or nil.
func (m *Model) Func(name string) *Function {
	if m == nil {
		return nil
	}
	for i := range m.Functions {
		if m.Functions[i].Name == name {
			return &m.Functions[i]
		}
	}
	return nil
}

// Whole returns the only function if the model is described as a whole, nil if it is described function by function.
func (m *Model) Whole() *Function {
	if len(m.Functions) == 1 && m.Functions[0].Name == "main" && m.Default == "" {
		return &m.Functions[0]
	}
	return nil
}

// Type formats the feature's type: fp32 [1, 1..8, 3].
func (f *Feature) Type() string {
	var b strings.Builder
	b.WriteString(f.Kind)
	if f.Elem != "" {
		b.WriteString(" " + f.Elem)
	}
	switch {
	case len(f.Ranges) > 0:
		parts := make([]string, len(f.Ranges))
		for i, r := range f.Ranges {
			parts[i] = rangeText(r)
		}
		b.WriteString(" [" + strings.Join(parts, ", ") + "]")
		if len(f.Shape) > 0 {
			b.WriteString(" default " + shapeText(f.Shape))
		}
	case len(f.Enumerated) > 0:
		for i, s := range f.Enumerated {
			if i > 0 {
				b.WriteString(" or")
			}
			b.WriteString(" " + shapeText(s))
		}
		if len(f.Shape) > 0 {
			b.WriteString(" default " + shapeText(f.Shape))
		}
	case f.Shape != nil:
		b.WriteString(" " + shapeText(f.Shape))
	}
	if f.Optional {
		b.WriteString(" optional")
	}
	if f.Value != nil {
		b.WriteString(" filled with " + strconv.FormatFloat(*f.Value, 'g', -1, 64))
	}
	return b.String()
}

func rangeText(r [2]int64) string {
	switch {
	case r[1] < 0:
		return strconv.FormatInt(r[0], 10) + ".."
	case r[0] == r[1]:
		return strconv.FormatInt(r[0], 10)
	}
	return strconv.FormatInt(r[0], 10) + ".." + strconv.FormatInt(r[1], 10)
}

func shapeText(shape []int64) string {
	parts := make([]string, len(shape))
	for i, d := range shape {
		parts[i] = strconv.FormatInt(d, 10)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// WriteText prints the model as text, each line beginning with prefix. Strings of the model are quoted if they would
// break the line.
func (m *Model) WriteText(w io.Writer, prefix string) error {
	if m == nil {
		return nil
	}
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(tw, "%s%s\t%s\n", prefix, name, oneLine(value))
		}
	}
	row("form", m.Form)
	if m.SpecificationVersion != 0 {
		row("specification version", strconv.FormatInt(m.SpecificationVersion, 10))
	}
	row("description", m.Description)
	row("version", m.Version)
	row("author", m.Author)
	row("license", m.License)
	for _, kv := range m.UserDefined {
		row(oneLine(kv.Key), kv.Value)
	}
	row("default function", m.Default)
	for i := range m.Functions {
		f := &m.Functions[i]
		row("function", f.Name)
		for _, part := range []struct {
			word     string
			features []Feature
		}{{"input", f.Inputs}, {"output", f.Outputs}, {"state", f.States}} {
			for j := range part.features {
				x := &part.features[j]
				text := oneLine(x.Name) + ": " + x.Type()
				if x.Description != "" {
					text += ", " + x.Description
				}
				row("  "+part.word, text)
			}
		}
		row("  predicted feature", f.Predicted)
		row("  predicted probabilities", f.Probabilities)
	}
	return tw.Flush()
}

// oneLine quotes a string with bytes that would break a line or a table.
func oneLine(s string) string {
	for _, c := range s {
		if !strconv.IsPrint(c) {
			return strconv.Quote(s)
		}
	}
	return s
}
