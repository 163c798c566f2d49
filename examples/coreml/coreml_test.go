package coreml

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/frontend/computeplan"
)

// standIn has the part of coremltools that plan.py uses, for a program of a constant and a convolution in a block.
const standIn = `
from types import SimpleNamespace as new

class MLCPUComputeDevice: pass
class MLNeuralEngineComputeDevice: pass

def operation(kind, output, blocks=()):
    return new(operator_name=kind, outputs=[new(name=output)], blocks=blocks)

conv = operation("ios17.conv", "y")
block = new(operations=[operation("const", "w"), operation("cond", "c", [new(operations=[conv])])])

class MLComputePlan:
    @staticmethod
    def load_from_path(path, compute_units):
        assert path.endswith(".mlmodelc") and compute_units == 3
        plan = MLComputePlan()
        plan.model_structure = new(program=new(functions={"main": new(block=block)}))
        return plan

    def get_compute_device_usage_for_mlprogram_operation(self, o):
        if o is not conv:
            return None
        cpu, engine = MLCPUComputeDevice(), MLNeuralEngineComputeDevice()
        return new(preferred_compute_device=engine, supported_compute_devices=[cpu, engine])

    def get_estimated_cost_for_mlprogram_operation(self, o):
        return new(weight=0.75) if o is conv else None
`

const packageText = `
from . import models
from types import SimpleNamespace as new
ComputeUnit = new(ALL=0, CPU_AND_NE=3)
models.utils = new(compile_model=lambda path: path + ".mlmodelc")
`

// TestPythonPrintsAPlan runs plan.py without a Mac.
func TestPythonPrintsAPlan(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3: ", err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"__init__.py":            packageText,
		"models/__init__.py":     "from . import compute_plan\n",
		"models/compute_plan.py": standIn,
	} {
		path := filepath.Join(dir, "coremltools", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(python, "plan.py", "model.mlpackage")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, err.(*exec.ExitError).Stderr)
	}
	p, err := computeplan.Parse("plan.json", out)
	if err != nil {
		t.Fatal(err)
	}
	j := p.Join("main", []computeplan.Op{{Outputs: []string{"y"}, Kind: "conv"}})
	if j.Of[0] < 0 || p.Units != "cpu-ane" || p.System == "" {
		t.Fatalf("plan is %+v", p)
	}
	o := p.Operations[j.Of[0]]
	if o.Preferred != computeplan.Engine || !o.Supported.Has(computeplan.CPU) || o.Weight != 0.75 {
		t.Errorf("operation is %+v", o)
	}
}

// TestSwiftPrintsTheSameKeys compares the keys of both programs, since Swift cannot be run here.
func TestSwiftPrintsTheSameKeys(t *testing.T) {
	want, got := keys(t, "plan.py"), keys(t, "plan.swift")
	if len(want) != 9 || !slices.Equal(want, got) {
		t.Errorf("plan.swift prints %q, plan.py %q", got, want)
	}
}

// keys are the keys that a program prints.
func keys(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, m := range regexp.MustCompile(`"(\w+)"(?:\]|: )`).FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains([]string{"all", "cpu"}, m[1]) {
			keys = append(keys, m[1])
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
