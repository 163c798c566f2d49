package driver

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/translation"
)

func TestMemoryMap(t *testing.T) {
	d := newDevice(t, Config{})
	task := broker(1)
	s, err := d.OpenDirect(task)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 40000)
	at := task.Map(b)
	addr, err := s.MemoryMap(0, []Range{{at, 30000}, {at + 30000, 10000}}, translation.Intermediate)
	if err != nil {
		t.Fatal(err)
	}
	// The address is the engine's: what the engine writes there is in the buffer.
	ctx := s.client.(*client).space.ctx
	if err := ctx.WriteAt([]byte{1, 2, 3}, addr+39997, "test"); err != nil || b[39999] != 3 {
		t.Errorf("%v, %d", err, b[39999])
	}
	if addr == 0 || addr%translation.PageSize != 0 || addr >= translation.ApertureSize {
		t.Errorf("device address %#x", addr)
	}
	if err := s.MemoryUnmap(0, addr); err != nil {
		t.Fatal(err)
	}
	want(t, s.MemoryUnmap(0, addr), NotFound)
	if _, err := ctx.Window(addr, 1, translation.Read, "test"); err == nil {
		t.Error("mapped after the unmap")
	}
	for name, w := range map[string]struct {
		ranges []Range
		usage  translation.Usage
		want   Return
	}{
		"no range":     {nil, translation.Input, BadArgument},
		"hole":         {[]Range{{at, 100}, {at + 101, 10}}, translation.Input, BadArgument},
		"past the end": {[]Range{{at, 40001}}, translation.Input, BadArgument},
		"unmapped":     {[]Range{{1, 10}}, translation.Input, BadArgument},
		"empty":        {[]Range{{at, 0}}, translation.Input, BadArgument},
		"wraps":        {[]Range{{at, 100}, {at + 100, math.MaxUint64}}, translation.Input, BadArgument},
		"usage":        {[]Range{{at, 10}}, 3, BadArgument},
		"many":         {make([]Range, 129), translation.Input, BadArgument},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.MemoryMap(0, w.ranges, w.usage)
			want(t, err, w.want)
		})
	}
	_, err = s.MemoryMap(77, []Range{{at, 10}}, translation.Input)
	want(t, err, NotFound)
	poor, err := d.OpenDirect(&Task{PID: 3, Entitlements: []string{UserAccess}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = poor.MemoryMap(0, []Range{{at, 10}}, translation.Input)
	want(t, err, NotPrivileged)

	// In a program's space the mapping outlives neither client nor program.
	control := open(t, d, task)
	m := prepared(t, control, adder(t), PrepareOptions{})
	if _, err := s.MemoryMap(m.h, []Range{{at, 100}}, translation.Input); err != nil {
		t.Fatal(err)
	}
	if err := control.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	poor.Close()
	if st := d.Unit().Stats(); st.ContextsOpen != 1 {
		t.Errorf("%d contexts are open", st.ContextsOpen)
	}
}

func TestHints(t *testing.T) {
	d := newDevice(t, Config{})
	s, err := d.OpenDirect(broker(1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint32(3) {
		before, err := s.SessionHint(HintLatency, i+1)
		if err != nil || before != i {
			t.Errorf("%d, %v", before, err)
		}
	}
	_, err = s.SessionHint(numHints, 1)
	want(t, err, BadArgument)
	a := arguments(Sizes{ScalarIn: 0, StructIn: 16, ScalarOut: 0, StructOut: 24})
	if r := s.Client().ExternalMethod(SelSessionHint, a); r != BadArgument {
		t.Errorf("no session token: %v", r)
	}
	c, _ := d.NewUserClient(broker(1), HintsClient)
	a = arguments(Sizes{ScalarIn: 2, StructIn: 0, ScalarOut: 0, StructOut: 0})
	a.ScalarInput[0], a.ScalarInput[1] = HintQueue, 5
	if r := c.ExternalMethod(0, a); r != Success {
		t.Errorf("setClientHint: %v", r)
	}
	a.ScalarInput[1] = 1 << 40
	if r := c.ExternalMethod(0, a); r != BadArgument {
		t.Errorf("a value of 41 bits: %v", r)
	}
	// The hints client has set the hint of the task's other client, too.
	if before, err := s.SessionHint(HintQueue, 6); err != nil || before != 5 {
		t.Errorf("the task's hint was %d, %v, want 5", before, err)
	}
	c, _ = d.NewUserClient(&Task{PID: 2}, HintsClient)
	if r := c.ExternalMethod(0, arguments(Sizes{
		ScalarIn:  2,
		StructIn:  0,
		ScalarOut: 0,
		StructOut: 0,
	})); r != NotPrivileged {
		t.Errorf("without the entitlement: %v", r)
	}
}

// TestHintsAreSharedAcrossACoalition sets a hint in a task of a team, and in one of another: with the grant, the other
// tasks of the team have it.
func TestHintsAreSharedAcrossACoalition(t *testing.T) {
	d := newDevice(t, Config{})
	open := func(pid int, team string, share bool) *Services {
		t.Helper()
		task := broker(pid)
		task.TeamID = team
		if !share {
			task.Entitlements = slices.DeleteFunc(task.Entitlements, func(key string) bool {
				return strings.HasSuffix(key, "allow-share-coalition-hints")
			})
		}
		s, err := d.OpenDirect(task)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	granted, other, stranger := open(1, "A", true), open(2, "A", false), open(3, "B", true)
	set := func(s *Services, value uint32) uint32 {
		t.Helper()
		before, err := s.SessionHint(HintLatency, value)
		if err != nil {
			t.Fatal(err)
		}
		return before
	}
	set(granted, 1)
	if before := set(other, 2); before != 1 {
		t.Errorf("a hint of the coalition was %d, want the 1 that the grant shares", before)
	}
	if before := set(granted, 3); before != 1 {
		t.Errorf("without the grant another task's hint became %d, want 1", before)
	}
	if before := set(stranger, 4); before != 0 {
		t.Errorf("a task of another team has the hint %d, want 0", before)
	}
}

func TestDebugWorkProcessor(t *testing.T) {
	// The release build has no debug surfaces (table 27.9).
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	for _, sel := range []uint32{11, 12, 13, 14, 15} {
		if r := s.Client().ExternalMethod(sel, arguments(ControlSelectors[sel].Sizes)); r != Unsupported {
			t.Errorf("selector %d on a release build: %v", sel, r)
		}
	}
	p := M1
	p.InternalBuild = true
	d = newDevice(t, Config{Properties: &p})
	s = open(t, d, broker(1))
	c := s.Client()
	call := func(sel uint32, want Return, in ...uint64) {
		t.Helper()
		a := arguments(ControlSelectors[sel].Sizes)
		copy(a.ScalarInput, in)
		if r := c.ExternalMethod(sel, a); r != want {
			t.Errorf("selector %d %v: %v (%v), want %v", sel, in, r, a.cause, want)
		}
	}
	for _, sel := range []uint32{12, 13, 14, 15} {
		call(sel, NotFound)
	}
	buf := make([]byte, 4*debugItemSize)
	register := func(want Return, size uint64, depth uint32) {
		t.Helper()
		a := arguments(ControlSelectors[11].Sizes)
		debugIn.encode(a.StructureInput, &debugArgs{addr: s.task.Map(buf), size: size, depth: depth})
		if r := c.ExternalMethod(11, a); r != want {
			t.Errorf("register %d, %d: %v", size, depth, r)
		}
	}
	register(BadArgument, uint64(len(buf)), 5)
	register(BadArgument, uint64(len(buf))+1, 2)
	register(BadArgument, uint64(len(buf)), 0)
	register(Success, uint64(len(buf)), 2)
	register(Busy, uint64(len(buf)), 2)
	call(13, NotReady, 0)
	m := prepared(t, s, adder(t), PrepareOptions{})
	for range 3 {
		m.check(t)
	}
	call(13, BadArgument, 2)
	call(13, BadArgument, 0, 1)
	call(14, NotFound, 1)
	call(13, Success, 1)
	if le := binary.LittleEndian; le.Uint64(buf[debugItemSize:]) != 1 ||
		le.Uint64(buf[debugItemSize+16:]) != uint64(m.h) {
		t.Errorf("item % x", buf[debugItemSize:2*debugItemSize])
	}
	call(14, Success, 1)
	call(14, NotFound, 1)
	call(13, Success, 0)
	call(13, NotReady, 0) // the third found two places taken
	call(15, Success)
	call(14, NotFound, 2)
	call(12, Success)
	m.check(t)
}

// TestContainerText checks that what the driver loads is a firmware container.
func TestContainerText(t *testing.T) {
	d := newDevice(t, Config{})
	s := open(t, d, broker(1))
	m := prepared(t, s, tiny(t), PrepareOptions{})
	i := d.instance(m.h)
	if _, err := afpp.Read(i.p.loaded.Firmware()); err != nil {
		t.Fatal(err)
	}
	if m.info.Resident == 0 || m.info.Procedures != 1 || m.info.ProgramID != 0 {
		t.Errorf("%+v", m.info)
	}
}
