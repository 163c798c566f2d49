package driver

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// code is the return code of an error.
func code(err error) Return {
	var e *Error
	if !errors.As(err, &e) {
		return Success
	}
	return e.Return
}

func want(t testing.TB, err error, r Return) {
	t.Helper()
	if got := code(err); got != r {
		t.Errorf("%v: %v, want %v", err, got, r)
	}
}

// poolsFull checks that only the firmware's pumps have objects.
func poolsFull(t testing.TB, d *Device) {
	t.Helper()
	for _, p := range d.Coprocessor().Pools() {
		switch p.Name {
		case "task", "queue", "semaphore", "mutex", "mailbox", "framework arena":
			continue // held by the pumps and the channels from boot to reset
		}
		if p.Available != p.Total {
			t.Errorf("pool %s: %d of %d", p.Name, p.Available, p.Total)
		}
	}
	r := d.Scheduler()
	for _, p := range append(append(r.Waiting[:], r.Credits[:]...), r.Flight) {
		if p.Available != p.Total {
			t.Errorf("gate, %s: %d of %d", p.Name, p.Available, p.Total)
		}
	}
}

func TestDispatchComputesTheOutput(t *testing.T) {
	for name, g := range map[string]func(testing.TB) []byte{"tiny": tiny, "adder": adder, "pair": pair} {
		t.Run(name, func(t *testing.T) {
			d := newDevice(t, Config{})
			s := open(t, d, broker(1))
			m := prepared(t, s, g(t), PrepareOptions{})
			for i := range 3 {
				m.fill(uint64(i))
				m.check(t)
			}
			if st := d.Unit().Stats(); st.Hits < 4 {
				t.Errorf("%d hits: surfaces were mapped again", st.Hits)
			}
			if err := s.Unprepare(m.h); err != nil {
				t.Fatal(err)
			}
			_, err := s.SendRequest(&m.req)
			want(t, err, NotReady)
			if err := s.Destroy(m.h); err != nil {
				t.Fatal(err)
			}
			_, err = s.SendRequest(&m.req)
			want(t, err, NotFound)
			poolsFull(t, d)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if st := d.Unit().Stats(); st.ContextsOpen != 1 {
				t.Errorf("%d contexts are open, the driver's own alone stays", st.ContextsOpen)
			}
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	good := adder(t)
	for _, b := range [][]byte{nil, {1, 2, 3}, make([]byte, 4096), good[:len(good)/2]} {
		h, err := s.ProgramCreate(b)
		if code(err) != BadArgument || h != 0 {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	a := arguments(Sizes{ScalarIn: 0, StructIn: 32, ScalarOut: 0, StructOut: 0})
	createIn.encode(a.StructureInput, &createArgs{addr: s.task.Map(good), size: uint32(len(good)), result: 0x1000})
	if r := s.Client().ExternalMethod(SelProgramCreate, a); r != BadArgument {
		t.Errorf("no place for the token: %v", r)
	}
	createIn.encode(a.StructureInput, &createArgs{
		addr:   s.task.Map(good),
		size:   uint32(len(good)),
		result: s.task.Map(make([]byte, 8)),
		flags:  RTResource,
	})
	if r := s.Client().ExternalMethod(SelProgramCreate, a); r != Unsupported {
		t.Errorf("ANEProgramRTResource: %v", r)
	}
	for _, o := range []PrepareOptions{{QueueDepth: MaxQueueDepth + 1}, {Aggressive: true}, {Priority: 8}} {
		h, err := s.ProgramCreate(good)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Prepare(h, o)
		want(t, err, BadArgument)
		_, err = s.CreateInstance(h, PrepareOptions{})
		want(t, err, NotReady)
	}
}

// TestContainersAreSigned passes containers without a signature, and with that of another container.
func TestContainersAreSigned(t *testing.T) {
	s := open(t, newDevice(t, Config{}), broker(1))
	good := adder(t)
	for _, signature := range [][]byte{nil, make([]byte, 64), Sign(sha256.Sum256(good[1:]))} {
		_, err := s.ProgramCreateSigned(good, signature)
		want(t, err, NotPermitted)
	}
	if _, err := s.ProgramCreateSigned(good, Sign(sha256.Sum256(good))); err != nil {
		t.Error(err)
	}
}

// newPort creates a port whose completions, n at the most, arrive on a channel.
func newPort(n int) (*WakePort, <-chan Completion) {
	c := make(chan Completion, n)
	return NewWakePort(func(m Completion) { c <- m }), c
}

func TestAsyncRequestsCompleteAtTheirPort(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{})
	expect := m.direct(t)
	port, arrived := newPort(2)
	for i := range 2 {
		if err := s.SendRequestAsync(&m.req, port, [ReferenceSize]byte{byte(i + 1), 31: 7}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		c := <-arrived
		r, err := decodeReply(c.Reply[:])
		if err != nil || c.Result != Success || c.Reference != [ReferenceSize]byte{byte(i + 1), 31: 7} ||
			r.Sequence != uint32(i) || r.Status != 1 || r.Handle != m.h {
			t.Errorf("completion %+v, %+v, %v", c, r, err)
		}
	}
	m.same(t, expect)
	want(t, s.SendRequestAsync(&m.req, nil, [ReferenceSize]byte{}), BadArgument)
	poolsBusy(t, d, 1)
}

// TestAsyncBytes sends an asynchronous request as the kernel's block of bytes: the
// port by its name, the reference before the scalar.
func TestAsyncBytes(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{})
	expect := m.direct(t)
	port, arrived := newPort(1)
	in := make([]byte, RequestSize)
	if err := EncodeRequest(in, &m.req, 9); err != nil {
		t.Fatal(err)
	}
	a := IOExternalMethodArguments{
		AsyncWakePort:   port,
		AsyncReference:  [ReferenceSize]byte{5: 1},
		ScalarInput:     []uint64{uint64(s.token)},
		StructureInput:  in,
		StructureOutput: make([]byte, ReplySize),
	}
	block, done := encodeArguments(s.task, &a)
	if r := s.client.ExternalMethodBytes(SelSendRequest, block); r != Success {
		t.Fatal(r, s.client.LastError())
	}
	done()
	c := <-arrived
	if r, err := decodeReply(c.Reply[:]); err != nil || r.Sequence != 9 || c.Result != Success ||
		c.Reference != a.AsyncReference {
		t.Errorf("%+v, %v", c, err)
	}
	m.same(t, expect)
}

// held runs f while the command gate is held, so that what f sends waits.
func held(t testing.TB, d *Device, f func()) {
	t.Helper()
	if r, err := d.gated(nil, "held", func(time.Duration) (Return, error) { f(); return Success, nil }); r != Success {
		t.Fatal(r, err)
	}
}

// TestRequestsRunByPriority queues requests of all eight priorities while the gate is held: they run strictly by
// priority, and in order within one.
func TestRequestsRunByPriority(t *testing.T) {
	rec := &trace.Recording{}
	d := newDevice(t, Config{Trace: rec.Tracer()})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{})
	port, arrived := newPort(64)
	order := []int{7, 3, 0, 5, 5, 1, 6, 2, 4, 0, 7, 2}
	held(t, d, func() {
		for i, p := range order {
			r := m.req
			r.Priority = uint32(p)
			if err := s.SendRequestAsync(&r, port, [ReferenceSize]byte{byte(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if n := d.Status().Pending; n != uint32(len(order)) {
			t.Errorf("%d pending", n)
		}
	})
	var got []int
	for range order {
		got = append(got, int((<-arrived).Reference[0]))
	}
	wanted := make([]int, len(order))
	for i := range wanted {
		wanted[i] = i
	}
	slices.SortStableFunc(wanted, func(a, b int) int { return order[a] - order[b] })
	if !slices.Equal(got, wanted) {
		t.Errorf("ran in the order %v, want %v", got, wanted)
	}
	// Only one request is in flight: a request begins when the previous one has ended.
	depth := 0
	for _, e := range rec.Events {
		if e.Name == "ANEDriver::ANE_ProgramSendRequest" {
			depth += map[trace.Phase]int{trace.Begin: 1, trace.End: -1}[e.Phase]
			if depth > 1 {
				t.Fatal("two requests in flight")
			}
		}
	}
}

func TestQueueDepthIsBounded(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{QueueDepth: 3})
	if m.info.QueueDepth != 3 {
		t.Errorf("depth %d", m.info.QueueDepth)
	}
	port, arrived := newPort(8)
	held(t, d, func() {
		for i := range 4 {
			err := s.SendRequestAsync(&m.req, port, [ReferenceSize]byte{})
			want(t, err, map[bool]Return{true: NoResources, false: Success}[i == 3])
		}
	})
	if len(arrived) != 3 {
		t.Errorf("%d completions", len(arrived))
	}
}

func TestDeadlineAbortsARequest(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{})
	port, arrived := newPort(1)
	held(t, d, func() {
		r := m.req
		r.Timeout = time.Millisecond
		if err := s.SendRequestAsync(&r, port, [ReferenceSize]byte{}); err != nil {
			t.Fatal(err)
		}
		d.advance(2 * time.Millisecond)
	})
	if c := <-arrived; c.Result != Timeout {
		t.Errorf("a deadline that passed in the queue: %v", c.Result)
	}
	// A wait for an event that nobody signals breaks at its timeout, and the
	// device is re-initialised.
	before := d.Clock().Now()
	r := m.req
	r.Waits, r.Signals = []protocol.Event{{Type: 0, ID: 1, Value: 1}}, []protocol.Event{{Type: 0, ID: 2, Value: 1}}
	r.Timeout = 5 * time.Millisecond
	_, err := s.SendRequest(&r)
	want(t, err, Timeout)
	if took := d.Clock().Now() - before; took < 5*time.Millisecond || took > 20*time.Millisecond {
		t.Errorf("took %v of virtual time", took)
	}
	if n := d.Recoveries(); n != 1 {
		t.Errorf("%d recoveries", n)
	}
	m.check(t)
	poolsBusy(t, d, 1)
}

// poolsBusy checks that no call is left in the firmware's queues.
func poolsBusy(t testing.TB, d *Device, programs int) {
	t.Helper()
	for _, p := range d.Coprocessor().Pools() {
		if p.Name == "program slot" && p.Total-p.Available != programs {
			t.Errorf("%d program slots taken, want %d", p.Total-p.Available, programs)
		}
	}
	var zero firmware.Report
	if r := d.Scheduler().Flight; r == zero || r.Available != r.Total {
		t.Errorf("in flight: %+v", r)
	}
}

func TestRequestsRequireTheirIdentity(t *testing.T) {
	d := newDevice(t, Config{})
	owner := broker(1)
	s := open(t, d, owner)
	m := prepared(t, s, tiny(t), PrepareOptions{})

	// Another team, another hash, no team: nothing of the owner's is reached.
	for _, other := range []*Task{broker(2),
		{PID: 3, TeamID: owner.TeamID, CodeDirectoryHash: [20]byte{9}, Entitlements: allKeys()},
		{PID: 4, CodeDirectoryHash: owner.CodeDirectoryHash, Entitlements: allKeys()}} {
		o := open(t, d, other)
		_, err := o.CreateInstance(m.h, PrepareOptions{})
		want(t, err, NotPrivileged)
		_, err = o.SendRequest(&m.req)
		want(t, err, NotPrivileged)
		want(t, o.Destroy(m.h), NotPrivileged)
		_, err = o.ChainingPrepare(m.h, 0)
		want(t, err, NotPrivileged)
	}

	// A task with the same identity attaches: one program slot, another process, one memory.
	twin := &Task{
		PID:               9,
		TeamID:            owner.TeamID,
		CodeDirectoryHash: owner.CodeDirectoryHash,
		Entitlements:      []string{UserAccess},
	}
	o := open(t, d, twin)
	h, err := o.CreateInstance(m.h, PrepareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if h == m.h {
		t.Error("the instance has the program's token")
	}
	poolsBusy(t, d, 1)
	om := bound(t, o, h, m.info, m.program)
	om.check(t)
	m.check(t)
	// Surfaces stay each task's own.
	r := om.req
	r.Inputs = m.req.Inputs
	_, err = o.SendRequest(&r)
	want(t, err, NotFound)
	want(t, o.Destroy(m.h), NotPrivileged)

	// When the owner closes, what is attached continues.
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	om.fill(5)
	om.check(t)
	_, err = o.CreateInstance(m.h, PrepareOptions{})
	want(t, err, NotFound)
	if err := o.Destroy(h); err != nil {
		t.Fatal(err)
	}
	poolsBusy(t, d, 0)

	// A task that acts for an application has the application's identity and
	// finds its surfaces.
	app := &Task{PID: 20, TeamID: "APP", CodeDirectoryHash: [20]byte{1}}
	in := make([]byte, 4096)
	id := app.CreateSurface(in)
	daemon := broker(21)
	daemon.OnBehalfOf = app
	ds := open(t, d, daemon)
	if i := ds.Client().Info(); i.TeamID != "APP" || i.CodeDirectoryHash != app.CodeDirectoryHash || i.PID != 21 {
		t.Errorf("stamped %+v", i)
	}
	if b, ok := daemon.surface(id); !ok || &b[0] != &in[0] {
		t.Error("the application's surface is not found")
	}
	if _, ok := app.surface(daemon.CreateSurface(make([]byte, 1))); ok {
		t.Error("the application finds the daemon's surface")
	}
}

// TestClientsAreSeparate runs two clients at once: the program of neither reaches the other's buffers, although both
// have the same device addresses.
func TestClientsAreSeparate(t *testing.T) {
	d := newDevice(t, Config{})
	a := prepared(t, open(t, d, broker(1)), adder(t), PrepareOptions{})
	b := prepared(t, open(t, d, broker(2)), adder(t), PrepareOptions{})
	a.fill(1)
	b.fill(2)
	wa, wb := a.direct(t), b.direct(t)
	for range 3 {
		if _, err := a.s.SendRequest(&a.req); err != nil {
			t.Fatal(err)
		}
		if _, err := b.s.SendRequest(&b.req); err != nil {
			t.Fatal(err)
		}
	}
	a.same(t, wa)
	b.same(t, wb)
	r := a.req
	r.Handle = b.h
	_, err := a.s.SendRequest(&r)
	want(t, err, NotPrivileged)
	ca, cb := a.s.client.(*client), b.s.client.(*client)
	for _, e := range ca.space.ctx.Entries() {
		w, err := cb.space.ctx.Window(e.Addr, 1, 1, "probe")
		if err == nil && (same(w[:1], a.bufs[0][:1]) || same(w[:1], a.bufs[1][:1])) {
			t.Errorf("%#x reaches the other client's buffer", e.Addr)
		}
	}
}

func TestStatsBuffer(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, tiny(t), PrepareOptions{})
	stats := make([]byte, 4096)
	m.req.Stats = s.task.CreateSurface(stats)
	m.check(t)
	h, _, err := firmware.ReadStats(stats)
	if err != nil || h.Magic != 0x0101 {
		t.Errorf("%+v, %v", h, err)
	}
	clear(stats)
	m.req.Stats = 0
	m.check(t)
	if !bytes.Equal(stats, make([]byte, len(stats))) {
		t.Error("statistics were written without a buffer in the request")
	}
}

// TestManyInputs runs a procedure with more inputs than fit a call: the others are register overrides.
func TestManyInputs(t *testing.T) {
	container := graph(func(g *irbuild.Graph) {
		x := g.Input(1, 2, 1, 8)
		for range protocol.MaxInputBuffers + 3 {
			x = g.Op("add", "x", x, "y", g.Input(1, 2, 1, 8))
		}
		g.Output(x)
	})
	rec := &trace.Recording{}
	d := newDevice(t, Config{Trace: rec.Tracer()})
	s := open(t, d, broker(1))
	m := prepared(t, s, container(t), PrepareOptions{})
	if len(m.req.Inputs) <= protocol.MaxInputBuffers {
		t.Fatalf("%d inputs", len(m.req.Inputs))
	}
	m.check(t)
	inOrder(t, names(rec, trace.Driver), []string{"post CSNE_CMD_PROCEDURE_CALL_WITH_CUSTOM_BARS"})
}

// TestCallBytes compares the command that build writes with the protocol's own encoding.
func TestCallBytes(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, pair(t), PrepareOptions{})
	c := s.client.(*client)
	k := &call{client: c}
	b := make([]byte, RequestSize)
	if err := EncodeRequest(b, &m.req, 0); err != nil {
		t.Fatal(err)
	}
	if err := k.req.decode(b); err != nil {
		t.Fatal(err)
	}
	if r, err := c.prepareRequest(k); r != Success {
		t.Fatal(err)
	}
	held(t, d, func() {
		if r, err := d.hw.build(k); r != Success {
			t.Fatal(err)
		}
		k.release()
	})
	got, n, err := protocol.DecodeLoop(k.msg)
	if err != nil || n != len(k.msg) {
		t.Fatalf("%d of %d bytes: %v", n, len(k.msg), err)
	}
	if want := got.Bytes(); !bytes.Equal(k.msg, want) {
		t.Errorf("% x\n% x", k.msg, want)
	}
	h := got.Header
	if h.Wire != 0x204 || h.ProgramID != m.info.ProgramID || h.ProcessID != m.info.ProcessID ||
		h.Priority != PriorityDefault {
		t.Errorf("%+v", h)
	}
}

// encodeArguments writes the block of a call into bytes whose pointers lead into
// the task's address space, where it maps the call's arrays. Done unmaps them
// and copies the scalar outputs back.
func encodeArguments(t *Task, a *IOExternalMethodArguments) (block []byte, done func()) {
	le := binary.LittleEndian
	var f argumentBlock
	var mapped []uint64
	put := func(ptr *uint64, count *uint32, b []byte, n int) {
		*ptr, *count = t.Map(b), uint32(n)
		if *ptr != 0 {
			mapped = append(mapped, *ptr)
		}
	}
	var in []byte
	if a.AsyncWakePort != nil {
		f.port = uint64(t.portName(a.AsyncWakePort))
		in = append(in, a.AsyncReference[:]...)
	}
	for _, v := range a.ScalarInput {
		in = le.AppendUint64(in, v)
	}
	out := make([]byte, 8*len(a.ScalarOutput))
	put(&f.scalarIn, &f.scalarInN, in, len(a.ScalarInput))
	put(&f.structIn, &f.structInN, a.StructureInput, len(a.StructureInput))
	put(&f.scalarOut, &f.scalarOutN, out, len(a.ScalarOutput))
	put(&f.structOut, &f.structOutN, a.StructureOutput, len(a.StructureOutput))
	return argumentLayout.Append(nil, &f), func() {
		for i := range a.ScalarOutput {
			a.ScalarOutput[i] = le.Uint64(out[8*i:])
		}
		for _, at := range mapped {
			t.Unmap(at)
		}
	}
}

// portName returns the name under which the task knows a port, creating one if necessary.
func (t *Task) portName(p *WakePort) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.ports, p)
	if i < 0 {
		t.ports = append(t.ports, p)
		i = len(t.ports) - 1
	}
	return uint32(i + 1)
}

// decodeReply reads the output of a request, such as Completion.Reply.
func decodeReply(b []byte) (Reply, error) {
	var p programReply
	if err := replyStruct.decode(b, &p); err != nil {
		return Reply{}, err
	}
	return Reply{Sequence: p.sequence, Result: Return(p.result), Handle: Handle(p.token), Status: p.status}, nil
}
