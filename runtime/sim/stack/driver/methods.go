package driver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zinc-compiler/zinc/internal/locked"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// MethodArguments holds the arguments of a method of table 27.5 (modelled: the table states none).
type MethodArguments struct {
	In   []uint64 // as many as the method's row says
	Data []byte   // of ANE_SendCommand: the message
	Post bool     // of ANE_SendCommand: the message is posted and taken, and its completion is not awaited
	Mute bool     // of ANE_SendCommand: the message is posted, and the doorbell of the next one announces it
	Out  []uint64 // filled by the call; as many as the row says
	Text string   // filled by the diagnostics
}

// Method is a row of table 27.5.
type Method struct {
	Name string
	Role string
	// Routed is the entry to the kernel: one of the nine selectors, or a separate entry point (modelled, except for the
	// doorbell's listing).
	Routed string
	// Privileged methods require the second access check.
	Privileged bool
	In, Out    int // scalars
	// Reason says why the method returns kIOReturnUnsupported here; "" when it
	// works.
	Reason string
	call   func(*client, *MethodArguments) (Return, error)
}

// How a method without a selector of its own reaches the kernel, and the methods that the M1 has as stubs: they return
// success and do nothing.
const (
	entry = "separate entry point"
	stub  = "secure-world load and evaluate; a stub on the M1"
)

// Methods lists the register, power, firmware and exclave surface of the
// direct-path client (table 27.5).
var Methods = []Method{
	{Name: "ANE_PowerOn", Role: "power-domain control", Routed: entry, call: (*client).powerOnMethod},
	{Name: "ANE_PowerOff", Role: "power-domain control", Routed: entry, call: (*client).powerOffMethod},
	{Name: "ANE_IsPowered", Role: "power-domain control", Routed: entry, Out: 1, call: (*client).isPowered},
	{Name: "ANE_LoadFirmware", Role: "firmware image lifecycle", Routed: entry, In: 3,
		Reason: "inactive in this build, as selector 16 is: the driver loads the firmware itself"},
	{Name: "ANE_ForgetFirmware", Role: "firmware image lifecycle", Routed: entry, call: (*client).forgetFirmware},
	{Name: "ANE_SendCommand", Role: "raw firmware command injection", Routed: entry, Privileged: true, In: 1,
		call: (*client).sendCommand},
	{Name: "ANE_SetPowerManagement", Role: "power policy, 0 or 1", Routed: entry, In: 1, call: policy(1, "off or on",
		func(h *hardware, v uint64) { h.served.unmanaged = v == 0 })},
	{Name: "ANE_SetDynamicPowerGating", Role: "power policy, 0 or 1", Routed: entry, In: 1, call: policy(1, "off or on",
		func(h *hardware, v uint64) { h.served.gating = v == 1 })},
	{Name: "ANE_SetPowerGatingHysteresisTime", Role: "power policy, in us", Routed: entry, In: 1,
		call: policy(maxPolicyTime, "microseconds", func(h *hardware, v uint64) { h.served.hysteresis = micros(v) })},
	{Name: "ANE_SetThrottlingPercentage", Role: "thermal throttle, in per cent", Routed: entry, In: 1, call: policy(
		coprocessor.MaxThrottle, "per cent", func(h *hardware, v uint64) { h.cop.Throttle(uint32(v)) })},
	{Name: "ANE_SetDARTCacheTTL", Role: "address-translation controls, in us", Routed: entry, In: 1,
		call: policy(maxPolicyTime, "microseconds", func(h *hardware, v uint64) { h.d.unit.SetTTL(micros(v)) })},
	{Name: "ANE_FlushInactiveDARTMappings", Role: "address-translation controls", Routed: entry, Out: 1,
		call: (*client).flushMappings},
	{Name: "ANE_UnmapDartBuffers", Role: "address-translation controls", Routed: "selector 6", Out: 1, call: (*client).
		unmapBuffers},
	{Name: "ANE_ReadANERegister", Role: "raw memory-mapped register read", Routed: entry, Privileged: true, In: 2,
		Out: 1, call: (*client).readRegister},
	{Name: "ANE_WriteANERegister", Role: "raw memory-mapped register write", Routed: entry, Privileged: true, In: 3,
		call: (*client).writeRegister},
	{Name: "ANE_FWSharedEventDoorbellRing", Role: "ring the firmware shared-event doorbell", Routed: entry, In: 2,
		call: (*client).signalEvent},
	{Name: "ANE_AddPersistentClient", Role: "keep the device resident", Routed: entry, call: (*client).addPersistent},
	{Name: "ANE_RemovePersistentClient", Role: "keep the device resident", Routed: entry, call: (*client).
		removePersistent},
	{Name: "ANE_MPMMemoryMapRequest", Role: "the multi-process managed-memory region", Routed: "selector 5", Out: 1,
		call: (*client).mapRegion},
	{Name: "ANE_MPMMemoryUnmapRequest", Role: "the multi-process managed-memory region", Routed: "selector 6",
		call: (*client).unmapRegion},
	{Name: "ANE_ExclaveCycle", Role: stub, Routed: entry, Privileged: true, call: (*client).nothing},
	{Name: "ANE_ExclaveLoad", Role: stub, Routed: entry, Privileged: true, call: (*client).nothing},
	{Name: "ANE_ExclaveEvaluate", Role: stub, Routed: entry, Privileged: true, call: (*client).nothing},
	{Name: "ANE_ExclaveUnload", Role: stub, Routed: entry, Privileged: true, call: (*client).nothing},
	{Name: "ANE_ExclaveReadPropertyValue", Role: "secure-world property access; a stub on the M1", Routed: entry,
		Privileged: true, call: (*client).nothing},
	{Name: "ANE_ExclaveWritePropertyValue", Role: "secure-world property access; a stub on the M1", Routed: entry,
		Privileged: true, call: (*client).nothing},
	{Name: "ANE_GetClientsInfo", Role: "diagnostics", Routed: entry, Out: 2, call: (*client).clientsInfo},
	{Name: "ANE_ShowSharedMemoryAllocations", Role: "diagnostics", Routed: entry, Out: 2, call: (*client).
		showAllocations},
	{Name: "ANE_ShowModelMemoryStatus", Role: "diagnostics", Routed: entry, Out: 1, call: (*client).showModels},
}

