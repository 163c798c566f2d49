package memlimit

import "testing"

func TestMappedSpaceIsNotLeft(t *testing.T) {
	for _, c := range []struct{ limit, mapped, want uint64 }{
		{3 << 30, 1 << 30, 2 << 30}, {3 << 30, 0, 3 << 30}, {1 << 30, 2 << 30, leastSpace}, {1 << 20, 0, leastSpace},
	} {
		if n := left(c.limit, c.mapped); n != c.want {
			t.Errorf("%d bytes of which %d are mapped: %d are left, want %d", c.limit, c.mapped, n, c.want)
		}
	}
	if n := mapped(); n < 1<<20 {
		t.Errorf("the process has mapped %d bytes", n)
	}
}
