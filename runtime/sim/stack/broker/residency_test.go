package broker

import (
	"slices"
	"strings"
	"testing"
)

// TestAttachRequiresTheOwnersIdentity checks that a second client shares a resident program only if its team identifier
// and code-directory hash equal the owner's.
func TestAttachRequiresTheOwnersIdentity(t *testing.T) {
	c := container(t, 8, 1)
	owner := caller(1, "A", KeyModelShare)
	otherHash := owner
	otherHash.PID, otherHash.CodeDirectoryHash[19] = 2, 1
	for _, row := range []struct {
		name  string
		who   Identity
		share bool
		attch bool // by Load
		code  Code // of Attach; 0 when it is allowed
	}{
		{name: "another process of the same", who: caller(2, "A", KeyModelShare), share: true, attch: true, code: 0},
		{name: "the same process", who: owner, share: true, attch: true, code: 0},
		{name: "another process, not sharing", who: caller(2, "A", KeyModelShare), share: false, attch: false, code: 0},
		{name: "another team", who: caller(2, "B", KeyModelShare), share: true, attch: false, code: Mismatch},
		{name: "another code-directory hash", who: otherHash, share: true, attch: false, code: Mismatch},
		{name: "no team", who: caller(2, "", KeyModelShare), share: true, attch: false, code: Mismatch},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, k := room(t, nil)
			first := connect(t, b, owner)
			m := load(t, first, LoadRequest{Container: c, Share: true})
			s := connect(t, b, row.who)
			l := load(t, s, LoadRequest{Container: c, Share: row.share})
			if l.Attached != row.attch || (l.Resident == m.Resident) != row.attch {
				t.Errorf("load: attached %v to resident %d, the owner's is %d; wanted it attached: %v", l.Attached,
					l.Resident, m.Resident, row.attch)
			}
			a, err := s.Attach(t.Context(), AttachRequest{Resident: m.Resident})
			if row.code != 0 {
				refused(t, err, row.code)
			} else if err != nil || a.Resident != m.Resident {
				t.Errorf("attach: %v", err)
			}
			in := instantiate(t, s, InstanceRequest{Model: l.Model})
			evaluate(t, s, in, c, 1)
			same := row.who.TeamID == owner.TeamID && row.who.CodeDirectoryHash == owner.CodeDirectoryHash
			if (k.open == 1) != same {
				t.Errorf("%d connections to the driver; one belongs to one team and code-directory hash", k.open)
			}
			// The program stays when its first holder closes.
			first.Close()
			evaluate(t, s, in, c, 2)
		})
	}
	t.Run("what was not shared", func(t *testing.T) {
		b, _ := room(t, nil)
		first := connect(t, b, owner)
		m := load(t, first, LoadRequest{Container: c})
		again := load(t, first, LoadRequest{Container: c})
		if !again.Attached || again.Resident != m.Resident {
			t.Error("a process loaded its program twice")
		}
		s := connect(t, b, caller(2, "A", KeyModelShare))
		_, err := s.Attach(t.Context(), AttachRequest{Resident: m.Resident})
		refused(t, err, Mismatch)
		_, err = s.Attach(t.Context(), AttachRequest{Resident: 999})
		refused(t, err, NotFound)
	})
	t.Run("no team, twice", func(t *testing.T) {
		b, k := room(t, nil)
		one, two := connect(t, b, caller(1, "", KeyModelShare)), connect(t, b, caller(1, "", KeyModelShare))
		load(t, one, LoadRequest{Container: c, Share: true})
		if l := load(t, two, LoadRequest{Container: c, Share: true}); l.Attached || k.open != 2 {
			t.Error("callers without a team identifier shared a program")
		}
	})
}