// Method is UserClient's.
func (c *client) Method(name string, a *MethodArguments) Return {
	r, err := c.method(name, a)
	if err != nil {
		c.last.Store(&err)
	}
	return r
}

func (c *client) method(name string, a *MethodArguments) (Return, error) {
	i := slices.IndexFunc(Methods, func(m Method) bool { return m.Name == name })
	switch {
	case a == nil:
		return BadArgument, nil
	case c.closed.Load():
		return Closed, errClosed
	case c.row.Type != DirectPathClient || i < 0:
		return Unsupported, fmt.Errorf("driver: %s exports no method %q; the methods of table 27.5 belong to the "+
			"direct-path client",
			c.row.Class, name)
	}
	m := &Methods[i]
	if m.Privileged && !c.info.PrivilegedVMAccess {
		return NotPrivileged, fmt.Errorf(
			"driver: %s: the task lacks the privileged-virtual-machine-access property", name)
	}
	if len(a.In) != m.In || len(a.Out) != m.Out {
		return BadArgument, fmt.Errorf("driver: %s: got %d scalars in and %d out, want %d and %d", name, len(a.In),
			len(a.Out), m.In, m.Out)
	}
	if m.Reason != "" {
		return Unsupported, fmt.Errorf("driver: %s: %s", name, m.Reason)
	}
	return m.call(c, a)
}

func (c *client) powerOnMethod(*MethodArguments) (Return, error) { return c.d.power() }

// powerOffMethod powers the device off unless another client has programs.
func (c *client) powerOffMethod(*MethodArguments) (Return, error) {
	return c.off("ANE_PowerOff", false)
}

// forgetFirmware powers the device off; the next power-up loads the image again, which is a cold boot (modelled).
func (c *client) forgetFirmware(*MethodArguments) (Return, error) {
	return c.off("ANE_ForgetFirmware", true)
}

