package interp

import (
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

// withBlocks adds an operation that has nested blocks.
func (b *bld) withBlocks(name string, a args, blocks ...*ir.Block) []*ir.Value {
	b.t.Helper()
	// The rule reads the blocks, so the results are made after them.
	def := ir.Lookup(name, b.opset)
	op := &ir.Op{Def: def, Args: make([][]*ir.Value, len(def.Params)), Blocks: blocks, Pos: ir.Pos{Line: 7, Col: 3}}
	for n, v := range a {
		switch v := v.(type) {
		case *ir.Value:
			op.Args[def.ParamIndex(ir.ParamName(n))] = []*ir.Value{v}
		case []*ir.Value:
			op.Args[def.ParamIndex(ir.ParamName(n))] = v
		}
	}
	types, err := ir.InferOp(op)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, t := range types {
		op.Results = append(op.Results, &ir.Value{Name: name, Type: t, Def: op})
	}
	b.body.Ops = append(b.body.Ops, op)
	return op.Results
}

// nested returns a block of one operation of two operands.
func (b *bld) nested(op string, x, y *ir.Value, params ...*ir.Value) *ir.Block {
	in := newBld(b.t, b.opset)
	r := in.op(op, args{"x": x, "y": y})
	return &ir.Block{Params: params, Ops: in.body.Ops, Outputs: []*ir.Value{r}}
}

func sampleCond(t *testing.T) {
	for _, tt := range []struct {
		pred int64
		want float32
	}{{1, 5}, {0, 6}} {
		b := newBld(t, "ios15")
		p := b.input("p", ints(t, ir.Bool, nil, tt.pred))
		x, y := b.input("x", floats(t, ir.FP32, nil, 2)), b.input("y", floats(t, ir.FP32, nil, 3))
		r := b.withBlocks("cond", args{"pred": p}, b.nested("add", x, y), b.nested("mul", x, y))
		wantTensor(t, 0, b.run(Options{}, r...)[0], floats(t, ir.FP32, nil, tt.want))
	}
}

// sampleWhileLoop doubles 3 while it is under 20.
func sampleWhileLoop(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, nil, 3))
	c := &ir.Value{Name: "c", Type: x.Type}
	v := &ir.Value{Name: "v", Type: x.Type}
	r := b.withBlocks("while_loop", args{"loop_vars": []*ir.Value{x}},
		b.nested("less", c, scalar(ir.FP32, 20), c), b.nested("add", v, v, v))
	wantTensor(t, 0, b.run(Options{}, r...)[0], floats(t, ir.FP32, nil, 24))
}

// sampleLists writes [1 2] to element 1 of a list of two, then scatters two rows
// to elements 2 and 0, and reads the list back.
func sampleLists(t *testing.T) {
	b := newBld(t, "ios15")
	x := b.input("x", floats(t, ir.FP32, []int64{2}, 1, 2))
	y := b.input("y", floats(t, ir.FP32, []int64{2, 2}, 3, 4, 5, 6))
	l := b.op("make_list", args{
		"init_length":    num(2),
		"dynamic_length": truth(true),
		"elem_shape":     []*ir.Value{num(2)},
		"dtype":          str("fp32"),
	})
	first := b.op("list_length", args{"ls": l})
	l = b.op("list_write", args{"ls": l, "index": num(1), "value": x})
	unwritten := b.op("list_read", args{"ls": l, "index": num(0)})
	l = b.op("list_scatter", args{"ls": l, "indices": vec(2, 0), "value": y})
	grown := b.op("list_length", args{"ls": l})
	read := b.op("list_read", args{"ls": l, "index": num(2)})
	all := b.op("list_gather", args{"ls": l, "indices": vec(0, 1)})
	for i, want := range []Tensor{
		ints(t, ir.Int32, nil, 2), floats(t, ir.FP32, []int64{2}, 0, 0), ints(t, ir.Int32, nil, 3),
		floats(t, ir.FP32, []int64{2}, 3, 4), floats(t, ir.FP32, []int64{2, 2}, 5, 6, 1, 2),
	} {
		outs := []*ir.Value{first, unwritten, grown, read, all}
		wantTensor(t, i, b.run(Options{}, outs...)[i], want)
	}
}

// sampleStates adds 1 to a state, writes it, doubles it by an update and reads
// it: 0, 2, 6, 14.
func sampleStates(t *testing.T) {
	b := newBld(t, "ios18")
	one := floats(t, ir.FP16, []int64{1}, 1)
	s := &ir.Value{Name: "acc", Type: ir.Type{Kind: ir.State, DType: ir.FP16, Shape: []int64{1}}}
	b.body.Params = append(b.body.Params, s)
	v := b.op("add", args{"x": b.op("read_state", args{"input": s}), "y": constant(one)})
	b.opAs("write_state", args{"input": s, "data": v}, []ir.Type{}...)
	v = b.op("read_state", args{"input": s})
	u := b.op("coreml_update_state", args{"state": s, "value": b.op("add", args{"x": v, "y": v})})
	r := b.op("read_state", args{"input": s})
	states := map[string]Tensor{}
	for _, want := range []float32{2, 6, 14} {
		got := b.run(Options{States: states}, u, r)
		for i := range got {
			wantTensor(t, i, got[i], floats(t, ir.FP16, []int64{1}, want))
		}
		wantTensor(t, 2, states["acc"], floats(t, ir.FP16, []int64{1}, want))
	}
}