// TestHandlesBelongToTheirConnection checks models and instances.
func TestHandlesBelongToTheirConnection(t *testing.T) {
	b, _ := room(t, nil)
	c := container(t, 8, 1)
	one, two := connect(t, b, caller(1, "A", KeyDirectPath)), connect(t, b, caller(1, "A", KeyDirectPath))
	m := load(t, one, LoadRequest{Container: c})
	in := instantiate(t, one, InstanceRequest{Model: m.Model})
	ctx := t.Context()
	_, err := two.CreateInstance(ctx, InstanceRequest{Model: m.Model})
	refused(t, err, NotFound)
	refused(t, two.Evaluate(ctx, EvaluateRequest{
		Instance: in.Instance,
		Surfaces: surfacesOf(in.Procedures[0], 1),
	}), NotFound)
	refused(t, two.ReleaseInstance(ctx, ReleaseRequest{Instance: in.Instance}), NotFound)
	refused(t, two.Unload(ctx, UnloadRequest{Model: m.Model}), NotFound)
	_, err = two.OpenDirectPath(ctx, DirectPathRequest{Instance: in.Instance})
	refused(t, err, NotFound)
	if err := one.Unload(ctx, UnloadRequest{Model: m.Model}); err != nil {
		t.Error(err)
	}
	refused(t, one.Evaluate(ctx, EvaluateRequest{
		Instance: in.Instance,
		Surfaces: surfacesOf(in.Procedures[0], 1),
	}), NotFound)
	one.Close()
	_, err = one.Load(ctx, LoadRequest{Container: c})
	refused(t, err, Aborted)
	if one.Close() != nil {
		t.Error("closing twice")
	}
}

