package loader_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/loader"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

// firmware reads the firmware container as the firmware does: out of the
// client's device memory.
func firmware(t testing.TB, c *translation.Context, l *loader.Loaded) *afpp.Program {
	t.Helper()
	addr, size := l.AFPP()
	b, err := c.Window(addr, uint64(size), translation.Read, "firmware")
	if err != nil {
		t.Fatal(err)
	}
	p, err := afpp.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Programs) != 1 {
		t.Fatalf("%d programs", len(p.Programs))
	}
	return p.Programs[0]
}

// TestLoadKeepsTasks: images and records of the firmware container make
// the container's own tasks again, word for word, and each record's address is
// its bar's place in memory and the offset that the task had.
// Table 23.5.
func TestLoadKeepsTasks(t *testing.T) {
	eachContainer(t, func(t *testing.T, container []byte) {
		f, err := hwx.Read(container)
		if err != nil {
			t.Fatal(err)
		}
		c := unit(t, translation.Config{}).Context(7)
		l := load(t, read(t, container), c)
		g := firmware(t, c, l)
		if g.Generic.Container != sha256.Sum256(container) {
			t.Error("the container's hash is not told")
		}
		tasks, err := td.Join(g.Text.Images, g.Text.Records)
		if err != nil {
			t.Fatal(err)
		}
		var want []td.Placed
		var owner []int
		for i, p := range f.Procedures() {
			text, off, _ := f.Text().Of(p)
			chain, err := td.V7.DecodeChain(text, off, p.FirstWords)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, chain...)
			for range chain {
				owner = append(owner, i)
			}
			if g.Procedures[i].Name != p.Name {
				t.Errorf("procedure %d is %q, want %q", i, g.Procedures[i].Name, p.Name)
			}
		}
		if len(tasks) != len(want) {
			t.Fatalf("%d tasks, want %d", len(tasks), len(want))
		}
		for i := range tasks {
			a, err := td.V7.EncodeWords(tasks[i])
			b, err2 := td.V7.EncodeWords(want[i].Task)
			if err != nil || err2 != nil || !reflect.DeepEqual(a, b) {
				t.Fatalf("task %d differs: %v %v", i, err, err2)
			}
		}
		at, _ := g.Text.RegisterBase()
		for _, r := range g.Text.Records {
			if r.Slot == 0 {
				continue
			}
			b := barOf(g, owner[r.Task], r.Bar)
			switch {
			case b == nil:
				t.Fatalf("%+v: no bar", r)
			case b.ByCall() == r.Resolved:
				t.Errorf("%+v: resolved is %v, bar %+v", r, r.Resolved, b)
			case r.Resolved && r.Operand != b.Address+uint64(r.Offset):
				t.Errorf("%+v: bar %+v", r, b)
			case r.Resolved && r.Register != at+uint64(r.Slot.Register()):
				t.Errorf("%+v: registers begin at %#x", r, at)
			}
		}
	})
}

func barOf(g *afpp.Program, proc, id int) *afpp.Bar {
	for i := range g.Procedures[proc].Bars {
		if b := &g.Procedures[proc].Bars[i]; int(b.ID) == id {
			return b
		}
	}
	return nil
}

