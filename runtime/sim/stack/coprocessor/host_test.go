package coprocessor

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// host is the driver's side in tests.
type host struct {
	t     testing.TB
	d     *Device
	unit  *translation.Unit
	clock *firmware.Clock
	rec   *trace.Recording
	bells []bell
	user  uint32
	ctx   *translation.Context
}

type bell struct {
	reg   uint64
	value uint32
}

// newHost makes a device with power off.
func newHost(t testing.TB, change func(*Config)) *host {
	t.Helper()
	h := &host{t: t, user: 7, rec: new(trace.Recording)}
	var err error
	if h.unit, err = translation.NewUnit(translation.Config{}); err != nil {
		t.Fatal(err)
	}
	if h.clock, err = firmware.NewClock(32); err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Unit:     h.unit,
		Clock:    h.clock,
		Target:   target.H13,
		Workers:  1,
		Doorbell: func(reg uint64, v uint32) { h.bells = append(h.bells, bell{reg, v}) },
	}
	if change != nil {
		change(&cfg)
	}
	if h.d, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	h.ctx = h.unit.Context(uint64(h.user))
	h.d.Bind(h.user, h.ctx)
	return h
}

// up brings the device up until it accepts commands.
func (h *host) up() {
	h.t.Helper()
	if err := h.boot(); err != nil {
		h.t.Fatal(err)
	}
}

// release is attach and the first half of ANE_Init.
func (h *host) release() {
	d := h.d
	d.Write32(PS, RegPower, 1)
	d.Write32(PWGATE, RegGate, 1)
	d.Write32(ANE, RegCPU, 0)
	for i := range NumScratch {
		d.Write32(ANE, Scratch(i), 0)
	}
	d.Write32(ANE, Scratch(ScratchChip), ChipRevision)
	d.Write32(ANE, Scratch(ScratchIPC), IPCVersion)
	d.Write32(ANE, Scratch(ScratchWake), BootCold)
	d.Write32(ANE, RegRVBAR, uint32(uint64(BootAddress)&0xffff_ffff))
	d.Write32(ANE, RegRVBAR+4, uint32(uint64(BootAddress)>>32))
	d.Write32(ANE, RegCPU, 1)
}

func (h *host) boot() error {
	h.release()
	for _, s := range Handshakes {
		if err := h.d.Run(context.Background()); err != nil {
			return err
		}
		if got := h.d.Read32(ANE, Scratch(s.Scratch)); got != s.Value {
			return fmt.Errorf("handshake %d: scratch %d is %#x, want %#x; %v", s.Order, s.Scratch, got, s.Value,
				h.d.LastError())
		}
		h.d.Write32(ANE, Scratch(s.Scratch), 0)
	}
	h.d.Write32(ANE, RegIRQ, 1)
	return nil
}

// note is a notification in short.
type note struct {
	name   string
	header protocol.Header
	values []uint64
}

func (n note) status() Status {
	switch n.name {
	case "PROGRAM_EVENT":
		return Status(n.values[1])
	case "DATA_CHAINING_EVENT":
		return Status(n.values[3])
	}
	return Status(n.values[0])
}

func (h *host) notes() (out []note) {
	for {
		m, ok, err := h.d.TakeNotification()
		if err != nil {
			out = append(out, note{name: "damaged"})
			continue
		}
		if !ok {
			return out
		}
		if m.Row.ID == protocol.IDTileSyncNote {
			continue // it comes in addition to the completion of a call
		}
		n := note{name: m.Row.Name, header: m.Header}
		if r, ok := m.Body.(*protocol.Record); ok {
			n.values = r.Values
		}
		out = append(out, n)
	}
}

func (h *host) run() error { return h.d.Run(context.Background()) }

func none() protocol.Header {
	return protocol.Header{Priority: 3, ProgramID: protocol.Unbound, ProcessID: protocol.Unbound}
}

// post posts a control command of fixed fields.
func (h *host) post(name string, hd protocol.Header, values ...uint64) {
	h.t.Helper()
	row := protocol.ByName(name)
	h.postBody(row, hd, &protocol.Record{Layout: row.Request, Values: values})
}

func (h *host) postBody(row *protocol.Row, hd protocol.Header, body protocol.Body) {
	h.t.Helper()
	m, err := protocol.New(Numbering, row, hd, body)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.d.Rings().Post(protocol.Control, m.Bytes()); err != nil {
		h.t.Fatal(err)
	}
	h.d.Write32(ANE, RegDoorbell, 1<<BellControl)
}

// command posts a control command and returns its completion.
func (h *host) command(name string, hd protocol.Header, values ...uint64) note {
	h.t.Helper()
	h.post(name, hd, values...)
	if err := h.run(); err != nil {
		h.t.Fatal(err)
	}
	ns := h.notes()
	if len(ns) != 1 {
		h.t.Fatalf("%s: %d notifications: %v", name, len(ns), ns)
	}
	return ns[0]
}

