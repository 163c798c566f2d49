package interp

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
)

// bld builds functions of one block for tests.
type bld struct {
	t     *testing.T
	opset string
	body  ir.Block
	in    map[string]Tensor
}

func newBld(t *testing.T, opset string) *bld {
	return &bld{t: t, opset: opset, in: map[string]Tensor{}}
}

// floats is a tensor of element type d.
func floats(t *testing.T, d ir.DType, shape []int64, vs ...float32) Tensor {
	t.Helper()
	x, err := FromFloats(d, vs, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func ints(t *testing.T, d ir.DType, shape []int64, vs ...int64) Tensor {
	t.Helper()
	x, err := FromInts(d, vs, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// input adds a parameter that is given x.
func (b *bld) input(name string, x Tensor) *ir.Value {
	v := &ir.Value{Name: name, Type: x.Type}
	b.body.Params = append(b.body.Params, v)
	b.in[name] = x
	return v
}

func constant(x Tensor) *ir.Value { return &ir.Value{Name: "const", Type: x.Type, Const: x.Const()} }

func str(s string) *ir.Value {
	c := ir.ConstString(s)
	return &ir.Value{Name: "const", Type: c.Type, Const: c}
}

func num(v int64) *ir.Value {
	c := ir.ConstInt(ir.Int32, v)
	return &ir.Value{Name: "const", Type: c.Type, Const: c}
}

func vec(vs ...int64) *ir.Value {
	c := ir.ConstInts(ir.Int32, vs...)
	return &ir.Value{Name: "const", Type: c.Type, Const: c}
}

func truth(v bool) *ir.Value {
	c := ir.ConstBool(v)
	return &ir.Value{Name: "const", Type: c.Type, Const: c}
}

func scalar(d ir.DType, v float64) *ir.Value {
	c := ir.ConstFloat(d, v)
	return &ir.Value{Name: "const", Type: c.Type, Const: c}
}

type args map[string]any // *ir.Value or []*ir.Value

// opAs adds an operation whose results have the given types.
func (b *bld) opAs(name string, a args, types ...ir.Type) []*ir.Value {
	b.t.Helper()
	def := ir.Lookup(name, b.opset)
	if def == nil {
		b.t.Fatalf("no row %s", name)
	}
	op := &ir.Op{Def: def, Args: make([][]*ir.Value, len(def.Params)), Pos: ir.Pos{Line: 7, Col: 3}}
	for n, v := range a {
		i := def.ParamIndex(ir.ParamName(n))
		if i < 0 {
			b.t.Fatalf("%s has no parameter %s", name, n)
		}
		switch v := v.(type) {
		case *ir.Value:
			op.Args[i] = []*ir.Value{v}
		case []*ir.Value:
			op.Args[i] = v
		}
	}
	if types == nil {
		inferred, err := ir.InferOp(op)
		if err != nil {
			b.t.Fatalf("%s: shape rule: %v", name, err)
		}
		types = inferred
	}
	for _, t := range types {
		op.Results = append(op.Results, &ir.Value{Name: name + "_result", Type: t, Def: op})
	}
	b.body.Ops = append(b.body.Ops, op)
	return op.Results
}

// op adds an operation whose result types come from the shape rule, so every test also checks the kernel against the
// rule.
func (b *bld) op(name string, a args) *ir.Value {
	b.t.Helper()
	return b.opAs(name, a)[0]
}

// onEngine places every operation on the engine.
func (b *bld) onEngine() *bld {
	for _, op := range b.body.Ops {
		op.Place.Unit = ir.Engine
	}
	return b
}

func (b *bld) fn(outs ...*ir.Value) *ir.Func {
	f := &ir.Func{Name: "main", Opset: b.opset, Body: &b.body}
	for i, o := range outs {
		o.Name = "out" + string(rune('0'+i))
	}
	b.body.Outputs = outs
	return f
}

func (b *bld) run(opt Options, outs ...*ir.Value) []Tensor {
	b.t.Helper()
	res, err := Run(context.Background(), b.fn(outs...), b.in, opt)
	if err != nil {
		b.t.Fatal(err)
	}
	ts := make([]Tensor, len(outs))
	for i, o := range outs {
		ts[i] = res[o.Name]
	}
	return ts
}

// fails runs the function and expects an error that contains all of the words.
func (b *bld) fails(out *ir.Value, words ...string) {
	b.t.Helper()
	_, err := Run(context.Background(), b.fn(out), b.in, Options{})
	if err == nil {
		b.t.Fatal("ran without an error")
	}
	for _, w := range append(words, "7:3: ") {
		if !strings.Contains(err.Error(), w) {
			b.t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func near(a, b float32, tol float64) bool {
	if a != a || b != b {
		return a != a && b != b
	}
	return a == b || math.Abs(float64(a)-float64(b)) <= tol*(1+math.Abs(float64(b)))
}

func wantFloats(t *testing.T, got Tensor, tol float64, shape []int64, want ...float32) {
	t.Helper()
	if ir.ShapeString(got.Type.Shape) != ir.ShapeString(shape) {
		t.Errorf("shape %s, want %s", ir.ShapeString(got.Type.Shape), ir.ShapeString(shape))
		return
	}
	for i, v := range got.Floats32() {
		if i < len(want) && !near(v, want[i], tol) {
			t.Errorf("element %d is %v, want %v (all: %v)", i, v, want[i], got.Floats32())
			return
		}
	}
}

// seq returns n numbers that look random, multiples of 1/8 in [-2, 2].
func seq(n int, seed uint64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(int(mix(seed+uint64(i))%33)-16) / 8
	}
	return out
}

func prodOf(shape []int64) int { return prod(shape) }

var ane = Options{Numerics: numerics.ANE}
