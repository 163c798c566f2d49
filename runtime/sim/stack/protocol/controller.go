package protocol

import (
	"errors"
	"fmt"
	"sync"

	"github.com/zinc-compiler/zinc/internal/locked"
)

// Config sizes a controller. Zero values take the defaults, which are modelled.
type Config struct {
	Programs      Programs   // required
	Numbering     Numbering  // of the control channel
	ControlSlots  int        // messages in the control ring; 0 means 64
	MaxCmdBufSize int        // bytes of a message; 0 means MaxMessage
	CacheRequests int        // maxCacheRequest; 0 means 64
	Notifications int        // notifications that may wait for the host; 0 means 256
	RPCEvents     func() int // GetDirectProcCallEventPoolAvailNum; nil means no limit
	// Strict makes identifiers that the execution loop does not implement fault, as on the device. Otherwise they are
	// dropped and counted.
	Strict bool
	// Trace, if not nil, is called with every delivery in order, one at a time per channel.
	Trace func(*Delivery)
	// Sealed appends a checksum to each message in the rings (Seal), so that changed messages are rejected. Modelled.
	Sealed bool
	// OnNote, if not nil, gets the slot of each notification before it enters the ring and returns the slots that
	// enter, in order. It models a lossy ring.
	OnNote func(slot []byte) [][]byte
}

// Channel is one of the two rings to the firmware.
type Channel uint8

// The channels.
const (
	Control Channel = iota
	Loop            // the execution loop's, bound by IPC_ENDPOINT_SET
)

// Delivery is one message that the firmware took from a ring. With Err nil it is
// valid and the firmware runs it; otherwise Err says why it does not run.
type Delivery struct {
	Channel Channel
	Row     *Row     // nil if the identifier is unknown
	LoopRow *LoopRow // of a message from the execution loop's channel
	Header  Header   // of either channel, in the form of table 30.1
	Bytes   []byte   // the message as it was taken
	Body    Body
	Class   Class         // of a call, a trigger or an inference
	Request *CacheRequest // of an install or a trigger: a copy
	Calls   []ProcedureCall
	// Calls are the procedure calls to run: the call itself, an inference's sub-packets, or the call of a trigger.
	Outcome Outcome
	Err     error
}

// Outcome sorts deliveries for the counts.
type Outcome uint8

// The outcomes.
const (
	Ran      Outcome = iota // validated and delivered
	Rejected                // failed validation
	Dropped                 // process not running or handle in the wrong state
	Refused                 // no handler for it on this channel
	outcomes
)

func (o Outcome) String() string {
	return [...]string{"ran", "rejected", "dropped", "refused", "?"}[min(o, outcomes)]
}

// Count is the number of times that a command had an outcome; every message is counted once. Name is "unknown" for
// unknown identifiers.
type Count struct {
	Name    string
	Outcome Outcome
	N       uint64
}

// Controller is the firmware's end of the protocol.
type Controller struct {
	cfg     Config
	control *Endpoint
	loop    *Endpoint
	notes   *Endpoint
	cache   *CacheRequests
	rpc     RPCEventMap
	turn    [2]sync.Mutex // one message of a channel at a time, so traces keep order

	mu     sync.Mutex
	counts map[string]*[outcomes]uint64
	fault  error
}

// NewController returns a controller whose control channel is ready.
func NewController(cfg Config) (*Controller, error) {
	if cfg.Programs == nil {
		return nil, errors.New("protocol: Config.Programs is nil; it is needed to check calls")
	}
	for _, d := range []struct {
		v *int
		n int
	}{{&cfg.ControlSlots, 64}, {&cfg.MaxCmdBufSize, MaxMessage}, {&cfg.CacheRequests, 64}, {&cfg.Notifications, 256}} {
		if *d.v == 0 {
			*d.v = d.n
		}
	}
	c := &Controller{cfg: cfg, counts: map[string]*[outcomes]uint64{}}
	var err error
	for _, e := range []**Endpoint{&c.control, &c.loop, &c.notes} {
		if *e, err = NewEndpoint(cfg.MaxCmdBufSize); err != nil {
			return nil, err
		}
		if cfg.Sealed {
			(*e).max += sealSize
		}
	}
	if c.cache, err = NewCacheRequests(cfg.CacheRequests); err != nil {
		return nil, err
	}
	if err = c.control.Bind(EndpointControl, cfg.ControlSlots, 0, 0); err != nil {
		return nil, err
	}
	return c, c.notes.Bind(EndpointControl, cfg.Notifications, 0, 0)
}