// must sends a command that must succeed.
func (h *host) must(name string, hd protocol.Header, values ...uint64) note {
	h.t.Helper()
	n := h.command(name, hd, values...)
	if n.status() != StatusOK || n.name != "PROGRAM_EVENT" {
		h.t.Fatalf("%s: %s %s: %v", name, n.name, n.status(), h.d.LastError())
	}
	return n
}

// first sends the first commands in their order and binds the loop's endpoint.
func (h *host) first() {
	h.t.Helper()
	h.must("PRINT_ENABLE", none(), 1)
	h.must("START", none())
	h.must("SET_SNE_PMU_BASE", none(), PMUBase)
	h.must("CH_PROPERTY_WRITE", none(), PropHostTime, 1)
	h.must("CH_PROPERTY_WRITE", none(), PropTunables, 1)
	h.must("RESOURCE_INFO_GET", none())
	h.must("ANE_DEFAULT_SETTING_SET", none(), 100)
	h.must("POWER_DEVICE_ON", none(), DeviceMemoryCache)
	h.must("INIT_SHARED_EVENT_INFO", none(), 0x10000, 1024)
	h.must("IPC_ENDPOINT_SET", none(), uint64(protocol.EndpointDataChaining), 64, 0x2_8000_0000, 5)
	for {
		if _, ok := h.d.TakeReply(); !ok {
			break
		}
	}
}

// loaded is a program in a process.
type loaded struct {
	h       *host
	l       *loader.Loaded
	program int32
	process int32
	ports   []loader.Port
	bufs    [][]byte
	addrs   []uint64
	job     uint32
}

// load loads a container, starts a process and maps a buffer for each port of a
// procedure.
func (h *host) load(container []byte, proc int) *loaded {
	h.t.Helper()
	p, err := loader.Read(container)
	if err != nil {
		h.t.Fatal(err)
	}
	x := &loaded{h: h}
	if x.l, err = p.Load(h.ctx, "load"); err != nil {
		h.t.Fatal(err)
	}
	addr, size := x.l.AFPP()
	hd := none()
	hd.ProcedureID = h.user
	n := h.must("LOAD_AFPP", hd, addr, uint64(size))
	x.program = n.header.ProgramID
	hd.ProgramID = x.program
	x.process = h.must("CREATE_PROCESS", hd).header.ProcessID
	x.ports = p.Procedures()[proc].Ports
	for _, q := range x.ports {
		b := make([]byte, q.Size)
		usage := translation.Input
		if q.Output {
			usage = translation.Output
		}
		m, err := h.ctx.Map(b, usage, "port")
		if err != nil {
			h.t.Fatal(err)
		}
		x.bufs, x.addrs = append(x.bufs, b), append(x.addrs, m.Addr())
	}
	return x
}

func (x *loaded) header() protocol.Header {
	return protocol.Header{Priority: 4, ProgramID: x.program, ProcessID: x.process}
}

// body is a call with all ports bound.
func (x *loaded) body() *protocol.ProcedureCall {
	x.job++
	c := &protocol.ProcedureCall{UserID: x.h.user, JobID: x.job}
	for i, q := range x.ports {
		b := protocol.Buffer{Type: protocol.InputBuffer, BarID: q.Bar, Buffer: x.addrs[i], Size: q.Size}
		if q.Output {
			b.Type = protocol.OutputBuffer
			c.Outputs = append(c.Outputs, b)
		} else {
			c.Inputs = append(c.Inputs, b)
		}
	}
	return c
}

// loop posts a message on the execution loop's ring.
func (h *host) loop(wire uint16, hd protocol.Header, body protocol.Body) {
	h.t.Helper()
	m := protocol.LoopMessage{
		Header: protocol.LoopHeader{
			Wire:        wire,
			ProgramID:   hd.ProgramID,
			ProcessID:   hd.ProcessID,
			ProcedureID: hd.ProcedureID,
			Priority:    hd.Priority,
		},
		Body: body,
	}
	if err := h.d.Rings().Post(protocol.Loop, m.Bytes()); err != nil {
		h.t.Fatal(err)
	}
	h.d.Write32(ANE, RegDoorbell, 1<<BellLoop)
}

// trip is the virtual time of a call of the first procedure, from its command to its completion.
func (x *loaded) trip() time.Duration {
	x.h.t.Helper()
	sum := cost.Firmware.Fixed() + cost.Start.Fixed()
	_, _, tasks := x.tasks(0)
	for _, p := range tasks {
		sum += cost.Estimate(p.Task, target.H13).Time
	}
	return time.Duration(sum)
}

