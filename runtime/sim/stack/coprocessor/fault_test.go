package coprocessor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/firmware"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/protocol"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// injecting returns a host whose device has faults according to a specification; the faults begin after the first
// commands.
func injecting(t testing.TB, spec string, seed uint64) *host {
	t.Helper()
	s, err := inject.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return ready(t, func(c *Config) { c.Inject = inject.New(s, seed) })
}

// again resets the device after a fault, as the host does: drain, reset, boot,
// first commands.
func (h *host) again() {
	h.t.Helper()
	for d := h.d.Dump(); ; {
		if _, ok := d.Next(); !ok {
			break
		}
	}
	h.up()
	h.first()
	h.d.TakeNotification()
}

// A dump has its parts in the fixed order, and the commands newest first.
func TestDumpsHaveTheirPartsInOrder(t *testing.T) {
	for n, class := range ExceptionClasses {
		h := ready(t, nil)
		h.d.cfg.Inject = nil
		x := h.load(containerOf(t, adder), 0)
		x.call()
		h.d.boot.at = exeLoopPump
		h.d.boot.inInterrupt = n%2 == 0
		h.d.boot.fail(class, errors.New("an assertion"))
		err := h.run()
		var f *Fault
		if !errors.As(err, &f) || f.Class != class || f.Task != "execution-loop pump" {
			t.Fatalf("%v", err)
		}
		if h.d.Rings() != nil {
			t.Error("a faulted firmware takes messages")
		}
		var names []string
		text := map[string]string{}
		dump := h.d.Dump()
		for {
			s, ok := dump.Next()
			if !ok {
				break
			}
			names = append(names, s.Name)
			text[s.Name] = s.Text
		}
		if !slices.Equal(names, DumpSections) {
			t.Errorf("sections %v", names)
		}
		if text["exception class"] != class || text["task"] != "execution-loop pump" || text["restart count"] != "0" ||
			text["processor"] == "" {
			t.Errorf("%v", text)
		}
		if want := map[bool]string{true: "interrupt", false: "task"}[n%2 == 0]; text["context"] != want {
			t.Errorf("context %q", text["context"])
		}
		lines := strings.Split(text["recent commands"], "\n")
		if !strings.Contains(lines[0], "PROCEDURE_CALL") || !strings.Contains(lines[1], "CREATE_PROCESS") ||
			!strings.Contains(lines[2], "LOAD_AFPP") || !strings.Contains(lines[len(lines)-1], "PRINT_ENABLE") {
			t.Errorf("ring:\n%s", text["recent commands"])
		}
		for _, r := range []string{"x0=", "x30=", "pc="} {
			if !strings.Contains(text["general-purpose registers"], r) {
				t.Errorf("no %s", r)
			}
		}
		// The count persists over restarts.
		h.again()
		if h.d.RestartCount() != 1 {
			t.Errorf("%d restarts", h.d.RestartCount())
		}
		full(t, h.d)
		h.d.boot.fail(class, errors.New("again"))
		if !slices.ContainsFunc(h.d.Dump().Sections, func(s Section) bool {
			return s.Name == "restart count" && s.Text == "1"
		}) {
			t.Error("the restart count is lost")
		}
		h.again()
		if h.d.RestartCount() != 2 || h.d.Stats().Faults != 2 {
			t.Errorf("%d restarts", h.d.RestartCount())
		}
		if y := h.load(containerOf(t, adder), 0); y.call().status() != StatusOK {
			t.Error("no call after two restarts")
		}
	}
}

// The ring keeps only the last commands.
func TestCommandRingKeepsTheLastCommands(t *testing.T) {
	h := ready(t, nil)
	for range 100 {
		h.must("RESOURCE_INFO_GET", none())
		h.d.TakeReply()
	}
	lines := strings.Split(h.d.boot.ring.replay(), "\n")
	if len(lines) != ringDepth || strings.Contains(strings.Join(lines, ""), "START") {
		t.Errorf("%d lines", len(lines))
	}
}

