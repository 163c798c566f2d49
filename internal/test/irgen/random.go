package irgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/ir"
)

// maxSteps is the maximum number of steps of a random program.
const maxSteps = 12

// FromBytes returns the program of up to 12 steps that the bytes determine. Its inputs take normal numbers.
func FromBytes(b []byte) *Program {
	m := newMaker(&choices{b}, irbuild.New(uint64(len(b))))
	names := m.fromSteps(maxSteps)
	m.outputs()
	return &Program{IR: m.g.Program(), Steps: names}
}

// fromSteps writes an input and up to n steps.
func (m *maker) fromSteps(n int) string {
	m.vals = append(m.vals, m.input(m.shape()...))
	var names []string
	for range n {
		if len(m.b) == 0 {
			break
		}
		s := &steps[m.n(len(steps))]
		if vs := m.usable(s.write(m, m.value())); vs != nil {
			m.vals = append(m.vals, vs...)
			names = append(names, s.name)
		}
	}
	return strings.Join(names, ", ")
}

// outputs makes the latest value and up to three others the function's results.
func (m *maker) outputs() {
	returned := map[*ir.Value]bool{}
	for i := range 1 + m.n(4) {
		v := m.vals[len(m.vals)-1]
		if i > 0 {
			v = m.vals[m.n(len(m.vals))]
		}
		if !returned[v] {
			returned[v] = true
			m.g.Output(v)
		}
	}
}

// opsets are operation sets; the latest are drawn more often.
var opsets = []string{"ios18", "ios18", "ios18", "ios18", "ios17", "ios16", "ios15"}

// Random returns program number n of an endless list: a chain, reshaped products, steps on one another, operations of
// the registry, blocks of networks, operations at limits. Some have several functions, some flexible shapes.
func Random(n uint64, l *Limits) *Program {
	c := drawn(n, 8, 400)
	switch kind := c.n(32); kind {
	case 0, 1, 2, 3, 4, 5:
		return Chain(int(n))
	case 6, 7, 8:
		return Products(int(n % uint64(ProductPrograms())))
	}
	g := irbuild.NewIn(pick(c, opsets...), n)
	p := &Program{Exact: true}
	functions := 1
	if c.n(16) == 0 {
		functions = 2 + c.n(2)
	}
	var names []string
	for i := range functions {
		if i > 0 {
			g.Func(fmt.Sprintf("other%d", i))
		}
		m := newMaker(drawn(n, 16+uint64(i), 400), g)
		m.limits = l
		names = append(names, m.write(n))
		p.Exact = p.Exact && m.ends()
	}
	p.IR, p.Steps = g.Program(), strings.Join(names, "; ")
	if c.n(8) == 0 {
		loosen(p.IR.Funcs[0], c)
	}
	return p
}

// write writes the operations of one function.
func (m *maker) write(n uint64) string {
	switch kind := m.n(16); {
	case kind < 5:
		m.float = pick(m.choices, ir.FP16, ir.FP16, ir.FP16, ir.FP32)
		return m.fromSteps(1 + m.n(6))
	case kind < 12:
		return m.fromRegistries(int(n % uint64(len(ir.Operations))))
	case kind < 14:
		return m.fromBlock()
	}
	return m.fromBounds()
}

// ports are the element types of inputs and outputs.
var ports = ir.DTypesOf(ir.FP16, ir.FP32, ir.Int32)

// ends makes some of the values the function's results, at least one, and reports whether two correct runs agree
// exactly about all of them.
func (m *maker) ends() bool {
	exact := !slices.ContainsFunc(m.stored, func(v *ir.Value) bool { return m.rough[v] })
	var outs []*ir.Value
	for i := range min(1+m.n(4), len(m.vals)) {
		k := len(m.vals) - 1
		if i > 0 {
			k = m.n(min(len(m.vals), 256))
		}
		if slices.Contains(outs, m.vals[k]) || m.vals[k].Def == nil {
			continue
		}
		v := m.vals[k]
		if !ports.Has(v.Type.DType) {
			rough := m.rough[v]
			vs := m.try("cast", "x", v, "dtype", "int32")
			if vs == nil {
				continue
			}
			v = vs[0]
			m.rough[v] = rough
		}
		outs = append(outs, v)
		exact = exact && !m.rough[v]
	}
	if outs == nil { // a program that only has its input
		x := m.input(1, 2)
		outs = m.try("relu", "x", x)
	}
	m.g.Output(outs...)
	return exact
}