// Endpoint returns a channel's ring.
func (c *Controller) Endpoint(ch Channel) *Endpoint {
	if ch == Loop {
		return c.loop
	}
	return c.control
}

// Cache returns the pool of cache requests.
func (c *Controller) Cache() *CacheRequests { return c.cache }

// RPC returns the outstanding back-channel calls.
func (c *Controller) RPC() *RPCEventMap { return &c.rpc }

// Fault returns the error that faulted a strict controller, or nil.
func (c *Controller) Fault() error { return locked.Get(&c.mu, &c.fault) }

// Post is the host's side: it copies a message into a channel's ring.
func (c *Controller) Post(ch Channel, msg []byte) error {
	if err := c.Fault(); err != nil {
		return err
	}
	if c.cfg.Sealed {
		msg = Seal(msg)
	}
	return c.Endpoint(ch).Post(msg)
}

// PostSlot is Post for the bytes of a slot including the seal, for rings that damage messages.
func (c *Controller) PostSlot(ch Channel, slot []byte) error {
	if err := c.Fault(); err != nil {
		return err
	}
	return c.Endpoint(ch).Post(slot)
}

// Next is the firmware's side: it takes the oldest message of a channel, decodes and validates it, and performs the
// protocol's own commands (endpoints, cache requests, acknowledgements). ok is false if the ring is empty.
func (c *Controller) Next(ch Channel) (d *Delivery, ok bool) {
	turn := &c.turn[min(ch, Loop)]
	turn.Lock()
	defer turn.Unlock()
	if c.Fault() != nil {
		return nil, false
	}
	msg, ok := c.Endpoint(ch).Take()
	if !ok {
		return nil, false
	}
	d = &Delivery{Channel: ch}
	if c.cfg.Sealed {
		msg, d.Err = unseal(msg)
	}
	d.Bytes = msg
	switch {
	case d.Err != nil:
	case ch == Loop:
		d.Err = c.takeLoop(d, msg)
	default:
		d.Err = c.takeControl(d, msg)
	}
	if d.Err == nil {
		if d.Err = c.act(d); ch == Loop {
			d.Err = loopOffset(d.Err)
		}
	}
	c.count(d)
	if c.cfg.Trace != nil {
		c.cfg.Trace(d)
	}
	return d, true
}

func (c *Controller) takeControl(d *Delivery, msg []byte) error {
	h, err := DecodeHeader(msg)
	if len(msg) >= HeaderSize {
		d.Row = c.cfg.Numbering.Row(h.ID)
	}
	d.Header = h
	// A command without a handler is refused before its body is read.
	if r := d.Row; err == nil && r != nil && r.Disposition != Handled {
		return fmt.Errorf("%w: byte 0x0, id = %s, %s: %s", ErrUnsupported, hex4(h.ID), r.command(), r.Disposition)
	}
	m, n, err := Decode(c.cfg.Numbering, msg)
	if err != nil {
		return err
	}
	if n != len(msg) {
		return of(bad(4, "size", h.Size, fmt.Sprintf("the message has %d bytes after its header", len(msg)-HeaderSize),
			"post one message at a time"), d.Row.command(), 0)
	}
	d.Body = m.Body
	return nil
}

