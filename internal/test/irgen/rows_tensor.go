package irgen

import "github.com/zinc-compiler/zinc/ir"

func tensorRows() map[*ir.Operation]row {
	shapeOf := func(m *maker) []int64 { return m.shapeOf(1 + m.n(4)) }
	// random draws numbers from a distribution of one value, since MIL specifies only the distribution.
	random := func(param string, value float64) row {
		return func(m *maker, op *ir.Operation) []*ir.Value {
			c := &ir.Const{Type: ir.Scalar(m.float), Data: ir.AppendElem(nil, m.float, value)}
			args := []any{"shape", shapeOf(m), "seed", 1 + m.n(200), param, m.g.Const(c)}
			switch op {
			case ir.OpRandomNormal:
				args = append(args, "mean", m.number(args[5].(*ir.Value), 0.5))
			case ir.OpRandomUniform:
				args = append(args, "low", m.g.Const(c))
			}
			return m.try(op.Name, args...)
		}
	}
	return join(
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.operand(want{types: ir.DTypesOf(castTypes...)})
			return m.try(op.Name, "x", x)
		}, ir.OpIdentity, ir.OpShape),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			t := pick(m.choices, ir.FP16, ir.FP32, ir.Int32, ir.Bool)
			v := &ir.Const{Type: ir.Scalar(t), Data: ir.AppendElem(nil, t, 1)}
			if op == ir.OpFill {
				return m.try(op.Name, m.maybe([]any{"shape", shapeOf(m)}, "value", m.g.Const(v))...)
			}
			x := m.operand(want{types: m.types(op, ir.ParamRefTensor)})
			return m.try(op.Name, m.maybe([]any{"ref_tensor", x}, "value", m.g.Const(v))...)
		}, ir.OpFill, ir.OpFillLike),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			t := pick(m.choices, ir.FP16, ir.FP32, ir.Int32)
			number := func(v int) *ir.Value {
				return m.g.Const(&ir.Const{Type: ir.Scalar(t), Data: ir.AppendElem(nil, t, float64(v))})
			}
			start := m.n(5) - 2
			return m.try(op.Name, "start", number(start), "end", number(start+1+m.n(40)), "step", number(1+m.n(3)))
		}, ir.OpRange1D),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.smooth(op, 1, 4)
			return m.try(op.Name, "x", x)
		}, ir.OpNonZero),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			idx := m.indices(0, 4, 1+int64(m.n(5)))
			args := m.maybe([]any{"indices", idx, "one_hot_vector_size", 4 + m.n(4)}, "axis", m.n(2))
			t := pick(m.choices, ir.FP16, ir.FP32, ir.Int32)
			if m.yes() {
				on := m.g.Const(&ir.Const{Type: ir.Scalar(t), Data: ir.AppendElem(nil, t, 3)})
				args = append(args, "on_value", on, "off_value", m.number(on, -1))
			}
			return m.try(op.Name, args...)
		}, ir.OpOneHot),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			p := m.g.InputOf(ir.FP32, 3)
			list := ir.Type{Kind: ir.List, DType: ir.String, Len: 3}
			classes := &ir.Const{Type: list, Strings: []string{"a", "b", "c"}}
			// Without the class: a string cannot be the output of a step.
			return m.all(op.Name, "probabilities", p, "classes", m.g.Const(classes))[1:]
		}, ir.OpClassify),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			n, b, k := int64(1+m.n(2)), int64(2+m.n(5)), int64(1+m.n(3))
			corner := func(i int64) float64 { return float64(i*7%11) / 2 }
			args := []any{"iou_threshold", m.g.Const(&ir.Const{Type: ir.Scalar(m.float),
				Data: ir.AppendElem(nil, m.float, 0.375)}), "max_boxes", 1 + m.n(4)}
			boxes, scores := []int64{n, b, 4}, []int64{n, b, k}
			if m.has(op, ir.ParamScoreThreshold) {
				args = append(args, "score_threshold", m.number(args[1].(*ir.Value), -9))
			} else {
				boxes, scores = []int64{n, 4, b}, []int64{n, k, b}
			}
			args = m.maybe(args, "per_class_suppression", m.yes())
			return m.try(op.Name, append(args, "boxes", m.g.Filled(m.float, corner, boxes...), "scores",
				m.g.InputOf(m.float, scores...))...)
		}, ir.OpNonMaximumSuppression),
		family(random("prob", 1), ir.OpRandomBernoulli),
		family(random("stddev", 0), ir.OpRandomNormal),
		family(random("high", 2), ir.OpRandomUniform),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			mode, chosen, other := "probs", 1.0, 0.0
			if m.yes() {
				mode, other = "logits", -1000 // whose exponential is zero
			}
			k := int64(2 + m.n(5))
			x := m.g.Filled(m.float, func(i int64) float64 {
				if i%k == i/k%k {
					return chosen
				}
				return other
			}, int64(1+m.n(4)), k)
			args := []any{"x", x, "seed", 1 + m.n(200), "mode", mode}
			return m.try(op.Name, m.maybe(args, "size", 1+m.n(4))...)
		}, ir.OpRandomCategorical),
	)
}

