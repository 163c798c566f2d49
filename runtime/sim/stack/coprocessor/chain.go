package coprocessor

import (
	"slices"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// chain is the state of a resident cache request between executions: the output set of one is the input set of the
// next, without the host. The k-th output buffer becomes the k-th input buffer if both have the same size; the
// register's next output goes to its recycled buffer, and if inputs have read that buffer, they read what the register
// has written next; inputs in a trigger take precedence. (The chapters do not say which output feeds which input.)
//
// A chained buffer is both written and read, so the host maps it for both.
type chain struct {
	header  protocol.Header // of the install
	inputs  []protocol.Buffer
	outputs []protocol.Buffer

	read, written []protocol.Buffer // of the last execution
}

// installed answers an install with the handler.
func (b *boot) installed(d *protocol.Delivery, a *answer) error {
	r := d.Request
	if r == nil {
		return refusef(StatusMalformed, "the install has no request")
	}
	b.chains[r.Handler] = &chain{
		header:  r.Header,
		inputs:  append([]protocol.Buffer(nil), r.Call.Inputs...),
		outputs: append([]protocol.Buffer(nil), r.Call.Outputs...),
	}
	a.reply = []uint64{r.Handler}
	return nil
}

// trigger triggers a resident request.
func (b *boot) trigger(d *protocol.Delivery, a *answer) error {
	t, ok := d.Body.(*protocol.Trigger)
	if !ok || d.Request == nil || b.chains[t.Handler] == nil {
		return refusef(StatusDropped, "the trigger names no resident request")
	}
	err := b.accept(d, a, b.chains[t.Handler], t)
	if err != nil {
		// For the protocol the request is triggered; it ends without having run.
		_ = b.rings.Cache().Complete(t.Handler)
		_ = b.rings.Cache().Recycle(t.Handler)
	}
	return err
}

// apply sets the chain's buffers in a trigger's call.
func (c *chain) apply(call *protocol.ProcedureCall, t *protocol.Trigger) {
	call.Outputs = append([]protocol.Buffer(nil), c.outputs...)
	call.Inputs = append([]protocol.Buffer(nil), c.inputs...)
	for _, x := range t.Inputs {
		put(&call.Inputs, x)
	}
}

// put replaces the buffer of a register, or adds it.
func put(bs *[]protocol.Buffer, x protocol.Buffer) {
	for i := range *bs {
		if (*bs)[i].BarID == x.BarID {
			(*bs)[i] = x
			return
		}
	}
	*bs = append(*bs, x)
}

// chainCompleted ends an execution of a chain: the output set becomes the next input set, and the host is notified of
// the stage.
func (b *boot) chainCompleted(j *job) {
	if j.status == StatusOK {
		c := j.chain
		c.read = append(c.read[:0], j.call.Inputs...)
		c.written = append(c.written[:0], j.call.Outputs...)
		for i, x := range j.call.Outputs {
			if i < len(c.inputs) && c.inputs[i].Size == x.Size {
				c.inputs[i].Buffer = x.Buffer
			}
		}
	}
	cache := b.rings.Cache()
	_ = cache.Complete(j.handler) // fails if it has been invalidated meanwhile
	if j.status != StatusOK {
		_ = cache.Recycle(j.handler) // the host has no output to consume
	}
	if _, live := cache.Request(j.handler); !live {
		delete(b.chains, j.handler)
	}
	b.note(&protocol.Rows[protocol.IDChainingEvent], j.header, j.handler, 0, j.stamp, uint64(j.status))
}

// recycled records where the next output of a register goes.
func (b *boot) recycled(d *protocol.Delivery, _ *answer) error {
	r := record(d)
	c := b.chains[r.Value("cacheHandler")]
	if c == nil {
		return refusef(StatusDropped, "the buffer does not belong to a resident request")
	}
	x := protocol.Buffer{
		Type:   protocol.OutputBuffer,
		BarID:  uint32(r.Value("buffer.barId")),
		Buffer: r.Value("buffer.buffer"),
		Size:   r.Value("buffer.size"),
	}
	if x.Buffer != 0 {
		c.exchange(x)
		put(&c.outputs, x)
	}
	return nil
}

// exchange feeds the inputs that have read a recycled buffer with what its register has written.
func (c *chain) exchange(x protocol.Buffer) {
	i := slices.IndexFunc(c.written, func(w protocol.Buffer) bool { return w.BarID == x.BarID && w.Buffer != x.Buffer })
	if i < 0 {
		return
	}
	for _, in := range c.read {
		if in.Buffer == x.Buffer {
			in.Buffer = c.written[i].Buffer
			put(&c.inputs, in)
		}
	}
}

func (b *boot) invalidated(d *protocol.Delivery, _ *answer) error {
	h := record(d).Value("cacheHandler")
	if _, live := b.rings.Cache().Request(h); !live {
		delete(b.chains, h)
	}
	return nil
}

func (b *boot) forceDisabled(*protocol.Delivery, *answer) error {
	for h := range b.chains {
		if _, live := b.rings.Cache().Request(h); !live {
			delete(b.chains, h)
		}
	}
	return nil
}
