package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/target"
)

// machine is a broker on a device of its own.
func machine(t testing.TB, change func(*Config)) (*Broker, *driver.Device) {
	t.Helper()
	return machineOf(t, driver.Config{Workers: 1}, change)
}

func machineOf(t testing.TB, dc driver.Config, change func(*Config)) (*Broker, *driver.Device) {
	t.Helper()
	d, err := driver.NewDevice(dc)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Kernel: NewDevice(d, 50, KernelKeys()), Attest: claimed}
	if change != nil {
		change(&cfg)
	}
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Close()
		if r := b.Report(); r != (Report{}) {
			t.Errorf("the broker is left with %+v", r)
		}
		// Only the driver's own address space remains.
		if st := d.Unit().Stats(); st.ContextsOpen != 1 {
			t.Errorf("%d address spaces are open", st.ContextsOpen)
		}
		d.Close()
	})
	return b, d
}

// halves fills surfaces: inputs with fp16 numbers from -2 to 2, the same for the
// same seed.
func halves(p Procedure, seed uint64) map[string][]byte {
	r := rand.New(rand.NewPCG(seed, 7))
	m := surfacesOf(p, 0)
	for _, port := range p.Ports {
		if b := m[port.Name]; !port.Output {
			for i := 0; i+1 < len(b); i += 2 {
				b[i], b[i+1] = byte(r.Uint32()), byte(r.Uint32()&0x80|0x30|r.Uint32()&0xf)
			}
		}
	}
	return m
}

// run evaluates an instance on inputs of a seed and returns the outputs.
func run(t testing.TB, c Client, in *InstanceReply, seed uint64) []byte {
	t.Helper()
	m := halves(in.Procedures[0], seed)
	if err := c.Evaluate(t.Context(), EvaluateRequest{Instance: in.Instance, Surfaces: m}); err != nil {
		t.Fatal(err)
	}
	return output(in.Procedures[0], m)
}

