package compile_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// interruptible are programs that together have everything that the passes keep besides a program's text: states,
// several functions, enumerated shapes, loops and branches that stay, compressed constants, conversions, decompositions
// and a fused epilogue.
var interruptible = map[string]string{
	"fused": `func main<ios18>(tensor<fp32, [1, 4, 2, 8]> x) {
		tensor<fp16, [1, 4, 2, 8]> h = cast(x = x, dtype = "fp16");
		tensor<fp16, [4, 4, 1, 1]> w = const()[val = tensor<fp16, [4, 4, 1, 1]>([[[[1]], [[2]], [[3]], [[4]]],
			[[[5]], [[6]], [[7]], [[8]]], [[[1]], [[1]], [[1]], [[1]]], [[[2]], [[2]], [[2]], [[2]]]])];
		tensor<fp16, [1, 4, 2, 8]> c = conv(x = h, weight = w, pad_type = "valid", strides = [1, 1], pad = [0, 0, 0, 0],
			dilations = [1, 1], groups = 1);
		tensor<fp16, [1, 4, 2, 8]> y = relu(x = c);
		tensor<fp32, [1, 4, 2, 8]> z = cast(x = y, dtype = "fp32");
	} -> (z);`,
	"state": `func main<ios18>(state<tensor<fp16, [1, 8]>> total, tensor<fp16, [1, 8]> x) {
		tensor<fp16, [1, 8]> old = read_state(input = total);
		tensor<fp16, [1, 8]> new = add(x = old, y = x);
		write_state(input = total, data = new);
		tensor<fp16, [1, 8]> y = mul(x = new, y = x);
	} -> (y);`,
	"functions": `func second<ios18>(tensor<fp16, [4]> x) { tensor<fp16, [4]> y = mul(x = x, y = fp16(3)); } -> (y);
	func main<ios18>(tensor<fp16, [4]> x) { tensor<fp16, [4]> y = relu(x = x); } -> (y);`,
	"decomposed": `func main<ios18>(tensor<fp16, [4, 8]> x) {
		tensor<fp16, [4, 8]> a = cumsum(x = x, axis = 0, exclusive = true, reverse = false);
		tensor<fp16, [4, 8]> b = linear_activation(x = a, alpha = fp16(0.5), beta = fp16(2));
		tensor<fp16, [4]> y = reduce_log_sum_exp(x = b, axes = [1], keep_dims = false);
		tensor<fp16, [4, 4]> z = einsum(values = (a, b), equation = "ij,kj->ki");
	} -> (y, z);`,
	"enumerated": enumerated,
	"loop":       loop(", tensor<int32, [1]> n", "n"),
}

// TestResumedCompilationsWriteTheSameBytes interrupts compilations after every pass, writes the program as text, reads
// it, and continues: the pair has the bytes of a compilation without interruption.
func TestResumedCompilationsWriteTheSameBytes(t *testing.T) {
	for name, src := range interruptible {
		t.Run(name, func(t *testing.T) {
			checkResume(t,
				compile.Options{Target: target.H13, InputName: "test.mil"}, passes.Names(), func() *ir.Program {
					return program(t, src)
				})
		})
	}
}

// TestResumedCompilationsOfRealModels does the same with real models, after the pass that places operations.
func TestResumedCompilationsOfRealModels(t *testing.T) {
	shared := shareddir.Find(t)
	for _, name := range []string{"silero-v6-palette-4bit", "mnist-cnn-inline", "espresso-rwkv-recurrent-step"} {
		t.Run(name, func(t *testing.T) {
			dir := shareddir.WithWeights(t, shared, filepath.Join(shared, "corpus", name))
			checkResume(t,
				compile.Options{Target: target.H13, InputName: name, Precision: "fp16"}, []string{"place"},
				func() *ir.Program {
					m, err := frontend.Open(dir, frontend.Options{})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { m.Close() })
					return m.Program
				})
		})
	}
}

// runTo compiles a program up to a pass.
func runTo(ctx context.Context, p *ir.Program, o compile.Options, pass string) (s *compile.Snapshot, err error) {
	o.Until = pass
	err = compile.Compile(ctx, p, o, compile.Sink{Snapshot: compile.To(&s)})
	return s, err
}

