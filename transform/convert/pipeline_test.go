package convert

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
)

// stages are the programs of a pipeline, as public fixtures have it: one rounds to fp16, the next widens.
var stages = []string{
	`program(1.0)
{
    func main<ios17>(tensor<fp32, [4]> input) {
            tensor<fp16, [4]> rounded = cast(x = input, dtype = tensor<string, []>("fp16"));
        } -> (rounded);
}`,
	`program(1.0)
{
    func main<ios17>(tensor<fp16, [4]> rounded) {
            tensor<fp32, [4]> result = cast(x = rounded, dtype = tensor<string, []>("fp32"));
        } -> (result);
}`,
}

// pipelineOf writes the specification of a pipeline of programs and returns its path.
func pipelineOf(t *testing.T, texts []string, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	var body []byte
	var parts []*mlmodel.Model
	for _, text := range texts {
		file := filepath.Join(dir, "model.mil")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		src, err := frontend.OpenSource(file, frontend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		spec, err := mlmodel.Encode(src.Spec)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, src.Spec)
		body = protowire.AppendBytes(protowire.AppendTag(body, 1, protowire.BytesType), spec)
		src.Close()
	}
	for _, n := range names {
		body = protowire.AppendString(protowire.AppendTag(body, 2, protowire.BytesType), n)
	}
	about := *parts[0].Metadata
	about.Functions[0].Outputs = parts[len(parts)-1].Metadata.Functions[0].Outputs
	whole, err := mlmodel.Encode(&mlmodel.Model{Metadata: &about, Program: parts[0].Program, Order: parts[0].Order})
	if err != nil {
		t.Fatal(err)
	}
	m, err := mlmodel.Decode(bytes.NewReader(whole), int64(len(whole)), "whole")
	if err != nil {
		t.Fatal(err)
	}
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 9)
	b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), m.Description)
	b = protowire.AppendBytes(protowire.AppendTag(b, 202, protowire.BytesType), body)
	path := filepath.Join(dir, "two-stages.mlmodel")
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPipelineIsCompiledModelByModel converts a pipeline of ML programs to a compiled model, which has each program
// in a folder of its own and describes the whole, as in public fixtures.
func TestPipelineIsCompiledModelByModel(t *testing.T) {
	path := pipelineOf(t, stages, "stage0", "stage1")
	src, err := frontend.OpenSource(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	out := filepath.Join(t.TempDir(), "out.mlmodelc")
	files, err := Plan(src, out, Options{BuildInfo: map[string]string{"coremlc-version": "3600.25.1"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(t.Context(), files...); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if text := read("model1/model.mil"); !strings.HasPrefix(text, "program(1.3)\n") ||
		!strings.Contains(text, `tensor<fp32, [4]> result = cast(dtype = string("fp32"), x = rounded);`) {
		t.Errorf("the second program is\n%s", text)
	}
	about := read("metadata.json")
	for _, want := range []string{
		`"name" : "MLModelType_pipeline"`,
		`"structure" : [` + "\n        {\n" + `          "name" : "MLModelType_mlProgram"`,
		`"Ios17.cast" : 2`, `"computePrecision" : "Mixed (Float16, Float32)"`, `"generatedClassName" : "two_stages"`,
		`"specificationVersion" : 9`, `"name" : "input"`, `"name" : "result"`,
	} {
		if !strings.Contains(about, want) {
			t.Errorf("no %s in\n%s", want, about)
		}
	}
	if names := read("modelNames/coremldata.bin"); names != "\x02\x00\x00\x00\x00\x00\x00\x00"+
		"\x06\x00\x00\x00\x00\x00\x00\x00stage0"+"\x06\x00\x00\x00\x00\x00\x00\x00stage1" {
		t.Errorf("the names are %q", names)
	}
	data := read("coremldata.bin")
	if kinds := "generic.model0v8.0.0generic.model1v8.0.0generic"; binary.LittleEndian.Uint32([]byte(data)) != 202 ||
		!strings.HasPrefix(data[36:], kinds) || !strings.HasSuffix(data,
		"\x02\x00\x00\x00\x00\x00\x00\x00\xca\x00\x00\x00"+
			"\x00\x00\x00\x00") {
		t.Errorf("coremldata.bin is %q", data)
	}
	if s := read("analytics/coremldata.bin"); !strings.Contains(s, "PipelineModelDetails") || !strings.HasSuffix(s,
		"2") {
		t.Errorf("analytics/coremldata.bin is %q", s)
	}
	if _, err := frontend.Open(filepath.Join(out, "model1"), frontend.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := frontend.Open(out, frontend.Options{}); err == nil || !strings.Contains(err.Error(), "model0") {
		t.Errorf("the compiled pipeline: %v", err)
	}
	for _, to := range []string{"a.mlpackage", "a.mil"} {
		if _, err := Plan(src, to, Options{}); err == nil || !strings.Contains(err.Error(),
			"only as a compiled model") {
			t.Errorf("%s: %v", to, err)
		}
	}
}