// tasks reads a procedure's tasks from the container.
func (x *loaded) tasks(proc int) (*afpp.Program, *afpp.Procedure, []td.Placed) {
	x.h.t.Helper()
	pkg, err := afpp.Read(bytes.Clone(x.l.Firmware()))
	if err != nil {
		x.h.t.Fatal(err)
	}
	g := pkg.Programs[0]
	all, err := td.Join(g.Text.Images, g.Text.Records)
	if err != nil {
		x.h.t.Fatal(err)
	}
	pr := &g.Procedures[proc]
	var tasks []td.Placed
	for _, o := range g.Operations[pr.FirstOperation : pr.FirstOperation+pr.Operations] {
		for i := o.FirstTask; i < o.FirstTask+o.Tasks; i++ {
			tasks = append(tasks, td.Placed{Task: all[i]})
		}
	}
	return g, pr, tasks
}

// call runs one plain call and returns its completion.
func (x *loaded) call() note {
	x.h.t.Helper()
	x.h.loop(0x204, x.header(), x.body())
	if err := x.h.run(); err != nil {
		x.h.t.Fatal(err)
	}
	ns := x.h.notes()
	if len(ns) != 1 {
		x.h.t.Fatalf("%d notifications: %v", len(ns), ns)
	}
	return ns[0]
}

func (x *loaded) fill(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i, q := range x.ports {
		for k := range x.bufs[i] {
			x.bufs[i][k] = 0
			if !q.Output {
				x.bufs[i][k] = byte(r.Uint32())
				if k%2 == 1 {
					x.bufs[i][k] = x.bufs[i][k]&0x83 | 0x38 // fp16 of moderate size
				}
			}
		}
	}
}

// outputs are the bytes of the output ports.
func (x *loaded) outputs() (out [][]byte) {
	for i, q := range x.ports {
		if q.Output {
			out = append(out, bytes.Clone(x.bufs[i]))
		}
	}
	return out
}

// plain is the engine's memory in the reference run: a slice a register.
type plain map[int][]byte

func (p plain) Window(bar int, off, n int64, write bool) ([]byte, error) {
	b, ok := p[bar]
	if !ok || off < 0 || n < 0 || off+n > int64(len(b)) {
		return nil, fmt.Errorf("register %d, bytes %d to %d of %d", bar, off, off+n, len(b))
	}
	return b[off : off+n], nil
}

// direct runs a procedure on the engine alone, from the same container and
// inputs.
func (x *loaded) direct(proc int) (out [][]byte) {
	x.h.t.Helper()
	g, pr, tasks := x.tasks(proc)
	mem := plain{}
	for _, b := range pr.Bars {
		mem[int(b.ID)] = make([]byte, b.Size)
		if b.Usage == afpp.UsageWeights || b.Usage == afpp.UsageConstants {
			mem[int(b.ID)] = bytes.Clone(g.Kernel)
		}
	}
	for i, q := range x.ports {
		if !q.Output {
			copy(mem[int(q.Bar)], x.bufs[i])
		}
	}
	run := engine.New(engine.Options{L2Bytes: target.H13.L2Bytes, Workers: 1}).Run
	if err := run(context.Background(), tasks, mem); err != nil {
		x.h.t.Fatal(err)
	}
	for _, q := range x.ports {
		if q.Output {
			out = append(out, mem[int(q.Bar)])
		}
	}
	return out
}

// containerOf compiles a graph.
func containerOf(t testing.TB, build func(g *irbuild.Graph)) []byte {
	t.Helper()
	g := irbuild.New(1)
	build(g)
	r, err := compile.All(context.Background(), g.Program(), compile.Options{Target: target.H13, SplitKernel: true})
	if err != nil {
		t.Fatal(err)
	}
	b, err := hwx.Encode(r.HWX)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tiny is the chapter's tiny graph: a 3x3 convolution from 8 to 8 channels, relu
// and mean.
func tiny(g *irbuild.Graph) {
	x := g.Input(1, 8, 16, 16)
	y := g.Op("conv", "x", x, "weight", g.Weights(8, 8, 3, 3), "strides", []int{1, 1}, "pad_type", "same", "pad",
		[]int{0, 0, 0, 0}, "dilations", []int{1, 1}, "groups", 1)
	g.Output(g.Op("reduce_mean", "x", g.Op("relu", "x", y), "axes", []int{2, 3}, "keep_dims", true))
}

// adder adds one to its input: the step of an accumulator.
func adder(g *irbuild.Graph) {
	g.Output(g.Op("add", "x", g.Input(1, 8, 1, 32), "y", 1.0))
}

// ready is a host with a device that has had its first commands.
func ready(t testing.TB, change func(*Config)) *host {
	t.Helper()
	h := newHost(t, change)
	h.up()
	h.first()
	h.bells = nil
	return h
}

func full(t testing.TB, d *Device) {
	t.Helper()
	for _, p := range d.Pools() {
		switch p.Name {
		case "task", "queue", "semaphore", "mutex", "mailbox", "framework arena": // held by pumps and channels
			continue
		}
		if p.Available != p.Total {
			t.Errorf("pool %s: %d of %d available", p.Name, p.Available, p.Total)
		}
	}
}
