package passes_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/test/irgen"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// TestDecompositions writes the calls of testdata/decompose as their decompositions. A line that is not indented is a
// call (irbuild.Graph.Call); the indented lines after it are what decompose writes, or the reason why it does not. To
// add a case, add its line and run with -update, which writes the rest. Package verify runs the same calls.
func TestDecompositions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "decompose", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	used := map[string]bool{}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			old, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			for _, line := range strings.SplitAfter(string(old), "\n") {
				if strings.HasPrefix(line, " ") {
					continue
				}
				b.WriteString(line)
				if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
					continue
				}
				g := irbuild.New(1)
				vs, err := g.Call(line)
				if err != nil {
					t.Fatal(err)
				}
				g.Output(vs...)
				p := g.Program()
				o := options()
				o.Place = passes.PlaceEngine // so that what is written for movement stays
				s, err := passes.RunSome(p, o, "select-function", "keep-reference", "decompose", "place")
				if err != nil {
					t.Fatal(err)
				}
				if err := ir.Verify(p); err != nil {
					t.Errorf("%s: %v", line, err)
				}
				for _, op := range s.Func.Body.Ops {
					b.WriteString("  " + brief(op) + "\n")
					if of, ok := strings.CutPrefix(op.Place.Reason, "decomposed: "); ok {
						of, _, _ = strings.Cut(of, " ")
						used[of] = true
					}
				}
			}
			if *update {
				if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if !bytes.Equal(b.Bytes(), old) {
				t.Errorf("%s is now\n%s", name, b.Bytes())
			}
		})
	}
	for i := range passes.Decompositions {
		for _, o := range passes.Decompositions[i].Ops {
			if !used[o.Name] {
				t.Errorf("no case of testdata/decompose decomposes %s", o.Name)
			}
		}
	}
}

// TestComputedPartsOfLongAxesAreRefused updates parts at computed places. One axis, the first or the second, has more
// places than numbers of fp16 count exactly.
func TestComputedPartsOfLongAxesAreRefused(t *testing.T) {
	for _, shape := range []string{"2049, 4, 2", "4, 2049, 2"} {
		g := irbuild.New(1)
		vs, err := g.Call("slice_update(x = fp16[" + shape + "], update = fp16[1, 2, 2], begin = int32[3], " +
			"end = int32[3])")
		if err != nil {
			t.Fatal(err)
		}
		g.Output(vs...)
		s, err := passes.RunSome(g.Program(), options(), "select-function", "keep-reference", "decompose", "place")
		if err != nil {
			t.Fatal(err)
		}
		const want = "the values of begin are known only at run time and count 2049 places"
		if p := s.Func.Body.Ops[len(s.Func.Body.Ops)-1].Place; p.Unit != ir.CPU || !strings.HasPrefix(p.Reason, want) {
			t.Errorf("%s: %v %q, want the CPU with %q", shape, p.Unit, p.Reason, want)
		}
	}
}