// TestDeviceThroughTheBroker uses the device through the broker, in its process and over a socket, concurrently and in
// turns, and compares the outputs.
func TestDeviceThroughTheBroker(t *testing.T) {
	b, _ := machine(t, nil)
	path := listen(t, b)
	base, other := container(t, 8, 1), container(t, 8, 2)
	owner := connect(t, b, caller(1, "A", KeyModelShare))
	peer := dial(t, path, caller(2, "A", KeyModelShare, KeyAdapterWeight))
	stranger := dial(t, path, caller(3, "B", KeyModelShare))
	m := load(t, owner, LoadRequest{Container: base, Share: true, Identifier: "base"})
	in := instantiate(t, owner, InstanceRequest{Model: m.Model})
	want := run(t, owner, in, 1)
	if bytes.Equal(want, make([]byte, len(want))) {
		t.Fatal("the outputs are zeros; the test would show nothing")
	}
	n := load(t, peer, LoadRequest{Container: base, Share: true})
	if !n.Attached {
		t.Error("the peer did not attach")
	}
	far := instantiate(t, peer, InstanceRequest{Model: n.Model, QoS: QoSUserInitiated})
	l := load(t, stranger, LoadRequest{Container: base, Share: true})
	if l.Attached {
		t.Error("a stranger attached")
	}
	alone := instantiate(t, stranger, InstanceRequest{Model: l.Model, QoS: QoSBackground})
	for what, got := range map[string][]byte{
		"again":                     run(t, owner, in, 1),
		"attached, over the socket": run(t, peer, far, 1),
		"own load":                  run(t, stranger, alone, 1),
	} {
		if !bytes.Equal(got, want) {
			t.Errorf("%s: other outputs", what)
		}
	}
	// An adapter computes the same as the model compiled from its weights.
	compiled := load(t, owner, LoadRequest{Container: other})
	adapted := run(t, owner, instantiate(t, owner, InstanceRequest{Model: compiled.Model}), 1)
	if bytes.Equal(adapted, want) {
		t.Fatal("both weights give the same outputs")
	}
	adapter, err := peer.CreateInstanceWithWeights(t.Context(), WeightsRequest{
		Base:            "base",
		WeightFileCount: 1,
		WeightFiles:     section(t, other),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, peer, adapter, 1); !bytes.Equal(got, adapted) {
		t.Error("the adapter computes something else than the model of its weights")
	}
	if !bytes.Equal(run(t, owner, in, 1), want) {
		t.Error("the adapter changed the base")
	}
	// The driver's refusals come with its codes.
	_, err = owner.Load(t.Context(), LoadRequest{Container: bytes.Repeat([]byte{1}, 100)})
	refused(t, err, BadArgument)
}

// TestDeviceUnwiring runs three programs in turn with a budget for two.
func TestDeviceUnwiring(t *testing.T) {
	probe, _ := machine(t, nil)
	load(t, connect(t, probe, caller(1, "A")), LoadRequest{Container: container(t, 8, 1)})
	budget := probe.Report().WiredBytes * 5 / 2
	b, _ := machine(t, func(c *Config) { c.Limits.WiredBytes = budget })
	s := connect(t, b, caller(1, "A"))
	var ins []*InstanceReply
	var want [][]byte
	for i := range 3 {
		m := load(t, s, LoadRequest{Container: container(t, 8, float64(i+1))})
		ins = append(ins, instantiate(t, s, InstanceRequest{Model: m.Model}))
		want = append(want, run(t, s, ins[i], 1))
	}
	most := 0
	for round := range 4 {
		for i, in := range ins {
			if !bytes.Equal(run(t, s, in, 1), want[i]) {
				t.Errorf("round %d: program %d has other outputs", round, i)
			}
			r := b.Report()
			most = max(most, r.Wired)
			if r.WiredBytes > budget {
				t.Errorf("%d bytes are wired", r.WiredBytes)
			}
		}
	}
	if most != 2 {
		t.Errorf("at most %d programs were wired at a time, wanted 2", most)
	}
}

// TestKernelKeys checks the keys that the kernel requires: without the hard gate the broker opens nothing, and a direct
// path chains data only for the holder.
func TestKernelKeys(t *testing.T) {
	c := container(t, 8, 1)
	b, d := machine(t, nil)
	lame, err := New(Config{Kernel: NewDevice(d, 51, KernelKeys()[1:])})
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, lame, caller(1, "A", KeyUserClient))
	_, err = s.Load(t.Context(), LoadRequest{Container: c})
	refused(t, err, Failed)
	var own *Error
	if !errors.As(err, &own) || own.Return != uint32(driver.NotPrivileged) {
		t.Errorf("error %v, wanted the driver's kIOReturnNotPrivileged", err)
	}
	lame.Close()

	for _, chaining := range []bool{false, true} {
		id := caller(7, "A", KeyDirectPath)
		if chaining {
			id.Entitlements = append(id.Entitlements, KeyDataChaining)
		}
		s := connect(t, b, id)
		task := &driver.Task{
			PID:               id.PID,
			TeamID:            id.TeamID,
			CodeDirectoryHash: id.CodeDirectoryHash,
			Entitlements:      id.Entitlements,
		}
		if _, err := d.OpenDirect(task); !errors.Is(err, driver.NotPrivileged) {
			t.Errorf("a client opened the device by itself: %v", err)
		}
		m := load(t, s, LoadRequest{Container: c})
		in := instantiate(t, s, InstanceRequest{Model: m.Model})
		x, err := s.OpenDirectConnection(t.Context(), DirectPathRequest{Instance: in.Instance}, task)
		if err != nil {
			t.Fatal(err)
		}
		if x.Client().Info().AllowDataChaining != chaining {
			t.Errorf("data chaining %v, wanted %v", !chaining, chaining)
		}
		s.Close()
	}
}

