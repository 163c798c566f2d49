package driver

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// client is a user client of any of the three types; it also does the work of ANEClientDevice.
type client struct {
	d    *Device
	id   uint64
	row  *ClientType
	task *Task
	info ANEClientInfo

	token   atomic.Uint64 // of the session; 0 before selector 0 and after selector 1
	timeout atomic.Int64  // of requests without one, virtual nanoseconds
	closed  atomic.Bool
	last    atomic.Pointer[error]

	requests atomic.Uint64 // so far
	debug    atomic.Pointer[debugProcessor]

	mu        sync.Mutex
	space     *space // the client's address space, created on first use
	instances []*instance
	chains    []*chain
	hints     map[uint32]uint32
	mappings  []userMapping
}

// maxClients bounds the open clients, modelled.
const maxClients = 1024

var errClosed = errors.New("driver: the client is closed or closing; open another")

// NewUserClient is ANEHWDevice::newUserClient: it creates a client of one of the three types (listing 27.1) and reads
// the task's entitlements once. The two functional clients require the hard gate's entitlement.
func (d *Device) NewUserClient(task *Task, typ uint32) (UserClient, Return) {
	d.trace.Note("ANEHWDevice::newUserClient", 0, 0, trace.Number("type", typ))
	if task == nil {
		return nil, BadArgument
	}
	i := slices.IndexFunc(ClientTypes, func(r ClientType) bool { return r.Type == typ })
	if i < 0 {
		return nil, Unsupported
	}
	row := &ClientTypes[i]
	info := newClientInfo(task)
	if row.NeedsKey && !info.IsPrivileged {
		return nil, NotPrivileged
	}
	c := &client{d: d, row: row, task: task, info: info}
	if r := d.admit(c); r != Success {
		return nil, r
	}
	return c, Success
}

// Class, Info and LastError implement UserClient.
func (c *client) Class() string       { return c.row.Class }
func (c *client) Info() ANEClientInfo { return c.info }
func (c *client) LastError() error {
	if e := c.last.Load(); e != nil {
		return *e
	}
	return nil
}

// fail records why a call failed and returns its code.
func (c *client) fail(a *IOExternalMethodArguments, r Return, err error) Return {
	if err != nil {
		a.cause = err
		c.last.Store(&err)
	}
	return r
}

func (c *client) failf(a *IOExternalMethodArguments, r Return, format string, args ...any) Return {
	return c.fail(a, r, fmt.Errorf(format, args...))
}

// ExternalMethod is externalMethod of the three classes: it passes the class's dispatch array and count to the
// framework's dispatcher.
func (c *client) ExternalMethod(selector uint32, a *IOExternalMethodArguments) Return {
	if a == nil {
		return BadArgument
	}
	a.cause = nil
	if c.d.trace.On() {
		return c.tracedMethod(selector, a)
	}
	return c.dispatchExternalMethod(selector, a)
}

// tracedMethod is dispatchExternalMethod between two events, with the bytes that cross the boundary.
func (c *client) tracedMethod(selector uint32, a *IOExternalMethodArguments) Return {
	name := c.row.Class + "::externalMethod"
	step := c.d.trace.Step(name, c.id, 0, trace.Number("sel", selector), trace.Data(a.StructureInput))
	r := c.dispatchExternalMethod(selector, a)
	err := r.failure()
	if err != nil && a.cause != nil {
		err = fmt.Errorf("%w: %w", err, a.cause)
	}
	values := []trace.Value{trace.Text("return", r.String()), trace.Data(a.StructureOutput)}
	if out := c.outputs(selector, a); r == Success && out != "" {
		values = append(values, trace.Text("out", out))
	}
	step.End(&err, values...)
	return r
}

// outputs lists the scalars and the fields that a selector returned, with their names.
func (c *client) outputs(selector uint32, a *IOExternalMethodArguments) string {
	var out []string
	for i, v := range a.ScalarOutput {
		out = append(out, fmt.Sprintf("scalar %d %#x", i, v))
	}
	rec, err := DecodeDispatch(c.row.Methods, selector)
	if err != nil || selector >= c.row.Count {
		return ""
	}
	s := outputStructs[HandlerName(rec.Handler)]
	if s == nil || len(a.StructureOutput) != s.Size {
		return strings.Join(out, ", ")
	}
	for _, f := range s.Fields {
		if b := a.StructureOutput[f.Offset:]; f.Width == 8 {
			out = append(out, fmt.Sprintf("%s %#x", f.Name, binary.LittleEndian.Uint64(b)))
		} else if f.Name != "reserved" {
			out = append(out, fmt.Sprintf("%s %#x", f.Name, binary.LittleEndian.Uint32(b)))
		}
	}
	return strings.Join(out, ", ")
}