func (c *Controller) takeLoop(d *Delivery, msg []byte) error {
	m, n, err := DecodeLoop(msg)
	if err != nil {
		var u *Unsupported
		if errors.As(err, &u) {
			d.Row = byWire[u.Wire]
			if c.cfg.Strict {
				err = fmt.Errorf("%w: %w", ErrFault, err)
				c.mu.Lock()
				c.fault = err
				c.mu.Unlock()
			}
		}
		return err
	}
	d.LoopRow, d.Row = m.Row, &Rows[m.Row.Body]
	d.Header, d.Body = m.control(), m.Body
	if n != len(msg) {
		return of(bad(0, "size", m.Header.Size, fmt.Sprintf("the message has %d bytes after its header",
			len(msg)-HeaderSize), "post one message at a time"), m.Row.Meaning, 0)
	}
	return nil
}

// act performs the protocol's part of a valid message.
func (c *Controller) act(d *Delivery) error {
	switch body := d.Body.(type) {
	case *ProcedureCall:
		d.Calls = []ProcedureCall{*body}
		return c.call(d, body, nil)
	case *Inference:
		d.Calls = []ProcedureCall{body.Expand()}
		return c.call(d, &body.Call, body)
	case *CacheCall:
		if err := c.call(d, &body.Call, nil); err != nil {
			return err
		}
		handler, err := c.cache.Install(d.Header, &body.Call, VariantOf(d.Row.ID).Shared)
		if err != nil {
			return err
		}
		r, _ := c.cache.Request(handler)
		d.Request = &r
		return nil
	case *Trigger:
		if r, ok := c.cache.Request(body.Handler); ok && !c.cfg.Programs.Running(r.Header.ProgramID,
			r.Header.ProcessID) {
			return notRunning(d.Row.command(), r.Header)
		}
		r, err := c.cache.Trigger(body)
		if err != nil {
			return err
		}
		call := r.Call
		if len(body.Inputs) > 0 {
			call.Inputs = body.Inputs
		}
		d.Class, d.Request, d.Calls = ClassOf(r.Header.Priority), &r, []ProcedureCall{call}
		return nil
	case *BackChannel:
		return c.rpc.Ack(body.Slot)
	case *Record:
		if do := actions[d.Row.ID]; do != nil {
			return do(c, body)
		}
	}
	return nil
}

func (c *Controller) call(d *Delivery, call *ProcedureCall, in *Inference) error {
	d.Class = ClassOf(d.Header.Priority)
	return CheckCall(c.cfg.Programs, d.Header, VariantOf(d.Row.ID), call, in)
}

// actions lists the records that the protocol itself performs.
var actions = map[ID]func(c *Controller, r *Record) error{
	IDEndpointSet: (*Controller).bind, IDEndpointSet2: (*Controller).bind,
	IDEndpointUnset: (*Controller).unbind, IDEndpointUnset2: (*Controller).unbind,
	IDCacheRecycle:    func(c *Controller, r *Record) error { return c.cache.Recycle(r.Value("cacheHandler")) },
	IDCacheInvalidate: func(c *Controller, r *Record) error { return c.cache.Invalidate(r.Value("cacheHandler")) },
	IDSetActive: func(c *Controller, r *Record) error {
		return c.cache.SetActive(r.Value("cacheHandler"), uint32(r.Value("groupId")))
	},
	IDForceDisable: func(c *Controller, r *Record) error { c.cache.ForceDisable(); return nil },
}

func chaining(r *Record) error {
	if t := r.Value("endPointId"); EndpointType(t) != EndpointDataChaining {
		return of(bad(0, "endPointId", t, "endPointId == CSNE_CMD_IPC_ENDPOINT_TYPE_DATA_CHAINING",
			"the execution loop's endpoint has that type"), "CSNE_CMD_IPC_ENDPOINT_SET", HeaderSize)
	}
	return nil
}