func (c *client) off(name string, forget bool) (Return, error) {
	return c.d.gated(c, name, func(time.Duration) (Return, error) {
		c.d.mu.RLock()
		n, keep := len(c.d.instances), len(c.d.persistent)
		c.d.mu.RUnlock()
		if n > 0 || keep > 0 {
			return Busy, fmt.Errorf("driver: %s: %d programs and %d persistent clients keep the device on", name, n,
				keep)
		}
		c.d.hw.sleep()
		c.d.hw.forgot = c.d.hw.forgot || forget
		return Success, nil
	})
}

func (c *client) isPowered(a *MethodArguments) (Return, error) {
	return c.d.gated(c, "ANE_IsPowered", func(time.Duration) (Return, error) {
		c.d.hw.gateIdle()
		a.Out[0] = uint64(word(c.d.hw.powered.Load()))
		return Success, nil
	})
}

// maxPolicyTime bounds the times of a policy, in microseconds: an hour (modelled).
const maxPolicyTime = 3600e6

func micros(v uint64) time.Duration { return time.Duration(v) * time.Microsecond }

// policy returns the call of a method that sets a policy to a value of at most limit (values and units are modelled).
func policy(limit uint64, unit string, set func(*hardware, uint64)) func(*client, *MethodArguments) (Return, error) {
	return func(c *client, a *MethodArguments) (Return, error) {
		if a.In[0] > limit {
			return BadArgument, fmt.Errorf("driver: the policy is %d, want 0 to %d (%s)", a.In[0], limit, unit)
		}
		return c.d.gated(c, "set policy", func(time.Duration) (Return, error) {
			set(c.d.hw, a.In[0])
			return Success, nil
		})
	}
}

func (c *client) nothing(*MethodArguments) (Return, error) { return Success, nil }

// maxCommand bounds an injected command, modelled as the size of a call with all its arrays.
const maxCommand = protocol.HeaderSize + protocol.CopyContainerSize + 64

// sendCommand puts the caller's message into a ring unchanged. In is the channel: 0 for control, 1 for the execution
// loop. If the firmware does not answer before the deadline, the device is recovered.
func (c *client) sendCommand(a *MethodArguments) (Return, error) {
	if a.In[0] > uint64(protocol.Loop) {
		return BadArgument, fmt.Errorf("driver: ANE_SendCommand: channel is %d, want 0 (control) or 1 (execution loop)",
			a.In[0])
	}
	if len(a.Data) < protocol.HeaderSize || len(a.Data) > maxCommand {
		return BadArgument, fmt.Errorf("driver: ANE_SendCommand: the message has %d bytes, want %d to %d", len(a.Data),
			protocol.HeaderSize, maxCommand)
	}
	ch := protocol.Channel(a.In[0])
	return c.d.gated(c, "ANE_SendCommand", func(deadline time.Duration) (Return, error) {
		h := c.d.hw
		var said strings.Builder
		h.noted = func(m *protocol.Message) { said.WriteString(noteLine(m)) }
		defer func() {
			h.noted = nil
			a.Text += said.String()
		}()
		if row := hostServed(ch, a.Data); row != nil {
			vs, err := h.serve(c, row, a.Data[protocol.HeaderSize:], deadline)
			for _, v := range vs {
				a.Text += v.Name + ": " + v.Value + "\n"
			}
			if err != nil {
				return BadArgument, err
			}
			return Success, nil
		}
		if r, err := h.ensure(deadline); r != Success {
			return r, err
		}
		bell := bells[ch]
		if a.Mute {
			bell = noBell
		}
		if err := h.post(ch, a.Data, bell); err != nil {
			return h.failed(err), err
		}
		if a.Mute {
			return Success, nil
		}
		if a.Post {
			err := h.cop.Run(context.Background())
			h.notifications(completed)
			if err != nil {
				return h.failed(err), err
			}
			return Success, nil
		}
		o, err := h.await(deadline, func(m *protocol.Message) (outcome, bool) {
			if r, ok := m.Body.(*protocol.Record); ok && m.Row.ID == protocol.IDChainingEvent { // of a trigger
				return outcome{status: coprocessor.Status(r.Value("status")), header: m.Header}, true
			}
			return completed(m)
		})
		if err != nil || h.reset {
			return h.failed(cmp.Or(err, errReset)), err
		}
		// Changes that the driver does not know, such as a terminated process, make the next request fail, which
		// repairs them.
		if o.status != coprocessor.StatusOK {
			return returnOf(o.status), fmt.Errorf("driver: ANE_SendCommand: status %d, %v: %w", uint32(o.status),
				o.status, h.because())
		}
		if r, ok := h.cop.TakeReply(); ok && r.Record != nil {
			for i, f := range r.Record.Layout.Fields {
				a.Text += fmt.Sprintf("%s: %#x\n", f.Name, r.Record.Values[i])
			}
		}
		return Success, nil
	})
}

