package driver

import (
	"fmt"
	"slices"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// userMapping is a buffer that a client has mapped through selector 5.
type userMapping struct {
	space *space
	token uint64
	m     *translation.Mapping
}

func (u *userMapping) release() {
	u.m.Release()
	_ = u.m.Unmap("memory unmap") // other mappings of the same buffer remain
}

// maxMappings bounds the mapped buffers of a client, modelled.
const maxMappings = 4096

// gateMemory checks the memory-access grant (that it grants mapping is modelled).
func (c *client) gateMemory() (Return, error) {
	if !c.info.MemoryAccess {
		return NotPrivileged, fmt.Errorf("driver: mapping memory needs %s", Entitlements[4].Key)
	}
	return Success, nil
}

// memoryArgs decodes and checks the arguments of selectors 5 and 6.
func (c *client) memoryArgs(a *IOExternalMethodArguments, args *memoryMapArgs) Return {
	if _, r := c.session(a); r != Success {
		return r
	}
	if r, err := c.gateMemory(); r != Success {
		return c.fail(a, r, err)
	}
	if err := memoryMapIn.decode(a.StructureInput, args); err != nil {
		return c.fail(a, BadArgument, err)
	}
	return Success
}

// addressSpace returns the address space of a program that the client may use, or with token 0 the client's own, with a
// reference for the caller.
func (c *client) addressSpace(token uint64) (*space, Return, error) {
	if token != 0 {
		i, r, err := c.find(token)
		if r != Success {
			return nil, r, err
		}
		if i.gone.Load() || i.p.space == nil {
			return nil, NotFound, fmt.Errorf("driver: token %#x was destroyed", token)
		}
		c.d.keep(i.p.space)
		return i.p.space, Success, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() || c.token.Load() == 0 {
		return nil, Closed, errClosed
	}
	if c.space == nil {
		c.space = c.d.newSpace(c)
	}
	c.d.keep(c.space)
	return c.space, Success, nil
}

// hostBuffer returns the buffer that ranges describe. They must be contiguous in memory that the task mapped in one
// call.
func (c *client) hostBuffer(args *memoryMapArgs) ([]byte, Return, error) {
	if args.surface != 0 {
		if args.count != 0 {
			return nil, BadArgument, fmt.Errorf(
				"driver: ANEMemoryMapRequestArgs: got both a surface and ranges, want one of them")
		}
		b, ok := c.task.surface(args.surface)
		if !ok {
			return nil, NotFound, fmt.Errorf("driver: the task has no surface %#x", args.surface)
		}
		return b, Success, nil
	}
	if args.count == 0 || args.count > maxRanges {
		return nil, BadArgument, fmt.Errorf("driver: ANEMemoryMapRequestArgs, byte 0xc, ranges is %d, want 1 to %d",
			args.count, maxRanges)
	}
	first, size := args.ranges[0].Addr, uint64(0)
	for i, r := range args.ranges[:args.count] {
		if r.Size == 0 || r.Size > userEnd || r.Addr != first+size {
			return nil, BadArgument, fmt.Errorf(
				"driver: ANEMemoryMapRequestArgs, byte %#x: range %d is not contiguous with the one before it", 0x20+
					16*i, i)
		}
		size += r.Size
	}
	b, ok := c.task.memory(first, size)
	if !ok {
		return nil, BadArgument, fmt.Errorf("driver: ANEMemoryMapRequestArgs: no %d bytes of the task at %#x", size,
			first)
	}
	return b, Success, nil
}

// memoryMapRequest is direct-path selector 5: it maps a host buffer for the
// engine and returns the device address.
func (c *client) memoryMapRequest(a *IOExternalMethodArguments) Return {
	var args memoryMapArgs
	if r := c.memoryArgs(a, &args); r != Success {
		return r
	}
	if a.ScalarInput[0] != c.token.Load() {
		return c.failf(a, BadArgument, "driver: scalar 0 = %#x is not the session's token", a.ScalarInput[0])
	}
	b, r, err := c.hostBuffer(&args)
	if r != Success {
		return c.fail(a, r, err)
	}
	addr, r, err := c.mapBuffer("ANEDriver::ANE_MemoryMapRequest", args.token, b, translation.Usage(args.usage))
	if r != Success {
		return c.fail(a, r, err)
	}
	a.ScalarOutput[0] = addr
	return Success
}

// mapBuffer maps a buffer into the address space of a token for the client, and returns the device address.
func (c *client) mapBuffer(method string, token uint64, b []byte, usage translation.Usage) (addr uint64, r Return,
	err error) {
	r, err = c.d.gated(c, method, func(time.Duration) (Return, error) {
		s, r, err := c.addressSpace(token)
		if r != Success {
			return r, err
		}
		m, err := s.ctx.Map(b, usage, "memory map")
		if err != nil {
			c.d.drop(s)
			return mapReturn(err), err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.mappings) == maxMappings || c.token.Load() == 0 {
			m.Release()
			c.d.drop(s)
			return NoResources, fmt.Errorf("driver: the client maps %d buffers, which is the limit; unmap one",
				maxMappings)
		}
		c.mappings = append(c.mappings, userMapping{s, token, m})
		addr = m.Addr()
		return Success, nil
	})
	return addr, r, err
}

// mapReturn returns the code of a failed mapping: a bad argument for a mistake of the caller, otherwise no memory.
func mapReturn(err error) Return {
	for _, r := range []translation.Reason{translation.BadUsage, translation.Empty, translation.Outside,
		translation.Unaligned, translation.HighBits} {
		if isFault(err, r) {
			return BadArgument
		}
	}
	return NoMemory
}

// memoryUnMapRequest is direct-path selector 6.
func (c *client) memoryUnMapRequest(a *IOExternalMethodArguments) Return {
	var args memoryMapArgs
	if r := c.memoryArgs(a, &args); r != Success {
		return r
	}
	r, err := c.unmapBuffer("ANEDriver::ANE_MemoryUnMapRequest", func(u userMapping) bool {
		return u.m.Addr() == args.address && u.token == args.token
	}, fmt.Sprintf("ANEMemoryMapRequestArgs, byte 0x10, device address %#x: the client has no mapping there",
		args.address))
	return c.fail(a, r, err)
}

// unmapBuffer unmaps the first of the client's mappings that is the one; none says that there is none.
func (c *client) unmapBuffer(method string, is func(userMapping) bool, none string) (Return, error) {
	return c.d.gated(c, method, func(time.Duration) (Return, error) {
		c.mu.Lock()
		i := slices.IndexFunc(c.mappings, is)
		if i < 0 {
			c.mu.Unlock()
			return NotFound, fmt.Errorf("driver: %s", none)
		}
		u := c.mappings[i]
		c.mappings = slices.Delete(c.mappings, i, i+1)
		c.mu.Unlock()
		u.release()
		c.d.drop(u.space)
		return Success, nil
	})
}

// Hints of a session, modelled: the chapter only names the method.
const (
	HintLatency   = 0 // 1 requests low latency
	HintBandwidth = 1 // 1 requests throughput
	HintQueue     = 2 // queue depth that the client expects
	numHints      = 3
)

// maxHint bounds a hint's value, modelled.
const maxHint = 1 << 16

// setHint sets a hint in all clients of the task, and with the grant to share hints in clients of its coalition, which
// is its team (modelled). It returns the client's previous value.
func (c *client) setHint(hint, value uint32) (uint32, Return, error) {
	if hint >= numHints || value > maxHint {
		return 0, BadArgument, fmt.Errorf("driver: hint %d is %d, want hints 0 to %d with values up to %d", hint, value,
			numHints-1,
			maxHint)
	}
	before := c.hint(hint, value)
	n := 1
	for _, x := range c.d.openClients() {
		own := x.info.PID == c.info.PID
		if x != c && (own || c.info.ShareCoalitionHints && x.info.TeamID == c.info.TeamID && c.info.TeamID != "") {
			x.hint(hint, value)
			n++
		}
	}
	c.d.trace.Note("ANEHWDevice::setHint", c.id, 0, trace.Number("hint", hint), trace.Number("value", value),
		trace.Number("before", before), trace.Number("clients", n))
	return before, Success, nil
}

// hint sets the client's own hint and returns the previous value.
func (c *client) hint(hint, value uint32) uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hints == nil {
		c.hints = map[uint32]uint32{}
	}
	before := c.hints[hint]
	c.hints[hint] = value
	return before
}

// sessionHintRequest is direct-path selector 7.
func (c *client) sessionHintRequest(args *sessionHintArgs, a *IOExternalMethodArguments) (Return, error) {
	if args.token != c.token.Load() {
		return BadArgument, fmt.Errorf("driver: ANESessionHintArgs, byte 0x0, token %#x is not the session's",
			args.token)
	}
	before, r, err := c.setHint(args.hint, args.value)
	if r != Success {
		return r, err
	}
	out := sessionHintReply{
		token:    args.token,
		hint:     args.hint,
		value:    args.value,
		previous: before,
		depth:    c.d.status().Pending,
	}
	clear(a.StructureOutput)
	sessionHintOut.encode(a.StructureOutput, &out)
	return Success, nil
}

// setClientHint is the hint-only client's method.
func (c *client) setClientHint(a *IOExternalMethodArguments) Return {
	if !c.info.SetClientHints {
		return c.failf(a, NotPrivileged, "driver: client hints need %s", Entitlements[6].Key)
	}
	if a.ScalarInput[0]>>32 != 0 || a.ScalarInput[1]>>32 != 0 {
		return c.failf(a, BadArgument, "driver: setClientHint: hint or value exceeds 32 bits")
	}
	_, r, err := c.setHint(uint32(a.ScalarInput[0]), uint32(a.ScalarInput[1]))
	return c.fail(a, r, err)
}