// dispatchExternalMethod is IOUserClient2022::dispatchExternalMethod: it checks
// the four sizes against the selector's record, then calls the record's handler.
func (c *client) dispatchExternalMethod(selector uint32, a *IOExternalMethodArguments) Return {
	if selector >= c.row.Count {
		return c.failf(a, BadArgument, "driver: %s has selectors 0 to %d; got %d", c.row.Class, c.row.Count-1, selector)
	}
	rec, err := DecodeDispatch(c.row.Methods, selector)
	if err != nil || rec.Handler < 0 {
		return c.failf(a, BadArgument, "driver: selector %d: the record has no handler: %v", selector, err)
	}
	c.d.trace.Note("dispatchExternalMethod", c.id, 0, trace.Text("handler", handlers[rec.Handler].name))
	if !rec.Sizes.check(a) {
		return c.failf(a, BadArgument, "driver: %s: sizes are (%d, %d, %d, %d), want (%d, %d, %d, %d): "+
			"scalars in, bytes in, scalars out, bytes out",
			handlers[rec.Handler].name, len(a.ScalarInput), len(a.StructureInput), len(a.ScalarOutput),
			len(a.StructureOutput),
			rec.Sizes.ScalarIn, rec.Sizes.StructIn, rec.Sizes.ScalarOut, rec.Sizes.StructOut)
	}
	if c.closed.Load() {
		return c.fail(a, Closed, errClosed)
	}
	return handlers[rec.Handler].call(c, a)
}

// ExternalMethodBytes implements UserClient.
func (c *client) ExternalMethodBytes(selector uint32, block []byte) Return {
	c.d.trace.Note("IOExternalMethodArguments", c.id, 0, trace.Number("sel", selector), trace.Data(block))
	a, store, r := DecodeArguments(c.task, block)
	if r != Success {
		return r
	}
	if r = c.ExternalMethod(selector, a); r == Success {
		store()
	}
	return r
}

// Close implements UserClient: clientClose and free.
func (c *client) Close() Return {
	if c.closed.Swap(true) {
		return Closed
	}
	c.teardown()
	c.d.dismiss(c)
	return Success
}

// session returns the token of an open client.
func (c *client) session(a *IOExternalMethodArguments) (Handle, Return) {
	t := Handle(c.token.Load())
	if t == 0 {
		return 0, c.failf(a, Closed, "driver: the device is not open for this client; call ANE_DeviceOpen first")
	}
	return t, Success
}

// deviceOpen is selector 0: the handshake of table 27.3.
func (c *client) deviceOpen(a *IOExternalMethodArguments) Return {
	var info openInput
	if err := openIn.decode(a.StructureInput, &info); err != nil {
		return c.fail(a, BadArgument, err)
	}
	switch info.usage {
	case UsageStandard:
	case UsageUnsupported:
		return c.failf(a, Unsupported, "driver: usage type 2 is not supported: status %d", StatusUnsupported)
	default:
		return c.failf(a, BadArgument, "driver: ANEDeviceInfo, byte 0x0, usage type is %d, want 1, the standard client",
			info.usage)
	}
	if c.token.Load() != 0 {
		return c.failf(a, Busy, "driver: the device is already open for this client")
	}
	if r, err := c.d.power(); r != Success {
		return c.fail(a, r, err)
	}
	token := uint64(c.d.mint())
	if !c.token.CompareAndSwap(0, token) {
		return c.failf(a, Busy, "driver: the device is already open for this client")
	}
	// The timeout is in milliseconds; 0 means the observed one, and no session waits longer than maxTimeout.
	ms := info.timeout
	ms = cmp.Or(ms, HandshakeTimeout)
	c.timeout.Store(int64(min(ms, uint64(maxTimeout/time.Millisecond))) * int64(time.Millisecond))
	clear(a.StructureOutput)
	openOut.encode(a.StructureOutput, &openOutput{token: token, callback: info.callback, context: info.context,
		timeout: info.timeout, version: ANEVersion, version2: ANEVersion2, engines: NumEngines,
		cpuSubtype: c.d.properties.CPUSubtype})
	return Success
}

// maxTimeout bounds the deadline of a request, in virtual time (modelled).
const maxTimeout = 10 * time.Minute

// deviceClose is selector 1.
func (c *client) deviceClose(a *IOExternalMethodArguments) Return {
	if c.token.Swap(0) == 0 {
		return c.failf(a, Closed, "driver: the device is not open for this client")
	}
	c.teardown()
	return Success
}

// getVersion is selector 10.
func (c *client) getVersion(a *IOExternalMethodArguments) Return {
	a.ScalarOutput[0] = uint64(c.d.properties.Version)
	return Success
}

// getStatus is selector 7.
func (c *client) getStatus(a *IOExternalMethodArguments) Return {
	s := c.d.status()
	clear(a.StructureOutput)
	statusOut.encode(a.StructureOutput, &s)
	return Success
}

// loadFirmware is selector 16, inactive in this build: the driver loads the firmware itself when it starts.
func (c *client) loadFirmware(a *IOExternalMethodArguments) Return {
	return c.failf(a, Unsupported, "driver: ANE_LoadFirmware is inactive in this build; the driver loads the "+
		"firmware itself")
}

// teardown releases what a client owns.
func (c *client) teardown() {
	c.token.Store(0)
	c.mu.Lock()
	instances, chains, maps, s := c.instances, c.chains, c.mappings, c.space
	c.instances, c.chains, c.mappings, c.space, c.hints = nil, nil, nil, nil, nil
	c.debug.Store(nil)
	c.mu.Unlock()
	c.d.release(chains, instances, maps, s)
}
