package driver

import (
	"fmt"
	"testing"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
)

// TestDeviceSurvivesManyFaults injects random faults of all kinds, several per device: until they end, each request
// returns an error or the right bytes, and after them the device works.
func TestDeviceSurvivesManyFaults(t *testing.T) {
	seeds := uint64(8)
	if testing.Short() {
		seeds = 3
	}
	for _, k := range inject.Kinds {
		for _, site := range k.Sites {
			t.Run(k.Name+"@"+site.String(), func(t *testing.T) {
				for seed := range seeds {
					in := injector(t, fmt.Sprintf("%s@%s:after=%d,p=0.15,count=4", k.Name, site, 2+seed%7), seed)
					d := newDevice(t, Config{Inject: in})
					s, m := insist(t, d)
					for i := range seed + 8 {
						m.fill(i)
						expect := reference(t, m, i)
						if _, err := m.s.SendRequest(&m.req); err == nil {
							m.same(t, expect)
						}
					}
					for i := uint64(0); in.Made(k.Kind) < 4 && i < 400; i++ {
						m.fill(1)
						if _, err := m.s.SendRequest(&m.req); err == nil {
							m.same(t, reference(t, m, 1))
						}
					}
					if in.Made(k.Kind) < 4 {
						t.Fatalf("seed %d: %d faults", seed, in.Made(k.Kind))
					}
					m.fill(2)
					if _, err := m.s.SendRequest(&m.req); err != nil {
						t.Fatalf("seed %d: after the faults: %v", seed, err)
					}
					m.same(t, reference(t, m, 2))
					closeAll(t, d, s)
					if got, want := d.Status().Restarts, d.Coprocessor().Stats().Faults; uint64(got) != want {
						t.Errorf("seed %d: restart count %d after %d faults", seed, got, want)
					}
				}
			})
		}
	}
}

// insist opens a client and prepares the adder despite at most four faults.
func insist(t *testing.T, d *Device) (s *Services, m *model) {
	t.Helper()
	var err error
	for range 5 {
		if s, err = d.OpenServices(broker(1)); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.ProgramCreate(adder(t))
	if err != nil {
		t.Fatal(err)
	}
	var info Prepared
	for range 5 {
		if info, err = s.Prepare(h, PrepareOptions{}); err == nil {
			return s, bound(t, s, h, info, adder(t))
		}
	}
	t.Fatal(err)
	return nil, nil
}
