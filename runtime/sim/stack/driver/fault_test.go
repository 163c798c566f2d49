package driver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

func injector(t testing.TB, spec string, seed uint64) *inject.Injector {
	t.Helper()
	s, err := inject.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return inject.New(s, seed)
}

// bootPosts is how many commands a bring-up, a create and a prepare post.
func bootPosts() int { return len(FirstCommands) + 2 }

// TestFaultsAtPost injects each fault of the driver's site at a request's command: the caller gets an error or a right
// result, and the next dispatch works.
func TestFaultsAtPost(t *testing.T) {
	for _, k := range inject.Kinds {
		if !slices.Contains(k.Sites, inject.Post) {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			for seed := range uint64(20) {
				in := injector(t, fmt.Sprintf("%s@post:after=%d,count=1", k.Name, bootPosts()+1), seed)
				d := newDevice(t, Config{Inject: in})
				s := open(t, d, broker(1))
				m := prepared(t, s, adder(t), PrepareOptions{})
				m.check(t)
				if in.Made(k.Kind) != 0 {
					t.Fatal("the fault was made before its request")
				}
				m.fill(seed + 50)
				expect := m.direct(t)
				_, err := s.SendRequest(&m.req)
				if in.Made(k.Kind) != 1 {
					t.Fatal("the fault was not made")
				}
				switch {
				case err == nil:
					m.same(t, expect)
				case k.Kind == inject.Delay, k.Kind == inject.Reorder:
					t.Errorf("seed %d: %v", seed, err) // late, but whole
				}
				m.fill(seed + 100)
				m.check(t)
				m.check(t)
				poolsBusy(t, d, 1)
				if n := d.Status().Restarts; n != 0 {
					t.Errorf("seed %d: restart count %d, the firmware took no fault", seed, n)
				}
				closeAll(t, d, s)
			}
		})
	}
}

