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

// pkg is the output of the go command for a package.
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

// ours returns the package's path within the module, or "" for other packages.
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

// TestEngineKnowsOnlyRegisters checks that the engine imports only the standard library,
// the codec of tasks, its two arithmetics and its ports.
func TestEngineKnowsOnlyRegisters(t *testing.T) {
	ps := list(t)
	p := ps[module+"/runtime/sim/engine"]
	if p == nil {
		t.Fatal("no package runtime/sim/engine")
	}
	for _, imp := range p.Imports {
		if strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") && ours(imp) != "lower/td" &&
			ours(imp) != "numerics/vector" && ours(imp) != "numerics/field" && ours(imp) != "runtime/sim/engine/port" {
			t.Errorf("runtime/sim/engine imports %s", imp)
		}
	}
	if slices.Contains(p.Deps, module+"/lower") {
		t.Error("runtime/sim/engine depends on the rules of package lower")
	}
}

func TestPackagesHaveDescriptiveNamesAndDocs(t *testing.T) {
	banned := []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "shared"}
	for name, p := range list(t) {
		rel := ours(name)
		if rel == "" {
			continue
		}
		if slices.Contains(banned, p.Name) || slices.Contains(banned, path.Base(rel)) {
			t.Errorf("package %s is named %s, want a descriptive name", rel, p.Name)
		}
		if p.Doc == "" {
			t.Errorf("package %s is missing a doc comment", rel)
		}
	}
}

func TestNoPackageUsesCgo(t *testing.T) {
	for name, p := range list(t) {
		if ours(name) != "" && slices.Contains(p.Imports, "C") {
			t.Errorf("package %s uses cgo", ours(name))
		}
	}
}
