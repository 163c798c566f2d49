package explain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/blobfile/blobfiletest"
	"github.com/zinc-compiler/zinc/inspect/explain"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

var update = flag.Bool("update", false, "rewrite the golden messages")

// complaints are the ten published complaints, each with a small model.
var complaints = []struct {
	about, file, stmt string
	rule              string // that refuses the statement on the target
	rewrites          []string
	host              []string // operations of the model that stay on the CPU with the rewrite
	target            *target.Table
}{
	{about: "op not on the engine", file: "operation.mil", stmt: "y", rule: target.RuleNever,
		target: target.H13},
	{about: "tensor too wide", file: "wide.mil", stmt: "y", rule: target.RuleExtent, rewrites: []string{"fold-rows"},
		host: []string{"reshape", "reshape"}, target: target.H13},
	{about: "kernel too large", file: "kernel.mil", stmt: "y", rule: target.RuleKernel,
		rewrites: []string{"split-kernel"}, target: target.H13},
	{about: "rank 6", file: "rank.mil", stmt: "y", rule: target.RuleRank, rewrites: []string{"merge-dimensions"},
		target: target.H13},
	{about: "dynamic shape", file: "dynamic.mil", stmt: "y", rule: target.RuleDynamic, rewrites: []string{"fix-shape"},
		target: target.H13},
	{about: "fp32-only", file: "fp32.mil", stmt: "y", rule: target.RuleFloatType, rewrites: []string{"compute-in-fp16"},
		target: target.H13},
	{about: "gather", file: "gather.mil", stmt: "y", rule: target.RuleRuntime, rewrites: []string{"one-hot"},
		host: []string{"one_hot"}, target: target.H13},
	{about: "unsupported activation", file: "activation.mil", stmt: "y", target: target.H13}, // decomposed
	{about: "weight over the limit", file: "weight.mil", stmt: "y", rule: target.RuleKernelBytes,
		rewrites: []string{"split-channels"}, target: target.H13},
	{about: "state not a multiple", file: "state.mil", stmt: "a", rule: target.RuleState,
		rewrites: []string{"pad-states"}, target: target.H16},
}