// TestIdleDecompositionsBecomeTheirOperation checks that what decompose wrote runs on the CPU only if a part of it is
// on the engine, and that otherwise the source's operation does.
func TestIdleDecompositionsBecomeTheirOperation(t *testing.T) {
	for _, c := range []struct {
		moves string // the operation that only moves data, or "all" for every one
		want  string
	}{
		{"all", "cpu reduce_l1_norm idle-move"},
		{"abs", "engine abs, engine reduce_sum"},
	} {
		g := irbuild.New(1)
		vs, err := g.Call("reduce_l1_norm(x = fp16[4, 8], axes = [1], keep_dims = true)")
		if err != nil {
			t.Fatal(err)
		}
		g.Output(vs...)
		p := g.Program()
		o := passes.Options{Target: target.H13, Accept: func(op *ir.Op) (target.Acceptance, error) {
			if op.Is(ir.OpReduceL1Norm) {
				return target.Acceptance{}, &target.Refusal{Rule: target.RuleNoLowering}
			}
			return target.Acceptance{
				Rule:  op.Def.Name,
				Tasks: 1,
				Moves: c.moves == "all" || c.moves == op.Def.Name,
			}, nil
		}}
		s, err := passes.Run(context.Background(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := ir.Verify(p); err != nil {
			t.Error(err)
		}
		var got []string
		for _, op := range s.Func.Body.Ops {
			line := op.Place.Unit.String() + " " + op.Def.Name
			if no := s.Refusals[op]; no != nil {
				line += " " + no.Rule
			}
			got = append(got, line)
		}
		if line := strings.Join(got, ", "); line != c.want {
			t.Errorf("moving %s: %s, want %s", c.moves, line, c.want)
		}
	}
}

// TestMergedDecompositionsBecomeTheirOperations checks that decompositions on the CPU are their operations again
// although canonicalise has merged the last part of one with the first part of the next.
func TestMergedDecompositionsBecomeTheirOperations(t *testing.T) {
	g := irbuild.New(1)
	vs, err := g.Call("relu(x = conv(x = expand_dims(x = pad(x = fp16[1, 60], pad = [0, 0, 0, 4], " +
		"mode = \"reflect\", constant_val = 0.0), axes = [1]), weight = weights[3, 1, 32], strides = [16]))")
	if err != nil {
		t.Fatal(err)
	}
	g.Output(vs...)
	for _, light := range []bool{false, true} {
		p := ir.CloneProgram(g.Program())
		o := options()
		o.KeepReference = !light
		accept := o.Accept
		o.Place = passes.PlaceAuto
		o.CPUTime = func(op *ir.Op) int64 { // the order of the parts does not count
			if op.Is(ir.OpTranspose) {
				return 1e6
			}
			return 1
		}
		o.DispatchTime = func(int64, int64) int64 { return 1000 }
		o.Accept = func(op *ir.Op) (target.Acceptance, error) {
			if op.Is(ir.OpRelu) { // so that the function needs the CPU
				return target.Acceptance{}, &target.Refusal{Rule: target.RuleNoLowering}
			}
			return accept(op)
		}
		s, err := passes.Run(context.Background(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := ir.Verify(p); err != nil {
			t.Error(err)
		}
		var got []string
		for _, op := range s.Func.Body.Ops {
			got = append(got, op.Place.Unit.String()+" "+op.Def.Name)
		}
		if line := strings.Join(got, ", "); line != "cpu pad, cpu expand_dims, cpu conv, cpu relu" {
			t.Errorf("without a reference %t: %s", light, line)
		}
	}
}

// TestRandomProgramsReachDecompositions checks that the programs compared on engine and interpreter contain decomposed
// operations.
func TestRandomProgramsReachDecompositions(t *testing.T) {
	missing := map[string]bool{}
	for _, o := range []*ir.Operation{ir.OpReduceMin, ir.OpReduceL1Norm, ir.OpReduceL2Norm, ir.OpReduceLogSum,
		ir.OpReduceLogSumExp, ir.OpClampedRelu, ir.OpLinearActivation, ir.OpThreshold, ir.OpInverse, ir.OpPow,
		ir.OpPrelu,
		ir.OpSoftplusParametric, ir.OpL2Norm, ir.OpLocalResponseNorm, ir.OpL2Pool, ir.OpInstanceNorm,
		ir.OpScaledDotProductAttention, ir.OpEinsum, ir.OpCumsum} {
		if passes.DecompositionsOf(o) != nil {
			missing[o.Name] = true
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		b := make([]byte, 100)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		p := irgen.FromBytes(b)
		s, err := passes.Run(context.Background(), p.IR, options())
		if err != nil {
			t.Fatalf("%s: %v", p.Steps, err)
		}
		for _, op := range s.Func.Body.Ops {
			if of, ok := strings.CutPrefix(op.Place.Reason, "decomposed: "); ok && op.Place.Unit == ir.Engine {
				of, _, _ = strings.Cut(of, " ")
				delete(missing, of)
			}
		}
		if len(missing) == 0 {
			return
		}
	}
	t.Errorf("no program has %v decomposed on the engine", slices.Sorted(maps.Keys(missing)))
}

// brief writes an operation on one line, with large constants as their type and a digest.
func brief(op *ir.Op) string {
	var args []string
	op.Operands(func(p *ir.Param, v *ir.Value) {
		s := v.Name
		if c := v.Const; c != nil {
			switch n := c.Elems(); {
			case c.Strings != nil:
				s = strings.Join(c.Strings, " ")
			case n <= 16 && c.Type.Rank() <= 1:
				s = strings.Trim(fmt.Sprint(c.Floats()), "[]")
				if c.Type.Rank() == 1 {
					s = "[" + s + "]"
				}
			default:
				s = fmt.Sprintf("%s#%x", ir.ShapeString(c.Type.Shape), sha256.Sum256(c.Data))[:len(
					ir.ShapeString(c.Type.Shape))+9]
			}
		}
		args = append(args, fmt.Sprintf("%s = %s", p.Name, s))
	})
	var results []string
	for _, v := range op.Results {
		results = append(results, v.Name+" "+v.Type.String())
	}
	s := fmt.Sprintf("%s = %s(%s)", strings.Join(results, ", "), op.Def.Name, strings.Join(args, ", "))
	if op.Place.Unit != ir.Engine {
		s += fmt.Sprintf("  %s, %s: %s", op.Place.Unit, op.Place.Rule, op.Place.Reason)
	}
	return s
}

// TestDecompositionsAllocateByLength checks that arguments of a few bytes do not make a decomposition compute constants
// or lists of places beyond what the operation's constants account for.
func TestDecompositionsAllocateByLength(t *testing.T) {
	const most = 64 << 20
	for _, call := range []string{
		`conv_transpose(x = fp16[1, 64, 60000], weight = weights[64, 64, 2], pad_type = "custom", pad = [59990, 0])`,
		`conv(x = fp16[1, 64, 60000, 1, 1], weight = weights[64, 64, 2, 1, 1], dilations = [59000, 1, 1])`,
		`conv(x = fp16[1, 1, 60000, 1, 1], weight = weights[1, 1, 2, 1, 1])`,
		`pad(x = fp16[1, 8], pad = [0, 500000000], mode = "replicate")`,
		`tile(x = relu(x = fp16[2, 2]), reps = [1, 400000000])`,
		`resize_nearest_neighbor(x = fp16[1, 1, 1], target_size_height = 1, target_size_width = 400000000)`,
	} {
		g := irbuild.New(1)
		vs, err := g.Call(call)
		if err != nil {
			t.Fatal(err)
		}
		g.Output(vs...)
		p := g.Program()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = passes.RunSome(p, options(), "select-function", "keep-reference", "decompose", "place")
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > most {
			t.Errorf("%s: %d MiB are allocated, want at most %d", call, n>>20, most>>20)
		}
	}
}
