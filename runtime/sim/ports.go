package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// Port is an input or output of the compiled function.
type Port struct {
	Name string
	Type ir.Type
}

// Inputs returns the function's inputs in order.
func (m *Machine) Inputs() []Port { return m.fn.ports(m.fn.Inputs) }

// Accepts returns the function's inputs over all its configurations: a dimension that differs between them is unknown.
func (m *Machine) Accepts() []Port {
	ports := m.Inputs()
	for _, f := range m.funcs {
		if f.base() != m.fn.base() || len(f.Inputs) != len(ports) {
			continue
		}
		for i, p := range f.ports(f.Inputs) {
			if p.Type.Rank() != ports[i].Type.Rank() {
				continue
			}
			for k, d := range p.Type.Shape {
				if d != ports[i].Type.Shape[k] {
					ports[i].Type.Shape[k] = ir.Unknown
				}
			}
		}
	}
	return ports
}

// Outputs returns the function's outputs in order.
func (m *Machine) Outputs() []Port { return m.fn.ports(m.fn.Outputs) }

func (f *function) ports(ids []uint32) []Port {
	out := make([]Port, len(ids))
	for i, id := range ids {
		o := &f.Operands[id]
		out[i] = Port{o.Name, typeOf(&o.Desc)}
	}
	return out
}

func typeOf(d *e5.TensorDescriptor) ir.Type {
	dt, _ := ir.ParseDType(d.Storage.String())
	t := ir.Type{Kind: ir.Tensor, DType: dt}
	for _, n := range d.Dim {
		if n == e5.UnknownDim {
			t.Shape = append(t.Shape, ir.Unknown)
			continue
		}
		t.Shape = append(t.Shape, int64(n))
	}
	return t
}

// configuration returns the configuration of the chosen function that fits the inputs: the chosen one if its shapes fit
// or if it is the only one.
func (m *Machine) configuration(inputs map[string]interp.Tensor) *function {
	fits := func(f *function) bool {
		for _, id := range f.Inputs {
			o := &f.Operands[id]
			if t, ok := inputs[o.Name]; !ok || !t.Type.Fits(typeOf(&o.Desc)) {
				return false
			}
		}
		return true
	}
	if fits(m.fn) {
		return m.fn
	}
	for _, f := range m.funcs {
		if f.base() == m.fn.base() && fits(f) {
			return f
		}
	}
	return m.fn
}

// Configuration returns the name of the configuration of the chosen function that fits the inputs, or of the chosen one
// if none does.
func (m *Machine) Configuration(inputs map[string]interp.Tensor) string {
	return m.configuration(inputs).Name
}

// liveIn returns the type of shapes that differ in one dimension by a constant step, with its start, stop and step, as
// in tensor<fp16, [1, 8..64:8]>, or "" if the sorted types are not such a range.
func liveIn(types []ir.Type) string {
	if len(types) < 3 {
		return ""
	}
	first, second, last := types[0].Shape, types[1].Shape, types[len(types)-1].Shape
	at := 0
	for at < min(len(first), len(second)) && first[at] == second[at] {
		at++
	}
	if at == len(first) || at == len(second) || len(last) != len(first) {
		return ""
	}
	step := second[at] - first[at]
	dims := slices.Clone(first)
	for i, t := range types {
		dims[at] = first[at] + int64(i)*step
		if step <= 0 || !slices.Equal(t.Shape, dims) {
			return ""
		}
	}
	text := make([]string, len(dims))
	for i, n := range first {
		text[i] = fmt.Sprint(n)
	}
	text[at] = fmt.Sprintf("%d..%d:%d", first[at], last[at], step)
	return fmt.Sprintf("tensor<%s, [%s]>", types[0].DType, strings.Join(text, ", "))
}

// Takes lists the types that the configurations of the chosen function accept for an input, in order of size, or their
// range.
func (m *Machine) Takes(name string) string {
	var types []ir.Type
	for _, f := range m.funcs {
		for _, id := range f.Inputs {
			if o := &f.Operands[id]; f.base() == m.fn.base() && o.Name == name {
				types = append(types, typeOf(&o.Desc))
			}
		}
	}
	slices.SortStableFunc(types, func(a, b ir.Type) int { return slices.Compare(a.Shape, b.Shape) })
	if s := liveIn(types); s != "" {
		return s
	}
	var s []string
	for _, t := range types {
		if n := t.String(); !slices.Contains(s, n) {
			s = append(s, n)
		}
	}
	if n := len(s) - 1; n > 4 {
		return fmt.Sprintf("%s, %s or one of %d more up to %s", s[0], s[1], n-1, s[n])
	}
	return strings.Join(s, " or ")
}
