package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// state is the memory of a state, shared by all configurations of a function.
type state struct {
	typ ir.Type
	mem *Buffer // of the size of typ; nil: all zeros, not yet allocated
}

// buffer returns the memory.
func (s *state) buffer() *Buffer {
	if s.mem == nil {
		s.mem = NewBuffer(make([]byte, s.typ.Bytes()))
	}
	return s.mem
}

// data returns the memory on the host, which must be allocated.
func (s *state) data() []byte {
	n := s.typ.Bytes()
	return s.mem.data[:n:n]
}

// shareStates sets the states of every function.
func (m *Machine) shareStates() error {
	shared := map[string]map[string]*state{} // by function and name
	for _, f := range m.funcs {
		if shared[f.base()] == nil {
			shared[f.base()] = map[string]*state{}
		}
		f.states = shared[f.base()]
		for _, id := range f.States {
			op := &f.Operands[id]
			typ := typeOf(&op.Desc)
			s := f.states[op.Name]
			switch {
			case typ.Bytes() < 0:
				return loadf("descriptor", "function %q: state %q is %s, whose size is not known", f.Name, op.Name, typ)
			case s == nil:
				f.states[op.Name] = &state{typ: typ}
			case !s.typ.Equal(typ):
				return loadf("descriptor", "function %q: state %q is %s, and %s in another configuration", f.Name,
					op.Name, typ, s.typ)
			}
		}
	}
	return nil
}

// Stateful reports whether a function, or one of its configurations, has states.
func (m *Machine) Stateful(name string) bool {
	return slices.ContainsFunc(m.funcs, func(f *function) bool { return f.Name == name && len(f.States) > 0 })
}

// States returns the states of the chosen function in order.
func (m *Machine) States() []Port { return m.fn.ports(m.fn.States) }

func (m *Machine) state(name string) (*state, error) {
	if s := m.fn.states[name]; s != nil {
		return s, nil
	}
	var names []string
	for _, p := range m.States() {
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("function %q has no state %q; it has %s", m.fn.Name, name, cmp.Or(strings.Join(names, ", "),
		"none"))
}

// State returns the value of a state of the chosen function.
func (m *Machine) State(name string) (interp.Tensor, error) {
	s, err := m.state(name)
	if err != nil {
		return interp.Tensor{}, err
	}
	return interp.Tensor{Type: s.typ, Data: slices.Clone(s.buffer().Read()[:s.typ.Bytes()])}, nil
}

// SetState copies a tensor into a state of the chosen function.
func (m *Machine) SetState(name string, t interp.Tensor) error {
	s, err := m.state(name)
	if err != nil {
		return err
	}
	if !t.Type.Equal(s.typ) {
		return fmt.Errorf("state %q is %s, got %s", name, s.typ, t.Type)
	}
	copy(s.buffer().Bytes(), t.Data)
	return nil
}

// BindState makes the first bytes of a buffer the memory of a state of the chosen function, in all its configurations.
// They are set to the current value of the state.
func (m *Machine) BindState(name string, b *Buffer) error {
	s, err := m.state(name)
	if err != nil {
		return err
	}
	n := int(s.typ.Bytes())
	if n > b.Size() {
		return fmt.Errorf("state %q is %s of %d bytes; the buffer has %d", name, s.typ, n, b.Size())
	}
	copy(b.Bytes(), s.buffer().Read()[:n])
	s.mem = b
	return nil
}

// Reset sets the states of all functions to zeros.
func (m *Machine) Reset() {
	for _, f := range m.funcs {
		for _, s := range f.states {
			if s.mem != nil {
				clear(s.mem.Bytes()[:s.typ.Bytes()])
			}
		}
	}
}
