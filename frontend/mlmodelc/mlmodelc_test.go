package mlmodelc

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/metadata"
	"github.com/zinc-compiler/zinc/frontend/mil"
)

func TestDataIsReadBack(t *testing.T) {
	d := &Data{SpecificationVersion: 7, Description: []byte("\x0a\x03abc\xa2\x06\x00")}
	b := d.Bytes(2)
	got, err := ParseData("coremldata.bin", b)
	if err != nil {
		t.Fatal(err)
	}
	if got.SpecificationVersion != 7 || !bytes.Equal(got.Description, d.Description) {
		t.Errorf("read %+v", got)
	}
	bare := (&Data{SpecificationVersion: 7, Description: []byte("\x0a\x03abc")}).Bytes(2)
	if !bytes.Equal(bare, b) {
		t.Error("a description without metadata does not get an empty one")
	}
	for n := range len(b) - 2*16 {
		if _, err := ParseData("coremldata.bin", b[:n]); err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for at, want := range map[int]string{
		0: "the model is of type 503", 4: "the version of the file is [6 0 0]", 36: `of kind "heneric"`,
		82: "truncated",
	} {
		wrong := bytes.Clone(b)
		wrong[at]++
		if _, err := ParseData("coremldata.bin", wrong); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("byte %d: %v, want %q", at, err, want)
		}
	}
}

func TestAnalyticsHasTheHashOfTheSpecification(t *testing.T) {
	b := Analytics(sha256.Sum256([]byte("spec")))
	if len(b) != 243 || !bytes.Contains(b, []byte("1PAuqv0anp3n0Qlyyo5H+nqYWCXDycHiSccmg8s+Txk=")) {
		t.Errorf("%d bytes: %q", len(b), b)
	}
}

// TestKeysAreInTheOrderOfNSDictionary checks the order of dictionaries that Apple's compiler wrote, with tables of each
// size that was seen.
func TestKeysAreInTheOrderOfNSDictionary(t *testing.T) {
	for _, c := range []struct{ added, want string }{
		{"Ios17.cast Ios17.less Ios17.mul Ios17.add Ios17.maximum Ios17.minimum Ios17.gather",
			"Ios17.gather Ios17.cast Ios17.less Ios17.mul Ios17.maximum Ios17.add Ios17.minimum"},
		{"name dataType shape hasShapeFlexibility isOptional shortDescription formattedType type",
			"hasShapeFlexibility isOptional dataType formattedType shortDescription shape name type"},
		{"macOS tvOS iOS macCatalyst visionOS watchOS", "macOS tvOS visionOS watchOS iOS macCatalyst"},
		{"height colorspace hasSizeFlexibility width name isColor isOptional formattedType type shortDescription",
			"height colorspace isOptional width isColor formattedType hasSizeFlexibility type shortDescription name"},
		{"Ios16.cast Pad ExpandDims Ios16.constexprAffineDequantize Ios16.conv SliceByIndex Ios16.pow " +
			"Ios16.add Ios16.sqrt Ios16.relu Ios16.clip Squeeze Transpose Ios16.lstm Ios16.sigmoid",
			"Ios16.cast SliceByIndex Ios16.constexprAffineDequantize Ios16.sqrt Transpose Ios16.sigmoid Ios16.conv " +
				"Ios16.add Ios16.relu Squeeze Ios16.clip Ios16.lstm Ios16.pow ExpandDims Pad"},
	} {
		var d dictionary
		for k := range strings.FieldsSeq(c.added) {
			d = append(d, pair{k, ""})
		}
		var got []string
		for _, p := range d.enumerated() {
			got = append(got, p.key)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("order is\n%s\nwant\n%s", s, c.want)
		}
	}
	var large dictionary
	for i := range 4000 {
		large = append(large, pair{strings.Repeat("k", i), i})
	}
	if n := len(large.enumerated()); n != len(large) {
		t.Errorf("%d of %d entries", n, len(large))
	}
}

// blob is a reference to a weight file.
const blob = `(BLOBFILE(path = string("@model_path/w.bin"), offset = uint64(64)))`

