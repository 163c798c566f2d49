package e5

import "slices"

// Limits of a chain, the same as of a submission. No source states either; both are modelled.
const (
	// MaxChain is the number of inferences: the sub-packets of the firmware's inference call.
	MaxChain = 32
	// MaxChainPorts is the number of inputs, and of outputs, of all inferences: the places of the driver's request.
	MaxChainPorts = 128
)

// Chain is a run of inferences that the firmware executes one after another for one submission, without the host: only
// casts that pass a surface on are between them.
type Chain struct {
	Inferences []int // indices of the operations, counted through the blocks
	// HandedIn and HandedOut are the bytes of the surfaces that the host fills before the chain, and of those that it
	// empties after it. Surfaces of states stay where they are, and are not counted.
	HandedIn, HandedOut uint64
}

// Passes returns the casts that move nothing, by index of the operation: both operands are surfaces of one layout, and
// nothing else writes either, so the reader can have the memory of the writer.
func (f *Function) Passes() map[int]bool {
	writes := map[string]int{} // by port: operations that write the surface
	f.each(func(_ int, op *Operation) {
		for _, id := range op.Outputs {
			if o := &f.Operands[id]; o.Aperture == Surface {
				writes[o.Port.Name]++
			}
		}
	})
	out := map[int]bool{}
	f.each(func(i int, op *Operation) {
		if op.Type != Cast {
			return
		}
		from, to := &f.Operands[op.Inputs[0]], &f.Operands[op.Outputs[0]]
		if Alike(from, to) && from.Port.Name != to.Port.Name && writes[from.Port.Name] == 1 &&
			writes[to.Port.Name] == 1 {
			out[i] = true
		}
	})
	return out
}

// Alike reports whether two operands are surfaces of one layout and size.
func Alike(a, b *Operand) bool {
	return a.Aperture == Surface && b.Aperture == Surface && a.Desc.Storage == b.Desc.Storage &&
		max(a.Desc.ComponentPack, 1) == max(b.Desc.ComponentPack, 1) && slices.Equal(a.Desc.Dim, b.Desc.Dim) &&
		slices.Equal(a.Desc.Stride, b.Desc.Stride) && a.Port.ByteSize == b.Port.ByteSize
}

// Chains returns the chains of the function, in order. Every inference is in one of them.
func (f *Function) Chains() []Chain {
	passes := f.Passes()
	handed := f.handed(passes)
	var out []Chain
	var ports [2]int // inputs and outputs of the last chain
	var surfaces map[string]bool
	open := false
	f.each(func(i int, op *Operation) {
		if op.Type != AneInference {
			open = open && passes[i]
			return
		}
		if !open || len(out[len(out)-1].Inferences) == MaxChain || ports[0]+len(op.Inputs) > MaxChainPorts ||
			ports[1]+len(op.Outputs) > MaxChainPorts {
			out, ports, surfaces, open = append(out, Chain{}), [2]int{}, map[string]bool{}, true
		}
		c := &out[len(out)-1]
		c.Inferences = append(c.Inferences, i)
		ports[0] += len(op.Inputs)
		ports[1] += len(op.Outputs)
		add := func(sum *uint64, ids []uint32) {
			for _, id := range ids {
				if p := &f.Operands[id].Port; handed[p.Name] && !surfaces[p.Name] {
					surfaces[p.Name] = true
					*sum += p.ByteSize
				}
			}
		}
		add(&c.HandedIn, op.Inputs)
		add(&c.HandedOut, op.Outputs)
	})
	return out
}

// handed returns the ports whose surfaces the host fills or empties, except for states.
func (f *Function) handed(passes map[int]bool) map[string]bool {
	host, state := map[string]bool{}, map[string]bool{}
	f.each(func(i int, op *Operation) {
		if op.Type != Cast || passes[i] {
			return
		}
		from, to := &f.Operands[op.Inputs[0]], &f.Operands[op.Outputs[0]]
		for _, side := range [][2]*Operand{{from, to}, {to, from}} {
			if side[0].Aperture == Surface {
				host[side[0].Port.Name] = true
				state[side[0].Port.Name] = state[side[0].Port.Name] || side[1].Aperture == HostState
			}
		}
	})
	for port := range state {
		if state[port] {
			delete(host, port)
		}
	}
	return host
}

// each calls do for every operation with its index, counted through the blocks.
func (f *Function) each(do func(i int, op *Operation)) {
	n := 0
	for b := range f.Blocks {
		ops := f.Blocks[b].Operations
		for k := range ops {
			do(n, &ops[k])
			n++
		}
	}
}
