package irbuild

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/zinc-compiler/zinc/ir"
)

// Opset is the operation set of a graph that names no other.
const Opset = "ios18"

// Graph is a function being written.
type Graph struct {
	done []*ir.Func // functions before fn
	fn   *ir.Func
	into *ir.Block // the nested block being written, nil for the function's own
	made int
	rnd  *rand.Rand
}

// New returns an empty graph; seed decides its random weights.
func New(seed uint64) *Graph { return NewIn(Opset, seed) }

// NewIn returns an empty graph of another operation set.
func NewIn(opset string, seed uint64) *Graph {
	return &Graph{
		fn:  &ir.Func{Name: "main", Opset: opset, Body: &ir.Block{}},
		rnd: rand.New(rand.NewPCG(seed, 0x7a696e63)),
	}
}

// Program returns the program written so far. The graph must not be used afterwards.
func (g *Graph) Program() *ir.Program {
	return &ir.Program{Version: "1.3", Funcs: append(g.done, g.fn)}
}

// Func ends the function and begins another one with the given name.
func (g *Graph) Func(name string) {
	g.done = append(g.done, g.fn)
	g.fn = &ir.Func{Name: name, Opset: g.fn.Opset, Body: &ir.Block{}}
}

// Def returns the form of an operation in the graph's operation set, or nil if it has none.
func (g *Graph) Def(name string) *ir.OpDef {
	def := ir.Lookup(name, g.fn.Opset)
	if def == nil || ir.OpsetNumber(def.Since) > ir.OpsetNumber(g.fn.Opset) {
		return nil
	}
	return def
}

// Block writes a nested block: its parameters have the given types, f adds its operations and returns its results.
func (g *Graph) Block(types []ir.Type, f func(params []*ir.Value) []*ir.Value) *ir.Block {
	b := &ir.Block{}
	for _, t := range types {
		b.Params = append(b.Params, &ir.Value{Name: g.name("b"), Type: t})
	}
	outer := g.into
	g.into = b
	b.Outputs = f(b.Params)
	g.into = outer
	return b
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

// State adds a state.
func (g *Graph) State(t ir.DType, shape ...int64) *ir.Value {
	v := &ir.Value{Name: g.name("s"), Type: ir.Type{Kind: ir.State, DType: t, Shape: shape}}
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
	bits := int64(t.Bits())
	if bits < 8 {
		data = make([]byte, typ.Bytes())
	}
	for i := range typ.Elems() {
		if bits >= 8 {
			data = ir.AppendElem(data, t, at(i))
			continue
		}
		for b := range bits { // packed, low bits first
			data[(i*bits+b)/8] |= byte(int64(at(i))>>b&1) << ((i*bits + b) % 8)
		}
	}
	return g.Const(&ir.Const{Type: typ, Data: data})
}

// value converts an argument to a value: it keeps an *ir.Value and makes a Go literal a constant, a float64 one of type
// float and an integer one of type whole.
func (g *Graph) value(a any, float, whole ir.DType) ([]*ir.Value, error) {
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
		return one(ir.ConstInt(whole, int64(a)))
	case int64:
		return one(ir.ConstInt(whole, a))
	case []int:
		vs := make([]int64, len(a))
		for i, v := range a {
			vs[i] = int64(v)
		}
		return one(ir.ConstInts(whole, vs...))
	case []int64:
		return one(ir.ConstInts(whole, a...))
	case float64:
		return one(&ir.Const{Type: ir.Scalar(float), Data: ir.AppendElem(nil, float, a)})
	case []float64:
		c := &ir.Const{Type: ir.TensorOf(float, int64(len(a)))}
		for _, v := range a {
			c.Data = ir.AppendElem(c.Data, float, v)
		}
		return one(c)
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

// literals returns the types for Go literals that are passed for a parameter: the type of the arguments in types with
// the same type variable, otherwise fp16 or int32, otherwise the first type that the parameter accepts.
func literals(p *ir.Param, types map[string]ir.DType) (float, whole ir.DType) {
	if t, ok := types[p.Same]; ok && p.Same != "" {
		return t, t
	}
	float, whole = ir.FP16, ir.Int32
	for t := ir.Bool; t <= ir.FP64; t++ {
		if p.Types.Has(t) && t.IsFloat() && !p.Types.Has(float) {
			float = t
		}
		if p.Types.Has(t) && t.IsInt() && !p.Types.Has(whole) {
			whole = t
		}
	}
	return float, whole
}

// Try adds an operation; args alternates names and values. It returns the results, or an error if the op table rejects
// the arguments; the graph is then unchanged.
func (g *Graph) Try(name string, args ...any) ([]*ir.Value, error) {
	return g.TryBlocks(name, nil, args...)
}

// TryBlocks is Try for an operation with nested blocks.
func (g *Graph) TryBlocks(name string, blocks []*ir.Block, args ...any) ([]*ir.Value, error) {
	def := g.Def(name)
	if def == nil {
		return nil, fmt.Errorf("no operation %q", name)
	}
	op := ir.NewOp(def)
	op.Blocks = blocks
	types := map[string]ir.DType{}
	for i := 0; i+1 < len(args); i += 2 {
		p, _ := args[i].(string)
		if k := def.ParamIndex(ir.ParamName(p)); k >= 0 && def.Params[k].Same != "" {
			switch v := args[i+1].(type) {
			case *ir.Value:
				if v != nil {
					types[def.Params[k].Same] = v.Type.DType
				}
			case []*ir.Value:
				if len(v) > 0 {
					types[def.Params[k].Same] = v[0].Type.DType
				}
			}
		}
	}
	for i := 0; i+1 < len(args); i += 2 {
		p, _ := args[i].(string)
		k := def.ParamIndex(ir.ParamName(p))
		if k < 0 {
			return nil, fmt.Errorf("%s has no parameter %q", name, p)
		}
		float, whole := literals(&def.Params[k], types)
		vs, err := g.value(args[i+1], float, whole)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", name, p, err)
		}
		op.Args[k] = vs
	}
	inferred, err := ir.InferOp(op)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, t := range inferred {
		op.Results = append(op.Results, &ir.Value{Name: g.name(name + "_"), Type: t, Def: op})
	}
	b := g.into
	if b == nil {
		b = g.fn.Body
	}
	b.Ops = append(b.Ops, op)
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

// Op is like All for operations with one result.
func (g *Graph) Op(name string, args ...any) *ir.Value { return g.All(name, args...)[0] }

// Output adds results of the function.
func (g *Graph) Output(vs ...*ir.Value) { g.fn.Body.Outputs = append(g.fn.Body.Outputs, vs...) }

// Scale returns 1/sqrt(n), by which weights of n terms keep the variance.
func Scale(n int64) float64 { return 1 / math.Sqrt(float64(max(n, 1))) }