func controlRows() map[*ir.Operation]row {
	return join(
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.operand(want{types: ir.DTypesOf(ir.FP16, ir.FP32, ir.Int32), most: 4})
			pred := m.do("reshape", "x", m.newOf(ir.DTypesOf(ir.Bool), 1), "shape", []int64{1})
			pred = m.do("squeeze", "x", pred, "axes", []int{0})
			branch := func(name string) *ir.Block {
				return m.g.Block(nil, func([]*ir.Value) []*ir.Value {
					y := m.try(name, "x", x, "y", m.number(x, 2))
					if y != nil && m.yes() {
						y = m.try("maximum", "x", y[0], "y", x)
					}
					return y
				})
			}
			return m.tryBlocks(op.Name, []*ir.Block{branch("mul"), branch(pick(m.choices, "add", "sub"))}, "pred", pred)
		}, ir.OpCond),
		family(func(m *maker, op *ir.Operation) []*ir.Value {
			x := m.operand(want{types: ir.DTypesOf(ir.FP16, ir.FP32), most: 4})
			zero := m.g.Const(ir.ConstInt(ir.Int32, 0))
			var trips *ir.Value
			if m.yes() {
				trips = m.g.Const(ir.ConstInt(ir.Int32, int64(m.n(4))))
			} else { // an input holds 0 to 3
				in := m.g.InputOf(ir.Int32, 1)
				trips = m.do("squeeze", "x", in, "axes", []int{0})
			}
			types := []ir.Type{ir.Scalar(ir.Int32), x.Type}
			test := m.g.Block(types, func(p []*ir.Value) []*ir.Value {
				return m.try("less", "x", p[0], "y", trips)
			})
			body := m.g.Block(types, func(p []*ir.Value) []*ir.Value {
				i := m.try("add", "x", p[0], "y", m.g.Const(ir.ConstInt(ir.Int32, 1)))
				y := m.try(pick(m.choices, "tanh", "relu", "abs"), "x", p[1])
				if y != nil && m.yes() {
					y = m.try("mul", "x", y[0], "y", m.number(x, 0.5))
				}
				return append(i, y...)
			})
			if vs := m.tryBlocks(op.Name, []*ir.Block{test, body}, "loop_vars", []*ir.Value{zero, x}); vs != nil {
				m.rough[vs[1]] = true // operations in the blocks may round
				return vs[1:]
			}
			return nil
		}, ir.OpWhileLoop),
		family(listRow, ir.OpMakeList, ir.OpListLength, ir.OpListRead, ir.OpListWrite, ir.OpListGather,
			ir.OpListScatter),
		family(stateRow, ir.OpReadState, ir.OpWriteState, ir.OpCoreMLUpdateState),
	)
}

// listRow writes a list, puts values into it and takes some out.
func listRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.operand(want{types: ir.DTypesOf(ir.FP32, ir.FP16, ir.Int32), most: 2})
	var dims []*ir.Value
	for _, d := range x.Type.Shape {
		dims = append(dims, m.g.Const(ir.ConstInt(ir.Int32, d)))
	}
	length := int64(2 + m.n(3))
	ls := m.do("make_list", "init_length", length, "dynamic_length", m.yes(), "elem_shape", dims, "dtype",
		x.Type.DType.String())
	for i := range length {
		ls = m.do("list_write", "ls", ls, "index", i, "value", x)
	}
	if m.yes() {
		all := m.like(x, append([]int64{2}, x.Type.Shape...)...)
		if l := m.try("list_scatter", "ls", ls, "indices", []int64{1, 0}, "value", all); l != nil {
			ls = l[0]
		}
	}
	vs := m.try("list_read", "ls", ls, "index", m.n(int(length)))
	vs = append(vs, m.try("list_gather", "ls", ls, "indices", []int64{length - 1, 0})...)
	return append(vs, m.try("list_length", "ls", ls)...)
}

// stateRow reads a state, computes its next value from it and writes that.
func stateRow(m *maker, op *ir.Operation) []*ir.Value {
	x := m.operand(want{types: ir.DTypesOf(ir.FP16), most: 4})
	if m.def(op) == nil {
		return nil
	}
	s := m.g.State(ir.FP16, x.Type.Shape...)
	old := m.do("read_state", "input", s)
	m.rough[old] = true // of what the previous call has written
	next := []*ir.Value{x}
	switch m.n(4) {
	case 0:
		next = m.try("add", "x", x, "y", old)
	case 1:
		next = m.try("maximum", "x", old, "y", x)
	case 2: // only a part of it, as a cache is written
		begin, end, stride, size := m.window(old)
		next = m.try("slice_update", "x", old, "update", m.like(x, size...), "begin", begin, "end", end, "stride",
			stride)
	}
	if next == nil {
		return nil
	}
	m.stored = append(m.stored, next[0])
	if op == ir.OpWriteState {
		m.try("write_state", "input", s, "data", next[0])
		return []*ir.Value{old}
	}
	after := m.try("coreml_update_state", "state", s, "value", next[0])
	if m.yes() {
		after = append(after, m.try("read_state", "input", s)...)
	}
	return append(after, old)
}
