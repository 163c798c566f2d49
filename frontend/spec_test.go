package frontend

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/frontend/mlpackage"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

const (
	sileroText    = "silero-v6-fp16"
	sileroPackage = "silero-vad-unified-v6.0.0.mlpackage"
	dtlnPackage   = "DTLN_AEC_128_Part1.mlpackage"
)

// openCorpus opens a model of the corpus until the end of the test.
func openCorpus(t *testing.T, name string) *Model {
	t.Helper()
	m, err := Open(filepath.Join(shareddir.Find(t), "corpus", name), Options{})
	if err != nil {
		t.Fatal(report(err))
	}
	t.Cleanup(func() { m.Close() })
	if n := m.Warnings.Warnings(); n > 0 {
		t.Errorf("%s: %s", name, m.Warnings.All()[0].Text())
	}
	if err := ir.Verify(m.Program); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return m
}

// TestPackageAndCompiledModelAreOneProgram checks that a model is the same program in its package and in its compiled
// form. Two things differ by nature and are not compared: the name of the file, and the build information, to which the
// model compiler adds its own version. Everything else is equal: the order of parameters and operations, names, types,
// constants, and even the positions in the text.
func TestPackageAndCompiledModelAreOneProgram(t *testing.T) {
	text, pack := openCorpus(t, sileroText), openCorpus(t, sileroPackage)
	for _, kv := range pack.Program.BuildInfo {
		found := false
		for _, other := range text.Program.BuildInfo {
			found = found || kv == other
		}
		if !found {
			t.Errorf("build information %v is only in the package", kv)
		}
	}
	for _, m := range []*Model{text, pack} {
		m.Program.Files, m.Program.BuildInfo = nil, nil
	}
	if printed(t, text.Program) != printed(t, pack.Program) {
		t.Error("the programs differ")
	}
	// Check that the comparison finds differences:
	pack.Program.Funcs[0].Body.Ops[0].Results[0].Name += "x"
	if printed(t, text.Program) == printed(t, pack.Program) {
		t.Error("a renamed value makes no difference")
	}
}