// TestBarsKeepSegmentUsages checks that every bar of the container's command is a bar of the firmware container, with
// the usage that the segment's protection and name require, and that the memory at its address has the contents of the
// segment.
// Table 23.6.
func TestBarsKeepSegmentUsages(t *testing.T) {
	usages := map[string]map[uint32]afpp.Usage{ // by segment and protection (1 read, 2 write)
		"__FVMLIB": {1: afpp.UsageInput, 2: afpp.UsageOutput},
		"__DATA":   {3: afpp.UsageIntermediate},
		"__KERN_0": {1: afpp.UsageWeights},
	}
	eachContainer(t, func(t *testing.T, container []byte) {
		f, err := hwx.Read(container)
		if err != nil {
			t.Fatal(err)
		}
		consts := f.ConstantBytes()
		c := unit(t, translation.Config{}).Context(7)
		p := read(t, container)
		g := firmware(t, c, load(t, p, c))
		for i, q := range f.Procedures() {
			if len(g.Procedures[i].Bars) != len(q.Bars) {
				t.Errorf("procedure %q has %d bars, its command %d", q.Name, len(g.Procedures[i].Bars), len(q.Bars))
			}
			ports := p.Procedures()[i].Ports
			for id, addr := range q.Bars {
				b := barOf(g, i, id)
				if b == nil {
					t.Errorf("procedure %q has no bar %d", q.Name, id)
					continue
				}
				seg := f.SegmentAt(addr)
				want, data := usages[seg.Name.String()][seg.InitProt], []byte(nil)
				switch {
				case id == 0:
					want, data = afpp.UsageText, f.TextBytes()
				case seg.Name.String() == "__TEXT":
					want = afpp.UsageConstants
				}
				if b.Usage != want {
					t.Errorf("bar %d is %s, want %s", id, b.Usage, want)
				}
				switch want {
				case afpp.UsageInput, afpp.UsageOutput:
					n := 0
					for k, port := range ports {
						if k > 0 && ports[k-1].Bar >= port.Bar {
							t.Errorf("ports %v stand in no order", ports)
						}
						if int(port.Bar) == id {
							n++
							if port.Output != (want == afpp.UsageOutput) || port.Size != seg.Sections[0].Size ||
								b.Size != port.Size {
								t.Errorf("port %+v, bar %+v", port, b)
							}
						}
					}
					if n != 1 || b.Address != 0 {
						t.Errorf("bar %+v has %d ports", b, n)
					}
					continue
				case afpp.UsageWeights, afpp.UsageConstants:
					data = consts
				case afpp.UsageIntermediate:
					data = make([]byte, seg.VMSize)
				}
				got, err := c.Window(b.Address, b.Size, translation.Read, "test")
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("bar %d, %s: %d bytes at %#x, want %d: %v", id, b.Usage, len(got), b.Address, len(data),
						err)
				}
				for _, e := range c.Entries() {
					if e.Addr == b.Address && e.Usage != translation.Usage(b.Usage) {
						t.Errorf("bar %d, %s: its page is mapped as %s", id, b.Usage, e.Usage)
					}
				}
				if b.Address%translation.DMAAlign != 0 {
					t.Errorf("bar %d is at %#x, want a multiple of %d", id, b.Address, translation.DMAAlign)
				}
			}
		}
	})
}

// TestCoefficientsAreStoredOnce checks that the memory of a constant bar is the kernel section of the firmware
// container itself.
func TestCoefficientsAreStoredOnce(t *testing.T) {
	for name, b := range built(t) {
		c := unit(t, translation.Config{}).Context(1)
		l := load(t, read(t, b), c)
		g := firmware(t, c, l)
		w, err := c.Window(barOf(g, 0, 1).Address, 0x40, translation.Read, "test")
		if err != nil {
			t.Fatal(err)
		}
		if &w[0] != &g.Kernel[0] {
			t.Errorf("%s: two copies", name)
		}
	}
}

// TestTasksBelongToOneOperation checks that every task belongs to one operation of its procedure, whose class has a row
// in the table.
// Table 23.13.
func TestTasksBelongToOneOperation(t *testing.T) {
	rows := map[uint16]string{1: "Conv", 2: "Pooling", 3: "Concat", 4: "ElementWise", 5: "ScaledElementWise",
		6: "Neuron", 8: "GOC", 24: "Softmax",
		18: "MatrixMultiplication", 20: "Reduction", 60: "Linear", 68: "NEConv", 69: "NEMatMul", 70: "NEPool",
		77: "SDPA", 78: "AllReduce"}
	eachContainer(t, func(t *testing.T, container []byte) {
		c := unit(t, translation.Config{}).Context(1)
		g := firmware(t, c, load(t, read(t, container), c))
		tasks, err := td.Join(g.Text.Images, g.Text.Records)
		if err != nil {
			t.Fatal(err)
		}
		next := uint32(0)
		for _, p := range g.Procedures {
			for _, o := range g.Operations[p.FirstOperation : p.FirstOperation+p.Operations] {
				if o.FirstTask != next {
					t.Errorf("%+v begins not at task %d", o, next)
				}
				next += o.Tasks
				skip := tasks[o.FirstTask].On(td.TDSkip)
				if (o.Class == 0) != skip || !skip && !strings.HasPrefix(o.Name, rows[o.Class]+"_") {
					t.Errorf("%+v of table row %q, skipped: %v", o, rows[o.Class], skip)
				}
			}
		}
		if int(next) != len(tasks) {
			t.Errorf("%d of %d tasks", next, len(tasks))
		}
	})
	want := map[string]uint16{"conv.hwx": 68, "conv3.hwx": 68, "relu.hwx": 6, "sigmoid.hwx": 6, "sum.hwx": 4}
	for name, b := range goldens(t) {
		c := unit(t, translation.Config{}).Context(1)
		if g := firmware(t, c, load(t, read(t, b), c)); g.Operations[0].Class != want[name] {
			t.Errorf("%s is of class %d, want %d", name, g.Operations[0].Class, want[name])
		}
	}
}

