package driver

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/coprocessor"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/trace"
)

// inOrder checks that names occur in their order among others.
func inOrder(t *testing.T, have, want []string) {
	t.Helper()
	for _, w := range want {
		i := slices.Index(have, w)
		if i < 0 {
			t.Fatalf("%q does not follow in %q", w, have)
		}
		have = have[i+1:]
	}
}

// Listing 27.5.
func TestSubmissionReachesTheDoorbell(t *testing.T) {
	rec := &trace.Recording{}
	d := newDevice(t, Config{Trace: rec.Tracer()})
	s := open(t, d, broker(1))
	m := prepared(t, s, adder(t), PrepareOptions{})
	rec.Events = nil
	m.check(t)
	inOrder(t, names(rec, trace.Driver), []string{
		"H11ANEInUserClient::externalMethod", "dispatchExternalMethod", "ANE_ProgramSendRequest",
		"ANEClientDevice::programSendRequest",
		"ANEDriver::ANE_ProgramSendRequest", "post CSNE_CMD_PROCEDURE_CALL", "ANEHWDevice::doorBellRing",
		"ANERegisterControl::write32",
		"interrupt", "CSNE_CMD_PROGRAM_EVENT"})
	for _, e := range rec.Events {
		switch {
		case e.Name == "H11ANEInUserClient::externalMethod" && e.Phase == trace.Begin && len(e.Data) != 2376,
			e.Name == "H11ANEInUserClient::externalMethod" && e.Phase == trace.End && len(e.Data) != 40:
			t.Errorf("%s: %d bytes at the boundary", e.Name, len(e.Data))
		case e.Name == "ANERegisterControl::write32":
			// The mask of the doorbell's index is what reaches the register.
			if got := binary.LittleEndian.Uint32(e.Data); got != 1<<coprocessor.BellLoop {
				t.Errorf("doorbell mask %#x", got)
			}
		}
	}
	for _, i := range []uint32{32, 33, 0xffff_ffff} {
		if err := d.hw.doorBellRing(i); err == nil {
			t.Errorf("doorbell index %d rang", i)
		}
	}
	// The direct path enters by its own class.
	rec.Events = nil
	direct, err := d.OpenDirect(broker(1))
	if err != nil {
		t.Fatal(err)
	}
	dm := bound(t, direct, m.h, m.info, m.program)
	dm.check(t)
	inOrder(t, names(rec, trace.Driver), []string{"H11ANEInDirectPathClient::externalMethod", "dispatchExternalMethod",
		"ANE_ProgramSendRequest", "ANEDriver::ANE_ProgramSendRequest"})
}

// TestDispatchTakesTheTimeOfItsStages measures the stages of a dispatch in virtual time: the driver's
// three, and the firmware's round trip between them.
// Table 2.3.
func TestDispatchTakesTheTimeOfItsStages(t *testing.T) {
	rec := &trace.Recording{}
	d := newDevice(t, Config{Trace: rec.Tracer()})
	s := open(t, d, broker(1))
	m := prepared(t, s, tiny(t), PrepareOptions{})
	m.check(t)
	rec.Events = nil
	begin := d.Clock().Now()
	m.check(t)
	at := func(name string, p trace.Phase) time.Duration {
		for _, e := range rec.Events {
			if e.Layer == trace.Driver && e.Name == name && e.Phase == p {
				return e.At
			}
		}
		t.Fatalf("no %s", name)
		return 0
	}
	entry := at("ANEDriver::ANE_ProgramSendRequest", trace.Begin)
	post := at("post CSNE_CMD_PROCEDURE_CALL", trace.Instant)
	bell := at("ANERegisterControl::write32", trace.Instant)
	done := at("CSNE_CMD_PROGRAM_EVENT", trace.Instant)
	end := at("ANEDriver::ANE_ProgramSendRequest", trace.End)
	for _, w := range []struct {
		stage         string
		got, from, to time.Duration
	}{
		{stage: "building the firmware request, about 16 us", got: post - entry, from: 16 * time.Microsecond,
			to: 16 * time.Microsecond},
		{stage: "firmware kick and round trip, about 2 to 3 and 130 us", got: done - bell, from: 132 * time.Microsecond,
			to: 133 * time.Microsecond},
		{stage: "kernel-side completion, about 10 us", got: end - done, from: 10 * time.Microsecond,
			to: 10 * time.Microsecond},
		// The chapter measures about 163 us from entry to return.
		{stage: "submit, entry to return", got: d.Clock().Now() - begin, from: 155 * time.Microsecond,
			to: 171 * time.Microsecond},
	} {
		if w.got < w.from || w.got > w.to {
			t.Errorf("%s: %v", w.stage, w.got)
		}
	}
}