func (c *Controller) bind(r *Record) error {
	if err := chaining(r); err != nil {
		return err
	}
	return c.loop.Bind(EndpointDataChaining, int(r.Value("slots")), r.Value("doorBellReg"),
		uint32(r.Value("doorBellBit")))
}

func (c *Controller) unbind(r *Record) error {
	if err := chaining(r); err != nil {
		return err
	}
	_, err := c.loop.Unbind()
	return err
}

// Notify emits a notification to the host. A full queue refuses it.
func (c *Controller) Notify(row *Row, h Header, body Body) error {
	if row.Way == ToFirmware {
		return fmt.Errorf("%w: CSNE_CMD_%s is not a notification", ErrMalformed, row.Name)
	}
	h.ID = c.cfg.Numbering.Of(row)
	m := &Message{row, h, body}
	slot, err := m.encode()
	if err != nil {
		return err
	}
	if r, ok := body.(*Record); !ok || r.Layout != row.Request || r.Tail != nil {
		_, _, err = Decode(c.cfg.Numbering, slot)
	} else if err = m.Header.check(); err == nil {
		if err = row.Request.Check(slot[HeaderSize:]); err == nil {
			err = checkRecord(r)
		}
	}
	if err != nil {
		return of(err, row.command(), 0)
	}
	if c.cfg.Sealed {
		slot = Seal(slot)
	}
	if c.cfg.OnNote == nil {
		return c.notes.post(slot)
	}
	for _, s := range c.cfg.OnNote(slot) {
		err = errors.Join(err, c.notes.Post(s))
	}
	return err
}

// PutNote puts a slot that OnNote has held back into the ring.
func (c *Controller) PutNote(slot []byte) error { return c.notes.Post(slot) }

// CallHost makes a back-channel call into the driver and returns its slot.
func (c *Controller) CallHost(payload []byte) (slot uint32, err error) {
	available := BackChannelEvents
	if c.cfg.RPCEvents != nil {
		available = c.cfg.RPCEvents()
	}
	b, err := c.rpc.Call(payload, available)
	if err != nil {
		return 0, err
	}
	h := Header{ProgramID: Unbound, ProcessID: Unbound}
	if err := c.Notify(&Rows[IDBackChannel], h, b); err != nil {
		_ = c.rpc.Ack(b.Slot) // never fails: the slot was taken above
		return 0, err
	}
	return b.Slot, nil
}

// NextNotification is the host's side of Notify: the oldest notification. For a damaged one it returns an error and a
// nil m.
func (c *Controller) NextNotification() (m *Message, ok bool, err error) {
	b, ok := c.notes.Take()
	if !ok {
		return nil, false, nil
	}
	if c.cfg.Sealed {
		if b, err = unseal(b); err != nil {
			return nil, true, err
		}
	}
	if m, _, err = Decode(c.cfg.Numbering, b); err != nil {
		return nil, true, err
	}
	return m, true, nil
}

func (c *Controller) count(d *Delivery) {
	switch {
	case d.Err == nil:
		d.Outcome = Ran
	case errors.Is(d.Err, ErrUnsupported), errors.Is(d.Err, ErrFault):
		d.Outcome = Refused
	case errors.Is(d.Err, ErrDropped):
		d.Outcome = Dropped
	default:
		d.Outcome = Rejected
	}
	name := "unknown"
	if d.Row != nil {
		name = d.Row.Name
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts[name] == nil {
		c.counts[name] = new([outcomes]uint64)
	}
	c.counts[name][d.Outcome]++
}

// Counts returns the outcomes so far, by identifier and outcome, START and
// unknown identifiers last.
func (c *Controller) Counts() []Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	var cs []Count
	add := func(name string) {
		if n := c.counts[name]; n != nil {
			for o, k := range n {
				if k > 0 {
					cs = append(cs, Count{name, Outcome(o), k})
				}
			}
		}
	}
	for i := range Rows {
		add(Rows[i].Name)
	}
	add(Start.Name)
	add("unknown")
	return cs
}