// A strict firmware faults on an identifier that its loop does not have; otherwise the identifier is dropped and
// counted.
func TestStrictFirmwareFaultsOnForeignIdentifiers(t *testing.T) {
	for _, strict := range []bool{false, true} {
		h := ready(t, func(c *Config) { c.Strict = strict })
		x := h.load(containerOf(t, adder), 0)
		msg := (&protocol.LoopMessage{
			Header: protocol.LoopHeader{Wire: 0x205, ProgramID: -1, ProcessID: -1},
			Body:   &protocol.Record{},
		}).Bytes()
		if err := h.d.Rings().Post(protocol.Loop, msg); err != nil {
			t.Fatal(err)
		}
		h.d.Write32(ANE, RegDoorbell, 1<<BellLoop)
		err := h.run()
		if !strict {
			if n := h.notes(); err != nil || len(n) != 1 || n[0].status() != StatusUnsupported || h.d.Stats().
				Refused != 1 {
				t.Errorf("%+v, %v", n, err)
			}
			if x.call().status() != StatusOK {
				t.Error("the next call fails")
			}
			continue
		}
		var f *Fault
		if !errors.As(err, &f) || !errors.Is(err, protocol.ErrFault) || h.d.Dump() == nil ||
			f.Task != "execution-loop pump" {
			t.Fatalf("%v", err)
		}
		if err := h.run(); !errors.As(err, &f) {
			t.Errorf("the fault does not stand: %v", err)
		}
		h.again()
		if h.d.RestartCount() != 1 {
			t.Errorf("%d restarts", h.d.RestartCount())
		}
	}
}

// A queue that does not drain is aborted when the deadline passes; if the abort does not clear it, the host is notified
// of the extent of the reset, and the firmware panics.
func TestStuckQueuesAreAborted(t *testing.T) {
	aborted, stuck := 0, 0
	for seed := range uint64(12) {
		h := injecting(t, "stuck:after=1,count=1", seed)
		x := h.load(containerOf(t, adder), 0)
		if n := x.call(); n.status() != StatusOK {
			t.Fatalf("%+v", n)
		}
		before := h.clock.Now()
		h.loop(0x204, x.header(), x.body())
		h.loop(0x204, x.header(), x.body())
		err := h.run()
		took := h.clock.Now() - before
		ns := h.notes()
		network := uint64(1)
		if err == nil {
			aborted++
			// The first was aborted after two seconds, and the second ran.
			if len(ns) != 2 || ns[0].status() != StatusAborted || ns[1].status() != StatusOK ||
				took < firmware.SoftwareDeadline || took > firmware.SoftwareDeadline+3*x.trip() {
				t.Errorf("%+v after %v", ns, took)
			}
			if s := h.d.Stats(); s.Aborts != 1 || s.Resets != 0 {
				t.Errorf("%+v", s)
			}
		} else {
			stuck++
			var f *Fault
			var se *StuckError
			if !errors.As(err, &f) || !errors.As(err, &se) || took < 2*firmware.SoftwareDeadline ||
				took > 2*firmware.SoftwareDeadline+x.trip() {
				t.Fatalf("%v after %v", err, took)
			}
			if len(ns) != 1 || ns[0].name != "CH_RESET_NOTIFICATION" || ns[0].values[0] != network ||
				ns[0].values[1] != network {
				t.Errorf("%+v", ns)
			}
			h.again()
			x = h.load(containerOf(t, adder), 0)
		}
		if n := x.call(); n.status() != StatusOK {
			t.Errorf("the next call: %+v", n)
		}
		if r := h.clock.Timers(); r.Available != r.Total {
			t.Error("a timer is left")
		}
		hd := x.header()
		h.must("TERMINATE_PROCESS", hd)
		hd.ProcessID = protocol.Unbound
		h.must("UNLOAD_AFPP", hd)
		full(t, h.d)
	}
	if aborted == 0 || stuck == 0 {
		t.Errorf("%d aborted, %d stuck", aborted, stuck)
	}
}

// The four dispositions.
func TestEveryDispositionHasAStatus(t *testing.T) {
	seen := map[Disposition]bool{}
	for _, s := range Statuses {
		if s.Name == "" || s.Status.String() != s.Name {
			t.Errorf("%+v", s)
		}
		seen[s.Disposition] = true
	}
	for _, d := range []Disposition{NoFault, Drop, Reject, FaultDump} {
		if !seen[d] {
			t.Errorf("no status for %s", d)
		}
	}
	var lines []string
	h := ready(t, func(c *Config) { c.Terminal = func(s string) { lines = append(lines, s) } })
	h.must("PROGRAM_INTERFACE_VERSION_CHECK", none(), 1, 3)
	if !slices.ContainsFunc(lines, func(s string) bool { return strings.HasPrefix(s, "warning: ") }) {
		t.Errorf("no warning in %q", lines)
	}
	if Warn.String() != "warn" || Status(99).String() == "" {
		t.Error("names")
	}
}

