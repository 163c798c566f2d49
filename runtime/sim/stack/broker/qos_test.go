package broker

import (
	"reflect"
	"testing"
)

func clientCalls() []string {
	c := reflect.TypeFor[Client]()
	var names []string
	for i := range c.NumMethod() {
		names = append(names, c.Method(i).Name)
	}
	return names
}

// TestClassesOfServiceReachTheDriver maps every class, including the only one of table 27.6, and follows it to the
// driver: levels 0 and 1 are for the system, 2 to 7 for applications.
func TestClassesOfServiceReachTheDriver(t *testing.T) {
	keyOf := map[QoS][]string{}
	last := -1
	for _, c := range QoSClasses {
		if c.Priority < 0 || c.Priority > 7 || c.Priority <= last {
			t.Errorf("%v: priority %d", c.QoS, c.Priority)
		}
		last = c.Priority
		keyOf[c.QoS] = c.Keys
		if c.Priority < 2 && len(c.Keys) == 0 {
			t.Errorf("%v: priority %d is the system's, and nothing is asked for it", c.QoS, c.Priority)
		}
	}
	for q, want := range map[QoS][2]int{
		9:                 {7, 7},
		17:                {6, 6},
		21:                {5, 5},
		0:                 {5, 5},
		25:                {4, 4},
		33:                {3, 3},
		QoSRealTime:       {2, 2},
		QoSSystemRealTime: {1, 1},
		QoSSystemReserved: {0, 0},
		22:                {5, 5},
	} {
		if got := [2]int{QueueIndex(q), ProgramPriority(q)}; got != want {
			t.Errorf("class %d: queue and priority %v, wanted %v", q, got, want)
		}
	}
	c := container(t, 8, 1)
	for _, row := range QoSClasses {
		for _, access := range []bool{false, true} {
			for _, key := range append([]string{""}, row.Keys...) {
				b, k := room(t, nil)
				id := caller(1, "A", key)
				if access {
					id.Entitlements[0] = KeyAccess
				}
				s := connect(t, b, id)
				allowed := (len(row.Keys) == 0 || key != "") && !(row.Restricted && access)
				m, err := s.Load(t.Context(), LoadRequest{Container: c, QoS: row.QoS})
				if (err == nil) != allowed {
					t.Errorf("%v with %q, access %v: %v, wanted it allowed: %v", row.QoS, key, access, err, allowed)
				}
				if err != nil {
					refused(t, err, NotEntitled)
					continue
				}
				in := instantiate(t, s, InstanceRequest{Model: m.Model, QoS: row.QoS})
				if in.Priority != row.Priority || in.Queue != QueueIndex(row.QoS) {
					t.Errorf("%v: granted priority %d and queue %d", row.QoS, in.Priority, in.Queue)
				}
				evaluate(t, s, in, c, 1)
				low := EvaluateRequest{
					Instance: in.Instance,
					Surfaces: surfacesOf(in.Procedures[0], 2),
					QoS:      QoSBackground,
				}
				if err := s.Evaluate(t.Context(), low); err != nil {
					t.Error(err)
				}
				if len(k.requests) != 2 {
					t.Fatalf("%d requests", len(k.requests))
				}
				if r := k.requests[0]; r.QoS != row.QoS || r.Priority != row.Priority {
					t.Errorf("%v: the driver got %+v", row.QoS, r)
				}
				if r := k.requests[1]; r.QoS != QoSBackground || r.Priority != 7 {
					t.Errorf("%v: the driver got %+v for background work", row.QoS, r)
				}
				for _, p := range k.programs {
					if p.options.QoS != row.QoS || p.options.Priority != row.Priority {
						t.Errorf("%v: prepared with %+v", row.QoS, p.options)
					}
				}
			}
		}
	}
	b, _ := room(t, nil)
	s := connect(t, b, caller(1, "A"))
	for _, q := range []QoS{1, 22, 34, 1 << 31} {
		_, err := s.Load(t.Context(), LoadRequest{Container: c, QoS: q})
		refused(t, err, BadArgument)
	}
	m := load(t, s, LoadRequest{Container: c})
	in := instantiate(t, s, InstanceRequest{Model: m.Model})
	err := s.Evaluate(t.Context(), EvaluateRequest{
		Instance: in.Instance,
		Surfaces: surfacesOf(in.Procedures[0], 1),
		QoS:      QoSSystemReserved,
	})
	refused(t, err, NotEntitled)
}
