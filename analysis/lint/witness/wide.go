package witness

import (
	"github.com/zinc-compiler/zinc/ir"
)

// widened is a function with every fp16 value in fp32: what the statements mean, without the hazards of fp16. of maps
// values of the source to those that represent them.
type widened struct {
	fn *ir.Func
	of map[*ir.Value]*ir.Value
}

type widener struct {
	of     map[*ir.Value]*ir.Value
	consts map[*ir.Const]*ir.Const
}

func widen(f *ir.Func) *widened {
	w := &widener{of: map[*ir.Value]*ir.Value{}, consts: map[*ir.Const]*ir.Const{}}
	n := *f
	n.Body = w.block(f.Body)
	return &widened{fn: &n, of: w.of}
}

func wideType(t ir.Type) ir.Type {
	if t.DType == ir.FP16 {
		t.DType = ir.FP32
	}
	return t
}

func (w *widener) block(b *ir.Block) *ir.Block {
	n := &ir.Block{}
	for _, p := range b.Params {
		n.Params = append(n.Params, w.define(p, nil))
	}
	for _, op := range b.Ops {
		n.Ops = append(n.Ops, w.op(op))
	}
	for _, v := range b.Outputs {
		n.Outputs = append(n.Outputs, w.value(v))
	}
	return n
}

func (w *widener) define(v *ir.Value, def *ir.Op) *ir.Value {
	n := *v
	n.Def, n.Type = def, wideType(v.Type)
	w.of[v] = &n
	return &n
}

func (w *widener) value(v *ir.Value) *ir.Value {
	if n, ok := w.of[v]; ok {
		return n
	}
	if v.Const == nil || v.Type.DType != ir.FP16 {
		return v
	}
	n := *v
	n.Type, n.Const = wideType(v.Type), w.constant(v.Const)
	w.of[v] = &n
	return &n
}

func (w *widener) constant(k *ir.Const) *ir.Const {
	if n, ok := w.consts[k]; ok {
		return n
	}
	t := wideType(k.Type)
	data := make([]byte, 0, t.Bytes())
	for i := range k.Elems() {
		data = ir.AppendElem(data, ir.FP32, k.Float(i))
	}
	n := &ir.Const{Type: t, Data: data}
	w.consts[k] = n
	return n
}

func (w *widener) op(op *ir.Op) *ir.Op {
	n := *op
	n.Place = ir.Place{Unit: ir.CPU}
	n.Args = make([][]*ir.Value, len(op.Args))
	for i, list := range op.Args {
		if list == nil {
			continue
		}
		n.Args[i] = make([]*ir.Value, len(list))
		for j, v := range list {
			n.Args[i][j] = w.value(v)
			if k := v.Const; k != nil && k.Type.DType == ir.String && len(k.Strings) == 1 && k.Strings[0] == "fp16" {
				n.Args[i][j] = &ir.Value{Name: v.Name, Type: k.Type, Const: ir.ConstString("fp32"), Pos: v.Pos}
			}
		}
	}
	n.Blocks = nil
	for _, b := range op.Blocks {
		n.Blocks = append(n.Blocks, w.block(b))
	}
	n.Results = nil
	for _, r := range op.Results {
		n.Results = append(n.Results, w.define(r, &n))
	}
	return &n
}
