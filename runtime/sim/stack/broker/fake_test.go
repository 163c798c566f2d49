package broker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/driver"
	"github.com/zinc-compiler/zinc/target"
)

// kernelError is an error of the fake driver with a return code.
type kernelError uint32

func (e kernelError) Error() string    { return fmt.Sprintf("fake driver: %#x", uint32(e)) }
func (e kernelError) IOReturn() uint32 { return uint32(e) }

// fakeKernel is a driver that checks its requests: calls in the wrong order, handles that do not exist and surfaces of
// the wrong size fail the test.
type fakeKernel struct {
	t testing.TB

	mu       sync.Mutex
	next     Handle
	open     int
	opened   []Identity
	programs map[Handle]*fakeProgram
	log      []string
	requests []Request
	slots    int                  // prepared programs that fit; 0 is any number
	hold     chan struct{}        // when set, requests wait for it
	started  chan struct{}        // receives one value for each request
	memory   func(c []byte) int64 // bytes of a prepared program
}

type fakeProgram struct {
	svc       *fakeServices
	container []byte
	procs     []Procedure
	base      Handle // of an instance
	prepared  bool
	instances int
	chains    int
	options   PrepareOptions
}

type fakeServices struct {
	k        *fakeKernel
	surfaces map[uint32][]byte
	next     uint32
	closed   bool
	chained  []*fakeProgram
}

func newFake(t testing.TB) *fakeKernel {
	return &fakeKernel{t: t, programs: map[Handle]*fakeProgram{}}
}

func (k *fakeKernel) Procedures(container []byte) ([]Procedure, error) {
	f, err := hwx.Read(container)
	if err != nil {
		return nil, err
	}
	var procs []Procedure
	for _, p := range f.Procedures() {
		proc := Procedure{Name: p.Name}
		for _, x := range f.Tensors() {
			if x.Procedure != p.Name {
				continue
			}
			size := x.Span
			if x.Binding == hwx.BindOutput {
				size = x.BatchBytes * uint64(x.Dims[0])
			}
			proc.Ports = append(proc.Ports, Port{Name: x.Name, Output: x.Binding == hwx.BindOutput, Size: size})
		}
		procs = append(procs, proc)
	}
	return procs, nil
}

func (k *fakeKernel) Open(on Identity) (Services, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open++
	k.opened = append(k.opened, on)
	return &fakeServices{k: k, surfaces: map[uint32][]byte{}}, nil
}

// note writes a line of the log and fails the test if a call is wrong. The caller holds k.mu.
func (s *fakeServices) note(ok bool, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	s.k.log = append(s.k.log, line)
	if !ok || s.closed {
		s.k.t.Errorf("driver was asked for %s in a state in which it cannot", line)
	}
}

func (s *fakeServices) ProgramCreate(container []byte) (Handle, error) {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	procs, err := s.k.Procedures(container)
	if err != nil {
		return 0, err
	}
	s.k.next++
	h := s.k.next
	s.k.programs[h] = &fakeProgram{svc: s, container: container, procs: procs}
	s.note(true, "create %d", h)
	return h, nil
}

func (s *fakeServices) Prepare(h Handle, o PrepareOptions) (Prepared, error) {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	p := s.k.programs[h]
	n := 0
	for _, q := range s.k.programs {
		if q.prepared && q.base == 0 {
			n++
		}
	}
	if s.k.slots > 0 && n >= s.k.slots {
		return Prepared{}, kernelError(codes[NoResources].ret)
	}
	ok := p != nil && p.svc == s && !p.prepared && p.base == 0
	s.note(ok, "prepare %d", h)
	if !ok {
		return Prepared{}, kernelError(codes[BadArgument].ret)
	}
	p.prepared, p.options = true, o
	r := Prepared{Intermediate: uint32(h) + 1000}
	if s.k.memory != nil {
		r.Resident = s.k.memory(p.container)
	}
	return r, nil
}

func (s *fakeServices) CreateInstance(h Handle, o PrepareOptions) (Handle, error) {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	p := s.k.programs[h]
	ok := p != nil && p.svc == s && p.prepared && p.base == 0
	s.note(ok, "instance of %d", h)
	if !ok {
		return 0, kernelError(codes[BadArgument].ret)
	}
	s.k.next++
	p.instances++
	s.k.programs[s.k.next] = &fakeProgram{
		svc:       s,
		container: p.container,
		procs:     p.procs,
		base:      h,
		prepared:  true,
		options:   o,
	}
	return s.k.next, nil
}

