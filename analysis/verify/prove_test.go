package verify

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// recut is a product of several rows and 32 outputs, whose result is cut into other rows: each part of it is right, and
// the position of each element matters.
func recut(t *testing.T) *ir.Program {
	t.Helper()
	g := irbuild.New(3)
	x := g.Input(3, 2)
	y := g.Op("linear", "x", x, "weight", g.Weights(32, 2))
	g.Output(g.Op("relu", "x", g.Op("reshape", "x", y, "shape", []int{1, 96})))
	return g.Program()
}

// altered are the fields that say where a task reads and writes and what it computes, with the bits to change: a line
// of 64 bytes for addresses and strides, the lowest bits for others.
var altered = func() map[td.Field]uint32 {
	m := map[td.Field]uint32{}
	for _, f := range []td.Field{
		td.SrcBase, td.SrcRow, td.SrcPlane, td.SrcDepth, td.SrcGroup, td.Src2Base, td.Src2Row, td.Src2Plane, td.DstBase,
		td.DstRow, td.DstPlane, td.DstDepth, td.DstGroup, td.L2Src, td.L2SrcCh, td.L2SrcRow, td.L2Src2, td.L2Src2Ch,
		td.L2Src2Row, td.L2Res, td.L2ResCh, td.L2ResRow, td.CoeffBase, td.CoeffBase.At(1),
	} {
		m[f] = 64
	}
	for _, f := range []td.Field{
		td.SrcInterleave, td.DstInterleave, td.Swap1, td.Swap2, td.SwapNE, td.SwapResult, td.RBase0, td.WBase,
		td.PixelOffset, td.Px, td.Py, td.PEOp, td.PENeg2, td.Nonlinear, td.PESquare, td.PENonlinear, td.PoolMode,
		td.NEBias, td.InputReLU, td.UnicastEn, td.OCGSize, td.ActiveNE,
	} {
		m[f] = 1
	}
	for _, f := range []td.Field{td.PEScale, td.PEBias, td.PostScale, td.AccBias} {
		m[f] = 0x3c01 // a field that is 1 becomes the least number, others become another number
	}
	return m
}()

// TestProofDecidesAsTheSimulatorDoes changes every address, stride and operation of every task: where the simulator's
// outputs change by more than rounding, the proof must fail, and name the task that wrote the element.
func TestProofDecidesAsTheSimulatorDoes(t *testing.T) {
	programs := map[string]*ir.Program{"chain": chain(t), "recut": recut(t), "attention": attention()}
	for name, p := range programs {
		if testing.Short() && name != "recut" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r, err := compile.All(t.Context(), p, compile.Options{Target: target.H13})
			if err != nil {
				t.Fatal(err)
			}
			good, err := r.Pair()
			if err != nil {
				t.Fatal(err)
			}
			in, err := inputs(r.Functions[0], Options{Seed: 5, Compile: compile.Options{Target: target.H13}})
			if err != nil {
				t.Fatal(err)
			}
			want, err := opened(t, good).Run(t.Context(), in[0], sim.Options{Numerics: numerics.IEEE})
			if err != nil {
				t.Fatal(err)
			}
			if res, err := prove.Pair(t.Context(), opened(t, good), Provable(r), prove.Options{Seed: 1}); err != nil ||
				res.Verdict != prove.Proved {
				t.Fatalf("as compiled: %v, %v", res.Err(), err)
			}
			changed, found, named := 0, 0, 0
			for i := range r.Functions[0].Procedures[0].Tasks {
				for _, f := range slices.Sorted(maps.Keys(altered)) {
					bad := corrupted(t, r, i, func(task *td.Task) { task.Set(f, int(task.Get(f)^altered[f])) })
					m := opened(t, bad)
					got, err := m.Run(t.Context(), in[0], sim.Options{Numerics: numerics.IEEE})
					res, perr := prove.Pair(t.Context(), m, Provable(r), prove.Options{Seed: 1})
					if (err == nil) != (perr == nil) {
						t.Errorf("task %d, %s: the simulator says %v, the proof %v", i, f, err, perr)
					}
					if err != nil || perr != nil {
						continue
					}
					same := near(got, want)
					if !same {
						changed++
					}
					if !same && res.Verdict == prove.Proved {
						t.Errorf("task %d, %s: the outputs change, and the pair is proved", i, f)
					}
					if !same && res.Verdict != prove.Proved {
						found++
						if o := res.Functions[0].Outputs[0]; o.Where != nil && o.Where.Procedure != "" {
							named++
						}
					}
				}
			}
			t.Logf("%d changes of fields change outputs, %d are found, the task is named for %d", changed, found, named)
			if found < 25 || named < found*9/10 {
				t.Errorf("%d changes are found, of %d the task is named", found, named)
			}
		})
	}
}