// TestDirectPathBypassesTheBroker checks that a client submits on its own connection, and that the broker sees none of
// its submissions.
func TestDirectPathBypassesTheBroker(t *testing.T) {
	var rec trace.Recording
	b, _ := machine(t, func(c *Config) { c.Trace = rec.Tracer() })
	c := container(t, 8, 1)
	id := caller(7, "A", KeyDirectPath)
	s := connect(t, b, id)
	m := load(t, s, LoadRequest{Container: c})
	in := instantiate(t, s, InstanceRequest{Model: m.Model})
	want := run(t, s, in, 3)
	task := &driver.Task{PID: id.PID, TeamID: id.TeamID, CodeDirectoryHash: id.CodeDirectoryHash}
	x, err := s.OpenDirectConnection(t.Context(), DirectPathRequest{Instance: in.Instance}, task)
	if err != nil {
		t.Fatal(err)
	}
	if x.Intermediate == 0 {
		t.Error("no intermediate buffer")
	}
	p := in.Procedures[0]
	surfaces := halves(p, 3)
	req := driver.Request{Handle: x.Program, Priority: uint32(in.Priority)}
	for _, port := range p.Ports {
		id := task.CreateSurface(surfaces[port.Name])
		if port.Output {
			req.Outputs = append(req.Outputs, id)
		} else {
			req.Inputs = append(req.Inputs, id)
		}
	}
	before := len(rec.Events)
	for range 3 {
		if _, err := x.SendRequest(&req); err != nil {
			t.Fatal(err)
		}
	}
	if len(rec.Events) != before {
		t.Error("a submission on the direct path went through the broker")
	}
	if !bytes.Equal(output(p, surfaces), want) {
		t.Error("the direct path has other outputs")
	}
	req.Priority = 0
	if _, err := x.SendRequest(&req); !errors.Is(err, driver.NotPrivileged) {
		t.Errorf("the system's priority on a direct path: %v", err)
	}
	for what, stranger := range map[string]*driver.Task{
		"none":            nil,
		"another process": {PID: 8, TeamID: "A", CodeDirectoryHash: id.CodeDirectoryHash},
		"another team":    {PID: 7, TeamID: "B"},
	} {
		_, err := s.OpenDirectConnection(t.Context(), DirectPathRequest{Instance: in.Instance}, stranger)
		if !isCode(err, BadArgument) {
			t.Errorf("task %s: %v", what, err)
		}
	}
	// Handle and connection go with the instance.
	if err := s.ReleaseInstance(t.Context(), ReleaseRequest{Instance: in.Instance}); err != nil {
		t.Fatal(err)
	}
	req.Priority = 5
	if _, err := x.SendRequest(&req); !errors.Is(err, driver.Closed) {
		t.Errorf("a request of a released instance: %v", err)
	}
	again := instantiate(t, s, InstanceRequest{Model: m.Model})
	if x, err = s.OpenDirectConnection(t.Context(), DirectPathRequest{Instance: again.Instance}, task); err != nil {
		t.Fatal(err)
	}
	req.Handle = x.Program
	if _, err := x.SendRequest(&req); err != nil {
		t.Error(err)
	}
	s.Close()
	if _, err := x.SendRequest(&req); !errors.Is(err, driver.Closed) {
		t.Errorf("a request after the session closed: %v", err)
	}
}

