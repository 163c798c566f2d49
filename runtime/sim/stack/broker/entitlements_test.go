package broker

import (
	"reflect"
	"strings"
	"testing"
)

// probes says what each key of table 27.8 that the broker checks allows: the call is made once by a caller with the key
// and once by one without it.
var probes = map[string]func(t *testing.T, with bool, key string) error{
	KeyPrivate: func(t *testing.T, with bool, key string) error {
		b, _ := room(t, nil)
		s, err := b.Connect(holder(with, key))
		if err != nil {
			return err
		}
		if s.Tier() != Restricted {
			t.Errorf("tier %v", s.Tier())
		}
		return baseline(t, s)
	},
	KeyAccess: func(t *testing.T, with bool, key string) error {
		b, _ := room(t, nil)
		s, err := b.Connect(holder(with, key))
		if err != nil {
			return err
		}
		if s.Tier() != Unrestricted {
			t.Errorf("tier %v", s.Tier())
		}
		return baseline(t, s)
	},
	KeyAdapterWeight: func(t *testing.T, with bool, key string) error {
		b, _ := room(t, nil)
		s := connect(t, b, holder(with, key, KeyPrivate))
		load(t, s, LoadRequest{Container: container(t, 8, 1), Identifier: "base"})
		_, err := s.CreateInstanceWithWeights(t.Context(), WeightsRequest{
			Base:            "base",
			WeightFileCount: 1,
			WeightFiles:     section(t, container(t, 8, 2)),
		})
		return err
	},
	KeyModelShare: func(t *testing.T, with bool, key string) error {
		b, _ := room(t, nil)
		owner := connect(t, b, caller(2, "A", KeyModelShare))
		m := load(t, owner, LoadRequest{Container: container(t, 8, 1), Share: true})
		id := holder(with, key, KeyPrivate)
		id.TeamID, id.CodeDirectoryHash = "A", caller(2, "A").CodeDirectoryHash
		s := connect(t, b, id)
		_, err := s.Attach(t.Context(), AttachRequest{Resident: m.Resident})
		shared, other := s.Load(t.Context(), LoadRequest{Container: container(t, 8, 1), Share: true})
		if (err == nil) != (other == nil) {
			t.Errorf("attachModel says %v, loadModel with Share %v", err, other)
		}
		if other == nil && (!shared.Attached || shared.Resident != m.Resident) {
			t.Errorf("loadModel with Share gave resident %d, attached %v; wanted the owner's, %d", shared.Resident,
				shared.Attached, m.Resident)
		}
		return err
	},
	KeySecondaryCompiler: func(t *testing.T, with bool, key string) error {
		b, _ := room(t, func(c *Config) { c.Limits.PrimaryModelBytes = 10 })
		s := connect(t, b, holder(with, key, KeyPrivate))
		large := Files{{Name: "model.mil", Data: make([]byte, 11)}}
		_, err := s.Compile(t.Context(), CompileRequest{Files: large})
		refused(t, err, NoResources)
		_, err = s.Compile(t.Context(), CompileRequest{Files: large, Secondary: true})
		return err
	},
	KeyAggressiveSaving: func(t *testing.T, with bool, key string) error {
		b, _ := room(t, nil)
		s := connect(t, b, holder(with, key, KeyPrivate, KeyAdapterWeight))
		m := load(t, s, LoadRequest{Container: container(t, 8, 1), Identifier: "base"})
		req := InstanceRequest{Model: m.Model, AggressivePowerSaving: true}
		_, err := s.CreateInstance(t.Context(), req)
		_, other := s.CreateInstanceWithWeights(t.Context(), WeightsRequest{
			InstanceRequest: req,
			Base:            "base",
			WeightFileCount: 1,
			WeightFiles:     section(t, container(t, 8, 2)),
		})
		if (err == nil) != (other == nil) {
			t.Errorf("createInstance says %v, createInstanceWithWeights %v", err, other)
		}
		return err
	},
	KeyPurgeAll: func(t *testing.T, with bool, key string) error {
		b, _ := room(t, nil)
		other := connect(t, b, caller(2, "B"))
		r := CompileRequest{Files: Files{{Name: "m", Data: []byte("x")}}}
		if _, err := other.Compile(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		s := connect(t, b, holder(with, key, KeyPrivate))
		if p, err := s.Purge(t.Context(), PurgeRequest{}); err != nil || p.Models != 0 {
			t.Errorf("purging the own partition: %v, %v; wanted nothing purged", p, err)
		}
		p, err := s.Purge(t.Context(), PurgeRequest{AllPartitions: true})
		if err == nil && p.Models != 1 {
			t.Errorf("purging all partitions took %d models, wanted 1", p.Models)
		}
		again, e := other.Compile(t.Context(), r)
		if e != nil || again.Cached != (err != nil) {
			t.Errorf("after %v the other's model is cached: %v, %v", err, again.Cached, e)
		}
		return err
	},
	KeyDirectPath: func(t *testing.T, with bool, key string) error {
		b, _ := room(t, nil)
		s := connect(t, b, holder(with, key, KeyAccess)) // of any tier
		m := load(t, s, LoadRequest{Container: container(t, 8, 1)})
		in := instantiate(t, s, InstanceRequest{Model: m.Model})
		d, err := s.OpenDirectPath(t.Context(), DirectPathRequest{Instance: in.Instance})
		if err == nil && (d.Program == 0 || d.IntermediateBuffer == 0) {
			t.Errorf("handles %+v", d)
		}
		_, other := s.PrepareChaining(t.Context(), ChainingRequest{Instance: in.Instance})
		if (err == nil) != (other == nil) {
			t.Errorf("openDirectPath says %v, prepareChaining %v", err, other)
		}
		return err
	},
	KeyTrustCacheClient: func(t *testing.T, with bool, key string) error {
		b, _ := room(t, func(c *Config) { c.Limits.Connections, c.Limits.ReservedConnections = 3, 1 })
		connect(t, b, caller(2, "A"))
		connect(t, b, caller(3, "A"))
		_, err := b.Connect(holder(with, key, KeyPrivate))
		return err
	},
}

// holder is a caller with the keys of more, and with one more or not.
func holder(with bool, key string, more ...string) Identity {
	id := Identity{PID: 9, TeamID: "T", Entitlements: append([]string{"com.apple.unrelated"}, more...)}
	if with {
		id.Entitlements = append(id.Entitlements, key)
	}
	return id
}

// baseline compiles, loads, instantiates and runs.
func baseline(t *testing.T, s *Session) error {
	c := container(t, 8, 1)
	r, err := s.Compile(t.Context(), CompileRequest{Files: Files{{Name: "m", Data: c}}})
	if err != nil {
		return err
	}
	m, err := s.Load(t.Context(), LoadRequest{Container: r.Container})
	if err != nil {
		return err
	}
	in, err := s.CreateInstance(t.Context(), InstanceRequest{Model: m.Model})
	if err != nil {
		return err
	}
	evaluate(t, s, in, c, 1)
	return nil
}

// TestEntitlementsAllowAndAreRequired checks for every key that it allows what the table says, and that a call without
// it is refused with the name of the key. The two keys that the kernel checks open nothing here: TestKernelKeys checks
// them at the driver.
// Table 27.8.
func TestEntitlementsAllowAndAreRequired(t *testing.T) {
	if len(Entitlements) != 11 {
		t.Errorf("%d rows, the table has 11", len(Entitlements))
	}
	for _, e := range Entitlements {
		t.Run(strings.TrimPrefix(e.Key, "com.apple."), func(t *testing.T) {
			if e.CheckedBy == ByKernel {
				b, _ := room(t, nil)
				_, err := b.Connect(holder(true, e.Key))
				refused(t, err, NotEntitled)
				return
			}
			probe := probes[e.Key]
			if probe == nil {
				t.Fatal("nothing shows what the key allows")
			}
			if err := probe(t, true, e.Key); err != nil {
				t.Errorf("with the key: %v", err)
			}
			err := probe(t, false, e.Key)
			own, ok := err.(*Error)
			if !ok || own.Code != NotEntitled && own.Code != NoResources {
				t.Fatalf("without the key: %v, wanted a refusal", err)
			}
			if !strings.Contains(own.Msg, e.Key) {
				t.Errorf("the refusal does not name the key: %v", own)
			}
			if own.Code == NotEntitled && own.Return != 0xe00002c1 {
				t.Errorf("the refusal returns %#x, wanted kIOReturnNotPrivileged", own.Return)
			}
		})
	}
}

// TestTiersOfCallers also checks that gated requests require the restricted tier, even with other entitlements.
func TestTiersOfCallers(t *testing.T) {
	all := []string{KeyAdapterWeight, KeyModelShare, KeySecondaryCompiler, KeyAggressiveSaving, KeyPurgeAll}
	for _, c := range []struct {
		name    string
		perUser bool
		uid     int
		keys    []string
		tier    Tier
		gated   bool
	}{
		{name: "nothing", perUser: false, uid: 1, tier: NoTier, gated: false},
		{name: "gated keys alone", perUser: false, uid: 1, keys: all, tier: NoTier, gated: false},
		{name: "the kernel's key alone", perUser: false, uid: 1, keys: []string{KeyUserClient}, tier: NoTier,
			gated: false},
		{name: "private", perUser: false, uid: 1, keys: append([]string{KeyPrivate}, all...), tier: Restricted,
			gated: true},
		{name: "access", perUser: false, uid: 1, keys: append([]string{KeyAccess}, all...), tier: Unrestricted,
			gated: false},
		{name: "both", perUser: false, uid: 1, keys: append([]string{KeyAccess, KeyPrivate}, all...), tier: Restricted,
			gated: true},
		{name: "per-user", perUser: true, uid: 7, keys: append([]string{KeyAccess}, all...), tier: PerUser,
			gated: false},
		{name: "per-user, private", perUser: true, uid: 7, keys: append([]string{KeyPrivate}, all...), tier: PerUser,
			gated: true},
		{name: "another user", perUser: true, uid: 8, keys: append([]string{KeyPrivate}, all...), tier: NoTier,
			gated: false},
		{name: "per-user, nothing", perUser: true, uid: 7, tier: NoTier, gated: false},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := room(t, func(cfg *Config) { cfg.PerUser, cfg.UID = c.perUser, 7 })
			s, err := b.Connect(Identity{PID: 1, UID: c.uid, TeamID: "A", Entitlements: c.keys})
			if c.tier == NoTier {
				refused(t, err, NotEntitled)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.Tier() != c.tier {
				t.Errorf("tier %v, wanted %v", s.Tier(), c.tier)
			}
			if err := baseline(t, s); err != nil {
				t.Errorf("baseline: %v", err)
			}
			_, err = s.Purge(t.Context(), PurgeRequest{AllPartitions: true})
			if (err == nil) != c.gated {
				t.Errorf("a gated request: %v, wanted it allowed: %v", err, c.gated)
			}
		})
	}
	for _, tier := range []Tier{NoTier, Restricted, Unrestricted, PerUser, 77} {
		if tier.String() == "" || tier.Doc() == "" {
			t.Errorf("tier %d has no name", tier)
		}
	}
}