// Listing 29.1.
func TestAttachDoesNotBootTheFirmware(t *testing.T) {
	rec := &trace.Recording{}
	d := newDevice(t, Config{Trace: rec.Tracer()})
	// Attaching by itself does not boot the firmware.
	if n := d.Coprocessor().Stats().Boots; n != 0 || slices.Contains(names(rec, trace.Driver),
		"ANEHWDevice::ANE_Init") {
		t.Fatalf("%d boots at attach", n)
	}
	open(t, d, broker(1))
	have := names(rec, trace.Driver)
	inOrder(t, have, []string{"ANEHWDevice::start", "map register aperture", "ANEHWDevice::power_on_hardware",
		"ANEHWDevice::ANE_Init", "EnableRTBuddyEndpoints", "EnableRTBuddyEndpoints",
		"first wake", "second wake", "resolve channel", "third handshake", "engine controller is ready",
		"post CSNE_CMD_PRINT_ENABLE", "post CSNE_CMD_START", "post CSNE_CMD_SET_SNE_PMU_BASE",
		"post CSNE_CMD_CH_PROPERTY_WRITE", "post CSNE_CMD_CH_PROPERTY_WRITE",
		"post CSNE_CMD_RESOURCE_INFO_GET", "post CSNE_CMD_ANE_DEFAULT_SETTING_SET", "post CSNE_CMD_POWER_DEVICE_ON",
		"post CSNE_CMD_INIT_SHARED_EVENT_INFO", "post CSNE_CMD_IPC_ENDPOINT_SET"})
	// The endpoint: ANE1Endpoint1 first, and on its failure ANEEndpoint1.
	var tried []string
	for _, e := range rec.Events {
		if e.Name == "EnableRTBuddyEndpoints" {
			tried = append(tried, e.Args[0].Value.(string))
			if e.Args[1].Value != uint64(0xe400) || (e.Err != "") != (len(tried) == 1) {
				t.Errorf("%+v", e)
			}
		}
	}
	if !slices.Equal(tried, []string{"ANE1Endpoint1", "ANEEndpoint1"}) || d.hw.endpoint != "ANEEndpoint1" {
		t.Errorf("endpoints %v, %q answered", tried, d.hw.endpoint)
	}
	if d.hw.resources.engines != 1 || d.hw.resources.maxCacheRequest == 0 || d.hw.resources.maxProcedures == 0 {
		t.Errorf("resources %+v", d.hw.resources)
	}
}

func TestBringUpFailures(t *testing.T) {
	t.Run("first endpoint", func(t *testing.T) {
		d := newDevice(t, Config{Endpoints: EndpointNames})
		open(t, d, broker(1))
		if d.hw.endpoint != "ANE1Endpoint1" {
			t.Errorf("%q answered", d.hw.endpoint)
		}
	})
	t.Run("no endpoint", func(t *testing.T) {
		d := newDevice(t, Config{Endpoints: []string{"ANEEndpoint2"}})
		_, err := d.OpenServices(broker(1))
		if e, ok := err.(*Error); !ok || e.Return != NotReady || !strings.Contains(err.Error(),
			"EnableRTBuddyEndpoints") {
			t.Errorf("%v", err)
		}
		if s := d.Status(); s.Power != 0 || s.Clients != 0 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("second wake late", func(t *testing.T) {
		d := newDevice(t, Config{SecondWake: func(n int) bool { return n > 2 }})
		s := open(t, d, broker(1))
		if st, err := s.Status(); err != nil || st.BootFailure != 2 || st.Boot != 1 || st.Ready != 1 {
			t.Errorf("%+v, %v", st, err)
		}
		prepared(t, s, adder(t), PrepareOptions{}).check(t)
	})
	t.Run("second wake never", func(t *testing.T) {
		d := newDevice(t, Config{SecondWake: func(int) bool { return false }})
		for i := range 2 {
			if _, err := d.OpenServices(broker(1)); err == nil || err.(*Error).Return != NotReady {
				t.Errorf("%v", err)
			}
			// The retry is bounded, and failures are counted.
			if got, want := d.hw.failures.Load(), uint32((i+1)*bootAttempts); got != want {
				t.Errorf("%d failures, want %d", got, want)
			}
		}
	})
}

func TestSleepWake(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, tiny(t), PrepareOptions{})
	m.check(t)
	for i := range 3 {
		if err := d.Sleep(); err != nil {
			t.Fatal(err)
		}
		if st := d.Status(); st.Power != 0 || st.Ready != 0 {
			t.Fatalf("asleep: %+v", st)
		}
		if i < 2 { // the third time the request itself wakes the device
			if err := d.Wake(); err != nil {
				t.Fatal(err)
			}
		}
		m.fill(uint64(100 + i))
		m.check(t)
		if st := d.Status(); st.Boot != uint32(i+2) || st.Restarts != 0 {
			t.Errorf("%+v", st)
		}
	}
}

// TestFrontEndsHaveCallsOfTheirOwn: requests belong to one front end, methods to the other, and both load their
// connection from the handle.
func TestFrontEndsHaveCallsOfTheirOwn(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	admin, err := d.OpenHardware(broker(2))
	if err != nil {
		t.Fatal(err)
	}
	on := &MethodArguments{Out: make([]uint64, 1)}
	if err := admin.Method("ANE_IsPowered", on); err != nil || on.Out[0] != 1 {
		t.Errorf("%v, %v", on.Out, err)
	}
	_, err = admin.SendRequest(&Request{})
	want(t, err, Unsupported)
	want(t, s.Method("ANE_IsPowered", on), Unsupported)
	other := binary.LittleEndian.Uint64(admin.object[ConnectionOffset:])
	binary.LittleEndian.PutUint64(s.object[ConnectionOffset:], other)
	if s.Client() != admin.Client() {
		t.Error("the call does not load the connection from the handle")
	}
}

// TestBalancerPutsProgramsOnTheEmptiestEngine: a resident program stays where it is.
func TestBalancerPutsProgramsOnTheEmptiestEngine(t *testing.T) {
	a, b, c := new(program), new(program), new(program)
	l := balancer{[]*hardware{{}, {}}, map[*program]int{a: 0, b: 1}}
	if l.engine(c) != l.engines[0] || l.engine(b) != l.engines[1] {
		t.Error("of two engines with a program each, want the first for another program")
	}
	delete(l.resident, b)
	if l.engine(c) != l.engines[1] {
		t.Error("want the engine without programs")
	}
}
