package verify

import (
	"context"
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// kernels runs single operations in the interpreter.
type kernels struct {
	ctx     context.Context
	opset   string
	workers int
	memory  *memory // of the numbers of a piece; nil for what the machine allocates
}

// computedInFP32 reports whether numbers of the element type are computed in fp32: fp16 and bf16.
func computedInFP32(d ir.DType) bool { return d == ir.FP16 || d == ir.BF16 }

// like returns a tensor with the shape and type of t (fp32 for narrower floats) and the elements vs, which must not be
// written while it is in use.
func like(t interp.Tensor, vs []float32) interp.Tensor {
	if d := t.Type.DType; !d.IsFloat() {
		out, err := interp.FromFloats(d, vs, t.Type.Shape...)
		if err == nil {
			return out
		}
	}
	return interp.Share32(t.Type.Shape, vs)
}

// declared runs op as the program declares it, on operands of the declared types.
func (k *kernels) declared(op *ir.Op, mode numerics.Mode, of func(v *ir.Value) interp.Tensor) ([]interp.Tensor,
	error) {
	return k.withStates(op, mode, of, nil)
}

// withStates is declared for an operation whose blocks may access states. The contents of the states are operands;
// after the operation, withStates sets states to their contents by name.
func (k *kernels) withStates(op *ir.Op, mode numerics.Mode, of func(v *ir.Value) interp.Tensor,
	states map[string]interp.Tensor) ([]interp.Tensor, error) {
	f := &ir.Func{Name: "statement", Opset: k.opset, Body: &ir.Block{Ops: []*ir.Op{op}, Outputs: op.Results}}
	in := map[string]interp.Tensor{}
	for _, v := range free(op) {
		in[v.Name] = of(v)
		f.Body.Params = append(f.Body.Params, v)
	}
	return k.run(f, in, mode, states)
}

// free returns the values that an operation and its blocks read, without constants.
func free(op *ir.Op) []*ir.Value {
	var out []*ir.Value
	seen := map[*ir.Value]bool{}
	var visit func(op *ir.Op)
	use := func(v *ir.Value) {
		if v != nil && !v.IsConst() && !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	visit = func(op *ir.Op) {
		op.Operands(func(_ *ir.Param, v *ir.Value) { use(v) })
		for _, b := range op.Blocks {
			for _, v := range b.Params {
				seen[v] = true
			}
			for _, inner := range b.Ops {
				visit(inner)
				for _, v := range inner.Results {
					seen[v] = true
				}
			}
			for _, v := range b.Outputs {
				use(v)
			}
		}
	}
	visit(op)
	return out
}

// wide runs op in fp32: operands of narrower floats are converted, and results are fp32. The tensors in with replace
// operands.
func (k *kernels) wide(op *ir.Op, with map[*ir.Value]interp.Tensor) ([]interp.Tensor, error) {
	if op.Is(ir.OpCast) && op.Results[0].Type.DType.IsFloat() {
		v := op.Arg(ir.ParamX)
		t, ok := with[v]
		if !ok {
			t = interp.FromConst(v.Const)
		}
		if to := op.Results[0].Type.DType; computedInFP32(to) && !computedInFP32(t.Type.DType) {
			var err error
			if t, err = interp.FromFloats(to, t.Floats32(), t.Type.Shape...); err != nil {
				return nil, err
			}
		}
		return []interp.Tensor{k.memory.mapped(t, func(_ int, x float32) float32 { return x })}, nil
	}
	c := *op
	c.Args, c.Results = make([][]*ir.Value, len(op.Args)), make([]*ir.Value, len(op.Results))
	f := &ir.Func{Name: "statement", Opset: k.opset, Body: &ir.Block{Ops: []*ir.Op{&c}}}
	in := map[string]interp.Tensor{}
	made := map[*ir.Value]*ir.Value{}
	for i, list := range op.Args {
		p := &op.Def.Params[i]
		for _, v := range list {
			t, ok := with[v]
			if !ok && !v.IsConst() {
				return nil, fmt.Errorf("operand %q of %s has no value", v.Name, op.Def.Name)
			}
			// Packed constants stay as they are; products read 16-bit weights.
			if !ok && (p.Const || op.Def.Class == ir.Product || op.Def.Class == ir.Compressed ||
				!computedInFP32(v.Type.DType)) {
				c.Args[i] = append(c.Args[i], v)
				continue
			}
			n := made[v]
			if n == nil {
				if !ok {
					t = interp.FromConst(v.Const)
				}
				t = k.memory.in32(t)
				n = &ir.Value{Name: fmt.Sprintf("operand%d", len(made)), Type: t.Type}
				made[v], in[n.Name] = n, t
				f.Body.Params = append(f.Body.Params, n)
			}
			c.Args[i] = append(c.Args[i], n)
		}
	}
	for i, v := range op.Results {
		t := v.Type
		if t.Kind == ir.Tensor && computedInFP32(t.DType) {
			t = t.WithDType(ir.FP32)
		}
		c.Results[i] = &ir.Value{Name: fmt.Sprintf("result%d", i), Type: t, Def: &c}
	}
	f.Body.Outputs = c.Results
	return k.run(f, in, numerics.IEEE, nil)
}

// results returns the results of an operation without errors. One that is large is computed later, in pieces.
func (k *kernels) results(op *ir.Op, args map[*ir.Value]*enclosure) ([]*enclosure, error) {
	s, err := delay(nil, k, op, args)
	switch {
	case err != nil:
		return nil, err
	case s != nil:
		return []*enclosure{s}, nil
	}
	var ts []interp.Tensor
	of := &statement{op: op, args: args}
	if plain(op) {
		ts, err = k.declared(op, numerics.IEEE, of.asDeclared)
	} else {
		ts, err = k.wide(op, of.middles())
	}
	return enclosuresOf(ts, false), err
}

// run runs a function and returns its outputs in order. It sets the states, unless they are nil.
func (k *kernels) run(f *ir.Func, in map[string]interp.Tensor, mode numerics.Mode,
	states map[string]interp.Tensor) ([]interp.Tensor, error) {
	o := interp.Options{Numerics: mode, Workers: k.workers, States: states}
	if k.memory != nil {
		o.Memory = k.memory.floats
	}
	out, err := interp.Run(k.ctx, f, in, o)
	if err != nil {
		return nil, err
	}
	ts := make([]interp.Tensor, len(f.Body.Outputs))
	for i, v := range f.Body.Outputs {
		ts[i] = out[v.Name]
	}
	return ts, nil
}
