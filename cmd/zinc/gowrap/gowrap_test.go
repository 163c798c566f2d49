package gowrap

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc"
)

// exports returns the compiled form of the packages that a wrapper imports.
var exports = sync.OnceValues(func() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}",
		"github.com/zinc-compiler/zinc", "embed").Output()
	files := map[string]string{}
	for _, l := range strings.Split(string(out), "\n") {
		if path, file, ok := strings.Cut(l, " "); ok {
			files[path] = file
		}
	}
	return files, err
})

// typeCheck compiles a wrapper as far as its types go.
func typeCheck(t testing.TB, source []byte) *types.Package {
	t.Helper()
	files, err := exports()
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "wrapper.go", source, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})}
	p, err := conf.Check("wrapper", fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	return p
}

func TestGeneratedSourceMatchesGolden(t *testing.T) {
	fp16 := func(name string, shape ...int64) zinc.Port {
		return zinc.Port{Name: name, Type: "fp16", Element: "f2", Shape: shape}
	}
	p := &Package{
		Name: "odd", Model: "a\nb*/.mlmodelc", Container: "odd.hwx", Descriptor: "odd.e5",
		Functions: []zinc.Function{
			{
				Name: "main",
				Inputs: []zinc.Port{fp16("x", 1, 2), fp16("X", 1), fp16("x_2", 3),
					fp16("größe", 4), fp16("画像", 4),
					fp16("ßt", 4), fp16("type", 1), fp16("b́a", 1), fp16("1st"), {Name: "flags", Type: "bool",
						Element: "b1", Shape: []int64{2}}, fp16("any", 1, -1)},
				Outputs: []zinc.Port{fp16("y@output"), {Name: "", Type: "int32", Element: "i4", Shape: []int64{1}},
					fp16("z", -1)},
				States: []zinc.Port{fp16("total", 1, 4)},
			},
			{Name: "Main", Outputs: []zinc.Port{fp16("y", 1)}},
			{Name: "mainInput", Inputs: []zinc.Port{fp16("x", 1)}},
			{Name: "run"}, {Name: "close"}, {Name: "load", Inputs: []zinc.Port{fp16("out", 1), fp16("err", 1),
				fp16("\"quoted\"\x00", 1)}},
			{Name: "a"}, {Name: "a_input"},
		},
	}
	b, err := Source(p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Source(p)
	if err != nil || !bytes.Equal(again, b) {
		t.Errorf("a second time it is another, %v", err)
	}
	scope := typeCheck(t, b).Scope()
	for name, want := range map[string]string{
		"MainInput": "struct{X []float32; X2 []float32; X22 []float32; Größe []float32; V画像 []float32; Vßt " +
			"[]float32; Type []float32; BA []float32; V1st float32; Flags []bool; Any " +
			"github.com/zinc-compiler/zinc.Tensor}",
		"MainOutput": "struct{YOutput float32; Value []int32; Z github.com/zinc-compiler/zinc.Tensor}",
	} {
		o := scope.Lookup(name)
		if o == nil {
			t.Errorf("no type %s", name)
			continue
		}
		if got := o.Type().Underlying().String(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for _, want := range []string{"total: fp16 [1, 4]", "any: fp16 [1, ?]"} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("the source does not say %q:\n%s", want, b)
		}
	}
}

// TestFunctionsDoNotHideMethods checks that no function of a model has the name of a method of zinc.Model.
func TestFunctionsDoNotHideMethods(t *testing.T) {
	model := reflect.TypeFor[*zinc.Model]()
	for i := range model.NumMethod() {
		if name := model.Method(i).Name; !slices.Contains(methods, name) {
			t.Errorf("zinc.Model has the method %s, which a function may take", name)
		}
	}
}

func TestModelsWithoutFunctionsAreRefused(t *testing.T) {
	b, err := Source(&Package{Name: "none", Container: "none.hwx", Descriptor: "none.e5"})
	if err != nil {
		t.Fatal(err)
	}
	typeCheck(t, b)
}

// FuzzSource: whatever the names are, the source is Go.
func FuzzSource(f *testing.F) {
	f.Add("main", "x", "y", "fp16", "f2", int64(3))
	f.Add("run", "`", "\"", "bool", "b1", int64(-1))
	f.Add("", "\n", "*/", "int4", "", int64(0))
	f.Fuzz(func(t *testing.T, function, in, out, typ, element string, dim int64) {
		p := func(name string) zinc.Port {
			return zinc.Port{Name: name, Type: line(typ), Element: element, Shape: []int64{dim}}
		}
		b, err := Source(&Package{Name: "p", Model: in, Container: "p.hwx", Descriptor: "p.e5",
			Functions: []zinc.Function{
				{Name: function, Inputs: []zinc.Port{p(in), p(out)}, Outputs: []zinc.Port{p(out), p(in)},
					States: []zinc.Port{p(in)}}, {Name: in}, {Name: out},
			}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", b, 0); err != nil {
			t.Fatal(err)
		}
	})
}
