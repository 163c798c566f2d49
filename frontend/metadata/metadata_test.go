package metadata

import (
	"reflect"
	"strings"
	"testing"
)

// compiledText has the fields that the model compiler writes.
const compiledText = `[
  {
    "metadataOutputVersion" : "3.0",
    "author" : "A. Uthor",
    "license" : "MIT",
    "version" : "1.2",
    "shortDescription" : "does\tthings",
    "specificationVersion" : 8,
    "modelType" : {"name" : "MLModelType_mlProgram"},
    "isUpdatable" : "0",
    "userDefinedMetadata" : {"z" : "1", "a" : "2"},
    "inputSchema" : [
      {"name" : "x", "type" : "MultiArray", "dataType" : "Float32", "shape" : "[1, 3]", "hasShapeFlexibility" : "1",
       "shapeFlexibility" : "1...8 × 3", "shapeRange" : "[[1, 8], [3, 3]]", "isOptional" : "0", ` +
	`"shortDescription" : "the input"},
      {"name" : "e", "type" : "MultiArray", "dataType" : "Float16", "shape" : "[4]", "enumeratedShapes" : "[[4], ` +
	`[8]]", "isOptional" : "1"},
      {"name" : "i", "type" : "Image", "colorspace" : "RGB", "width" : "20", "height" : "10"}
    ],
    "outputSchema" : [{"name" : "y", "type" : "MultiArray", "dataType" : "Int32", "shape" : "[]"}],
    "stateSchema" : [{"name" : "k", "type" : "State", "dataType" : "Float16", "shape" : "[2, 2]"}]
  }
]`

func TestMetadataOfCompiledModelsIsRead(t *testing.T) {
	m, err := ParseJSON("metadata.json", []byte(compiledText))
	if err != nil {
		t.Fatal(err)
	}
	want := &Model{
		Source: "metadata.json", Form: "mlProgram", SpecificationVersion: 8,
		Author: "A. Uthor", License: "MIT", Description: "does\tthings", Version: "1.2",
		UserDefined: []KeyValue{{"a", "2"}, {"z", "1"}},
		Functions: []Function{{
			Name: "main",
			Inputs: []Feature{
				{Name: "x", Description: "the input", Kind: "multiArray", Elem: "fp32", Shape: []int64{1, 3},
					Ranges: [][2]int64{{1, 8}, {3, 3}}},
				{Name: "e", Kind: "multiArray", Elem: "fp16", Optional: true, Shape: []int64{4},
					Enumerated: [][]int64{{4}, {8}}},
				{Name: "i", Kind: "image", Elem: "RGB", Shape: []int64{10, 20}},
			},
			Outputs: []Feature{{Name: "y", Kind: "multiArray", Elem: "int32", Shape: []int64{}}},
			States:  []Feature{{Name: "k", Kind: "state", Elem: "fp16", Shape: []int64{2, 2}}},
		}},
	}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("metadata is\n%+v\nwant\n%+v", m, want)
	}
	var b strings.Builder
	if err := m.WriteText(&b, "// "); err != nil {
		t.Fatal(err)
	}
	const text = `// form                   mlProgram
// specification version  8
// description            "does\tthings"
// version                1.2
// author                 A. Uthor
// license                MIT
// a                      2
// z                      1
// function               main
//   input                x: multiArray fp32 [1..8, 3] default [1, 3], the input
//   input                e: multiArray fp16 [4] or [8] default [4] optional
//   input                i: image RGB [10, 20]
//   output               y: multiArray int32 []
//   state                k: state fp16 [2, 2]
`
	if b.String() != text {
		t.Errorf("text is\n%s\nwant\n%s", &b, text)
	}
}

func TestWrongMetadataIsRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "byte 0"},
		{"{}", "cannot unmarshal"},
		{"[]", "the list of models is empty"},
		{`[{"specificationVersion": 1.5}]`, ""},
		{`[{"inputSchema": [{"name": "x", "shape": "[1, "}]}]`, `feature "x": shape: want a list of integers, got ` +
			`"[1, "`},
		{`[{"inputSchema": [{"name": "x", "shape": "[-1]"}]}]`, "negative dimension"},
		{`[{"inputSchema": [{"name": "x", "shapeRange": "[1]"}]}]`, "shapeRange"},
		{`[{"inputSchema": [{"name": "x", "type": "Image", "height": "a", "width": "1"}]}]`, "not two integers"},
	} {
		if _, err := ParseJSON("metadata.json", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
}