// closeAll closes clients while another keeps the device on, and checks that
// nothing is left of them.
func closeAll(t testing.TB, d *Device, open ...*Services) {
	t.Helper()
	keeper, err := d.OpenServices(broker(999))
	if err != nil { // a fault that is made only now
		if keeper, err = d.OpenServices(broker(999)); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range open {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	poolsFull(t, d)
	if st := d.Unit().Stats(); st.ContextsOpen != 1 {
		t.Errorf("%d contexts are open", st.ContextsOpen)
	}
	if err := keeper.Close(); err != nil {
		t.Error(err)
	}
}

// TestFaultsAnywhere injects every fault at every passage of its site, one per device, from the first bring-up to a
// request.
func TestFaultsAnywhere(t *testing.T) {
	for _, k := range inject.Kinds {
		seeds := uint64(1)
		if k.Kind == inject.Corrupt || k.Kind == inject.StuckQueue {
			seeds = 3 // the effect depends on the fault's value
		}
		for _, site := range k.Sites {
			t.Run(k.Name+"@"+site.String(), func(t *testing.T) {
				for after := 0; ; after++ {
					made := false
					for seed := range seeds {
						in := injector(t, fmt.Sprintf("%s@%s:after=%d,count=1", k.Name, site, after), seed)
						made = oneFault(t, in, k.Kind, after, seed) || made
						if t.Failed() {
							return
						}
					}
					if !made {
						if after == 0 {
							t.Error("the site is never passed")
						}
						return
					}
				}
			})
		}
	}
}

// oneFault runs open, create, prepare, two requests and close under a fault,
// trying each step again once; it reports whether the fault was made.
func oneFault(t *testing.T, in *inject.Injector, k inject.Kind, after int, seed uint64) bool {
	t.Helper()
	d := newDevice(t, Config{Inject: in})
	task := broker(1)
	again := func(what string, f func() error) bool {
		t.Helper()
		err := f()
		if err == nil {
			return true
		}
		if in.Made(k) == 0 {
			t.Errorf("%s fails without a fault: %v", what, err)
			return false
		}
		if err = f(); err != nil {
			t.Errorf("after %d, seed %d: %s fails after the fault: %v", after, seed, what, err)
			return false
		}
		return true
	}
	var s *Services
	if !again("open", func() (err error) { s, err = d.OpenServices(task); return err }) {
		return true
	}
	h, err := s.ProgramCreate(adder(t))
	if err != nil {
		t.Fatal(err)
	}
	var info Prepared
	if !again("prepare", func() (err error) { info, err = s.Prepare(h, PrepareOptions{}); return err }) {
		return true
	}
	m := bound(t, s, h, info, adder(t))
	for i := range uint64(3) {
		m.fill(seed + 10*i)
		expect := reference(t, m, seed+10*i)
		if !again("request", func() error {
			m.fill(seed + 10*i)
			_, err := s.SendRequest(&m.req)
			return err
		}) {
			return true
		}
		m.same(t, expect)
	}
	closeAll(t, d, s)
	if got, want := d.Status().Restarts, d.Coprocessor().Stats().Faults; uint64(got) != want {
		t.Errorf("restart count %d after %d faults", got, want)
	}
	return in.Made(k) > 0
}

// references are the engine's own results of the adder by the seed of the inputs.
var references = map[uint64][][]byte{}

// reference returns model.direct, computed once per seed; the seed determines the inputs.
func reference(t testing.TB, m *model, seed uint64) [][]byte {
	if references[seed] == nil {
		references[seed] = m.direct(t)
	}
	return references[seed]
}

// TestRecovery follows one exception: the dump is drained section by section, the
// request fails, the firmware is booted to the ready handshake before the gate is
// free, the restart count rises, and the program is loaded again with the next
// request.
func TestRecovery(t *testing.T) {
	rec := &trace.Recording{}
	in := injector(t, "exception@task:after=1,count=1", 3)
	d := newDevice(t, Config{Inject: in, Trace: rec.Tracer()})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{})
	m.check(t)
	rec.Events = nil
	_, err := s.SendRequest(&m.req)
	want(t, err, Aborted)
	inOrder(t, names(rec, trace.Driver), []string{"ANEDriver::ANE_ProgramSendRequest", "cancel outstanding commands",
		"drain dump", "drain dump", "ANEHWDevice::ANE_Init",
		"first wake", "second wake", "third handshake", "post CSNE_CMD_PRINT_ENABLE"})
	var depth int
	for _, e := range rec.Events {
		if e.Name == "ANEDriver::ANE_ProgramSendRequest" {
			depth += map[trace.Phase]int{trace.Begin: 1, trace.End: -1}[e.Phase]
		}
		if e.Name == "ANEHWDevice::ANE_Init" && depth != 1 {
			t.Error("the recovery does not hold the request's gate")
		}
	}
	dumps := d.Dumps()
	if len(dumps) != 1 || len(dumps[0].Sections) == 0 {
		t.Fatalf("%d dumps", len(dumps))
	}
	if i := slices.IndexFunc(dumps[0].Sections, func(s section) bool {
		return s.Name == "recent commands"
	}); i < 0 || !strings.Contains(dumps[0].Sections[i].Text, "PROCEDURE_CALL") {
		t.Errorf("the dump does not replay the call: %+v", dumps[0].Sections)
	}
	st := d.Status()
	if st.Restarts != 1 || st.Boot != 2 || st.Ready != 1 || d.Recoveries() != 1 {
		t.Errorf("%+v, %d recoveries", st, d.Recoveries())
	}
	m.check(t)
	poolsBusy(t, d, 1)
}

// TestRecoveryIsRateLimited crashes the firmware with every request: after the burst the channel stays not ready, and
// recovery waits.
func TestRecoveryIsRateLimited(t *testing.T) {
	in := injector(t, fmt.Sprintf("exception@task:count=%d", RecoveryBurst+3), 1)
	d := newDevice(t, Config{Inject: in})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{})
	start := d.Clock().Now()
	for i := range RecoveryBurst + 1 {
		_, err := s.SendRequest(&m.req)
		want(t, err, Aborted)
		if ready := d.Status().Ready == 1; ready != (i < RecoveryBurst) {
			t.Errorf("crash %d: ready %t", i+1, ready)
		}
	}
	if took := d.Clock().Now() - start; took > RecoveryInterval/2 {
		t.Errorf("the burst took %v", took)
	}
	// A request that cannot wait so long fails because the channel is not ready.
	r := m.req
	r.Timeout = time.Millisecond
	_, err := s.SendRequest(&r)
	want(t, err, NotReady)
	// One that can waits for the recovery, and meets the next crash.
	_, err = s.SendRequest(&m.req)
	want(t, err, Aborted)
	if took := d.Clock().Now() - start; took < RecoveryInterval {
		t.Errorf("a recovery beyond the burst after %v", took)
	}
	for in.Made(inject.Exception) < RecoveryBurst+3 {
		_, err := s.SendRequest(&m.req)
		want(t, err, Aborted)
	}
	m.check(t)
	if n := d.Status().Restarts; n != RecoveryBurst+3 {
		t.Errorf("restart count %d, want %d", n, RecoveryBurst+3)
	}
}

// TestSoftwareDeadline jams a hardware queue: about two seconds of virtual time
// later the call is aborted, or the firmware asks for a reset.
func TestSoftwareDeadline(t *testing.T) {
	aborted, reset := 0, 0
	for seed := range uint64(8) {
		in := injector(t, "stuck@queue:after=1,count=1", seed)
		d := newDevice(t, Config{Inject: in})
		s := open(t, d, broker(1))
		m := prepared(t, s, adder(t), PrepareOptions{})
		m.check(t)
		start := d.Clock().Now()
		_, err := s.SendRequest(&m.req)
		took := d.Clock().Now() - start
		switch code(err) {
		case Timeout:
			aborted++
			if took < 2*time.Second || took > 3*time.Second {
				t.Errorf("seed %d: aborted after %v", seed, took)
			}
		case Aborted:
			reset++
			if took < 4*time.Second || took > 5*time.Second || d.Recoveries() != 1 {
				t.Errorf("seed %d: reset after %v, %d recoveries", seed, took, d.Recoveries())
			}
		default:
			t.Errorf("seed %d: %v", seed, err)
		}
		m.check(t)
	}
	if aborted == 0 || reset == 0 {
		t.Errorf("%d aborted, %d reset: both are wanted", aborted, reset)
	}
}