// hostServed returns the row of a message that the driver serves itself, or nil.
func hostServed(ch protocol.Channel, msg []byte) *protocol.Row {
	if ch != protocol.Control {
		return nil
	}
	hd, err := protocol.DecodeHeader(msg)
	row := coprocessor.Numbering.Row(hd.ID)
	if err != nil || row == nil || row.Disposition != protocol.HostServed ||
		int(hd.Size) != len(msg)-protocol.HeaderSize || row.Request.Check(msg[protocol.HeaderSize:]) != nil {
		return nil // the firmware refuses it
	}
	return row
}

// noteLine describes a notification on a line.
func noteLine(m *protocol.Message) string {
	s := "notification CSNE_CMD_" + m.Row.Name
	if r, ok := m.Body.(*protocol.Record); ok {
		for i, f := range r.Layout.Fields {
			s += fmt.Sprintf(" %s=%d", f.Name, r.Values[i])
		}
	}
	return s + "\n"
}

func register(in []uint64) (coprocessor.Bank, uint32, error) {
	if in[0] >= coprocessor.NumBanks {
		return 0, 0, fmt.Errorf("driver: aperture is %d; table 29.2 has %d", in[0], coprocessor.NumBanks)
	}
	b := coprocessor.Bank(in[0])
	if size := coprocessor.Banks[b].Size; in[1]%4 != 0 || in[1] >= uint64(size) {
		return 0, 0, fmt.Errorf("driver: register of %[2]v is %#[1]x, want a word below %#[3]x", in[1], b, size)
	}
	return b, uint32(in[1]), nil
}

// readRegister and writeRegister access a register: In is the aperture's number, the offset, and for a write the value.
func (c *client) readRegister(a *MethodArguments) (Return, error) {
	b, off, err := register(a.In)
	if err != nil {
		return BadArgument, err
	}
	return c.d.gated(c, "ANE_ReadANERegister", func(time.Duration) (Return, error) {
		a.Out[0] = uint64(c.d.hw.cop.Read32(b, off))
		return Success, nil
	})
}

// A write may stop the firmware; the next action then runs into its deadline and recovers.
func (c *client) writeRegister(a *MethodArguments) (Return, error) {
	b, off, err := register(a.In)
	if err == nil && a.In[2]>>32 != 0 {
		err = fmt.Errorf("driver: register value %#x exceeds 32 bits", a.In[2])
	}
	if err != nil {
		return BadArgument, err
	}
	return c.d.gated(c, "ANE_WriteANERegister", func(time.Duration) (Return, error) {
		c.d.hw.cop.Write32(b, off, uint32(a.In[2]))
		return Success, nil
	})
}

// signalEvent signals a shared event from the host: In is its identifier and value. It does not use the command gate,
// since a request that waits for the event may hold it.
func (c *client) signalEvent(a *MethodArguments) (Return, error) {
	h := c.d.hw
	if !h.ready.Load() {
		if r, err := c.d.gated(c, "power", h.ensure); r != Success {
			return r, err
		}
	}
	if err := h.cop.SignalEvent(a.In[0], a.In[1]); err != nil {
		return BadArgument, err
	}
	return Success, nil
}

