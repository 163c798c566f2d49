package build_test

import (
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/frontend/mil/build"
)

func TestMissingWeightFileIsReportedOnceWithItsConstants(t *testing.T) {
	const text = `program(1.0)
{
    func main<ios16>(tensor<fp16, [4]> x) {
        tensor<fp16, [4]> a = const()[name = string("a"), val = tensor<fp16, [4]>(` +
		`BLOBFILE(path = string("@model_path/w.bin"), offset = uint64(64)))];
        tensor<fp16, [4]> b = const()[name = string("b"), val = tensor<fp16, [4]>(` +
		`BLOBFILE(path = string("@model_path/w.bin"), offset = uint64(128)))];
        tensor<fp16, [4]> c = add(x = x, y = conv9)[name = string("c")];
    } -> (c);
}
`
	tree, list := mil.Parse("m.mil", []byte(text))
	if list.HasErrors() {
		t.Fatal(list.Err())
	}
	blobs, err := blobfile.OpenSet(t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	_, list = build.Program(tree, blobs, build.Options{})
	var b strings.Builder
	if err := list.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	said := b.String()
	if strings.Count(said, "w.bin of model folder") != 1 || !strings.Contains(said, "2 constants are in the file") ||
		!strings.Contains(said, "conv9") {
		t.Error(said)
	}
}
