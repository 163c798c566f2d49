package verify

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// A change of the shapes of a recorded case. Lowering rules must not be limited to the
// recorded shapes.
type change struct {
	name string
	axis int   // counted from the last axis, 1 is the last
	by   int64 // added to the extent
}

var changes = []change{
	{"as recorded", 0, 0},
	{"width + 1", 1, 1},
	{"channels + 16", 3, 16},
	{"batch of 2", 4, 1},
}

// onTheCPU are the recorded cases that zinc does not place on the engine, with the reason. The
// test fails if one of them runs on the engine, so that its entry is removed.
var onTheCPU = map[string]string{
	"encoder_slice_lastdim":      "a program of moves alone is not worth a dispatch",
	"encoder_transpose_r3_021":   "a program of moves alone is not worth a dispatch",
	"layout_tile_1x1x1x375_r375": "a program of moves alone is not worth a dispatch",
}

// constantBytes returns the size of the constants that the operations of a program read.
func constantBytes(p *ir.Program) (n int) {
	for _, op := range p.Func("main").Body.Ops {
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v.IsConst() {
				n += len(v.Const.Data)
			}
		})
	}
	return n
}

// TestRecordedCasesRunOnTheEngine verifies every recorded case with random weights, as
// recorded and with changed shapes: the written bytes run entirely on the engine and
// agree with the interpreter.
func TestRecordedCasesRunOnTheEngine(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(shareddir.Find(t), "oracles", "h13", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded cases: %v", err)
	}
	for i, f := range files {
		if testing.Short() && i%8 != 0 {
			continue
		}
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		t.Run(name, func(t *testing.T) {
			p := recorded(t, f)
			if testing.Short() && constantBytes(p) > 1<<18 {
				t.Skip("large weights take seconds")
			}
			for _, c := range changes {
				q := ir.CloneFunc(p.Func("main"), "main")
				if !applyChange(t, q, c) {
					continue // no such axis
				}
				prog := &ir.Program{Funcs: []*ir.Func{q}}
				if err := ir.Verify(prog); err != nil {
					t.Errorf("%s: %v", c.name, err)
					continue
				}
				r, err := Run(context.Background(), prog, Options{
					Compile:  compile.Options{Target: target.H13},
					Seed:     1,
					Numerics: numerics.ANE,
					Inputs:   inDomain(t, q),
				})
				switch {
				case err != nil:
					t.Errorf("%s: %v", c.name, err)
				case onTheCPU[name] != "":
					if r.Model.Tasks != 0 || !r.Pass {
						t.Errorf("%s: %d tasks, pass is %t; want it on the CPU: %s", c.name, r.Model.Tasks, r.Pass,
							onTheCPU[name])
					}
				case r.Model.CPUOps != 0 || r.Model.Tasks == 0:
					t.Errorf("%s: %d operations on the CPU, %d tasks: the engine must run all", c.name, r.Model.CPUOps,
						r.Model.Tasks)
				case !r.Pass:
					t.Errorf("%s: %+v", c.name, r.Outputs)
				}
			}
		})
	}
}

// inDomain returns positive values for the inputs of sqrt and rsqrt: the engine does not return NaN for
// negative ones (docs/numerics.md).
func inDomain(t *testing.T, f *ir.Func) map[string]interp.Tensor {
	t.Helper()
	given := map[string]interp.Tensor{}
	for _, op := range f.Body.Ops {
		if !op.Is(ir.OpSqrt, ir.OpRsqrt) {
			continue
		}
		v := op.Arg("x")
		x, err := Random(v.Type, v.Name, 1)
		if err != nil {
			t.Fatal(err)
		}
		vs := x.Floats32()
		for i := range vs {
			vs[i] = max(vs[i], -vs[i])
		}
		if given[v.Name], err = interp.FromFloats(v.Type.DType, vs, v.Type.Shape...); err != nil {
			t.Fatal(err)
		}
	}
	return given
}

var blobType = regexp.MustCompile(`tensor<fp16, \[([0-9, ]+)\]>\(BLOBFILE\(path = ` +
	`string\("@model_path/weights.bin"\), offset = uint64\((\d+)\)\)\)`)

// recorded opens the program of a recorded case. It writes a new weight file with a blob of random values for each
// reference, because the recorded weights repeat one value.
func recorded(t *testing.T, file string) *ir.Program {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ MIL string }
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	blobs := make([]byte, 64)
	count := uint32(0)
	text := blobType.ReplaceAllStringFunc(c.MIL, func(s string) string {
		m := blobType.FindStringSubmatchIndex(s)
		n := int64(1)
		for _, d := range strings.Split(s[m[2]:m[3]], ",") {
			k, err := strconv.ParseInt(strings.TrimSpace(d), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			n *= k
		}
		at := len(blobs)
		head := make([]byte, 64)
		binary.LittleEndian.PutUint32(head, 0xdeadbeef)
		binary.LittleEndian.PutUint32(head[4:], 1)
		binary.LittleEndian.PutUint64(head[8:], uint64(2*n))
		binary.LittleEndian.PutUint64(head[16:], uint64(at+64))
		blobs = append(append(blobs, head...), weightsOf(t, ir.TensorOf(ir.FP16, n), uint64(at)).Data...)
		blobs = append(blobs, make([]byte, -len(blobs)&63)...)
		count++
		return s[:m[4]] + strconv.Itoa(at) + s[m[5]:]
	})
	binary.LittleEndian.PutUint32(blobs, count)
	binary.LittleEndian.PutUint32(blobs[4:], 2)
	if err := os.WriteFile(filepath.Join(dir, "model.mil"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "weights.bin"), blobs, 0o666); err != nil {
		t.Fatal(err)
	}
	return open(t, filepath.Join(dir, "model.mil"))
}

