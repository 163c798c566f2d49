package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/target"
)

// TestRealModelsHaveNoDeparture compares every statement of real models with the source.
func TestRealModelsHaveNoDeparture(t *testing.T) {
	shared := shareddir.Find(t)
	for _, name := range []string{"silero-v6-fp16", "silero-v6-int8", "parakeet-eou-joint", "espresso-sdpa-fwd-taps",
		"parakeet-eou-encoder-1280ms"} {
		if testing.Short() && name == "parakeet-eou-encoder-1280ms" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			m, err := frontend.Open(shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", name)),
				frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			r, err := Run(t.Context(), m.Program, Options{Seed: 1, Numerics: numerics.ANE,
				Compile: compile.Options{Target: target.H13}})
			if err != nil {
				t.Fatal(err)
			}
			if r.First != nil || r.Verdict == Fail {
				t.Errorf("%s: %+v, %+v", r.Verdict, r.First, r.Outputs)
			}
			if r.Statements < r.Model.Tasks/8 || r.Statements == 0 {
				t.Errorf("%d tasks, but only %d statements were compared", r.Model.Tasks, r.Statements)
			}
		})
	}
}

// chain is a program of several products and sums.
func chain(t *testing.T) *ir.Program {
	t.Helper()
	g := irbuild.New(7)
	x := g.Input(1, 16, 8, 8)
	a := g.Op("conv", "x", x, "weight", g.Weights(16, 16, 1, 1))
	b := g.Op("relu", "x", a)
	c := g.Op("conv", "x", b, "weight", g.Weights(32, 16, 3, 3), "pad_type", "same")
	d := g.Op("sigmoid", "x", c)
	e := g.Op("mul", "x", c, "y", d)
	g.Output(g.Op("reduce_mean", "x", e, "axes", []int{2, 3}, "keep_dims", true))
	return g.Program()
}