func checkResume(t *testing.T, o compile.Options, after []string, p func() *ir.Program) {
	t.Helper()
	ctx := context.Background()
	r, err := compile.All(ctx, p(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := written(t, r)
	for _, pass := range after {
		s, err := runTo(ctx, p(), o, pass)
		if err != nil {
			t.Fatalf("to %s: %v", pass, err)
		}
		text, data, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if !compile.IsSnapshot(text) {
			t.Fatalf("text after %s is not known as that of a snapshot:\n%.80s", pass, text)
		}
		if s, err = compile.ReadSnapshot("test.ir", text, data.Bytes()); err != nil {
			t.Fatalf("after %s: %v\n%s", pass, err, text)
		}
		if again, _, err := s.Encode(); err != nil || !bytes.Equal(again, text) {
			t.Errorf("after %s the text read and written is another (error %v):\n%s\nwas\n%s", pass, err, again, text)
		}
		var r compile.Result
		if err := s.Compile(ctx, compile.Options{Target: target.H13, VerifyEach: true}, r.All()); err != nil {
			t.Fatalf("from %s: %v", pass, err)
		}
		got := written(t, &r)
		if !bytes.Equal(got.Container, want.Container) || !bytes.Equal(got.Descriptor, want.Descriptor) {
			t.Errorf("resumed after %s the pair has other bytes", pass)
		}
	}
}

// TestResumeKeepsAPlaceWrittenByHand changes a place in the text.
func TestResumeKeepsAPlaceWrittenByHand(t *testing.T) {
	ctx := context.Background()
	p := program(t, interruptible["functions"])
	s, err := runTo(ctx, p, compile.Options{Target: target.H13}, "place")
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.Replace(string(text), `on engine "relu" ""`, `on cpu "relu" "by hand"`, 1)
	if moved == string(text) {
		t.Fatalf("no relu on the engine:\n%s", text)
	}
	if s, err = compile.ReadSnapshot("test.ir", []byte(moved), nil); err != nil {
		t.Fatal(err)
	}
	var r compile.Result
	if err := s.Compile(ctx, compile.Options{Target: target.H13}, r.All()); err != nil {
		t.Fatal(err)
	}
	if f := r.Functions[0].Report; f.CPUOps != 1 || f.EngineOps != 0 {
		t.Errorf("%d operations on the CPU, %d on the engine; want the relu on the CPU", f.CPUOps, f.EngineOps)
	}
}

// TestResumeRunsForwardsOnly checks that a pass that ran cannot be run again by name.
func TestResumeRunsForwardsOnly(t *testing.T) {
	ctx := context.Background()
	s, err := runTo(ctx, program(t, interruptible["fused"]), compile.Options{Target: target.H13}, "canonicalise")
	if err != nil {
		t.Fatal(err)
	}
	var bad *compile.SnapshotError
	to := compile.Sink{Snapshot: compile.To(&s)}
	if err := s.Compile(ctx, compile.Options{Target: target.H13, Until: "fold-constants"}, to); !errors.As(err, &bad) {
		t.Errorf("error %v, want a SnapshotError", err)
	}
	if err = s.Compile(ctx, compile.Options{Target: target.H13, Until: "place"}, to); err != nil || s.After != "place" {
		t.Errorf("snapshot %+v, error %v", s, err)
	}
}

// FuzzReadSnapshot checks that any text is read as a snapshot, whose text can be read again, or is an error.
func FuzzReadSnapshot(f *testing.F) {
	for _, name := range []string{"fused", "state", "functions", "loop"} {
		for _, pass := range []string{"select-function", "place"} {
			s, err := runTo(context.Background(), program(f, interruptible[name]),
				compile.Options{Target: target.H13}, pass)
			if err != nil {
				f.Fatal(err)
			}
			text, _, err := s.Encode()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := compile.ReadSnapshot("x.ir", text, nil)
		if err != nil {
			return
		}
		again, data, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compile.ReadSnapshot("x.ir", again, data.Bytes()); err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		if !slices.Contains(passes.Names(), s.After) {
			t.Fatalf("after %q", s.After)
		}
		// The content of a text may be wrong, but must not end the process.
		var r compile.Result
		if err := s.Compile(context.Background(), compile.Options{Target: target.H13}, r.All()); err != nil {
			t.Log(err)
		}
	})
}