func (s *fakeServices) PrepareChain(h Handle, procedure int) (Handle, error) {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	p := s.k.programs[h]
	ok := p != nil && p.svc != s && p.prepared && p.base != 0 && procedure < len(p.procs)
	s.note(ok, "chain of %d", h)
	if !ok {
		return 0, kernelError(codes[BadArgument].ret)
	}
	s.k.next++
	s.chained = append(s.chained, p)
	p.chains++
	return s.k.next, nil
}

func (s *fakeServices) Chain(Handle, int, *Procedure) (Chain, error) {
	return nil, kernelError(driver.NotPrivileged)
}

func (s *fakeServices) Unprepare(h Handle) error {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	p := s.k.programs[h]
	s.note(p != nil && p.svc == s && p.prepared && p.instances == 0 && p.chains == 0, "unprepare %d", h)
	if p != nil {
		p.prepared = false
	}
	return nil
}

func (s *fakeServices) Destroy(h Handle) error {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	p := s.k.programs[h]
	s.note(p != nil && p.svc == s && !p.prepared, "destroy %d", h)
	if p != nil && p.base != 0 {
		s.k.programs[p.base].instances--
	}
	delete(s.k.programs, h)
	return nil
}

func (s *fakeServices) CreateSurface(b []byte) uint32 {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	if len(b) == 0 {
		return 0
	}
	s.next++
	s.surfaces[s.next] = b
	return s.next
}

func (s *fakeServices) ReleaseSurface(id uint32) bool {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	_, ok := s.surfaces[id]
	delete(s.surfaces, id)
	if !ok {
		s.k.t.Errorf("surface %d is released twice", id)
	}
	return ok
}

func (s *fakeServices) Close() error {
	s.k.mu.Lock()
	defer s.k.mu.Unlock()
	s.note(len(s.surfaces) == 0, "close with %d surfaces", len(s.surfaces))
	for _, p := range s.chained {
		p.chains--
	}
	s.closed = true
	s.k.open--
	return nil
}

// compute is the program of the fake driver: every output is the hash of constants, tasks and inputs, repeated.
func compute(container []byte, ports []Port, inputs, outputs [][]byte) {
	f, _ := hwx.Read(container)
	h := sha256.New()
	h.Write(f.ConstantBytes())
	h.Write(f.TextBytes())
	for _, b := range inputs {
		h.Write(b)
	}
	sum := h.Sum(nil)
	for i, b := range outputs {
		for j := range b {
			b[j] = sum[(i+j)%len(sum)]
		}
	}
}

func (s *fakeServices) SendRequestAsync(r *Request, done func(error)) error {
	done(s.SendRequest(r))
	return nil
}

func (s *fakeServices) SendRequest(r *Request) error {
	s.k.mu.Lock()
	p := s.k.programs[r.Handle]
	s.note(p != nil && p.svc == s && p.prepared && p.base != 0, "request of %d", r.Handle)
	if p == nil || r.Procedure >= len(p.procs) {
		s.k.mu.Unlock()
		return kernelError(codes[NotFound].ret)
	}
	s.k.requests = append(s.k.requests, *r)
	ports := p.procs[r.Procedure].Ports
	var ins, outs [][]byte
	in, out := r.Inputs, r.Outputs
	for _, port := range ports {
		ids, list := &in, &ins
		if port.Output {
			ids, list = &out, &outs
		}
		if len(*ids) == 0 {
			s.k.t.Errorf("port %q has no surface", port.Name)
			break
		}
		b := s.surfaces[(*ids)[0]]
		if uint64(len(b)) != port.Size {
			s.k.t.Errorf("port %q: surface of %d bytes, wanted %d", port.Name, len(b), port.Size)
		}
		*list, *ids = append(*list, b), (*ids)[1:]
	}
	hold, started, container := s.k.hold, s.k.started, p.container
	s.k.mu.Unlock()
	if started != nil {
		started <- struct{}{}
	}
	if hold != nil {
		<-hold
	}
	compute(container, ports, ins, outs)
	return nil
}

// calls returns the log since the last call, without requests.
func (k *fakeKernel) calls() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	log := k.log
	k.log = nil
	return log
}

// clean fails the test if the driver still has open objects.
func (k *fakeKernel) clean(t testing.TB) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.programs) != 0 || k.open != 0 {
		t.Errorf("the driver is left with %d programs and %d connections", len(k.programs), k.open)
	}
}

var models = struct {
	sync.Mutex
	made map[string][]byte
}{made: map[string][]byte{}}