// unknownExtent is an extent that runs choose if a model has no default.
const unknownExtent = 2

// loosen makes an extent of an input unknown where the operations allow it, with a range or a list of shapes.
func loosen(f *ir.Func, c *choices) {
	var inputs []*ir.Value
	for _, v := range f.Body.Params {
		if v.Type.Kind == ir.Tensor && v.Type.Rank() > 0 {
			inputs = append(inputs, v)
		}
	}
	if len(inputs) == 0 {
		return
	}
	v := pick(c, inputs...)
	shape, axis := v.Type.Shape, c.n(v.Type.Rank())
	with := func(d int64) []int64 {
		s := slices.Clone(shape)
		s[axis] = d
		return s
	}
	was := types(f)
	other := shape[axis] + 1
	enumerated := c.yes()
	v.Type = v.Type.WithShape(with(other)...)
	if enumerated && !infers(f) {
		was.restore()
		return
	}
	was.restore()
	v.Type = v.Type.WithShape(with(ir.Unknown)...)
	if !infers(f) {
		was.restore()
		return
	}
	unknown := types(f)
	v.Type = v.Type.WithShape(with(unknownExtent)...)
	open := !enumerated && c.n(3) == 0 && shape[axis]+3 >= unknownExtent && infers(f) && runs(f, was, unknown)
	unknown.restore()
	if !open {
		f.Flex.Default = map[string][]int64{v.Name: shape}
	}
	if enumerated {
		f.Flex.Enums = []map[string][]int64{{v.Name: shape}, {v.Name: with(other)}}
		return
	}
	ranges := make([][2]int64, len(shape))
	for i, d := range shape {
		ranges[i] = [2]int64{d, d}
	}
	ranges[axis] = [2]int64{1, shape[axis] + 3}
	f.Flex.Ranges = map[string][][2]int64{v.Name: ranges}
}

// runs reports whether operations whose types are inferred also accept the values, where types have changed: those that
// need an element have one, constant lengths are still in range, and a state has a value of known extents.
func runs(f *ir.Func, was, unknown typing) bool {
	ok := true
	ir.Walk(f, func(op *ir.Op) {
		changed := false
		op.Operands(func(_ *ir.Param, v *ir.Value) {
			if v.IsConst() {
				return
			}
			changed = changed || !v.Type.Equal(was[v])
			ok = ok && (v.Type.Elems() != 0 || was[v].Elems() == 0) &&
				(op.Def.Class != ir.StateAccess || unknown[v].Static())
		})
		ok = ok && !(changed && op.Is(ir.OpReverseSequence))
	})
	return ok
}

// typing is the types of a function's values.
type typing map[*ir.Value]ir.Type

func types(f *ir.Func) typing {
	t := typing{}
	for _, v := range f.Body.Params {
		t[v] = v.Type
	}
	ir.Walk(f, func(op *ir.Op) {
		for _, v := range op.Results {
			t[v] = v.Type
		}
	})
	return t
}

func (t typing) restore() {
	for v, typ := range t {
		v.Type = typ
	}
}

// infers infers all types of a function again, and reports whether its operations accept them and keep the ranks of
// their results. It rejects functions with nested blocks, and with operations whose other arguments have to suit an
// extent that their shape rule does not look at.
func infers(f *ir.Func) bool {
	for _, op := range f.Body.Ops {
		if len(op.Blocks) > 0 || op.Def.Class == ir.Listing || op.Is(ir.OpClassify, ir.OpCropResize, ir.OpAffine) {
			return false
		}
		ts, err := ir.InferOp(op)
		if err != nil {
			return false
		}
		for i, t := range ts {
			if t.Rank() != op.Results[i].Type.Rank() {
				return false
			}
			op.Results[i].Type = t
		}
	}
	return true
}