// near reports whether outputs differ by no more than 2 % of their scale.
func near(a, b map[string]interp.Tensor) bool {
	for n := range a {
		x, y := a[n].Floats32(), b[n].Floats32()
		scale, far := 0.0, 0.0
		for i := range y {
			scale = max(scale, math.Abs(float64(y[i])))
			if d := math.Abs(float64(x[i]) - float64(y[i])); !(d <= far) {
				far = d
			}
		}
		if !(far <= scale/50) {
			return false
		}
	}
	return true
}

// attention is a small attention head.
func attention() *ir.Program {
	g := irbuild.New(11)
	q, k, v := g.Input(1, 20, 16), g.Input(1, 24, 16), g.Input(1, 24, 16)
	s := g.Op("matmul", "x", q, "y", k, "transpose_y", true)
	s = g.Op("softmax", "x", g.Op("mul", "x", s, "y", 0.25), "axis", -1)
	y := g.Op("matmul", "x", s, "y", v)
	g.Output(g.Op("layer_norm", "x", g.Op("add", "x", y, "y", q), "axes", []int{2}, "epsilon", 1e-5))
	return g.Program()
}

// TestProofFindsSwappedWeights exchanges two neighbouring numbers among the constants, which no tolerance of outputs
// notices.
func TestProofFindsSwappedWeights(t *testing.T) {
	r, err := compile.All(t.Context(), chain(t), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	good, err := r.Pair()
	if err != nil {
		t.Fatal(err)
	}
	consts := r.HWX.ConstantBytes()
	base := slices.Index(containing(good.Container, consts[:64]), true)
	if base < 0 {
		t.Fatal("the constants are not in the container")
	}
	found, tried := 0, 0
	for at := 0; at+4 <= len(consts); at += 502 {
		a, b := binary.LittleEndian.Uint16(consts[at:]), binary.LittleEndian.Uint16(consts[at+2:])
		if a == b || a == 0 || b == 0 {
			continue
		}
		bad := slices.Clone(good.Container)
		binary.LittleEndian.PutUint16(bad[base+at:], b)
		binary.LittleEndian.PutUint16(bad[base+at+2:], a)
		tried++
		res, err := prove.Pair(t.Context(), opened(t, rehashed(good, bad)), Provable(r), prove.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict == prove.Proved {
			t.Errorf("%#04x and %#04x are exchanged at %#x of the constants, and the pair is proved", a, b, at)
			continue
		}
		found++
	}
	t.Logf("%d of %d exchanges are found", found, tried)
	if tried < 8 {
		t.Errorf("only %d exchanges were tried", tried)
	}
}

// containing reports, for each multiple of 64, whether b is there.
func containing(in, b []byte) []bool {
	out := make([]bool, len(in))
	for i := 0; i+len(b) <= len(in); i += 64 {
		out[i] = slices.Equal(in[i:i+len(b)], b)
	}
	return out
}

// rehashed returns a pair with another container, which its descriptor names.
func rehashed(p pair.Pair, container []byte) pair.Pair {
	before, after := sha256.Sum256(p.Container), sha256.Sum256(container)
	from, to := hex.EncodeToString(before[:]), hex.EncodeToString(after[:])
	d := slices.Clone(p.Descriptor)
	for i := 0; i+len(from) <= len(d); i++ {
		if string(d[i:i+len(from)]) == from {
			copy(d[i:], to)
		}
	}
	return pair.Pair{Container: container, Descriptor: d}
}

// TestRealModelsAreProved proves every model of the corpus that is compiled in seconds, and requires that no statement
// of one is left open.
func TestRealModelsAreProved(t *testing.T) {
	shared := shareddir.Find(t)
	dirs, err := filepath.Glob(filepath.Join(shared, "corpus", "*"))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no models: %v", err)
	}
	slow := []string{"MANIFEST.tsv", "whisper-tiny-encoder", "parakeet-eou-encoder-1280ms"}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		if slices.Contains(slow, name) || testing.Short() && !strings.HasPrefix(name, "silero") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(filepath.Join(dir, "model.mil")); err == nil {
				dir = shareddir.WithWeights(t, shared, dir)
			}
			concluded(t, dir, compile.Options{Target: target.H13})
		})
	}
}

