package driver

import "testing"

func TestDispatch(t *testing.T) {
	for name, g := range map[string]func(testing.TB) []byte{"tiny": tiny, "adder": adder, "pair": pair} {
		t.Run(name, func(t *testing.T) {
			d := newDevice(t, Config{})
			s := open(t, d, broker(1))
			m := prepared(t, s, g(t), PrepareOptions{})
			for i := range 3 {
				m.fill(uint64(i))
				m.check(t)
			}
			if err := s.Unprepare(m.h); err != nil {
				t.Fatal(err)
			}
			if err := s.Destroy(m.h); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if st := d.Unit().Stats(); st.ContextsOpen != 1 {
				t.Errorf("%d contexts are open, the driver's own alone stays", st.ContextsOpen)
			}
		})
	}
}