// container compiles a convolution with random weights; scale makes different models of the same shape.
func container(t testing.TB, channels int64, scale float64) []byte {
	t.Helper()
	models.Lock()
	defer models.Unlock()
	name := fmt.Sprint(channels, scale)
	if c := models.made[name]; c != nil {
		return c
	}
	g := irbuild.New(1)
	x := g.Input(1, channels, 6, 6)
	w := g.Filled(x.Type.DType, func(i int64) float64 { return scale * float64(i%7-3) / 4 }, channels, channels, 3, 3)
	y := g.Op("conv", "x", x, "weight", w, "pad_type", "same")
	g.Output(g.Op("relu", "x", y))
	r, err := compile.All(context.Background(), g.Program(), compile.Options{Target: target.H13, SplitKernel: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := hwx.Encode(r.HWX)
	if err != nil {
		t.Fatal(err)
	}
	models.made[name] = c
	return c
}

// caller makes an identity that has the baseline keys and further ones.
func caller(pid int, team string, keys ...string) Identity {
	id := Identity{PID: pid, UID: 501, TeamID: team, Entitlements: append([]string{KeyPrivate}, keys...)}
	binary.LittleEndian.PutUint32(id.CodeDirectoryHash[:], uint32(len(team)))
	return id
}

// room is a broker on a fake driver; the test fails if anything is left in it at the end.
func room(t testing.TB, change func(*Config)) (*Broker, *fakeKernel) {
	t.Helper()
	k := newFake(t)
	cfg := Config{Kernel: k, Attest: claimed, Compile: func(_ context.Context, r CompileRequest) ([]byte, []byte,
		error) {
		return slices.Clone(r.Files[0].Data), []byte("descriptor"), nil
	}}
	if change != nil {
		change(&cfg)
	}
	b, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.Close()
		k.clean(t)
		if r := b.Report(); r != (Report{CachedModels: r.CachedModels, CachedBytes: r.CachedBytes}) {
			t.Errorf("the broker is left with %+v", r)
		}
	})
	return b, k
}

func connect(t testing.TB, b *Broker, id Identity) *Session {
	t.Helper()
	s, err := b.Connect(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func load(t testing.TB, c Client, r LoadRequest) *LoadReply {
	t.Helper()
	m, err := c.Load(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func instantiate(t testing.TB, c Client, r InstanceRequest) *InstanceReply {
	t.Helper()
	in, err := c.CreateInstance(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// surfacesOf makes surfaces for a procedure: inputs count up from seed.
func surfacesOf(p Procedure, seed byte) map[string][]byte {
	m := map[string][]byte{}
	for _, port := range p.Ports {
		b := make([]byte, port.Size)
		for i := range b {
			if !port.Output {
				b[i] = seed + byte(i)
			}
		}
		m[port.Name] = b
	}
	return m
}

// output joins the outputs of a procedure.
func output(p Procedure, m map[string][]byte) []byte {
	var b []byte
	for _, port := range p.Ports {
		if port.Output {
			b = append(b, m[port.Name]...)
		}
	}
	return b
}

// expected is what the fake driver computes for a container on such surfaces.
func expected(c []byte, p Procedure, seed byte) []byte {
	m := surfacesOf(p, seed)
	var ins, outs [][]byte
	for _, port := range p.Ports {
		if port.Output {
			outs = append(outs, m[port.Name])
		} else {
			ins = append(ins, m[port.Name])
		}
	}
	compute(c, p.Ports, ins, outs)
	return bytes.Join(outs, nil)
}

// evaluate runs an instance and checks the results.
func evaluate(t testing.TB, c Client, in *InstanceReply, container []byte, seed byte) {
	t.Helper()
	p := in.Procedures[0]
	m := surfacesOf(p, seed)
	if err := c.Evaluate(t.Context(), EvaluateRequest{Instance: in.Instance, Surfaces: m}); err != nil {
		t.Errorf("evaluate: %v", err)
		return
	}
	if !bytes.Equal(output(p, m), expected(container, p, seed)) {
		t.Error("evaluate: another program's output, or of other inputs")
	}
}

// refused fails the test unless an error is of a code.
func refused(t testing.TB, err error, c Code) {
	t.Helper()
	if !isCode(err, c) {
		t.Errorf("error %v, wanted %v", err, c)
	}
}

// soon waits for something that another goroutine does.
func soon(t testing.TB, what string, f func() bool) {
	t.Helper()
	t.Logf("waiting until %s", what)
	for !f() {
		time.Sleep(time.Millisecond)
	}
}

// claimed accepts a claim as it is, for tests in which one process represents many.
func claimed(_ net.Conn, claim Identity) (Identity, error) { return claim, nil }

// isCode reports whether an error is of a code.
func isCode(err error, c Code) bool { return errors.Is(err, &Error{Code: c}) }