// TestRightProgramsAreConcluded proves small programs that an earlier proof could not conclude.
func TestRightProgramsAreConcluded(t *testing.T) {
	cases := filepath.Join(shareddir.Find(t), "cases")
	for _, name := range []string{
		"einsum2.mil", "lrn3.mil", "condstate.mil", "whilestate.mil", "prove/lstm-bi", "prove/att-bool",
		"prove/int8-chain",
	} {
		t.Run(name, func(t *testing.T) {
			concluded(t, filepath.Join(cases, name),
				compile.Options{Target: target.H13})
		})
	}
}

// TestProofsNameTheFirstStatement proves a pair of a program with another function: of the statement that has it no
// task computes an element, while what comes before is there.
func TestProofsNameTheFirstStatement(t *testing.T) {
	of := func(function string) *compile.Result {
		g := irbuild.New(3)
		y := g.Op("linear", "x", g.Input(4, 8), "weight", g.Weights(16, 8))
		z := g.Op(function, "x", y)
		g.Output(y, g.Op("softmax", "x", z, "axis", -1))
		r, err := compile.All(t.Context(), g.Program(), compile.Options{Target: target.H13, Place: passes.PlaceEngine})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	good, bad := of("sqrt"), of("rsqrt")
	m, err := Open(bad)
	if err != nil {
		t.Fatal(err)
	}
	fs := Provable(good)
	for i, v := range fs[0].Program.Body.Outputs { // outputs are known by their names
		v.Name = bad.Functions[0].Placed.Body.Outputs[i].Name
	}
	res, err := prove.Pair(t.Context(), m, fs, prove.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	f := res.Functions[0]
	if res.Verdict == prove.Proved || f.First == nil || !strings.HasSuffix(f.First.Statement, "= sqrt") ||
		f.First.Missing != f.First.Elements {
		t.Errorf("%s, first %+v", res.Verdict, f.First)
	}
	o := f.Outputs[1]
	if o.Wrong != 64 || !slices.Equal(o.Index, []int64{0, 0}) || !errors.Is(res.Conclusion(), prove.ErrWrong) {
		t.Errorf("%+v, %v", o, res.Conclusion())
	}
}

// TestProofsStopWhenCancelled cancels in each stage of a proof, at the first step that reports progress. The other side
// of the first stage may report the step that it is in.
func TestProofsStopWhenCancelled(t *testing.T) {
	r, err := compile.All(t.Context(), chain(t), compile.Options{Target: target.H13})
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range []string{"proof: tasks and program", "proof: statements"} {
		ctx, cancel := context.WithCancel(t.Context())
		steps := 0
		_, err := Prove(ctx, r, prove.Options{Seed: 1, Progress: func(s string, _, _ int) {
			if s == stage {
				steps++
				cancel()
			}
		}})
		cancel()
		if !errors.Is(err, context.Canceled) || steps < 1 || steps > 2 {
			t.Errorf("%s: %d steps before the end, error %v", stage, steps, err)
		}
	}
}

// TestEqualSumsOfOtherFormsAreProved proves a convolution whose kernel has zeros between its taps in the bytes, and so
// another form than in the program: both sides run a second time, with the sums themselves.
func TestEqualSumsOfOtherFormsAreProved(t *testing.T) {
	g := irbuild.New(7)
	g.Output(g.Op("conv", "x", g.Input(1, 16, 8, 8), "weight", g.Weights(16, 16, 3, 3), "dilations", []int{2, 2}))
	r, err := compile.All(t.Context(), g.Program(), compile.Options{Target: target.H13, Place: passes.PlaceEngine})
	if err != nil {
		t.Fatal(err)
	}
	times := 0
	res, err := Prove(t.Context(), r, prove.Options{Seed: 1, Progress: func(stage string, done, _ int) {
		if stage == "proof: tasks and program" && done == 1 {
			times++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Err(); err != nil || times != 2 {
		t.Errorf("%d runs of both sides, want 2: %v", times, err)
	}
}

// TestCacheAtAPositionIsProved proves a cache whose row is chosen by two inputs, its begin and its end: values, few of
// them valid together.
func TestCacheAtAPositionIsProved(t *testing.T) {
	concluded(t, filepath.Join("testdata", "prove", "cache.mil"),
		compile.Options{Target: target.H13, Place: passes.PlaceEngine})
}

// concluded checks that the bytes of a model's pair are proved and that no statement of it is left open.
func concluded(t *testing.T, path string, o compile.Options) {
	t.Helper()
	r, err := compile.All(t.Context(), openedModel(t, path), o)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Prove(t.Context(), r, prove.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Concluded() {
		var b strings.Builder
		res.Text(&b, prove.TextOptions{})
		t.Error(b.String())
	}
}
