package interp

import (
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

var _ = add(map[*ir.Operation]kernel{
	ir.OpCond:              cond,
	ir.OpWhileLoop:         whileLoop,
	ir.OpReadState:         readState,
	ir.OpWriteState:        writeState,
	ir.OpCoreMLUpdateState: updateState,
	ir.OpMakeList:          makeList,
	ir.OpListLength:        listLength,
	ir.OpListRead:          listRead,
	ir.OpListWrite:         listWrite,
	ir.OpListGather:        listGather,
	ir.OpListScatter:       listScatter,
})

// nested runs one of the operation's blocks on the given parameters.
func (c *call) nested(i int, params []Tensor) []Tensor {
	if i >= len(c.step.blocks) {
		return c.fail("has %d nested blocks, needs another", len(c.step.blocks))
	}
	pl := c.step.blocks[i]
	if len(params) != len(pl.params) {
		return c.fail("block %d takes %d parameters, gets %d", i, len(pl.params), len(params))
	}
	for j, s := range pl.params {
		if want := pl.block.Params[j].Type; want.Kind == ir.Tensor && !params[j].Type.Fits(want) {
			return c.fail("block %d takes %s as %q, gets %s", i, want, pl.block.Params[j].Name, params[j].Type)
		}
		c.r.put(s, params[j])
	}
	out, err := c.r.block(pl, false)
	if err != nil {
		if c.err == nil {
			c.err = err
		}
		return nil
	}
	return out
}

func cond(c *call) []Tensor {
	pred := c.bool(ir.ParamPred, false)
	if c.err != nil {
		return nil
	}
	if pred {
		return c.nested(0, nil)
	}
	return c.nested(1, nil)
}

func whileLoop(c *call) []Tensor {
	vars := c.tuple(ir.ParamLoopVars)
	for c.err == nil {
		test := c.nested(0, vars)
		if c.err == nil && (len(test) != 1 || test[0].Elems() != 1 || test[0].Type.DType != ir.Bool) {
			c.fail("the condition must give one boolean")
		}
		if c.err != nil || !test[0].Bools()[0] {
			break
		}
		vars = c.nested(1, vars)
	}
	return vars
}

// state returns the state that an argument names.
func (c *call) state(name ir.ParamName) *state {
	v := c.op.Arg(name)
	if v == nil || c.r.states[v] == nil {
		c.fail("argument %s is not a state of the function", name)
		return nil
	}
	return c.r.states[v]
}

func (c *call) writeTo(state, value ir.ParamName) (Tensor, bool) {
	s, t := c.state(state), c.in(value)
	if c.err != nil {
		return t, false
	}
	if !t.Type.Equal(s.val.Type) {
		c.fail("%s is %s, the state holds %s", value, t.Type, s.val.Type)
		return t, false
	}
	s.val = t
	return t, true
}

func readState(c *call) []Tensor {
	s := c.state(ir.ParamInput)
	if s == nil {
		return nil
	}
	return results(s.val)
}

func writeState(c *call) []Tensor {
	c.writeTo(ir.ParamInput, ir.ParamData)
	return nil
}

func updateState(c *call) []Tensor {
	t, _ := c.writeTo(ir.ParamState, ir.ParamValue)
	return results(t)
}

// maxList bounds the elements of a list.
const maxList = 1 << 24

// list returns an argument that must be a list.
func (c *call) list(name ir.ParamName) Tensor {
	t, ok := c.opt(name)
	if !ok || t.Type.Kind != ir.List {
		c.fail("argument %s is not a list", name)
		return Tensor{}
	}
	return t
}

// makeList makes a list of elements not yet written. A dynamic list grows when an element past its end is written.
func makeList(c *call) []Tensor {
	n := c.int(ir.ParamInitLength, 1)
	if c.err == nil && (n < 0 || n > maxList) {
		return c.fail("argument init_length is %d, outside [0, %d]", n, maxList)
	}
	if c.err != nil || len(c.op.Results) != 1 || !c.reserve(listElem*n) {
		return c.fail("makes one list")
	}
	t := c.op.Results[0].Type
	if t.Kind != ir.List {
		return c.fail("the result is declared %s, not a list", t)
	}
	var shape []int64
	for _, e := range c.tuple(ir.ParamElemShape) {
		if !e.Type.DType.IsInt() {
			// A symbolic dimension is named by a string: not known.
			shape = append(shape, ir.Unknown)
			continue
		}
		shape = append(shape, e.Ints()...)
	}
	t.Shape = shape
	// The declared length is that at first; whether the list may grow goes with
	// the value.
	if t.Len = n; c.bool(ir.ParamDynamicLength, true) {
		t.Len = ir.Unknown
	}
	if c.err != nil {
		return nil
	}
	return results(Tensor{Type: t, List: make([]Tensor, n)})
}

func listLength(c *call) []Tensor {
	l := c.list(ir.ParamLS)
	if c.err != nil {
		return nil
	}
	return results(c.outInts(0, nil, []int64{int64(len(l.List))}))
}

// elem returns one element of a list; an element that was never written is zeros.
func (c *call) elem(l Tensor, i int64) Tensor {
	if i < 0 || i >= int64(len(l.List)) {
		c.fail("index %d is outside the list of %d elements", i, len(l.List))
		return Tensor{}
	}
	if e := l.List[i]; e.Data != nil {
		return e
	}
	t := ir.TensorOf(l.Type.DType, l.Type.Shape...)
	if t.Bytes() < 0 {
		c.fail("element %d of the list was never written and its shape %s is not known", i, ir.ShapeString(t.Shape))
		return Tensor{}
	}
	return Tensor{Type: t, Data: c.bytes(t.DType, t.Shape)}
}

func listRead(c *call) []Tensor {
	l, i := c.list(ir.ParamLS), c.int(ir.ParamIndex, 0)
	if c.err != nil {
		return nil
	}
	return results(c.elem(l, i))
}

// with returns a copy of a list with elements replaced.
func (c *call) with(l Tensor, at []int64, vals []Tensor) []Tensor {
	dynamic := l.Type.Len < 0
	if !c.reserve(listElem * int64(len(l.List))) {
		return nil
	}
	list := slices.Clone(l.List)
	for k, i := range at {
		if i >= int64(len(list)) && i < maxList && dynamic && c.reserve(listElem*(i+1-int64(len(list)))) {
			list = append(list, make([]Tensor, i+1-int64(len(list)))...)
		}
		if i < 0 || i >= int64(len(list)) {
			return c.fail("index %d is outside the list of %d elements", i, len(list))
		}
		if want := ir.TensorOf(l.Type.DType, l.Type.Shape...); !vals[k].Type.Fits(want) {
			return c.fail("value is %s, elements of the list are %s", vals[k].Type, want)
		}
		list[i] = vals[k]
	}
	l.List = list
	return results(l)
}

func listWrite(c *call) []Tensor {
	l, i, v := c.list(ir.ParamLS), c.int(ir.ParamIndex, 0), c.in(ir.ParamValue)
	if c.err != nil || len(c.op.Results) != 1 {
		return nil
	}
	return c.with(l, []int64{i}, []Tensor{v})
}

func listGather(c *call) []Tensor {
	l := c.list(ir.ParamLS)
	at, ok := c.ints(ir.ParamIndices)
	if !ok || c.err != nil || len(at) == 0 {
		return c.fail("argument indices is missing or empty")
	}
	parts := make([]Tensor, len(at))
	for k, i := range at {
		if i < 0 {
			i += int64(len(l.List))
		}
		parts[k] = c.elem(l, i)
		if c.err != nil {
			return nil
		}
		parts[k].Type = ir.TensorOf(l.Type.DType, append([]int64{1}, parts[k].Type.Shape...)...)
	}
	for k := range parts {
		if !parts[k].Type.Equal(parts[0].Type) {
			return c.fail("the elements of the list differ in shape")
		}
	}
	shape := slices.Clone(parts[0].Type.Shape)
	shape[0] = int64(len(parts))
	return results(c.join(parts, parts[0].Type.DType.Bits()/8, shape, 0, false))
}

func listScatter(c *call) []Tensor {
	l := c.list(ir.ParamLS)
	v, size := c.moved(ir.ParamValue)
	at, ok := c.ints(ir.ParamIndices)
	if !ok || c.err != nil || len(c.op.Results) != 1 {
		return c.fail("argument indices is missing")
	}
	if v.Type.Rank() == 0 || v.Type.Shape[0] != int64(len(at)) {
		return c.fail("value is %s for %d indices", v.Type, len(at))
	}
	n := prod(v.Type.Shape[1:]) * size
	vals := make([]Tensor, len(at))
	for k := range vals {
		vals[k] = Tensor{Type: ir.TensorOf(v.Type.DType, v.Type.Shape[1:]...), Data: v.Data[k*n : (k+1)*n : (k+1)*n]}
	}
	return c.with(l, at, vals)
}