const program = `program(1.3)
{
    func main<ios17>(tensor<fp16, [?, 4]> a, tensor<int32, [2]> n) {
            tensor<fp16, [4]> w = const()[val = tensor<fp16, [4]>` + blob + `];
            tensor<fp16, [2]> lut = const()[val = tensor<fp16, [2]>([1, 2])];
            tensor<fp16, [4]> v = constexpr_lut_to_dense()[indices = tensor<uint8, [1]>` + blob + `,
                lut = tensor<fp16, [4]>([1, 2, 3, 4]), shape = tensor<uint32, [1]>([4])];
            tensor<fp16, [?, 4]> b = add(x = a, y = w);
            tensor<fp16, [?, 4]> c = add(x = b, y = v);
            tensor<fp16, [?, 4]> d = relu(x = c);
            tensor<fp16, [?, 4, 1]> e = expand_dims(axes = tensor<int32, [1]>([2]), x = d);
            tensor<fp16, [?, 4, 1]> y = reshape(shape = n, x = e);
        } -> (y);
}
`

func TestMetadataDescribesTheModel(t *testing.T) {
	tree, list := mil.ParseString("model.mil", program)
	if list.HasErrors() {
		t.Fatal(list.Err())
	}
	about := &metadata.Model{
		Form: "mlProgram", SpecificationVersion: 8, Author: `A "/" é`,
		UserDefined: []metadata.KeyValue{{Key: "k", Value: "line\n"}},
		Functions: []metadata.Function{{
			Name: "main",
			Inputs: []metadata.Feature{
				{Name: "a", Kind: "multiArray", Elem: "fp16", Shape: []int64{1, 4}, Ranges: [][2]int64{{1, 8}, {4, 4}}},
				{Name: "n", Kind: "multiArray", Elem: "int32", Shape: []int64{2}, Optional: true},
			},
			Outputs: []metadata.Feature{{Name: "y", Kind: "multiArray", Elem: "fp16"}},
		}},
	}
	b, err := Metadata(about, []*mil.Program{tree}, "my-model 2")
	if err != nil {
		t.Fatal(err)
	}
	var parsed []map[string]any
	if err := json.Unmarshal(b, &parsed); err != nil {
		t.Fatalf("%v in\n%s", err, b)
	}
	for _, want := range []string{
		`    "author" : "A \"\/\" é",` + "\n", `"generatedClassName" : "my_model_2"`, `"k" : "line\n"`,
		`"storagePrecision" : "Mixed (Float16, Palettized (2 bits))"`, `"computePrecision" : "Float16"`,
		`"Ios17.add" : 2`, `"Ios16.relu" : 1`, `"Ios17.expandDims" : 1`, `"Ios16.constexprLutToDense" : 1`,
		`"shapeFlexibility" : "1...8 × 4"`, `"shapeRange" : "[[1, 8], [4, 4]]"`,
		`"formattedType" : "MultiArray (Float16 1 × 4)"`, `"formattedType" : "MultiArray (Float16)"`,
		`"isOptional" : "1"`,
		`"modelParameters" : [` + "\n\n    ]", `"macOS" : "14.0"`, `"specificationVersion" : 8`,
	} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("no %s in\n%s", want, b)
		}
	}
	read, err := metadata.ParseJSON("metadata.json", b)
	if err != nil || read.Functions[0].Inputs[0].Ranges[0][1] != 8 {
		t.Errorf("read back: %+v, %v", read, err)
	}
	outs := &about.Functions[0].Outputs
	*outs = append(*outs, metadata.Feature{Name: "s", Kind: "sequence", Elem: "string"})
	if _, err := Metadata(about, []*mil.Program{tree}, "m"); err == nil || !strings.Contains(err.Error(),
		"feature s of function main is a sequence") {
		t.Errorf("a sequence: %v", err)
	}
	(*outs)[len(*outs)-1] = metadata.Feature{Name: "p", Kind: "dictionary"}
	if _, err := Metadata(about, []*mil.Program{tree}, "m"); err == nil || !strings.Contains(err.Error(),
		`feature p of function main is a dictionary with the key type ""`) {
		t.Errorf("a dictionary without a key type: %v", err)
	}
	about.Functions[0].Predicted = "price"
	if _, err := Metadata(about, []*mil.Program{tree}, "m"); err == nil || !strings.Contains(err.Error(),
		"predicts price") {
		t.Errorf("a regressor: %v", err)
	}
	about.SpecificationVersion = 99
	if _, err := Metadata(about, []*mil.Program{tree}, "m"); err == nil || !strings.Contains(err.Error(),
		"version 99 is not known") {
		t.Errorf("version 99: %v", err)
	}
}