// Each kind of fault, many times: the call ends in an error or in a correct result, the next one works, and nothing
// leaks.
func TestInjectedFaultsLeaveTheDeviceUsable(t *testing.T) {
	container := containerOf(t, twoOps)
	for _, spec := range []string{
		"drop@note", "delay@note", "corrupt@note", "reorder@note", "crash@note",
		"translation", "stuck", "exception@step", "exception@task", "crash@step", "crash@task",
	} {
		t.Run(spec, func(t *testing.T) {
			failed, faults := 0, 0
			for seed := range uint64(20) {
				after := ":p=0.3,count=1,after=0"
				if strings.HasSuffix(spec, "note") || strings.HasSuffix(spec, "step") {
					after = ":p=0.3,count=1,after=14" // after the first commands
				}
				h := injecting(t, spec+after, seed)
				x := h.load(container, 0)
				x.fill(seed)
				want := x.direct(0)[0]
				for range 6 {
					for i, q := range x.ports {
						if q.Output {
							clear(x.bufs[i])
						}
					}
					h.loop(0x204, x.header(), x.body())
					err := h.run()
					if at, ok := h.d.HeldUntil(); ok {
						if err := h.clock.Advance(max(0, at-h.clock.Now())); err != nil {
							t.Fatal(err)
						}
					}
					ok := false
					for _, n := range h.notes() {
						if n.name == "PROGRAM_EVENT" && n.status() == StatusOK && n.values[2] == uint64(x.job) {
							ok = true
						}
					}
					if ok && err != nil {
						t.Errorf("seed %d: completed and faulted: %v", seed, err)
					}
					if ok && !slices.Equal(x.outputs()[0], want) {
						t.Errorf("seed %d: a wrong result with status ok", seed)
					}
					if !ok {
						failed++
					}
					if err != nil {
						faults++
						h.again()
						x = h.load(container, 0)
						x.fill(seed)
					}
				}
				if got := h.d.RestartCount(); got > 1 || uint64(got) != h.d.Stats().Faults {
					t.Errorf("seed %d: %d restarts, %d faults", seed, got, h.d.Stats().Faults)
				}
				h.notes()
				h.d.cfg.Inject = nil
				hd := x.header()
				h.post("TERMINATE_PROCESS", hd)
				hd.ProcessID = protocol.Unbound
				h.post("UNLOAD_AFPP", hd)
				if err := h.run(); err != nil {
					t.Fatal(err)
				}
				h.notes()
				full(t, h.d)
			}
			if failed == 0 && spec != "delay@note" {
				t.Error("no call failed: the fault was not made")
			}
			crash := strings.HasPrefix(spec, "crash") || strings.HasPrefix(spec, "exception")
			if crash != (faults > 0) && spec != "stuck" {
				t.Errorf("%d faults", faults)
			}
		})
	}
}

// The same faults produce the same events.
func TestInjectedFaultsReplay(t *testing.T) {
	run := func() []trace.Event {
		rec := new(trace.Recording)
		s, err := inject.Parse("stuck:p=0.2;corrupt@note:p=0.1;translation:p=0.02")
		if err != nil {
			t.Skip(err)
		}
		h := newHost(t, func(c *Config) { c.Trace = rec.Tracer() })
		h.up()
		h.first()
		h.d.cfg.Inject = inject.New(s, 5)
		x := h.load(containerOf(t, adder), 0)
		for range 10 {
			h.loop(0x204, x.header(), x.body())
			if h.run() != nil {
				break
			}
			h.notes()
		}
		return rec.Events
	}
	a, b := run(), run()
	if len(a) == 0 || len(a) != len(b) {
		t.Fatalf("%d and %d events", len(a), len(b))
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].At != b[i].At || a[i].Err != b[i].Err ||
			string(a[i].Data) != string(b[i].Data) {
			t.Errorf("event %d: %+v, %+v", i, a[i], b[i])
		}
	}
}

// A context that ends stops the call, which completes as aborted.
func TestEndedContextAbortsTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	rec := trace.New(func(e trace.Event) {
		if e.Layer == trace.Engine {
			cancel()
		}
	})
	h := ready(t, func(c *Config) { c.Trace = rec })
	x := h.load(containerOf(t, twoOps), 0)
	if len(h.d.boot.table.slots[x.program].procs[0].tasks) < 2 {
		t.Fatal("one task alone")
	}
	h.loop(0x204, x.header(), x.body())
	if err := h.d.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := h.d.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := h.run(); err != nil {
		t.Fatal(err)
	}
	if n := h.notes(); len(n) != 1 || n[0].status() != StatusAborted {
		t.Errorf("%+v", n)
	}
	if n := x.call(); n.status() != StatusOK {
		t.Errorf("%+v", n)
	}
}