// checked verifies a pair against a compilation.
func checked(t *testing.T, r *compile.Result, m *sim.Machine) *Result {
	t.Helper()
	res, err := Check(t.Context(), r, m, nil, Options{Seed: 3, Numerics: numerics.ANE})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestFirstDepartureNamesTheChangedTask changes one task in the bytes of a container.
func TestFirstDepartureNamesTheChangedTask(t *testing.T) {
	r, err := compile.All(t.Context(), chain(t), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	written, err := r.Pair()
	if err != nil {
		t.Fatal(err)
	}
	proc := r.Functions[0].Procedures[0]
	if proc.Resident == 0 || len(proc.Materialised) < len(proc.Tasks) {
		t.Fatalf("%d tasks, %d values, %d of them in L2: the test needs a value per task and one in L2",
			len(proc.Tasks), len(proc.Materialised), proc.Resident)
	}
	if res := checked(t, r, opened(t, written)); res.First != nil || res.Statements < 4 || !res.Pass {
		t.Fatalf("as compiled: %+v", res)
	}
	changed := 0
	for i := range proc.Tasks {
		// Double the results of this task: its products, or the input of the planar engine.
		field := td.PostScale
		if proc.Tasks[i].Planar() != td.NotPlanar {
			field = td.PEPreScale
		}
		if proc.Tasks[i].Get(field) != 0x3c00 {
			continue
		}
		changed++
		bad := corrupted(t, r, i, func(task *td.Task) { task.Set(field, 0x4000) })
		d := checked(t, r, opened(t, bad)).First
		if d == nil || d.Task != i {
			t.Errorf("task %d (%s) is wrong; reported: %+v", i, proc.Infos[i].Rule, d)
		}
	}
	if changed < 3 {
		t.Errorf("only %d tasks were changed", changed)
	}
}

func opened(t *testing.T, p pair.Pair) *sim.Machine {
	t.Helper()
	m, err := sim.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// corrupted returns the bytes of the pair with a task changed; r is unchanged.
func corrupted(t *testing.T, r *compile.Result, task int, change func(*td.Task)) pair.Pair {
	t.Helper()
	written, err := r.Pair()
	if err != nil {
		t.Fatal(err)
	}
	proc := r.Functions[0].Procedures[0]
	text, _, err := td.V7.AppendChain(nil, proc.Tasks)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(written.Container, text)
	if at < 0 {
		t.Fatal("the tasks are not in the container")
	}
	good := proc.Tasks[task]
	proc.Tasks[task] = good.Clone()
	change(proc.Tasks[task])
	changed, _, err := td.V7.AppendChain(nil, proc.Tasks)
	proc.Tasks[task] = good
	if err != nil || len(changed) != len(text) {
		t.Fatalf("task %d: %d bytes, want %d; %v", task, len(changed), len(text), err)
	}
	before := sha256.Sum256(written.Container)
	bad := bytes.Clone(written.Container)
	copy(bad[at:], changed)
	after := sha256.Sum256(bad)
	hash := func(sum [sha256.Size]byte) []byte { return []byte(hex.EncodeToString(sum[:])) }
	return pair.Pair{
		Container:  bad,
		Descriptor: bytes.ReplaceAll(written.Descriptor, hash(before), hash(after)),
	}
}

// reshaped compiles a product whose result is reshaped and therefore copied to its port.
func reshaped(t *testing.T) *compile.Result {
	t.Helper()
	g := irbuild.New(7)
	y := g.Op("linear", "x", g.Input(3, 2), "weight", g.Weights(32, 2))
	g.Output(g.Op("reshape", "x", y, "shape", []int{1, 96}))
	r, err := compile.All(t.Context(), g.Program(), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDepartureAtAPort corrupts the task that copies a reshaped value to its port: the value is right before the copy.
func TestDepartureAtAPort(t *testing.T) {
	r := reshaped(t)
	proc := r.Functions[0].Procedures[0]
	last := len(proc.Tasks) - 1
	if last < 1 || proc.Infos[last].Rule == proc.Infos[0].Rule {
		t.Fatalf("%d tasks, the last by rule %s: the test needs a copy to the port", len(proc.Tasks),
			proc.Infos[last].Rule)
	}
	bad := corrupted(t, r, last, func(task *td.Task) {
		if task.Get(td.PlanarType) != 0 {
			task.Set(td.PEPreScale, 0x4000)
		} else {
			task.Set(td.PostScale, 0x4000)
		}
	})
	d := checked(t, r, opened(t, bad)).First
	out := r.Functions[0].Reference.Body.Outputs[0].Name
	if d == nil || d.Task != last || d.Value != out {
		t.Errorf("%+v, want value %s of task %d", d, out, last)
	}
}

// TestDepartureOfAnOutput removes what is known about the values of tasks, so that only the output is compared.
func TestDepartureOfAnOutput(t *testing.T) {
	r := reshaped(t)
	r.Functions[0].Procedures[0].Materialised = nil
	good, err := r.Pair()
	if err != nil {
		t.Fatal(err)
	}
	if res := checked(t, r, opened(t, good)); res.First != nil || res.Statements != 1 {
		t.Fatalf("as compiled: %+v", res)
	}
	res := checked(t, r, opened(t, corrupted(t, r, 0, func(task *td.Task) { task.Set(td.PostScale, 0x4000) })))
	out := r.Functions[0].Reference.Body.Outputs[0].Name
	if x := res.First; x == nil || x.Task != -1 || x.Value != out || x.Op != "reshape" || x.Beyond == 0 {
		t.Errorf("%+v, want output %s", res.First, out)
	}
	var text bytes.Buffer
	if err := res.DepartureText(&text); err != nil || !bytes.Contains(text.Bytes(),
		[]byte("output "+out+" of function main departs")) {
		t.Errorf("%v: %s", err, text.String())
	}
}

// TestDepartureInALaterCall corrupts the task that multiplies a state: the first call is still right, because the state
// is zero.
func TestDepartureInALaterCall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.mil")
	text := `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 32]> x, state<tensor<fp16, [1, 32]>> s) {
            tensor<fp16, [1, 32]> old = read_state(input = s);
            tensor<fp16, [1, 32]> part = mul(x = old, y = fp16(0.5));
            tensor<fp16, [1, 32]> sum = add(x = part, y = x);
            tensor<fp16, [1, 32]> new = coreml_update_state(state = s, value = x);
        } -> (sum);
}
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := compile.All(t.Context(), open(t, path), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	bad := corrupted(t, r, 0, func(task *td.Task) { task.Set(td.PEScale, 0x4400) })
	d := checked(t, r, opened(t, bad)).First
	if d == nil || d.Value != "part" || d.Task != 0 || d.Call != 2 {
		t.Errorf("%+v, want value part of task 0 in call 2", d)
	}
}
