package walls

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/zinc-compiler/zinc"

// pkg is what the go command says of a package.
type pkg struct {
	ImportPath string
	Name       string
	Doc        string
	Imports    []string
	Deps       []string
	GoFiles    []string
}

// list reads every package of the module.
func list(t *testing.T) map[string]*pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Name,Doc,Imports,Deps,GoFiles", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		var ee *exec.ExitError
		if errors.As(err, &ee) {
			t.Fatalf("go list: %v\n%s", err, ee.Stderr)
		}
		t.Fatal(err)
	}
	ps := map[string]*pkg{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(pkg)
		if err := d.Decode(p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		ps[p.ImportPath] = p
	}
	return ps
}

// ours returns the package's path within the module, "" for another's.
func ours(p string) string {
	if p == module {
		return "."
	}
	rel, ok := strings.CutPrefix(p, module+"/")
	if !ok {
		return ""
	}
	return rel
}

// under reports whether a package is dir or below it.
func under(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func anyUnder(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return under(p, d) })
}

// walls says for every part of the module what of the module it may import,
// itself aside. The first row that a package is under counts. Packages with no
// row may import anything.
var walls = []struct {
	dir   string
	may   []string
	never []string // not even through others
}{
	{dir: "numerics"},
	{dir: "target"},
	{dir: "ir", never: []string{"frontend", "passes", "lower", "layout", "emit", "runtime"}},
	{dir: "frontend", may: []string{"ir", "internal/diag"}},
	{dir: "passes", may: []string{"ir", "target"}},
	{dir: "lower/td"},
	{dir: "lower", may: []string{"ir", "target", "layout"}},
	{dir: "layout", may: []string{"numerics"}},
	{dir: "emit", may: []string{"lower/td", "layout"}},
	{dir: "runtime/sim/engine", may: []string{"lower/td", "numerics"}, never: []string{"ir", "passes", "layout", "emit", "frontend"}},
	{dir: "runtime/sim/interp", may: []string{"ir", "numerics"}, never: []string{"lower", "layout", "emit", "passes", "compile"}},
	{dir: "runtime/sim", may: []string{"ir", "emit", "lower/td", "numerics"}, never: []string{"passes", "compile", "frontend"}},
}

func TestWalls(t *testing.T) {
	for name, p := range list(t) {
		rel := ours(name)
		if rel == "" {
			continue
		}
		for _, w := range walls {
			if !under(rel, w.dir) {
				continue
			}
			for _, imp := range p.Imports {
				if o := ours(imp); o != "" && !under(o, w.dir) && !anyUnder(o, w.may) {
					t.Errorf("%s imports %s; %s may import %v of the module", rel, o, w.dir, w.may)
				}
			}
			for _, dep := range p.Deps {
				if o := ours(dep); o != "" && anyUnder(o, w.never) {
					t.Errorf("%s reaches %s, which %s must not", rel, o, w.dir)
				}
			}
			break
		}
	}
}

// TestEngineKnowsOnlyRegisters: of packages outside the standard library the
// engine imports the matrix kernels and the half-precision type alone.
func TestEngineKnowsOnlyRegisters(t *testing.T) {
	ps := list(t)
	p := ps[module+"/runtime/sim/engine"]
	if p == nil {
		t.Fatal("no package runtime/sim/engine")
	}
	for _, imp := range p.Imports {
		if !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") || ours(imp) != "" {
			continue
		}
		if !strings.HasPrefix(imp, "gonum.org/v1/gonum/") && imp != "github.com/x448/float16" {
			t.Errorf("runtime/sim/engine imports %s", imp)
		}
	}
	if slices.Contains(p.Deps, module+"/lower") {
		t.Error("runtime/sim/engine reaches the rules of package lower")
	}
}

func TestNames(t *testing.T) {
	banned := []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "shared"}
	for name, p := range list(t) {
		rel := ours(name)
		if rel == "" {
			continue
		}
		if slices.Contains(banned, p.Name) || slices.Contains(banned, path.Base(rel)) {
			t.Errorf("package %s is named %s, which says nothing", rel, p.Name)
		}
		if p.Doc == "" && !generated(rel) {
			t.Errorf("package %s has no doc comment", rel)
		}
	}
}

// generated reports packages all of whose files flatc writes, without comments.
func generated(rel string) bool { return strings.HasSuffix(rel, "/internal/fb") }

// TestNoCgo: the module builds without a C compiler.
func TestNoCgo(t *testing.T) {
	for name, p := range list(t) {
		if ours(name) != "" && slices.Contains(p.Imports, "C") {
			t.Errorf("package %s uses cgo", ours(name))
		}
	}
}
