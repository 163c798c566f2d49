package frontend

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
)

const weighted = `program(1.3)
{
    func main<ios18>(tensor<fp16, [8]> x) {
            tensor<fp16, [8]> w = const()[name = string("w"), val = tensor<fp16, [8]>(BLOBFILE(path = ` +
	`string("@model_path/weights/weight.bin"), offset = uint64(64)))];
            tensor<fp16, [8]> y = add(x = x, y = w)[name = string("y")];
        } -> (y);
}
`

// TestOpenByFileFolderAndWeights opens one model by its file, by its folder and with its weights somewhere else.
func TestOpenByFileFolderAndWeights(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m.mlmodelc")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	writeModel(t, dir, []byte(weighted))
	alone := filepath.Join(t.TempDir(), "alone.mil")
	if err := os.WriteFile(alone, []byte(weighted), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		opts Options
	}{
		{dir, Options{}},
		{dir + string(filepath.Separator), Options{}},
		{filepath.Join(dir, TextName), Options{}},
		{alone, Options{WeightsDir: dir}},
	} {
		m, err := Open(c.path, c.opts)
		if err != nil {
			t.Errorf("%s: %s", c.path, report(err))
			continue
		}
		w := m.Program.Funcs[0].Body.Ops[0].Arg("y").Const
		if w == nil || w.Int(0) != 0 || w.Data[0] != 1 || w.Blob != "weights/weight.bin@64" {
			t.Errorf("%s: the weight is %v", c.path, w)
		}
		if err := ir.Verify(m.Program); err != nil {
			t.Error(err)
		}
		if m.Source == nil || m.Source.Src != weighted {
			t.Errorf("%s: the model lacks its text", c.path)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open(alone, Options{}); err == nil {
		t.Error("opened without the weights")
	}
	if _, err := Open(alone, Options{WeightsDir: filepath.Join(dir, "absent")}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("weights in no folder: %v", err)
	}
}

// TestOpenRefusesOtherFormats opens models in formats that Open does not read.
func TestOpenRefusesOtherFormats(t *testing.T) {
	tmp := t.TempDir()
	for _, dir := range []string{"c.mlmodelc", "d"} {
		if err := os.Mkdir(filepath.Join(tmp, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"c.mlmodelc/model.espresso.net"} {
		if err := os.WriteFile(filepath.Join(tmp, f), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ path, want string }{
		{"c.mlmodelc", "neural network"},
		{"d", "has no model.mil"},
	} {
		_, err := Open(filepath.Join(tmp, c.path), Options{})
		var form *FormError
		if !errors.As(err, &form) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a FormError about %q", c.path, err, c.want)
		}
	}
	if _, err := Open(filepath.Join(tmp, "absent"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent path: %v", err)
	}
}

// TestHugeConstantIsNotAllocated checks that a declared size is not allocated.
func TestHugeConstantIsNotAllocated(t *testing.T) {
	dir := t.TempDir()
	writeModel(t, dir, []byte(strings.ReplaceAll(weighted, "[8]", "[157286400]")))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Open(dir, Options{})
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), "needs 314572800 bytes") {
		t.Errorf("error is %v", err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated for a file of 272 bytes", n)
	}
}

// BenchmarkBuild builds the largest text of the corpus, without its weights.
func BenchmarkBuild(b *testing.B) {
	name := filepath.Join(shareddir.Find(b), "corpus", "parakeet-eou-encoder-1280ms", TextName)
	src, err := os.ReadFile(name)
	if err != nil {
		b.Skip(err)
	}
	dir := shareddir.WithWeights(b, shareddir.Find(b), filepath.Dir(name))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		m, err := Open(name, Options{WeightsDir: dir})
		if err != nil {
			b.Fatal(report(err))
		}
		m.Close()
	}
}