func (c *client) flushMappings(a *MethodArguments) (Return, error) {
	return c.d.gated(c, "ANE_FlushInactiveDARTMappings", func(time.Duration) (Return, error) {
		s := locked.Get(&c.mu, &c.space)
		if s != nil {
			a.Out[0] = uint64(s.ctx.Flush())
		}
		return Success, nil
	})
}

// unmapBuffers unmaps all buffers that the client has mapped with selector 5.
func (c *client) unmapBuffers(a *MethodArguments) (Return, error) {
	return c.d.gated(c, "ANE_UnmapDartBuffers", func(time.Duration) (Return, error) {
		c.mu.Lock()
		maps := c.mappings
		c.mappings = nil
		c.mu.Unlock()
		for i := range maps {
			maps[i].release()
			c.d.drop(maps[i].space)
		}
		a.Out[0] = uint64(len(maps))
		return Success, nil
	})
}

// mapRegion maps the page of memory that all clients of the device share into the client's address space (size and
// contents of the region are modelled). Out is the device address.
func (c *client) mapRegion(a *MethodArguments) (Return, error) {
	addr, r, err := c.mapBuffer("ANE_MPMMemoryMapRequest", 0, c.d.region[:], translation.Intermediate)
	a.Out[0] = addr
	return r, err
}

func (c *client) unmapRegion(*MethodArguments) (Return, error) {
	return c.unmapBuffer("ANE_MPMMemoryUnmapRequest", func(u userMapping) bool { return u.m.Of(c.d.region[:]) },
		"the client has not mapped the region")
}

func (c *client) addPersistent(*MethodArguments) (Return, error) {
	c.d.mu.Lock()
	c.d.persistent[c.id] = true
	c.d.mu.Unlock()
	return c.d.power()
}

func (c *client) removePersistent(*MethodArguments) (Return, error) {
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	if !c.d.persistent[c.id] {
		return NotFound, fmt.Errorf("driver: ANE_RemovePersistentClient: the client is not persistent")
	}
	delete(c.d.persistent, c.id)
	return Success, nil
}

// clientsInfo lists the clients; listing other clients requires the data-access grant.
func (c *client) clientsInfo(a *MethodArguments) (Return, error) {
	var s strings.Builder
	for _, o := range c.d.openClients() {
		if o != c && !c.info.DataAccess {
			continue
		}
		o.mu.Lock()
		n := len(o.instances)
		o.mu.Unlock()
		fmt.Fprintf(&s, "client %d %s pid %d team %q programs %d requests %d\n", o.id, o.row.Class, o.info.PID,
			o.info.TeamID, n, o.requests.Load())
		a.Out[0]++
		a.Out[1] += uint64(n)
	}
	a.Text = s.String()
	return Success, nil
}

// showAllocations lists the client's mapped pages, in runs of one usage.
func (c *client) showAllocations(a *MethodArguments) (Return, error) {
	sp := locked.Get(&c.mu, &c.space)
	if sp == nil {
		return Success, nil
	}
	var s strings.Builder
	es := sp.ctx.Entries()
	for i := 0; i < len(es); {
		k := i + 1
		for k < len(es) && es[k].Usage == es[i].Usage && es[k].Addr-es[k-1].Addr == translation.PageSize {
			k++
		}
		fmt.Fprintf(&s, "%#010x %d pages %s\n", es[i].Addr, k-i, es[i].Usage)
		a.Out[0]++
		i = k
	}
	a.Out[1] = uint64(len(es))
	a.Text = s.String()
	return Success, nil
}

// showModels lists the client's programs.
func (c *client) showModels(a *MethodArguments) (Return, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var s strings.Builder
	for _, i := range c.instances {
		fmt.Fprintf(&s, "%#x procedures %d resident %t bytes %d\n", uint64(i.handle), len(i.p.procs), i.prepared.Load(),
			i.p.residentBytes())
	}
	a.Out[0] = uint64(len(c.instances))
	a.Text = s.String()
	return Success, nil
}