// TestTableHasEveryMethod compares the table of methods with the calls of a Client.
func TestTableHasEveryMethod(t *testing.T) {
	client := map[string]bool{}
	for _, n := range clientCalls() {
		client[n] = true
	}
	keys := map[string]bool{}
	for _, m := range Methods {
		if !client[m.Call] {
			t.Errorf("%s: Client has no method %s", m.Name, m.Call)
		}
		delete(client, m.Call)
		call, _ := reflect.TypeFor[Client]().MethodByName(m.Call)
		request := call.Type.In(1)
		if class, ok := request.FieldByName("QoS"); ok != m.QoS || ok && class.Type != reflect.TypeFor[QoS]() {
			t.Errorf("%s: QoS is %v, the request has %v", m.Name, m.QoS, class)
		}
		if m.Doc == "" {
			t.Errorf("%s: a row with holes", m.Name)
		}
		for _, g := range m.Gates {
			keys[g.Key] = true
			f, ok := request.FieldByName(g.Argument)
			if g.Argument != anyCall && (!ok || f.Type.Kind() != reflect.Bool) {
				t.Errorf("%s: the request has no flag %s", m.Name, g.Argument)
			}
		}
	}
	delete(client, "Tier")
	delete(client, "Close")
	for n := range client {
		t.Errorf("the table has no row for %s", n)
	}
	for _, e := range Entitlements {
		if keys[e.Key] != (e.CheckedBy == ByMethod) {
			t.Errorf("%s is checked by the %v, and a method asks for it: %v", e.Key, e.CheckedBy, keys[e.Key])
		}
	}
	// The path of every dispatch requires only classes.
	if len(methodNamed[mEvaluate].Gates)+len(methodNamed[mEvaluateAsync].Gates) > 0 {
		t.Error("evaluations have gates, which dispatch does not read")
	}
	// Every method that compiles, loads or instantiates takes a class.
	for _, m := range Methods {
		if !m.QoS && m.Name != mRelease && m.Name != mPurge {
			t.Errorf("%s takes no class of service", m.Name)
		}
	}
}