// weightsOf returns a constant with values computed from the seed.
func weightsOf(t *testing.T, typ ir.Type, seed uint64) *ir.Const {
	t.Helper()
	x, err := Random(typ, "weights", seed)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 0, 2*typ.Elems())
	for _, v := range x.Floats32() {
		data = ir.AppendElem(data, typ.DType, float64(v)/8)
	}
	k, err := ir.NewConst(typ, data)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// applyChange changes the inputs of f and every type that depends on them. It reports
// whether f has the axis.
func applyChange(t *testing.T, f *ir.Func, c change) bool {
	t.Helper()
	if c.by == 0 {
		return true
	}
	was := map[*ir.Value]ir.Type{}
	for _, p := range f.Body.Params {
		was[p] = p.Type
	}
	if f.Body.Params[0].Type.Rank() < c.axis {
		return false
	}
	// Change the axis of every input or, failing that, every axis of that extent: which
	// of them fits depends on how products transpose their operands.
	all := func(v *ir.Value, axis int) bool { return v.Type.Rank()-c.axis == axis }
	first := f.Body.Params[0].Type
	extent := first.Shape[first.Rank()-c.axis]
	same := func(v *ir.Value, axis int) bool { return was[v].Shape[axis] == extent }
	var errs []error
	for _, hit := range []func(*ir.Value, int) bool{all, same} {
		for _, p := range f.Body.Params {
			p.Type = was[p]
			s := slices.Clone(p.Type.Shape)
			for axis := range s {
				if hit(p, axis) && (s[axis] != 1 || extent == 1) {
					s[axis] += c.by
				}
			}
			p.Type = p.Type.WithShape(s...)
		}
		err := follow(t, f, was)
		if err == nil {
			return true
		}
		errs = append(errs, err)
	}
	t.Errorf("%s: cannot change the shapes: %v", c.name, errs)
	return false
}

// follow updates constants and result types to the changed types of the operands.
func follow(t *testing.T, f *ir.Func, was map[*ir.Value]ir.Type) error {
	t.Helper()
	for _, op := range f.Body.Ops {
		if x := op.Arg("x"); x != nil && !x.IsConst() {
			fitConstants(t, op, x.Type, was[x])
		}
		ts, err := ir.InferOp(op)
		if err != nil {
			return fmt.Errorf("%s: %w", op.Def.Name, err)
		}
		for i, r := range op.Results {
			if _, ok := was[r]; !ok {
				was[r] = r.Type
			}
			r.Type = ts[i]
		}
	}
	return nil
}

// fitConstants replaces constants of op by ones of the shapes that its changed operand x requires.
func fitConstants(t *testing.T, op *ir.Op, x, old ir.Type) {
	t.Helper()
	resize := func(name ir.ParamName, shape []int64) {
		if v := op.Arg(name); v != nil && v.IsConst() && !slices.Equal(v.Type.Shape, shape) {
			k := weightsOf(t, v.Type.WithShape(shape...), uint64(len(shape)))
			op.SetArg(name, &ir.Value{Name: v.Name, Type: k.Type, Const: k})
		}
	}
	switch op.Def.Operation {
	case ir.OpConv:
		w := op.Arg("weight").Type.Shape
		groups, _ := ir.ArgInt(op, "groups")
		out, in := w[0], x.Shape[1]
		if groups == old.Shape[1] && groups > 1 && groups != in {
			groups, out = in, in*w[0]/old.Shape[1]
			k := ir.ConstInt(ir.Int32, groups)
			v := op.Arg("groups")
			op.SetArg("groups", &ir.Value{Name: v.Name, Type: k.Type, Const: k})
		}
		resize("weight", []int64{out, in / groups, w[2], w[3]})
		resize("bias", []int64{out})
	case ir.OpMatMul:
		if y := op.Arg("y"); y.IsConst() {
			s := slices.Clone(y.Type.Shape)
			k := x.Shape[x.Rank()-1]
			if turned, _ := ir.ArgBool(op, "transpose_x"); turned {
				k = x.Shape[x.Rank()-2]
			}
			if turned, _ := ir.ArgBool(op, "transpose_y"); turned {
				s[len(s)-1] = k
			} else {
				s[len(s)-2] = k
			}
			resize("y", s)
		}
	default:
		for _, name := range []ir.ParamName{"y", "gamma", "beta"} {
			v := op.Arg(name)
			if v == nil || !v.IsConst() || v.Type.DType != x.DType || v.Type.Rank() > x.Rank() {
				continue
			}
			s := slices.Clone(v.Type.Shape)
			for i := range s {
				if at := x.Rank() - len(s) + i; s[i] != 1 && s[i] == old.Shape[at] {
					s[i] = x.Shape[at]
				}
			}
			resize(name, s)
		}
	}
}
