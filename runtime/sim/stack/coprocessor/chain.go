package coprocessor

import (
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
)

// chain is a resident cache request as its executions leave it: the output set
// of one is the input set of the next, without the host. The k-th output buffer
// becomes the k-th input buffer where both have the same bytes; inputs that a
// trigger brings are before that; a recycled buffer is where the register's
// next output goes (which output feeds which input, the chapters do not say).
//
// A chained buffer is written and read, so the host maps it as one that may be
// both.
type chain struct {
	header  protocol.Header // of the install
	inputs  []protocol.Buffer
	outputs []protocol.Buffer
}

// installed answers an install with the handler.
func (b *boot) installed(d *protocol.Delivery, a *answer) error {
	r := d.Request
	if r == nil {
		return refusef(StatusMalformed, "an install has no request")
	}
	b.chains[r.Handler] = &chain{
		header:  r.Header,
		inputs:  append([]protocol.Buffer(nil), r.Call.Inputs...),
		outputs: append([]protocol.Buffer(nil), r.Call.Outputs...),
	}
	a.reply = []uint64{r.Handler}
	return nil
}

// trigger fires a resident request.
func (b *boot) trigger(d *protocol.Delivery, a *answer) error {
	t, ok := d.Body.(*protocol.Trigger)
	if !ok || d.Request == nil || b.chains[t.Handler] == nil {
		return refusef(StatusDropped, "the trigger names no resident request")
	}
	err := b.accept(d, a, b.chains[t.Handler], t)
	if err != nil {
		// The request is triggered for the protocol; it ends without having run.
		_ = b.rings.Cache().Complete(t.Handler)
		_ = b.rings.Cache().Recycle(t.Handler)
	}
	return err
}

// apply gives a trigger's call the buffers of the chain.
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

// chainCompleted ends an execution of a chain: the output set becomes the next
// input set, and the host is told of the stage.
func (b *boot) chainCompleted(j *job) {
	if j.status == StatusOK {
		c := j.chain
		for i, x := range j.call.Outputs {
			if i < len(c.inputs) && c.inputs[i].Size == x.Size {
				c.inputs[i].Buffer = x.Buffer
			}
		}
	}
	cache := b.rings.Cache()
	_ = cache.Complete(j.handler) // invalidated meanwhile, it is gone already
	if j.status != StatusOK {
		_ = cache.Recycle(j.handler) // nothing was written for the host to consume
	}
	if _, live := cache.Request(j.handler); !live {
		delete(b.chains, j.handler)
	}
	b.note(&protocol.Rows[protocol.IDChainingEvent], j.header, j.handler, 0, j.stamp, uint64(j.status))
}

// recycled notes where the next output of a register goes.
func (b *boot) recycled(d *protocol.Delivery, _ *answer) error {
	r := record(d)
	c := b.chains[r.Value("cacheHandler")]
	if c == nil {
		return refusef(StatusDropped, "the buffer belongs to no resident request")
	}
	x := protocol.Buffer{
		Type:   protocol.OutputBuffer,
		BarID:  uint32(r.Value("buffer.barId")),
		Buffer: r.Value("buffer.buffer"),
		Size:   r.Value("buffer.size"),
	}
	if x.Buffer != 0 {
		put(&c.outputs, x)
	}
	return nil
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
