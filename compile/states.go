package compile

import (
	"fmt"

	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/ir"
)

// visible returns the results that the source names; the new contents of states come after them.
func (c *chain) visible() []*ir.Value {
	return c.u.state.Func.Body.Outputs[:c.u.state.VisibleOutputs]
}

// params creates the operands of the function's parameters. A state's buffer is kept between calls; the buffers come
// after the container in the engine's map, each on a stride of its own.
func (c *chain) params(fn *ir.Func) error {
	isState := map[*ir.Value]bool{}
	for _, st := range c.u.state.States {
		isState[st.Value] = true
	}
	at := firstState(c.d.end)
	for _, v := range fn.Body.Params {
		a := e5.HostInput
		if isState[v] {
			a = e5.HostState
		}
		id, err := c.operand(v, a)
		if err != nil {
			return err
		}
		c.host[v] = id
		if !isState[v] {
			c.f.Inputs = append(c.f.Inputs, id)
			continue
		}
		port := &c.f.Operands[id].Port
		port.ApertureVA = at
		at += max((port.ByteSize+e5.StateStride-1)&^(e5.StateStride-1), e5.StateStride)
		c.f.States = append(c.f.States, id)
		c.states = append(c.states, id)
	}
	c.planStates()
	return nil
}

// planStates finds the new values that may be written straight to the buffer of their state: those computed after the
// last read of the buffer's old content.
func (c *chain) planStates() {
	made := map[*ir.Value]int{}
	read := map[*ir.Value]int{}
	unit := map[*ir.Value]ir.Unit{}
	for i, st := range c.u.state.Partitions {
		for _, v := range st.Outputs {
			made[v], unit[v] = i, st.Unit
		}
		for _, v := range st.Inputs {
			// A reader of a conversion may read its operand instead, so that operand counts as read at this step too.
			for {
				read[v] = i
				if v.Def == nil || v.Def.Place.Unit != ir.Transfer {
					break
				}
				v = v.Def.Arg(ir.ParamX)
			}
		}
	}
	outs := c.u.state.Func.Body.Outputs
	after := map[*ir.Value]int{} // states that take it as their new value
	for _, st := range c.u.state.States {
		if st.Result >= 0 {
			after[outs[st.Result]]++
		}
	}
	for k, st := range c.u.state.States {
		if st.Result < 0 {
			continue
		}
		v := outs[st.Result]
		_, isMade := made[v]
		if (isMade || v.IsConst()) && !c.outs[v] && after[v] == 1 && !c.outs[st.Value] && after[st.Value] == 0 &&
			(v.IsConst() || read[st.Value] <= made[v]) {
			c.direct[v] = c.states[k]
			c.want[v] = true
		} else if unit[v] != ir.Engine {
			c.want[v] = true
		}
	}
}

// heldStates handles states whose new value is the old content of another state: it returns a copy of that content for
// each, because the other buffer may be written first.
func (c *chain) heldStates() (map[*ir.Value]uint32, error) {
	held := map[*ir.Value]uint32{}
	outs := c.u.state.Func.Body.Outputs
	for _, st := range c.u.state.States {
		if st.Result < 0 {
			continue
		}
		v := outs[st.Result]
		id, ok := c.host[v]
		if _, done := held[v]; done || !ok || c.f.Operands[id].Aperture != e5.HostState || c.direct[v] == id &&
			c.has(v) {
			continue
		}
		to, err := c.operand(v, e5.Intermediate)
		if err != nil {
			return nil, err
		}
		c.cast(id, to)
		c.through = c.through[:0]
		c.noteState(&st, v)
		held[v] = to
	}
	return held, nil
}

// has reports whether v is written straight to the buffer of its state.
func (c *chain) has(v *ir.Value) bool { _, ok := c.direct[v]; return ok }

// keepStates writes the new values that are not yet in their states' buffers.
func (c *chain) keepStates(held map[*ir.Value]uint32) error {
	outs := c.u.state.Func.Body.Outputs
	for k, st := range c.u.state.States {
		if st.Result < 0 {
			continue
		}
		v := outs[st.Result]
		if c.has(v) {
			continue
		}
		c.through = c.through[:0]
		from, ok := held[v]
		if !ok {
			from, ok = c.surf[v]
		}
		if !ok {
			var err error
			if from, err = c.source(v); err != nil {
				return fmt.Errorf("state %q: %w", st.Name, err)
			}
		}
		c.cast(from, c.states[k])
		c.noteState(&st, v)
	}
	return nil
}
