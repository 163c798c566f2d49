package compile

import (
	"github.com/zinc-compiler/zinc/compile/provenance"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
)

// note records what the last operation of the chain came from: the values, the operations and the origins, and the
// conversions that were skipped on the way.
func (c *chain) note(rule string, ns ...provenance.NodeID) {
	r := c.d.prov
	if r == nil {
		return
	}
	ns = append(ns, r.opList(c.through)...)
	index := c.ops
	c.ops++
	b := &c.f.Blocks[len(c.f.Blocks)-1]
	op := &b.Operations[len(b.Operations)-1]
	r.db.Operations = append(r.db.Operations, provenance.Operation{
		Func:  c.u.name,
		Index: uint32(index),
		Name:  op.Name,
		Kind:  op.Type.String(),
		Rule:  rule,
		Node:  r.join(passPartition, ns...),
	})
}

// noteWith adds to the last note the constants that its operations name.
func (c *chain) noteWith(n provenance.NodeID) {
	ops := c.d.prov.db.Operations
	ops[len(ops)-1].With = n
}

// madeOf returns the node of a value, or none without a recorder.
func (c *chain) madeOf(v *ir.Value) provenance.NodeID {
	if c.d.prov == nil {
		return 0
	}
	return c.d.prov.value(v)
}

// heldBy returns the node of the state whose buffer v is written to directly, or none if there is no such state.
func (c *chain) heldBy(v *ir.Value) provenance.NodeID {
	r := c.d.prov
	id, ok := c.direct[v]
	if r == nil || !ok {
		return 0
	}
	for k, st := range c.u.state.States {
		if c.states[k] == id {
			return r.node(st.Origin)
		}
	}
	return 0
}

// noteState is note for the operation that writes v to the buffer of a state.
func (c *chain) noteState(st *passes.StateBuffer, v *ir.Value) {
	if r := c.d.prov; r != nil {
		c.note(RuleState, r.node(st.Origin), r.value(v))
	}
}
