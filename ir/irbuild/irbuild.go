package irbuild

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/zinc-compiler/zinc/ir"
)

// Opset is the operation set of every graph.
const Opset = "ios18"

// Graph is a function being written.
type Graph struct {
	fn   *ir.Func
	made int
	rnd  *rand.Rand
}

// New returns an empty graph; seed decides its random weights.
func New(seed uint64) *Graph {
	return &Graph{
		fn:  &ir.Func{Name: "main", Opset: Opset, Body: &ir.Block{}},
		rnd: rand.New(rand.NewPCG(seed, 0x7a696e63)),
	}
}

// Program returns what was written. The graph must not be used afterwards.
func (g *Graph) Program() *ir.Program {
	return &ir.Program{Version: "1.3", Funcs: []*ir.Func{g.fn}}
}

func (g *Graph) name(stem string) string {
	g.made++
	return fmt.Sprintf("%s%d", stem, g.made)
}

// Input adds an fp16 input.
func (g *Graph) Input(shape ...int64) *ir.Value { return g.InputOf(ir.FP16, shape...) }

// InputOf adds an input of the given element type.
func (g *Graph) InputOf(t ir.DType, shape ...int64) *ir.Value {
	v := &ir.Value{Name: g.name("x"), Type: ir.TensorOf(t, shape...)}
	g.fn.Body.Params = append(g.fn.Body.Params, v)
	return v
}

// Const adds a constant.
func (g *Graph) Const(c *ir.Const) *ir.Value {
	return &ir.Value{Name: g.name("c"), Type: c.Type, Const: c}
}

// Weights adds an fp16 constant of normal numbers with mean 0 and deviation 1.
func (g *Graph) Weights(shape ...int64) *ir.Value { return g.WeightsOf(ir.FP16, shape...) }

// WeightsOf does the same for another element type.
func (g *Graph) WeightsOf(t ir.DType, shape ...int64) *ir.Value {
	return g.Filled(t, func(int64) float64 { return g.rnd.NormFloat64() }, shape...)
}

// Filled adds a constant whose element i is at(i), rounded.
func (g *Graph) Filled(t ir.DType, at func(i int64) float64, shape ...int64) *ir.Value {
	typ := ir.TensorOf(t, shape...)
	var data []byte
	for i := range typ.Elems() {
		data = ir.AppendElem(data, t, at(i))
	}
	return g.Const(&ir.Const{Type: typ, Data: data})
}

// value makes an argument's value: an *ir.Value as it is, a Go literal as a
// constant. Numbers with a fraction are fp16.
func (g *Graph) value(a any) ([]*ir.Value, error) {
	one := func(c *ir.Const) ([]*ir.Value, error) { return []*ir.Value{g.Const(c)}, nil }
	switch a := a.(type) {
	case nil:
		return nil, nil
	case *ir.Value:
		if a == nil {
			return nil, nil
		}
		return []*ir.Value{a}, nil
	case []*ir.Value:
		return a, nil
	case int:
		return one(ir.ConstInt(ir.Int32, int64(a)))
	case int64:
		return one(ir.ConstInt(ir.Int32, a))
	case []int:
		vs := make([]int64, len(a))
		for i, v := range a {
			vs[i] = int64(v)
		}
		return one(ir.ConstInts(ir.Int32, vs...))
	case []int64:
		return one(ir.ConstInts(ir.Int32, a...))
	case float64:
		return one(ir.ConstFloat(ir.FP16, a))
	case bool:
		return one(ir.ConstBool(a))
	case []bool:
		data := make([]byte, len(a))
		for i, v := range a {
			if v {
				data[i] = 1
			}
		}
		return one(&ir.Const{Type: ir.TensorOf(ir.Bool, int64(len(a))), Data: data})
	case string:
		return one(ir.ConstString(a))
	}
	return nil, fmt.Errorf("argument of type %T", a)
}

// Try adds an operation: args are names and values in turn. It returns the
// results, or an error where the op table refuses the arguments; the graph is
// then unchanged.
func (g *Graph) Try(name string, args ...any) ([]*ir.Value, error) {
	def := ir.Lookup(name, Opset)
	if def == nil {
		return nil, fmt.Errorf("no operation %q", name)
	}
	op := ir.NewOp(def)
	for i := 0; i+1 < len(args); i += 2 {
		p, _ := args[i].(string)
		k := def.ParamIndex(ir.ParamName(p))
		if k < 0 {
			return nil, fmt.Errorf("%s has no parameter %q", name, p)
		}
		vs, err := g.value(args[i+1])
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", name, p, err)
		}
		op.Args[k] = vs
	}
	types, err := ir.InferOp(op)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, t := range types {
		op.Results = append(op.Results, &ir.Value{Name: g.name(name + "_"), Type: t, Def: op})
	}
	g.fn.Body.Ops = append(g.fn.Body.Ops, op)
	return op.Results, nil
}

// All is Try for arguments that are known to be right: it panics on an error.
func (g *Graph) All(name string, args ...any) []*ir.Value {
	vs, err := g.Try(name, args...)
	if err != nil {
		panic(err)
	}
	return vs
}

// Op is All for operations of one result.
func (g *Graph) Op(name string, args ...any) *ir.Value { return g.All(name, args...)[0] }

// Output adds results of the function.
func (g *Graph) Output(vs ...*ir.Value) { g.fn.Body.Outputs = append(g.fn.Body.Outputs, vs...) }

// Scale returns 1/sqrt(n), by which weights of n terms keep the variance.
func Scale(n int64) float64 { return 1 / math.Sqrt(float64(max(n, 1))) }