func open(t testing.TB, file string) *frontend.Model {
	t.Helper()
	m, err := frontend.Open(filepath.Join("testdata", file), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// explained explains a statement twice: with a program that stays, and with one that is made again when it is needed.
func explained(t testing.TB, file, stmt string, on *target.Table) *explain.Answer {
	t.Helper()
	m := open(t, file)
	o := explain.Options{
		Compile: compile.Options{
			Target:      on,
			SplitKernel: true,
			InputName:   file,
		}, Rewrites: true, Hazards: true, Seed: 1,
	}
	a, err := explain.Explain(context.Background(), m.Program, explain.Place{Name: stmt}, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Again = func() (*ir.Program, error) { return ir.CloneProgram(m.Program), nil }
	again, err := explain.Explain(context.Background(), ir.CloneProgram(m.Program), explain.Place{Name: stmt}, o)
	if err != nil {
		t.Fatal(err)
	}
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if y, err := json.Marshal(again); err != nil || !bytes.Equal(x, y) {
		t.Errorf("%s, %s: with a program that is made again the answer is\n%s\nnot\n%s\n%v", file, stmt, y, x, err)
	}
	return a
}

// TestExplanationsOfComplaintsMatchGolden explains the statement of each complaint, compares the message with
// the golden file, and checks where the rewrite runs.
func TestExplanationsOfComplaintsMatchGolden(t *testing.T) {
	golden := filepath.Join("testdata", "complaints.txtar")
	if *update {
		writeWeights(t)
	}
	var out txtar.Archive
	for _, c := range complaints {
		t.Run(c.about, func(t *testing.T) {
			a := explained(t, c.file, c.stmt, c.target)
			var b bytes.Buffer
			if err := a.Text(&b, explain.Detail{}); err != nil {
				t.Fatal(err)
			}
			out.Files = append(out.Files, txtar.File{Name: c.about, Data: b.Bytes()})
			rule := ""
			if no := a.Refused(); no != nil {
				rule = no.Rule
			}
			var names []string
			for _, r := range a.Rewrites {
				names = append(names, r.Name)
			}
			if rule != c.rule || !slices.Equal(names, c.rewrites) {
				t.Errorf("refused by %q with rewrites %q, wanted %q with %q", rule, names, c.rule, c.rewrites)
			}
			if c.rule == "" {
				m := open(t, c.file)
				holds(t, m.Program, c.stmt, c.host)
				m.Close()
			}
			for _, r := range a.Rewrites {
				path := filepath.Join(t.TempDir(), "again.mil")
				if _, err := reduce.Write(context.Background(), r.Program(), path); err != nil {
					t.Fatal(err)
				}
				m, err := frontend.Open(path, frontend.Options{})
				if err != nil {
					t.Fatal(err)
				}
				holds(t, m.Program, c.stmt, c.host)
				if c.target != target.H13 {
					placed(t, r.Program(), c.target.ByLimits())
				}
				m.Close()
			}
		})
	}
	if *update {
		if err := os.WriteFile(golden, txtar.Format(&out), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := txtar.Format(&out); !bytes.Equal(got, want) && len(out.Files) == len(complaints) {
		t.Errorf("the messages differ; run with -update and look at the difference\n%s", got)
	}
}

// holds compiles a program that was written and opened again, and runs it on inputs other than those with which the
// rewrite was checked. Only the operations of host run on the CPU.
func holds(t *testing.T, p *ir.Program, stmt string, host []string) {
	t.Helper()
	v, err := verify.Run(context.Background(), p, verify.Options{
		Compile: compile.Options{Target: target.H13, SplitKernel: true},
		Seed:    7,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !v.Pass {
		t.Errorf("the simulator departs from the interpreter in %q", v.Failed())
	}
	var got []string
	for _, o := range v.Report.Ops {
		if o.Unit == ir.CPU.String() {
			got = append(got, o.Op)
		}
	}
	if !slices.Equal(got, host) {
		t.Errorf("with the rewrite of %s %q run on the CPU, wanted %q", stmt, got, host)
	}
	if v.Model.EngineOps == 0 || v.Model.Tasks == 0 {
		t.Errorf("%d operations and %d tasks on the engine", v.Model.EngineOps, v.Model.Tasks)
	}
}

// placed checks that every operation of a program is placed on the engine of a target that zinc writes no programs for.
func placed(t *testing.T, p *ir.Program, on *target.Table) {
	t.Helper()
	var r *compile.Report
	to := compile.Sink{Plan: compile.To(&r)}
	if err := compile.Compile(context.Background(), p, compile.Options{Target: on}, to); err != nil {
		t.Fatal(err)
	}
	if r.CPUOps != 0 || r.EngineOps == 0 {
		t.Errorf("%s: %d operations on the CPU, %d on the engine", on.Name, r.CPUOps, r.EngineOps)
	}
}

// TestAccessesOfStatesAreExplained explains each access of a state, for a target that keeps it as it is and for one
// that does not.
func TestAccessesOfStatesAreExplained(t *testing.T) {
	for _, stmt := range []string{"r", "u", "s"} {
		a := explained(t, "state.mil", stmt, target.H13)
		if a.Refused() != nil || a.Rewrites != nil || len(a.Notes) != 1 || !strings.Contains(a.Notes[0],
			"64 bytes, 4 of them padding") || !strings.Contains(a.Notes[0], "h16 and later") {
			t.Errorf("%s on h13: %q, refused for %v", stmt, a.Notes, a.Refused())
		}
	}
	holds(t, open(t, "state.mil").Program, "u", nil)
	for _, stmt := range []string{"r", "u", "a"} {
		a := explained(t, "state.mil", stmt, target.H16)
		no := a.Refused()
		if no == nil || no.Rule != target.RuleState || no.Value != "30" || no.Limit != "a multiple of 32" ||
			len(a.Rewrites) != 1 || a.Rewrites[0].Ran != "h13" || len(a.Rewrites[0].Host) > 0 ||
			a.Rewrites[0].CPUOps != [2]int{1, 0} {
			t.Errorf("%s on h16: refused for %+v, %+v, tried %+v", stmt, no, a.Rewrites, a.Tried)
		}
	}
	if a := explained(t, "state.mil", "s", target.H16); len(a.Notes) != 1 || !strings.Contains(a.Notes[0],
		`of state "s": add "a"`) {
		t.Errorf("the state on h16: %q", a.Notes)
	}
	if a := explained(t, "state.mil", "u", target.H15); a.Refused() != nil {
		t.Errorf("h15, for which no limit is reported, refuses for %+v", a.Refused())
	}
}

// writeWeights writes the weight of weight.mil: 32832 coefficients of one output, more than fit in kernel memory.
func writeWeights(t *testing.T) {
	t.Helper()
	const n = 3648 * 9
	var data []byte
	for i := range n {
		data = ir.AppendElem(data, ir.FP16, float64(i*7%11-5)/256)
	}
	blobfiletest.Write(t, filepath.Join("testdata", "weights.bin"),
		blobfiletest.Blob{Type: blobfile.Float16, Elems: n, Data: data})
}

// TestAnswersNameEveryTaskAndConstant explains every operation of the example: together the answers name every task and
// every stored constant, and each operation is on the engine.
func TestAnswersNameEveryTaskAndConstant(t *testing.T) {
	m, err := frontend.Open(filepath.Join("..", "..", "examples", "digits", "digits.mlmodelc"), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	o := explain.Options{Compile: compile.Options{Target: target.H13, SplitKernel: true, InputName: "digits"}}
	tasks := map[[2]string]bool{}
	constants := map[uint64]uint64{}
	for _, op := range m.Program.Funcs[0].Body.Ops {
		a, err := explain.Explain(context.Background(), m.Program, explain.Place{Line: int(op.Pos.Line)}, o)
		if err != nil {
			t.Fatal(err)
		}
		if a.Name != op.Results[0].Name || a.Op != op.Def.Name || len(a.Operators) == 0 ||
			a.Operators[0].Unit != ir.Engine.String() || len(a.Passes) == 0 {
			t.Errorf("%s: %+v", op.Results[0].Name, a)
		}
		for _, x := range a.Tasks {
			tasks[[2]string{x.Procedure, strconv.Itoa(x.Index)}] = true
			if len(x.Fields) == 0 || x.Estimate == nil {
				t.Errorf("%s: task %d has %d fields and estimate %v", a.Name, x.Index, len(x.Fields), x.Estimate)
			}
			for _, f := range x.Fields {
				if f.Word >= x.Words || f.Value == 0 || f.Name == "" {
					t.Errorf("%s: task %d of %d words: %+v", a.Name, x.Index, x.Words, f)
				}
			}
		}
		for _, c := range a.Constants {
			sum := uint64(0)
			for _, r := range c.Roles {
				sum += r.Bytes
			}
			if sum != c.Size {
				t.Errorf("%s: a constant of %d bytes has roles for %d", a.Name, c.Size, sum)
			}
			constants[c.Offset] = c.Size
		}
	}
	o.Compile.Provenance = true
	r, err := compile.All(context.Background(), m.Program, o.Compile)
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks) != r.Report.Tasks {
		t.Errorf("the answers name %d of %d tasks", len(tasks), r.Report.Tasks)
	}
	for _, x := range r.Provenance.Extents {
		if constants[x.Offset] != x.Size {
			t.Errorf("no answer names the constant of %d bytes at %d", x.Size, x.Offset)
		}
	}
}