// TestCloseLeavesNothing checks that no page, frame or pin is left after a load was closed, failed half-way, or lost
// its context first.
func TestCloseLeavesNothing(t *testing.T) {
	clean := func(t *testing.T, u *translation.Unit, c *translation.Context) {
		t.Helper()
		if n := len(c.Entries()); n != 0 || u.Stats().FramesInUse != 0 {
			t.Errorf("%d pages are mapped, %d frames in use", n, u.Stats().FramesInUse)
		}
	}
	eachContainer(t, func(t *testing.T, container []byte) {
		u := unit(t, translation.Config{})
		c := u.Context(1)
		p := read(t, container)
		need, err := p.Memory()
		if err != nil {
			t.Fatal(err)
		}
		l := load(t, p, c)
		if n := uint64(len(c.Entries())) * translation.PageSize; n != need {
			t.Errorf("%#x bytes are mapped, Memory says %#x", n, need)
		}
		for range 2 {
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		clean(t, u, c)
		if u.Stats().Faults != 0 {
			t.Error(u.Faults())
		}
		// With an aperture of one page too few, the last mapping fails.
		u = unit(t, translation.Config{Aperture: max(2*translation.PageSize, need)})
		c = u.Context(1)
		if _, err := p.Load(c, "small"); !errors.Is(err, &translation.Fault{
			Task:   "small",
			Reason: translation.NoSpace,
		}) && !errors.Is(err, &translation.Fault{Task: "small", Reason: translation.Outside}) {
			t.Errorf("%v", err)
		}
		clean(t, u, c)
	})
	t.Run("context first", func(t *testing.T) {
		u := unit(t, translation.Config{})
		c := u.Context(1)
		l := load(t, read(t, built(t)["split"]), c)
		c.Close()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		clean(t, u, c)
	})
	t.Run("pinned", func(t *testing.T) {
		u := unit(t, translation.Config{})
		c := u.Context(1)
		l := load(t, read(t, built(t)["split"]), c)
		m, err := c.Map(l.Firmware(), translation.Text, "firmware")
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); !errors.Is(err, &translation.Fault{Reason: translation.InUse}) {
			t.Errorf("%v", err)
		}
		m.Release()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		clean(t, u, c)
	})
}

// TestLoadsTogether checks that loads of one program by several clients, and several by one client, from several
// goroutines, see their own memory.
func TestLoadsTogether(t *testing.T) {
	u := unit(t, translation.Config{})
	p := read(t, built(t)["several"])
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			c := u.Context(uint64(i % 3))
			for range 5 {
				l, err := p.Load(c, "load")
				if err != nil {
					t.Error(err)
					return
				}
				addr, size := l.AFPP()
				b := make([]byte, size)
				if err := c.ReadAt(b, addr, "read"); err != nil {
					t.Error(err)
				}
				if _, err := afpp.Read(b); err != nil {
					t.Error(err)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	for i := range uint64(3) {
		if n := len(u.Context(i).Entries()); n != 0 {
			t.Errorf("client %d has %d pages left", i, n)
		}
	}
	if s := u.Stats(); s.FramesInUse != 0 || s.Faults != 0 {
		t.Errorf("%d frames in use, faults %v", s.FramesInUse, u.Faults())
	}
}
