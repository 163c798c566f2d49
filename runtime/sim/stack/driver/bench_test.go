package driver

import "testing"

// BenchmarkDispatch measures one dispatch of the chapter's tiny graph from the user space front end to the engine and
// back.
func BenchmarkDispatch(b *testing.B) {
	for _, g := range []struct {
		name  string
		graph func(testing.TB) []byte
	}{{"tiny", tiny}, {"adder", adder}} {
		b.Run(g.name, func(b *testing.B) { benchmark(b, g.graph(b)) })
	}
}

func benchmark(b *testing.B, container []byte) {
	d := newDevice(b, Config{})
	s := open(b, d, broker(1))
	m := prepared(b, s, container, PrepareOptions{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.SendRequest(&m.req); err != nil {
			b.Fatal(err)
		}
	}
}
