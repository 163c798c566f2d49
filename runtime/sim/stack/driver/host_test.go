package driver

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
	"github.com/zinc-compiler/zinc/target"
)

// allKeys are all entitlements that the driver reads.
func allKeys() (keys []string) {
	for _, e := range Entitlements {
		keys = append(keys, e.Key)
	}
	return keys
}

// broker is a task that may do everything, with an identity of its own.
func broker(pid int) *Task {
	return &Task{
		PID:                pid,
		TeamID:             fmt.Sprintf("TEAM%d", pid),
		CodeDirectoryHash:  [20]byte{byte(pid), byte(pid >> 8), 1},
		Entitlements:       allKeys(),
		PrivilegedVMAccess: true,
	}
}

func newDevice(t testing.TB, cfg Config) *Device {
	t.Helper()
	if cfg.Workers == 0 {
		cfg.Workers = 1
	}
	d, err := NewDevice(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func open(t testing.TB, d *Device, task *Task) *Services {
	t.Helper()
	s, err := d.OpenServices(task)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Graphs of the tests.
var (
	// tiny is the chapter's tiny graph: a 3x3 convolution from 8 to 8 channels,
	// relu and mean.
	tiny = graph(func(g *irbuild.Graph) {
		x := g.Input(1, 8, 16, 16)
		y := g.Op("conv", "x", x, "weight", g.Weights(8, 8, 3, 3), "strides", []int{1, 1}, "pad_type", "same", "pad",
			[]int{0, 0, 0, 0}, "dilations", []int{1, 1}, "groups", 1)
		g.Output(g.Op("reduce_mean", "x", g.Op("relu", "x", y), "axes", []int{2, 3}, "keep_dims", true))
	})
	// adder adds one to its input: a step of an accumulator.
	adder = graph(func(g *irbuild.Graph) {
		g.Output(g.Op("add", "x", g.Input(1, 8, 1, 32), "y", 1.0))
	})
	// pair has two inputs.
	pair = graph(func(g *irbuild.Graph) {
		g.Output(g.Op("mul", "x", g.Input(1, 4, 1, 32), "y", g.Input(1, 4, 1, 32)))
	})
)

// graph compiles a graph once.
func graph(build func(*irbuild.Graph)) func(testing.TB) []byte {
	once := sync.OnceValues(func() ([]byte, error) {
		g := irbuild.New(1)
		build(g)
		r, err := compile.All(context.Background(), g.Program(), compile.Options{Target: target.H13, SplitKernel: true})
		if err != nil {
			return nil, err
		}
		return hwx.Encode(r.HWX)
	})
	return func(t testing.TB) []byte {
		t.Helper()
		b, err := once()
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Clone(b)
	}
}

// model is a prepared program with a surface for each port.
type model struct {
	s       *Services
	h       Handle
	info    Prepared
	ports   []loader.Port
	bufs    [][]byte
	req     Request
	program []byte
}

// prepared loads a container and binds a surface with random contents to each port of its first procedure.
func prepared(t testing.TB, s *Services, container []byte, o PrepareOptions) *model {
	t.Helper()
	h, err := s.ProgramCreate(container)
	if err != nil {
		t.Fatal(err)
	}
	info, err := s.Prepare(h, o)
	if err != nil {
		t.Fatal(err)
	}
	return bound(t, s, h, info, container)
}

func bound(t testing.TB, s *Services, h Handle, info Prepared, container []byte) *model {
	t.Helper()
	p, err := loader.Read(container)
	if err != nil {
		t.Fatal(err)
	}
	m := &model{
		s:       s,
		h:       h,
		info:    info,
		ports:   p.Procedures()[0].Ports,
		program: container,
		req:     Request{Handle: h, Priority: PriorityDefault},
	}
	for _, q := range m.ports {
		b := make([]byte, q.Size)
		id := s.task.CreateSurface(b)
		m.bufs = append(m.bufs, b)
		if q.Output {
			m.req.Outputs = append(m.req.Outputs, id)
		} else {
			m.req.Inputs = append(m.req.Inputs, id)
		}
	}
	m.fill(uint64(h))
	return m
}

// fill sets the inputs to moderate fp16 values and clears the outputs.
func (m *model) fill(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for i, q := range m.ports {
		for k := range m.bufs[i] {
			m.bufs[i][k] = 0
			if !q.Output {
				m.bufs[i][k] = byte(r.Uint32())
				if k%2 == 1 {
					m.bufs[i][k] = m.bufs[i][k]&0x83 | 0x38
				}
			}
		}
	}
}

// outputs are copies of the output buffers.
func (m *model) outputs() (out [][]byte) {
	for i, q := range m.ports {
		if q.Output {
			out = append(out, bytes.Clone(m.bufs[i]))
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

// direct runs the first procedure on the engine alone, on the inputs as they are.
func (m *model) direct(t testing.TB) (out [][]byte) {
	t.Helper()
	p, err := loader.Read(m.program)
	if err != nil {
		t.Fatal(err)
	}
	unit, err := translation.NewUnit(translation.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Load(unit.Context(1), "reference")
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := afpp.Read(bytes.Clone(l.Firmware()))
	if err != nil {
		t.Fatal(err)
	}
	g := pkg.Programs[0]
	all, err := td.Join(g.Text.Images, g.Text.Records)
	if err != nil {
		t.Fatal(err)
	}
	pr := g.Procedures[0]
	var tasks []td.Placed
	for _, o := range g.Operations[pr.FirstOperation : pr.FirstOperation+pr.Operations] {
		for i := o.FirstTask; i < o.FirstTask+o.Tasks; i++ {
			tasks = append(tasks, td.Placed{Task: all[i]})
		}
	}
	mem := plain{}
	for _, b := range pr.Bars {
		mem[int(b.ID)] = make([]byte, b.Size)
		if b.Usage == afpp.UsageWeights || b.Usage == afpp.UsageConstants {
			mem[int(b.ID)] = bytes.Clone(g.Kernel)
		}
	}
	for i, q := range m.ports {
		if !q.Output {
			copy(mem[int(q.Bar)], m.bufs[i])
		}
	}
	run := engine.New(engine.Options{L2Bytes: target.H13.L2Bytes, Workers: 1}).Run
	if err := run(context.Background(), tasks, mem); err != nil {
		t.Fatal(err)
	}
	for _, q := range m.ports {
		if q.Output {
			out = append(out, mem[int(q.Bar)])
		}
	}
	return out
}

// check runs a request and compares the outputs with the engine's own.
func (m *model) check(t testing.TB) {
	t.Helper()
	want := m.direct(t)
	r, err := m.s.SendRequest(&m.req)
	if err != nil {
		t.Fatal(err)
	}
	if r.Result != Success || r.Status != 1 || r.Handle != m.h {
		t.Fatalf("reply %+v", r)
	}
	m.same(t, want)
}

func (m *model) same(t testing.TB, want [][]byte) {
	t.Helper()
	for i, got := range m.outputs() {
		if !bytes.Equal(got, want[i]) {
			t.Fatalf("output %d differs from the engine's own run", i)
		}
	}
}

// names lists the driver's events by name.
func names(rec *trace.Recording, layer trace.Layer) (out []string) {
	for _, e := range rec.Events {
		if e.Layer == layer && e.Phase != trace.End {
			out = append(out, e.Name)
		}
	}
	return out
}

type loaderPort = loader.Port

type section = coprocessor.Section
