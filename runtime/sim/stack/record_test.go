package stack_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// recorded runs a pair on a machine with faults and returns its trace.
func recorded(t *testing.T, compiled pair.Pair, spec string, seed uint64, ins []map[string]interp.Tensor) []byte {
	t.Helper()
	r := stack.NewRecord(compiled)
	r.Numerics, r.Inject, r.Seed = "ane", spec, seed
	events := &trace.Recording{}
	o := stack.Options{Workers: 1, Trace: events.Tracer()}
	if spec != "" {
		s, err := inject.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		o.Inject = inject.New(s, seed)
	}
	_, p := machine(t, o)
	m := load(t, p, compiled)
	for _, in := range ins {
		out, err := m.Run(context.Background(), in)
		r.Add(in, nil, out, err)
	}
	var b bytes.Buffer
	if err := r.Write(&b, events.Events); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReplayedRecordsHaveTheSameTrace replays records of traces, with and without faults.
func TestReplayedRecordsHaveTheSameTrace(t *testing.T) {
	written := compiled(t, "e5rt/testdata/tiny.mil")
	_, p := machine(t, stack.Options{})
	m := load(t, p, written)
	var ins []map[string]interp.Tensor
	for i := range 4 {
		ins = append(ins, inputs(t, m.Machine(), uint64(i)))
	}
	for _, spec := range []string{"", "drop:p=0.1", "drop@note:p=0.1", "delay:p=0.3", "corrupt:p=0.1",
		"corrupt@note:p=0.1", "reorder:p=0.1", "translation:p=0.1", "stuck:p=0.3",
		"exception:p=0.05; crash@task:p=0.2"} {
		for seed := range uint64(5) {
			first := recorded(t, written, spec, seed, ins)
			r, err := stack.ReadRecord(first)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Check(written); err != nil {
				t.Fatal(err)
			}
			var again []map[string]interp.Tensor
			for _, run := range r.Runs {
				in, err := stack.Tensors(run.Inputs)
				if err != nil {
					t.Fatal(err)
				}
				again = append(again, in)
			}
			if err := stack.Difference(first, recorded(t, written, r.Inject, r.Seed, again)); err != nil {
				t.Errorf("--inject %q --inject-seed %d: %v", spec, seed, err)
			}
		}
	}
}

func TestDifference(t *testing.T) {
	if err := stack.Difference([]byte("a\nb\n"), []byte("a\nb\n")); err != nil {
		t.Error(err)
	}
	for _, c := range [][3]string{
		{"a\nb\n", "a\nc\n", "line 2 of the trace differs:\n  recorded b\n  replayed c"},
		{"a", "a\nb", "line 2 of the trace differs:\n  recorded the end\n  replayed b"},
	} {
		if err := stack.Difference([]byte(c[0]), []byte(c[1])); err == nil || err.Error() != c[2] {
			t.Errorf("%q, %q: %v", c[0], c[1], err)
		}
	}
}

func TestReadRecord(t *testing.T) {
	for _, c := range [][2]string{
		{"", "not a trace"},
		{"[1]", "not a trace"},
		{"{}", "no record"},
		{`{"otherData":{"format":"zinc trace","version":9}}`, "version 9"},
	} {
		if _, err := stack.ReadRecord([]byte(c[0])); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: %v, want %q", c[0], err, c[1])
		}
	}
	for _, v := range []stack.Value{
		{Name: "x", DType: "fp17", Shape: []int64{1}, Data: []byte{1, 2}},
		{Name: "x", DType: "fp16", Shape: []int64{2}, Data: []byte{1, 2}},
		{Name: "x", DType: "fp16", Shape: []int64{-1}, Data: []byte{1, 2}},
		{Name: "x", DType: "fp16", Shape: []int64{1 << 62, 4}, Data: nil},
	} {
		if _, err := stack.Tensors([]stack.Value{v}); err == nil {
			t.Errorf("%+v is taken", v)
		}
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"otherData":{"format":"zinc trace","version":1,"runs":[{"inputs":[{"name":"x","dtype":"fp16",` +
		`"shape":[1],"data":"AAA="}]}]},"traceEvents":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := stack.ReadRecord(b)
		if err != nil {
			return
		}
		for _, run := range r.Runs {
			_, _ = stack.Tensors(run.Inputs)
		}
	})
}
