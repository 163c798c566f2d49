package irgen

import (
	"cmp"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// A row writes one operation of the registry on operands of any type that it accepts, or nothing if the choices do not
// suit. The operation may need others around it.
type row func(m *maker, op *ir.Operation) []*ir.Value

// inputTypes are the element types of inputs; types that are drawn more often are listed several times. Values of other
// types are cast from inputs.
var inputTypes = []ir.DType{ir.FP16, ir.FP16, ir.FP16, ir.FP32, ir.FP32, ir.Int32}

// castTypes are the element types that a cast returns.
var castTypes = []ir.DType{ir.Bool, ir.Int8, ir.UInt8, ir.Int16, ir.UInt16, ir.Int32, ir.FP16, ir.FP32}

// fromRegistry writes operation op of the registry, and keeps its results for later operations.
func (m *maker) fromRegistry(op *ir.Operation) bool {
	m.float = pick(m.choices, ir.FP16, ir.FP16, ir.FP32)
	vs := attempt(func() []*ir.Value { return rows[op](m, op) })
	m.keep(vs)
	return len(vs) > 0
}

// keep adds values to those that later operations may take.
func (m *maker) keep(vs []*ir.Value) {
	for _, v := range vs {
		if n := v.Type.Elems(); v.Type.Kind == ir.Tensor && n > 0 && n <= MaxElems && v.Type.DType != ir.String {
			m.vals = append(m.vals, v)
		}
	}
}

// def is the form of an operation in the program's operation set.
func (m *maker) def(op *ir.Operation) *ir.OpDef { return m.g.Def(op.Name) }

// has reports whether an operation has a parameter in the program's operation set.
func (m *maker) has(op *ir.Operation, p ir.ParamName) bool {
	d := m.def(op)
	return d != nil && d.ParamIndex(p) >= 0
}

// types are the element types that a parameter takes.
func (m *maker) types(op *ir.Operation, p ir.ParamName) ir.DTypes {
	if d := m.def(op); d != nil && d.ParamIndex(p) >= 0 {
		return d.Params[d.ParamIndex(p)].Types
	}
	return 0
}

// want says which operands are looked for.
type want struct {
	types       ir.DTypes
	least, most int  // ranks
	smooth      bool // on which two correct runs agree exactly
	fits        func(shape []int64) bool
}

func (w *want) suits(m *maker, v *ir.Value) bool {
	r := v.Type.Rank()
	return w.types.Has(v.Type.DType) && v.Type.Static() && r >= w.least && r <= w.most &&
		!(w.smooth && m.rough[v]) && (w.fits == nil || w.fits(v.Type.Shape))
}

// operand returns a suitable value of the program, more often a recent one, or a new one. It gives up if no shape fits.
func (m *maker) operand(w want) *ir.Value {
	v := m.find(w)
	if v == nil {
		giveUp()
	}
	return v
}

// find is like operand but returns nil if no shape fits.
func (m *maker) find(w want) *ir.Value {
	w.most = cmp.Or(w.most, 5)
	if m.n(4) > 0 && !m.anyType {
		for i := len(m.vals) - 1; i >= 0; i-- {
			if v := m.vals[i]; w.suits(m, v) && m.n(4) > 0 {
				return v
			}
		}
	}
	shape := m.shapeOf(w.least + m.n(w.most-w.least+1))
	for i := 0; w.fits != nil && !w.fits(shape); i++ {
		if i == 20 {
			return nil
		}
		shape = m.shapeOf(w.least + m.n(w.most-w.least+1))
	}
	return m.newOf(w.types, shape...)
}

// newOf adds an input of one of several types, or casts one to it.
func (m *maker) newOf(types ir.DTypes, shape ...int64) *ir.Value {
	if t := pick(m.choices, inputTypes...); !m.anyType && types.Has(t) && (!t.IsFloat() || types.Has(m.float)) &&
		m.n(3) > 0 {
		if t.IsFloat() {
			t = m.float
		}
		return m.g.InputOf(t, shape...)
	}
	var all []ir.DType
	for _, t := range castTypes {
		if types.Has(t) {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		giveUp()
	}
	t := pick(m.choices, all...)
	if slices.Contains(inputTypes, t) {
		return m.g.InputOf(t, shape...)
	}
	if t == ir.Bool && m.n(3) > 0 {
		x := m.g.InputOf(pick(m.choices, inputTypes...), shape...)
		return m.do(pick(m.choices, "greater", "less_equal", "not_equal"), "x", x, "y", m.number(x, 0.5))
	}
	x := m.g.InputOf(ir.Int32, shape...) // small numbers, which every type has
	if vs := m.try("cast", "x", x, "dtype", t.String()); vs != nil {
		return vs[0]
	}
	// Before ios17 a cast returns fewer types.
	return m.do("not_equal", "x", x, "y", m.number(x, 1))
}

// number returns a constant of the type of x.
func (m *maker) number(x *ir.Value, v float64) *ir.Value {
	t := x.Type.DType
	return m.g.Const(&ir.Const{Type: ir.Scalar(t), Data: ir.AppendElem(nil, t, v)})
}

// like returns a constant or an input of the type of x and another shape, or a value that the program has.
func (m *maker) like(x *ir.Value, shape ...int64) *ir.Value {
	t := x.Type.DType
	switch m.n(4) {
	case 0:
		return m.constant(t, shape...)
	case 1, 2:
		for i := len(m.vals) - 1; i >= 0; i-- {
			if v := m.vals[i]; v.Type.DType == t && slices.Equal(v.Type.Shape, shape) && m.yes() {
				return v
			}
		}
	}
	return m.newOf(ir.DTypesOf(t), shape...)
}

// constant returns a constant of any type: normal numbers, or small integers.
func (m *maker) constant(t ir.DType, shape ...int64) *ir.Value {
	if t.IsFloat() {
		return m.g.WeightsOf(t, shape...)
	}
	k := int64(1 + m.n(7))
	return m.g.Filled(t, func(i int64) float64 {
		v := float64(i * k % 5)
		if t == ir.Bool {
			return float64(int64(v) % 2)
		}
		return v
	}, shape...)
}

// maybe adds some of several arguments, each with its name, to args.
func (m *maker) maybe(args []any, more ...any) []any {
	for i := 0; i+1 < len(more); i += 2 {
		if m.yes() {
			args = append(args, more[i], more[i+1])
		}
	}
	return args
}

// between keeps the numbers of x within bounds; integers are left as they are.
func (m *maker) between(x *ir.Value, low, high float64) *ir.Value {
	if !x.Type.DType.IsFloat() {
		return x
	}
	return m.do("clip", "x", x, "alpha", low, "beta", high)
}

// positiveOf returns |x| + 0.5, of integers |x| + 1.
func (m *maker) positiveOf(x *ir.Value) *ir.Value {
	x = m.do("abs", "x", x)
	least := 0.5
	if !x.Type.DType.IsFloat() {
		least = 1
	}
	return m.do("add", "x", x, "y", m.number(x, least))
}

// indices returns a constant of integers below a limit, of one of the types of a parameter.
func (m *maker) indices(types ir.DTypes, below int64, shape ...int64) *ir.Value {
	t := ir.Int32
	if o := pick(m.choices, ir.Int8, ir.UInt8, ir.Int16, ir.UInt16, ir.Int32); types.Has(o) && below <= 127 {
		t = o
	}
	if t == ir.Int32 && below > 3 && m.n(3) == 0 { // inputs contain numbers from 0 to 3
		return m.g.InputOf(t, shape...)
	}
	k := int64(1 + m.n(7))
	return m.g.Filled(t, func(i int64) float64 { return float64(i * k % below) }, shape...)
}

// fromRegistries returns a program of several operations of the registry, the first of them number k.
func (m *maker) fromRegistries(k int) string {
	m.registry, m.anyType = true, m.n(4) == 0
	names := ""
	for range 1 + m.n(4) {
		op := ir.Operations[k%len(ir.Operations)]
		if m.def(op) != nil && m.fromRegistry(op) {
			names += op.Name + " "
		}
		k = m.n(256) + m.n(2)*256
	}
	return names
}
