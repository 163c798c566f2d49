package driver

import "testing"

// BenchmarkDispatch is one dispatch of the chapter's tiny graph from the user
// space front end to the engine and back.
func BenchmarkDispatch(b *testing.B) {
	d := newDevice(b, Config{})
	s := open(b, d, broker(1))
	m := prepared(b, s, tiny(b), PrepareOptions{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.SendRequest(&m.req); err != nil {
			b.Fatal(err)
		}
	}
}