// printed returns the text of a program and its constants.
func printed(t *testing.T, p *ir.Program) string {
	t.Helper()
	var b strings.Builder
	if err := ir.Print(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestPackageAndCompiledModelHaveOneOutput runs both forms on the same inputs.
func TestPackageAndCompiledModelHaveOneOutput(t *testing.T) {
	var want map[string]interp.Tensor
	for _, name := range []string{sileroText, sileroPackage} {
		got := run(t, openCorpus(t, name))
		if want == nil {
			want = got
			continue
		}
		if len(got) != 3 || len(got) != len(want) {
			t.Errorf("%d outputs and %d, want 3", len(want), len(got))
		}
		for n, w := range want {
			g := got[n]
			if !g.Type.Equal(w.Type) || !bytes.Equal(g.Data, w.Data) {
				t.Errorf("output %s differs", n)
			}
			if bytes.Count(w.Data, []byte{0}) == len(w.Data) {
				t.Errorf("output %s is zero throughout", n)
			}
		}
	}
}

// run interprets main on inputs that count up in steps of 1/64, with the default
// shapes of those that are flexible.
func run(t *testing.T, m *Model) map[string]interp.Tensor {
	t.Helper()
	f := m.Program.Func("main")
	prog, err := interp.Prepare(f)
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]interp.Tensor{}
	for _, v := range f.Body.Params {
		typ := v.Type
		if d := f.Flex.Default[v.Name]; d != nil {
			typ = typ.WithShape(d...)
		}
		var data []byte
		for i := range typ.Elems() {
			data = ir.AppendElem(data, typ.DType, float64(i%257)/64)
		}
		inputs[v.Name] = interp.Tensor{Type: typ, Data: data}
	}
	out, err := prog.Run(context.Background(), inputs, interp.Options{Numerics: numerics.IEEE})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestLoopsOverListsRun runs the package whose recurrent layers are loops over lists. Its mask is the result of a
// sigmoid, and its states belong to two layers of 128.
func TestLoopsOverListsRun(t *testing.T) {
	m := openCorpus(t, dtlnPackage)
	f := m.Program.Func("main")
	for name, want := range map[string][]int64{
		"lpb_magnitude": {1, 1, 257},
		"mic_magnitude": {1, 1, 257},
		"states_in":     {1, 2, 128, 2},
	} {
		if got := f.Flex.Default[name]; ir.ShapeString(got) != ir.ShapeString(want) {
			t.Errorf("default shape of %s is %v, want %v", name, got, want)
		}
		if r := f.Flex.Ranges[name]; len(r) == 0 || r[0] != [2]int64{1, 2} {
			t.Errorf("ranges of %s are %v, want 1 to 2 first", name, r)
		}
	}
	out := run(t, m)
	mask, states := out["Identity"], out["Identity_1"]
	if ir.ShapeString(mask.Type.Shape) != "[1, 1, 257]" || ir.ShapeString(states.Type.Shape) != "[1, 2, 128, 2]" {
		t.Fatalf("outputs are %s and %s", mask.Type, states.Type)
	}
	c, err := ir.NewConst(mask.Type, mask.Data)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range c.Floats() {
		if !(v > 0 && v < 1) {
			t.Fatalf("element %d of the mask is %g, a sigmoid is between 0 and 1", i, v)
		}
	}
}

func TestMetadataOfPackagesIsRead(t *testing.T) {
	m := openCorpus(t, sileroPackage)
	md := m.Metadata
	if md == nil || md.Form != mlmodel.ProgramForm || md.SpecificationVersion != 6 || md.Version != "6.0.0" ||
		md.Description != "Silero VAD Unified Model (STFT + Encoder + Decoder)" || len(md.UserDefined) != 4 {
		t.Fatalf("metadata is %+v", md)
	}
	f := md.Func("main")
	if f == nil || len(f.Inputs) != 3 || len(f.Outputs) != 3 || f.Inputs[0].Type() != "multiArray fp32 [1, 576]" {
		t.Errorf("main is %+v", f)
	}
	if m.Source == nil || !strings.HasPrefix(m.Source.Src, "program(1.0)\n") {
		t.Error("the model does not hold its program as text")
	}
	dir := filepath.Join(t.TempDir(), "m.mlmodelc")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	writeModel(t, dir, []byte(weighted))
	write(t, filepath.Join(dir, "metadata.json"), `[{"author": "somebody", "specificationVersion": 9}]`)
	c, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Metadata == nil || c.Metadata.Author != "somebody" || c.Metadata.SpecificationVersion != 9 {
		t.Errorf("metadata of the compiled model is %+v", c.Metadata)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestSpecificationsOpenWithoutPackage opens a specification outside of a package, with its weights beside it and
// elsewhere.
func TestSpecificationsOpenWithoutPackage(t *testing.T) {
	data := filepath.Join(shareddir.Find(t), "corpus", sileroPackage, "Data", "com.apple.CoreML")
	m, err := Open(filepath.Join(data, "model.mlmodel"), Options{})
	if err != nil {
		t.Fatal(report(err))
	}
	m.Close()
	spec, err := os.ReadFile(filepath.Join(data, "model.mlmodel"))
	if err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(t.TempDir(), "M.MLMODEL")
	write(t, alone, string(spec))
	if m, err = Open(alone, Options{WeightsDir: data}); err != nil {
		t.Fatal(report(err))
	}
	m.Close()
	if _, err = Open(alone, Options{}); err == nil || !strings.Contains(report(err),
		"weight file weights/weight.bin of model folder") {
		t.Errorf("without weights: %v", err)
	}
	weights, err := os.ReadFile(filepath.Join(data, "weights", "weight.bin"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(filepath.Dir(alone), "weight.bin"), string(weights))
	if m, err = Open(alone, Options{}); err != nil {
		t.Fatal(report(err))
	}
	m.Close()
}

func TestContainersAreRefusedWithWhatToDo(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.hwx")
	write(t, name, containerMagic+"rest")
	if _, err := Open(name, Options{}); err == nil || !strings.Contains(err.Error(), "a compiled container") {
		t.Errorf("%v", err)
	}
}

// TestPipelineOfOneProgramOpens opens pipelines with one ML program and another model, and with two programs.
func TestPipelineOfOneProgramOpens(t *testing.T) {
	data := filepath.Join(shareddir.Find(t), "corpus", sileroPackage, "Data", "com.apple.CoreML")
	spec, err := os.ReadFile(filepath.Join(data, "model.mlmodel"))
	if err != nil {
		t.Fatal(err)
	}
	field := func(num protowire.Number, content string) string {
		return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), content))
	}
	name := filepath.Join(t.TempDir(), "detector.mlmodel")
	open := func(models ...string) (*Model, error) {
		write(t, name, form(202, strings.Join(models, "")))
		return Open(name, Options{WeightsDir: data})
	}
	program, other := field(1, string(spec)), field(1, form(610, ""))
	m, err := open(program, other)
	if err != nil {
		t.Fatal(report(err))
	}
	defer m.Close()
	if want := "model 1 of 2 (mlProgram, nonMaximumSuppression)"; m.Warnings.Warnings() != 1 ||
		!strings.Contains(m.Warnings.All()[0].Message, want) {
		t.Errorf("warnings %+v, want %q", m.Warnings.All(), want)
	}
	_, err = open(program, other, program)
	if want := "a pipeline of 3 models (mlProgram, nonMaximumSuppression, mlProgram)"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("two programs: %v, want %q", err, want)
	}
	if _, err := open(other); err == nil || !strings.Contains(err.Error(), "a pipeline of 1 model (") {
		t.Errorf("no program: %v", err)
	}
}

// form is a specification of a model in a field of Model.Type.
func form(num protowire.Number, model string) string {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 4)
	return string(protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), model))
}