// TestChainsKeepAnAccumulatorResident creates a chain with the broker and fires it on the direct path: each execution
// reads what the previous one has written.
func TestChainsKeepAnAccumulatorResident(t *testing.T) {
	b, _ := machine(t, nil)
	g := irbuild.New(1)
	g.Output(g.Op("add", "x", g.Input(1, 8, 1, 32), "y", 1.0))
	r, err := compile.All(t.Context(), g.Program(), compile.Options{Target: target.H13, SplitKernel: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := hwx.Encode(r.HWX)
	if err != nil {
		t.Fatal(err)
	}
	for _, allowed := range []bool{true, false} {
		id := caller(7, "A", KeyDirectPath)
		if allowed {
			id.Entitlements = append(id.Entitlements, KeyDataChaining)
		}
		s := connect(t, b, id)
		m := load(t, s, LoadRequest{Container: c})
		in := instantiate(t, s, InstanceRequest{Model: m.Model})
		chain, err := s.PrepareChaining(t.Context(), ChainingRequest{Instance: in.Instance})
		if err != nil || chain.Inputs != 1 || chain.Outputs != 1 {
			t.Fatalf("chain %+v, %v", chain, err)
		}
		task := &driver.Task{
			PID:               id.PID,
			TeamID:            id.TeamID,
			CodeDirectoryHash: id.CodeDirectoryHash,
			Entitlements:      id.Entitlements,
		}
		x, err := s.OpenDirectConnection(t.Context(), DirectPathRequest{Instance: in.Instance}, task)
		if err != nil {
			t.Fatal(err)
		}
		p := in.Procedures[0]
		surfaces := surfacesOf(p, 0)
		for _, port := range p.Ports {
			clear(surfaces[port.Name])
		}
		var ins []driver.ReadyBuffer
		var outs []uint32
		for _, port := range p.Ports {
			id := task.CreateSurface(surfaces[port.Name])
			if port.Output {
				outs = append(outs, id)
			} else {
				ins = append(ins, driver.ReadyBuffer{Surface: id, Size: port.Size})
			}
		}
		d := driver.Chain{Handle: driver.Handle(chain.Chain), Procedure: uint32(chain.Procedure), Inputs: 1, Outputs: 1}
		for step, want := range []uint16{0x3c00, 0x4000, 0x4200, 0x4400} { // 1, 2, 3, 4
			err := x.OutputSetEnqueue(d, outs)
			if !allowed {
				if !errors.Is(err, driver.NotPrivileged) {
					t.Errorf("without %s: %v", KeyDataChaining, err)
				}
				break
			}
			if err == nil {
				err = x.InputsReady(d, ins, 0)
			}
			if err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			ins = nil
			if got := binary.LittleEndian.Uint16(output(p, surfaces)); got != want {
				t.Errorf("step %d: %#x, wanted %#x", step, got, want)
			}
		}
		// The chain does not keep the instance from being released.
		if err := s.ReleaseInstance(t.Context(), ReleaseRequest{Instance: in.Instance}); err != nil {
			t.Error(err)
		}
		_, err = s.PrepareChaining(t.Context(), ChainingRequest{Instance: in.Instance})
		refused(t, err, NotFound)
		s.Close()
	}
}

// waitForMemory repeats a request while all memory that may be wired is of programs in use.
func waitForMemory(request func() error) error {
	for {
		if err := request(); !isCode(err, NoMemory) {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// TestDeviceClients runs many concurrent clients of several tenants, classes and models, in memory for half of them;
// none gets the output of another.
func TestDeviceClients(t *testing.T) {
	b, _ := machine(t, func(c *Config) { c.Limits.WiredBytes = 1 << 19 })
	cs := [][]byte{container(t, 8, 1), container(t, 8, 2), container(t, 4, 1)}
	classes := []QoS{QoSBackground, QoSUtility, QoSDefault, QoSUserInitiated, QoSUserInteractive}
	// The first run of each model and input is made alone; the others must have the same result.
	want := map[string][]byte{}
	s := connect(t, b, caller(99, "Z"))
	for i, c := range cs {
		m := load(t, s, LoadRequest{Container: c})
		in := instantiate(t, s, InstanceRequest{Model: m.Model})
		for seed := range uint64(16) {
			want[fmt.Sprint(i, seed)] = run(t, s, in, seed)
		}
	}
	s.Close()
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			s, err := b.Connect(caller(i+1, fmt.Sprint("team", i%3), KeyModelShare))
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			m, err := s.Load(t.Context(), LoadRequest{Container: cs[i%3], Share: i%2 == 0})
			if err != nil {
				t.Error(err)
				return
			}
			var in *InstanceReply
			if err := waitForMemory(func() (err error) {
				in, err = s.CreateInstance(t.Context(), InstanceRequest{
					Model:             m.Model,
					QoS:               classes[i%5],
					QueueDepth:        2,
					EnablePowerSaving: i%4 == 0,
				})
				return err
			}); err != nil {
				t.Error(err)
				return
			}
			p := in.Procedures[0]
			for round := range 6 {
				seed := uint64((i + round) % 16)
				surfaces := halves(p, seed)
				if err := waitForMemory(func() error {
					return s.Evaluate(t.Context(), EvaluateRequest{
						Instance: in.Instance,
						Surfaces: surfaces,
					})
				}); err != nil {
					t.Error(err)
				} else if !bytes.Equal(output(p, surfaces), want[fmt.Sprint(i%3, seed)]) {
					t.Errorf("client %d, round %d: another output", i, round)
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkEvaluate measures one evaluation through broker and device; the time above the driver's own is the broker's.
func BenchmarkEvaluate(b *testing.B) {
	br, _ := machine(b, nil)
	s := connect(b, br, caller(1, "A"))
	m := load(b, s, LoadRequest{Container: container(b, 8, 1)})
	in := instantiate(b, s, InstanceRequest{Model: m.Model})
	req := EvaluateRequest{Instance: in.Instance, Surfaces: halves(in.Procedures[0], 1)}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Evaluate(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBroker measures the broker alone, over a driver that does nothing.
func BenchmarkBroker(b *testing.B) {
	k := newFake(b)
	br, err := New(Config{Kernel: idle{k}})
	if err != nil {
		b.Fatal(err)
	}
	s := connect(b, br, caller(1, "A"))
	m := load(b, s, LoadRequest{Container: container(b, 8, 1)})
	in := instantiate(b, s, InstanceRequest{Model: m.Model})
	req := EvaluateRequest{Instance: in.Instance, Surfaces: halves(in.Procedures[0], 1)}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Evaluate(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}

// idle is the fake driver without work in a request.
type idle struct{ *fakeKernel }

func (k idle) Open(id Identity) (Services, error) {
	s, err := k.fakeKernel.Open(id)
	return idleServices{s}, err
}

type idleServices struct{ Services }

func (idleServices) SendRequest(*Request) error { return nil }
