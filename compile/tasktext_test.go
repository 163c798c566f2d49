package compile_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// taskText compiles MIL functions and returns the task text of the pair, its section, and the result.
func taskText(t testing.TB, funcs string, keep bool) (text, data []byte, r *compile.Result) {
	t.Helper()
	r = new(compile.Result)
	to := r.All()
	if !keep {
		to.Container = nil
	}
	err := compile.Compile(context.Background(), program(t, funcs),
		compile.Options{Target: target.H13, InputName: "test.mil"}, to)
	if err != nil {
		t.Fatal(err)
	}
	var programs []td.Program
	for _, p := range r.HWX.Procedures() {
		code, off, _ := r.HWX.Text().Of(p)
		chain, err := td.V7.DecodeChain(code, off, p.FirstWords)
		if err != nil {
			t.Fatal(err)
		}
		tp := td.Program{Name: p.Name}
		for _, x := range chain {
			tp.Tasks = append(tp.Tasks, x.Task)
		}
		programs = append(programs, tp)
	}
	text, parts, err := r.TaskText(programs)
	if err != nil {
		t.Fatal(err)
	}
	return text, slices.Concat(parts...), r
}

func TestTaskTextGivesTheSameBytes(t *testing.T) {
	for name, src := range interruptible {
		text, data, r := taskText(t, src, true)
		unkept, same, _ := taskText(t, src, false)
		if !bytes.Equal(unkept, text) || !bytes.Equal(same, data) {
			t.Errorf("%s: the task text of a container that was not kept differs", name)
		}
		tt, err := compile.ReadTaskText("test.td", text, data)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		got, err := tt.Pair()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := written(t, r)
		if !bytes.Equal(got.Container, want.Container) || !bytes.Equal(got.Descriptor, want.Descriptor) {
			t.Errorf("%s: the pair of its task text has other bytes", name)
		}
	}
}

// TestTaskTextCanBeEdited changes a factor of a task and checks that the pair computes with it.
func TestTaskTextCanBeEdited(t *testing.T) {
	text, data, _ := taskText(t, `func main<ios18>(tensor<fp16, [4]> x) {
		tensor<fp16, [4]> y = mul(x = x, y = fp16(3)); } -> (y);`, true)
	edited := bytes.Replace(text, []byte("PE.Scale = 16896"), []byte("PE.Scale = 16384"), 1) // fp16 3 and 2
	if bytes.Equal(edited, text) {
		t.Fatalf("no factor of 3 in the text:\n%s", text)
	}
	tt, err := compile.ReadTaskText("test.td", edited, data)
	if err != nil {
		t.Fatal(err)
	}
	p, err := tt.Pair()
	if err != nil {
		t.Fatal(err)
	}
	m, err := sim.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	y := step(t, m, map[string]interp.Tensor{"x": fp16s(t, []int64{4}, 1, 2, 3, 4)})["y"].Floats32()
	if !slices.Equal(y, []float32{2, 4, 6, 8}) {
		t.Errorf("y = %v, want x times 2", y)
	}
}

// FuzzReadTaskText checks that any text and section are read as a pair or are an error.
func FuzzReadTaskText(f *testing.F) {
	for _, name := range []string{"state", "functions"} {
		text, data, _ := taskText(f, interruptible[name], true)
		f.Add(text, data)
	}
	f.Fuzz(func(t *testing.T, text, data []byte) {
		tt, err := compile.ReadTaskText("x.td", text, data)
		if err != nil {
			return
		}
		if _, err := tt.Pair(); err != nil {
			t.Log(err)
		}
	})
}
