package pair_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/zinc-compiler/zinc/compile/pair"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An unknown kind of model is an error, because a stale hit would be worse.
func TestFilesListsEveryFileOfAModel(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o777))
		check(t, os.WriteFile(path, []byte(text), 0o666))
		return path
	}
	blob := func(name string) string { return `BLOBFILE(path = string("` + name + `"), offset = uint64(0))` }
	for _, c := range []struct {
		path string
		want []string // names; nil: an error
	}{
		{write("a/model.mil", "no weights"), []string{"model"}},
		{write("b/model.mil", blob("@model_path/w/1.bin")+blob("@model_path/w/2.bin")+blob("@model_path/w/1.bin")),
			[]string{"model", "weights @model_path/w/1.bin", "weights @model_path/w/2.bin"}},
		{write("c/model.mil", `BLOBFILE( path = tensor<string, []>("@model_path/w.bin"), offset = 1)`),
			[]string{"model", "weights @model_path/w.bin"}},
		{write("d/model.mil", `BLOBFILE(offset = uint64(0), path = string("@model_path/w.bin"))`), nil},
		{write("e/model.mil", blob(`@model_path/a\"b.bin`)), nil},
		{write("f/model.txt", "what is this"), nil},
		{filepath.Dir(write("g/sub/net.txt", "x")), []string{"net.txt"}},
		{func() string {
			write("h/weights/w.bin", "w")
			return write("h/model.mlmodel", "m")
		}(), []string{"model", "weights/w.bin"}},
		{func() string {
			write("i/weight.bin", "w")
			write("i/notes.txt", "n")
			return write("i/model.mlmodel", "m")
		}(), []string{"model", "weights/weight.bin"}},
		{filepath.Join(dir, "none.mil"), nil},
	} {
		files, err := pair.Files(c.path, "")
		var names []string
		for _, f := range files {
			names = append(names, f.Name)
		}
		if (err != nil) != (c.want == nil) || err == nil && !reflect.DeepEqual(names, c.want) {
			t.Errorf("%s: %q, %v; want %q", c.path, names, err, c.want)
		}
	}
	linked := filepath.Join(dir, "l")
	check(t, os.Mkdir(linked, 0o777))
	if err := os.Symlink(filepath.Join(dir, "g"), filepath.Join(linked, "g")); err == nil {
		if _, err := pair.Files(linked, ""); err == nil {
			t.Error("a folder with a link to a folder was listed")
		}
	}
}