// wiredOf lists the programs that are wired, by number.
func wiredOf(b *Broker) []uint64 {
	var ids []uint64
	for _, r := range b.Residents() {
		if r.Wired {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// TestIdleProgramsAreUnwired fills a budget of two programs: idle ones lose their memory in the order of their last
// use, and get it back when they are used.
func TestIdleProgramsAreUnwired(t *testing.T) {
	cs := [][]byte{container(t, 8, 1), container(t, 8, 2), container(t, 8, 3)}
	size := int64(len(cs[0]))
	b, k := room(t, func(c *Config) { c.Limits.WiredBytes = 2*size + size/2 })
	s := connect(t, b, caller(1, "A"))
	var ms []*LoadReply
	var ins []*InstanceReply
	for _, c := range cs {
		m := load(t, s, LoadRequest{Container: c})
		ms = append(ms, m)
		ins = append(ins, instantiate(t, s, InstanceRequest{Model: m.Model}))
	}
	check := func(what string, want ...int) {
		t.Helper()
		var ids []uint64
		for _, i := range want {
			ids = append(ids, ms[i].Resident)
		}
		if got := wiredOf(b); !slices.Equal(got, ids) {
			t.Errorf("%s: programs %v are wired, wanted %v", what, got, ids)
		}
		if r := b.Report(); r.WiredBytes > 2*size+size/2 {
			t.Errorf("%s: %d bytes are wired", what, r.WiredBytes)
		}
	}
	check("after three loads", 1, 2)
	evaluate(t, s, ins[1], cs[1], 1)
	evaluate(t, s, ins[0], cs[0], 1) // 2 was used longest ago
	check("after 1 and 0 ran", 0, 1)
	evaluate(t, s, ins[2], cs[2], 1)
	check("after 2 ran", 0, 2)
	k.calls()
	evaluate(t, s, ins[2], cs[2], 1)
	if log := k.calls(); len(log) != 1 || !strings.HasPrefix(log[0], "request") {
		t.Errorf("running a wired program asked the driver for %q", log)
	}
	if err := s.Unload(t.Context(), UnloadRequest{Model: ms[2].Model}); err != nil {
		t.Fatal(err)
	}
	evaluate(t, s, ins[1], cs[1], 1)
	if got := wiredOf(b); !slices.Equal(got, []uint64{ms[0].Resident, ms[1].Resident}) {
		t.Errorf("programs %v are wired", got)
	}
}

// TestUnwiringArguments checks how the arguments of an instance change the order.
func TestUnwiringArguments(t *testing.T) {
	cs := [][]byte{container(t, 8, 1), container(t, 8, 2), container(t, 8, 3)}
	size := int64(len(cs[0]))
	start := func(t *testing.T, budget int64, reqs ...InstanceRequest) (*Broker, *Session, []*LoadReply,
		[]*InstanceReply) {
		b, _ := room(t, func(c *Config) { c.Limits.WiredBytes = budget })
		s := connect(t, b, caller(1, "A", KeyAggressiveSaving, KeyDirectPath))
		var ms []*LoadReply
		var ins []*InstanceReply
		for i, r := range reqs {
			m := load(t, s, LoadRequest{Container: cs[i]})
			r.Model = m.Model
			ms, ins = append(ms, m), append(ins, instantiate(t, s, r))
		}
		return b, s, ms, ins
	}
	t.Run("opted out", func(t *testing.T) {
		b, s, ms, ins := start(t, 2*size, InstanceRequest{OptOutOfModelMemoryUnwiring: true}, InstanceRequest{},
			InstanceRequest{})
		if got := wiredOf(b); !slices.Equal(got, []uint64{ms[0].Resident, ms[2].Resident}) {
			t.Errorf("programs %v are wired; the first opted out", got)
		}
		_, err := s.CreateInstance(t.Context(), InstanceRequest{Model: ms[2].Model, OptOutOfModelMemoryUnwiring: true})
		refused(t, err, NoMemory) // half is all that a tenant may keep
		if err := s.ReleaseInstance(t.Context(), ReleaseRequest{Instance: ins[0].Instance}); err != nil {
			t.Fatal(err)
		}
		evaluate(t, s, ins[1], cs[1], 1)
		if got := wiredOf(b); !slices.Equal(got, []uint64{ms[1].Resident, ms[2].Resident}) {
			t.Errorf("programs %v are wired; nothing opts out any more", got)
		}
	})
	t.Run("power saving", func(t *testing.T) {
		b, s, ms, ins := start(t, 2*size, InstanceRequest{}, InstanceRequest{EnablePowerSaving: true})
		evaluate(t, s, ins[1], cs[1], 1) // used last, and yet unwired first
		load(t, s, LoadRequest{Container: cs[2]})
		if got := wiredOf(b); len(got) != 2 || got[0] != ms[0].Resident {
			t.Errorf("programs %v are wired; %d saves power", got, ms[1].Resident)
		}
	})
	t.Run("aggressive", func(t *testing.T) {
		b, s, ms, ins := start(t, 4*size, InstanceRequest{AggressivePowerSaving: true})
		evaluate(t, s, ins[0], cs[0], 1)
		if got := wiredOf(b); len(got) != 0 {
			t.Errorf("programs %v are wired, and nothing runs", got)
		}
		evaluate(t, s, ins[0], cs[0], 2)
		other := instantiate(t, s, InstanceRequest{Model: ms[0].Model})
		evaluate(t, s, ins[0], cs[0], 3)
		if got := wiredOf(b); len(got) != 1 {
			t.Errorf("programs %v are wired; one instance saves no power", got)
		}
		evaluate(t, s, other, cs[0], 3)
		_, err := s.CreateInstance(t.Context(), InstanceRequest{
			Model:                       ms[0].Model,
			AggressivePowerSaving:       true,
			OptOutOfModelMemoryUnwiring: true,
		})
		refused(t, err, BadArgument)
	})
	t.Run("driven directly", func(t *testing.T) {
		b, s, ms, ins := start(t, 2*size, InstanceRequest{}, InstanceRequest{})
		if _, err := s.OpenDirectPath(t.Context(), DirectPathRequest{Instance: ins[0].Instance}); err != nil {
			t.Fatal(err)
		}
		load(t, s, LoadRequest{Container: cs[2]})
		if got := wiredOf(b); len(got) != 2 || got[0] != ms[0].Resident {
			t.Errorf("programs %v are wired; %d is driven directly", got, ms[0].Resident)
		}
	})
	t.Run("too large", func(t *testing.T) {
		b, _ := room(t, func(c *Config) { c.Limits.WiredBytes = size - 1 })
		_, err := connect(t, b, caller(1, "A")).Load(t.Context(), LoadRequest{Container: cs[0]})
		refused(t, err, NoMemory)
	})
	t.Run("nothing idle", func(t *testing.T) {
		_, s, _, ins := start(t, 2*size, InstanceRequest{}, InstanceRequest{})
		for _, in := range ins {
			if _, err := s.OpenDirectPath(t.Context(), DirectPathRequest{Instance: in.Instance}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.Load(t.Context(), LoadRequest{Container: cs[2]})
		refused(t, err, NoMemory)
	})
	t.Run("the driver's slots", func(t *testing.T) {
		b, k := room(t, nil)
		k.slots = 1
		s := connect(t, b, caller(1, "A"))
		m := load(t, s, LoadRequest{Container: cs[0]})
		in := instantiate(t, s, InstanceRequest{Model: m.Model})
		load(t, s, LoadRequest{Container: cs[1]})
		evaluate(t, s, in, cs[0], 1)
		if got := wiredOf(b); !slices.Equal(got, []uint64{m.Resident}) {
			t.Errorf("programs %v are wired; the driver has one slot", got)
		}
	})
}

// TestRefusedLoadsLeaveNothing also checks the errors.
func TestRefusedLoadsLeaveNothing(t *testing.T) {
	c, d := container(t, 8, 1), container(t, 8, 2)
	b, _ := room(t, func(cfg *Config) { cfg.Limits.Models, cfg.Limits.ModelBytes = 2, int64(2*len(c)+10) })
	s := connect(t, b, caller(1, "A"))
	for _, hostile := range [][]byte{nil, {}, []byte("container"), c[:len(c)/2], make([]byte, 1<<16)} {
		_, err := s.Load(t.Context(), LoadRequest{Container: hostile})
		refused(t, err, BadArgument)
	}
	load(t, s, LoadRequest{Container: c, Identifier: "x"})
	_, err := s.Load(t.Context(), LoadRequest{Container: d, Identifier: "x"})
	refused(t, err, BadArgument)
	load(t, s, LoadRequest{Container: c, Identifier: "x"})
	_, err = s.Load(t.Context(), LoadRequest{Container: d})
	refused(t, err, NoMemory)
	if n := len(b.Residents()); n != 1 {
		t.Errorf("%d resident programs, wanted 1", n)
	}
	b2, _ := room(t, func(cfg *Config) { cfg.Limits.Models = 1 })
	s = connect(t, b2, caller(1, "A"))
	load(t, s, LoadRequest{Container: c})
	_, err = s.Load(t.Context(), LoadRequest{Container: c})
	refused(t, err, NoResources)
}

// TestIntermediateBuffer checks that a sibling that attaches gets the intermediate buffer of the resident program, and
// a stranger another one.
func TestIntermediateBuffer(t *testing.T) {
	b, _ := room(t, nil)
	c := container(t, 8, 1)
	handles := func(pid int, team string) *DirectPathReply {
		t.Helper()
		s := connect(t, b, caller(pid, team, KeyModelShare, KeyDirectPath))
		m := load(t, s, LoadRequest{Container: c, Share: true})
		in := instantiate(t, s, InstanceRequest{Model: m.Model})
		d, err := s.OpenDirectPath(t.Context(), DirectPathRequest{Instance: in.Instance})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	owner, sibling, stranger := handles(1, "A"), handles(2, "A"), handles(3, "B")
	if owner.IntermediateBuffer != sibling.IntermediateBuffer || owner.Program == sibling.Program {
		t.Errorf("owner %+v, sibling %+v: one buffer and two instances were wanted", owner, sibling)
	}
	if stranger.IntermediateBuffer == owner.IntermediateBuffer {
		t.Error("a stranger was handed the owner's intermediate buffer")
	}
}