// TestOtherFormsOfModelsAreRefused opens models that are neither ML programs nor neural networks.
func TestOtherFormsOfModelsAreRefused(t *testing.T) {
	for num, want := range map[protowire.Number]string{
		302: "a model of the form treeEnsembleRegressor; only ML programs (mlProgram) and neural networks are read; " +
			"convert the original model to an ML program",
		404: "a model of the form kNearestNeighborsClassifier",
	} {
		name := filepath.Join(t.TempDir(), "m.mlmodel")
		write(t, name, form(num, string(make([]byte, 100))))
		_, err := Open(name, Options{})
		var f *FormError
		if !errors.As(err, &f) || !strings.Contains(err.Error(), want) {
			t.Errorf("field %d: %v, want %q", num, err, want)
		}
		m, text, err := Describe(name)
		if err != nil || text != "" || m.SpecificationVersion != 4 {
			t.Errorf("field %d: described as %+v, %v", num, m, err)
		}
	}
	dir := t.TempDir()
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), ".mlpackage") {
		t.Errorf("empty folder: %v", err)
	}
}

// copyPackage copies a package of the corpus, so that it can be broken.
func copyPackage(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m.mlpackage")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(shareddir.Find(t), "corpus", name))); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o777)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestBrokenPackagesAreRefused opens packages with one fault each. Each is an error that names the place, within 64 MB.
func TestBrokenPackagesAreRefused(t *testing.T) {
	const data = "Data/com.apple.CoreML/"
	replace := func(name string, f func(b []byte) []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			name := filepath.Join(dir, filepath.FromSlash(name))
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			write(t, name, string(f(b)))
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		want  string
	}{
		{"no weights", func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, data+"weights/weight.bin"))
		}, "weight file weights/weight.bin of model folder"},
		{"no specification", func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, data+"model.mlmodel"))
		}, "model.mlmodel, which the manifest of the package names: no such file"},
		{"no manifest", func(t *testing.T, dir string) {
			os.Remove(filepath.Join(dir, mlpackage.ManifestName))
		}, mlpackage.ManifestName},
		{"short weights", replace(data+"weights/weight.bin", func(b []byte) []byte {
			return b[:len(b)/2]
		}), "weight.bin"},
		{"short specification", replace(data+"model.mlmodel", func(b []byte) []byte {
			return b[:len(b)/2]
		}), "model.mlmodel: byte "},
		{"weights outside", replace(data+"model.mlmodel", func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte("@model_path/weights/weight.bin"),
				[]byte("@model_path/../../weight.bin  "))
		}), `must not contain ".."`},
		{"linked weights", func(t *testing.T, dir string) {
			name := filepath.Join(dir, data+"weights")
			outside := filepath.Join(dir, "..", "outside")
			if err := errors.Join(os.Rename(name, outside), os.Symlink(outside, name)); err != nil {
				t.Skip(err)
			}
		}, "escapes"},
		{"another program", replace(data+"model.mlmodel", func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte("\x04relu"), []byte("\x04rexu"))
		}), "unknown operation rexu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyPackage(t, sileroPackage)
			c.spoil(t, dir)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Open(dir, Options{})
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(report(err), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
				t.Errorf("%d bytes allocated", n)
			}
		})
	}
}

// TestOtherFormsAreRefusedUnread checks that a model of another form is not read in order to be refused.
func TestOtherFormsAreRefusedUnread(t *testing.T) {
	name := filepath.Join(t.TempDir(), "m.mlmodel")
	write(t, name, form(500, string(make([]byte, 32<<20))))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Open(name, Options{})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; err == nil || n > 1<<20 {
		t.Errorf("%d bytes allocated for %v", n, err)
	}
}
