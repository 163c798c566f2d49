package stack_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/target"
)

// compiled returns the pair of the model at a path.
func compiled(t testing.TB, path string) pair.Pair {
	t.Helper()
	p, _ := reported(t, path)
	return p
}

// reported returns the pair of the model at a path and the report.
func reported(t testing.TB, path string) (pair.Pair, *compile.Report) {
	t.Helper()
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := compile.All(context.Background(), m.Program, compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	written, err := r.Pair()
	if err != nil {
		t.Fatal(err)
	}
	return written, r.Report
}

// load loads a pair for a process.
func load(t testing.TB, process *stack.Process, p pair.Pair) *stack.Model {
	t.Helper()
	m, err := sim.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	model, err := process.Load(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// machine returns a machine and a process on it.
func machine(t testing.TB, o stack.Options) (*stack.Stack, *stack.Process) {
	t.Helper()
	s, err := stack.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	p, err := s.Connect(stack.Application(501), 0)
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

// inputs returns seeded values for the ports of a machine's chosen function, of
// its default shapes.
func inputs(t testing.TB, m *sim.Machine, seed uint64) map[string]interp.Tensor {
	t.Helper()
	in := map[string]interp.Tensor{}
	for _, p := range m.Inputs() {
		typ := p.Type
		for i, d := range typ.Shape {
			if d < 0 {
				typ.Shape[i] = verify.UnknownExtent
			}
		}
		x, err := verify.Random(typ, p.Name, seed)
		if err != nil {
			t.Fatal(err)
		}
		in[p.Name] = x
	}
	return in
}

// equal compares the tensors of two runs bit for bit.
func equal(t *testing.T, what string, got, want map[string]interp.Tensor) {
	t.Helper()
	if a, b := slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Fatalf("%s are %v, want %v", what, a, b)
	}
	for name, w := range want {
		if g := got[name]; !g.Type.Equal(w.Type) || !bytes.Equal(g.Data, w.Data) {
			t.Errorf("%s %q: the stack's %s differs from the engine's %s", what, name, g.Type, w.Type)
		}
	}
}

// onTime checks that a run of a function took the virtual time of the estimates in the report, within 1 %: each task as
// the cost model says, each dispatch its stages, and the operations on the CPU theirs.
func onTime(t *testing.T, fn string, r *compile.Report, spent stack.Spent) {
	t.Helper()
	for _, f := range r.Functions {
		if f.Function == fn {
			r = f
		}
	}
	engine := cost.Time(0)
	if r.Estimate != nil {
		engine = r.Estimate.Time
	}
	cpu := cost.Time(spent[cost.CPUWork])
	for _, c := range []struct {
		what      string
		got, want cost.Time
	}{{"on the engine", spent.Call() - cpu, engine}, {"on the CPU", cpu, r.CPU}} {
		if d := c.got - c.want; d > c.want/100 || -d > c.want/100 {
			t.Errorf("%s: a call took %s us of virtual time %s, the estimate is %s us", fn, c.got, c.what, c.want)
		}
	}
}

// same runs a pair on the engine driven directly and through the whole stack.
func same(t *testing.T, path string) {
	t.Helper()
	compiled, report := reported(t, path)
	steps := 2
	if len(compiled.Container) > 4<<20 {
		steps = 1 // a run takes half a minute
	}
	ctx := context.Background()
	direct, err := sim.Open(compiled)
	if err != nil {
		t.Fatal(err)
	}
	s, p := machine(t, stack.Options{})
	m := load(t, p, compiled)
	for _, fn := range direct.Functions() {
		for _, x := range []*sim.Machine{direct, m.Machine()} {
			if err := x.Select(fn); err != nil {
				t.Fatal(err)
			}
		}
		for step := range steps {
			in := inputs(t, direct, uint64(step+1))
			want, err := direct.Run(ctx, in, sim.Options{Numerics: numerics.ANE})
			if err != nil {
				t.Fatalf("%s: the engine driven directly: %v", fn, err)
			}
			got, err := m.Run(ctx, in)
			if err != nil {
				t.Fatalf("%s: through the stack: %v", fn, err)
			}
			equal(t, fn+": outputs", got, want)
			onTime(t, fn, report, m.Spent())
			for _, st := range direct.States() {
				a, err := direct.State(st.Name)
				if err != nil {
					t.Fatal(err)
				}
				b, err := m.Machine().State(st.Name)
				if err != nil {
					t.Fatal(err)
				}
				equal(t, fn+": state", map[string]interp.Tensor{st.Name: b}, map[string]interp.Tensor{st.Name: a})
			}
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if n := s.Device.Recoveries(); n != 0 {
		t.Errorf("%d recoveries without a fault", n)
	}
}

// TestRealModelsRunThroughTheStack runs every compiled model of the corpus through the whole stack: the outputs equal
// the outputs of the engine driven directly, bit for bit.
func TestRealModelsRunThroughTheStack(t *testing.T) {
	if testing.Short() {
		t.Skip("real models take minutes")
	}
	shared := shareddir.Find(t)
	var paths []string
	err := filepath.WalkDir(filepath.Join(shared, "corpus"), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == frontend.TextName {
			paths = append(paths, filepath.Dir(path))
		} else if filepath.Ext(path) == ".mlpackage" {
			paths = append(paths, path)
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d models, %v", len(paths), err)
	}
	for _, path := range paths {
		name, err := filepath.Rel(filepath.Join(shared, "corpus"), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			if filepath.Ext(path) != ".mlpackage" {
				path = shareddir.WithWeights(t, shared, path)
			}
			same(t, path)
		})
	}
}

// TestBundledModelsRunThroughTheStack runs the bundled models, one of them with tensors without elements: they need no
// shared folder.
func TestBundledModelsRunThroughTheStack(t *testing.T) {
	for _, path := range []string{"e5rt/testdata/tiny.mil", "e5rt/testdata/tinywide.mil", "e5rt/testdata/cache.mil",
		"testdata/empty.mil", "../../../examples/digits/digits.mlmodelc"} {
		t.Run(filepath.Base(path), func(t *testing.T) { same(t, path) })
	}
}

// TestMachineRunsItsOwnTarget loads a program of h13 on machines of several targets: only machines of its CPU subtype
// accept it.
func TestMachineRunsItsOwnTarget(t *testing.T) {
	m, err := sim.Open(compiled(t, "e5rt/testdata/tiny.mil"))
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []*target.Table{nil, target.H13, target.H13g, target.H14, target.H16} {
		_, process := machine(t, stack.Options{Target: of})
		model, err := process.Load(t.Context(), m)
		if err == nil {
			_, err = model.Run(t.Context(), inputs(t, m, 1))
		}
		if of == nil || of.Subtype == m.Target().Subtype {
			if err != nil {
				t.Errorf("%v: %v", of, err)
			}
			continue
		}
		want := fmt.Sprintf("the container has CPU subtype 4, h13; this machine, %s, runs programs of %d", of.Name,
			of.Subtype)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", of.Name, err, want)
		}
	}
}
