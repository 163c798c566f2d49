package driver

import (
	"encoding/binary"
	"slices"
	"time"
)

// debugProcessor is a registered debug work processor: a queue of completed requests for a debugger in user space. The
// contents of an item are modelled.
type debugProcessor struct {
	buf   []byte
	depth int
	items []debugItem
	next  uint64
}

// debugItem is written to the processor's buffer as five words of eight bytes.
type debugItem struct {
	id, job, token uint64
	result         Return
	at             time.Duration
	taken          bool
}

// debugItemSize is the size of an item in the buffer, modelled.
const debugItemSize = 40

// gateDebug is the check of every debug selector: the build is internal (table 27.9: the property gates the debug
// surfaces) and the client may read data (that this is the data-access grant is modelled).
func (c *client) gateDebug(a *IOExternalMethodArguments) Return {
	if _, r := c.session(a); r != Success {
		return r
	}
	if !c.d.properties.InternalBuild {
		return c.failf(a, Unsupported, "driver: the debug work processor exists only in internal builds; this is "+
			"a release build")
	}
	if !c.info.DataAccess {
		return c.failf(a, NotPrivileged, "driver: the debug work processor needs %s", Entitlements[5].Key)
	}
	return Success
}

// withProcessor checks the gate and calls f with the registered processor and the client's lock held.
func (c *client) withProcessor(a *IOExternalMethodArguments, do func(p *debugProcessor) Return) Return {
	if r := c.gateDebug(a); r != Success {
		return r
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.debug.Load()
	if p == nil {
		return c.failf(a, NotFound, "driver: no debug work processor is registered")
	}
	return do(p)
}

// registerDebugWorkProcessor is selector 11.
func (c *client) registerDebugWorkProcessor(a *IOExternalMethodArguments) Return {
	if r := c.gateDebug(a); r != Success {
		return r
	}
	var args debugArgs
	if err := debugIn.decode(a.StructureInput, &args); err != nil {
		return c.fail(a, BadArgument, err)
	}
	buf, ok := c.task.memory(args.addr, args.size)
	if !ok {
		return c.failf(a, BadArgument, "driver: ANEDebugWorkProcessorArgs, byte 0x0: no %d bytes of the task at %#x",
			args.size, args.addr)
	}
	if args.depth == 0 || uint64(args.depth) > uint64(len(buf))/debugItemSize || args.depth > MaxQueueDepth {
		return c.failf(a, BadArgument, "driver: ANEDebugWorkProcessorArgs, byte 0x10, items is %d, want 1 to %d, %d "+
			"bytes each in a buffer of %d", args.depth, MaxQueueDepth, debugItemSize, len(buf))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.debug.Load() != nil {
		return c.failf(a, Busy, "driver: a debug work processor is already registered")
	}
	c.debug.Store(&debugProcessor{buf: buf, depth: int(args.depth)})
	return Success
}

// unregisterDebugWorkProcessor is selector 12.
func (c *client) unregisterDebugWorkProcessor(a *IOExternalMethodArguments) Return {
	if r := c.gateDebug(a); r != Success {
		return r
	}
	if c.debug.Swap(nil) == nil {
		return c.failf(a, NotFound, "driver: no debug work processor is registered")
	}
	return Success
}

// getDebugWorkProcessorItem is selector 13: it writes the oldest item not yet taken to a slot of the buffer. The
// scalars are the slot and zero (modelled).
func (c *client) getDebugWorkProcessorItem(a *IOExternalMethodArguments) Return {
	return c.withProcessor(a, func(p *debugProcessor) Return {
		place := a.ScalarInput[0]
		if place >= uint64(p.depth) || a.ScalarInput[1] != 0 {
			return c.failf(a, BadArgument, "driver: scalars are (%d, %d), want a slot below %d, and 0", place,
				a.ScalarInput[1],
				p.depth)
		}
		i := slices.IndexFunc(p.items, func(x debugItem) bool { return !x.taken })
		if i < 0 {
			return c.failf(a, NotReady, "driver: the debug work queue is empty")
		}
		x := &p.items[i]
		x.taken = true
		b := p.buf[place*debugItemSize:]
		for k, v := range [...]uint64{x.id, x.job, x.token, uint64(x.result), uint64(x.at)} {
			binary.LittleEndian.PutUint64(b[8*k:], v)
		}
		return Success
	})
}

// completeDebugWorkProcessorItem is selector 14: it completes a taken item. The scalars are its identifier and status
// (modelled).
func (c *client) completeDebugWorkProcessorItem(a *IOExternalMethodArguments) Return {
	return c.withProcessor(a, func(p *debugProcessor) Return {
		i := slices.IndexFunc(p.items, func(x debugItem) bool { return x.taken && x.id == a.ScalarInput[0] })
		if i < 0 {
			return c.failf(a, NotFound, "driver: item %d was not taken", a.ScalarInput[0])
		}
		p.items = slices.Delete(p.items, i, i+1)
		return Success
	})
}

// releaseDebugWorkProcessorBuffers is selector 15: it drops all items.
func (c *client) releaseDebugWorkProcessorBuffers(a *IOExternalMethodArguments) Return {
	return c.withProcessor(a, func(p *debugProcessor) Return {
		p.items = nil
		return Success
	})
}

// debugWork queues a completed request. Items beyond the depth are lost.
func (c *client) debugWork(k *call, r Return) {
	p := c.debug.Load()
	if p == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(p.items) < p.depth {
		p.next++
		p.items = append(p.items, debugItem{
			id:     p.next,
			job:    uint64(k.job),
			token:  k.req.token,
			result: r,
			at:     c.d.clock.Now(),
		})
	}
}

// RegisterDebugWorkProcessor registers a buffer that receives completed requests, at most depth at once: selector 11.
// Only an internal build has the debug work processor. The bytes must stay unchanged until Close.
func (s *Services) RegisterDebugWorkProcessor(buf []byte, depth uint32) error {
	return send(s, controlClass, "ANE_RegisterDebugWorkProcessor", SelRegisterDebugWP, &debugIn,
		&debugArgs{addr: s.task.Map(buf), size: uint64(len(buf)), depth: depth})
}
