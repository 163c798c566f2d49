package memlimit

import "testing"

func TestDefaultIsHalfOfTheMachine(t *testing.T) {
	for _, c := range []struct {
		machine uint64
		want    int64
	}{
		{1 << 30, 1 << 29}, {0, assumed / 2}, {64 << 30, most}, {1 << 62, most}, {2, 1},
	} {
		if n := half(c.machine); n != c.want && n != 1<<30-1 { // at most half of a 32-bit address space
			t.Errorf("a machine of %d bytes: %d, want %d", c.machine, n, c.want)
		}
	}
	if n := Bytes(); n <= 0 || n > most {
		t.Errorf("the default here is %d", n)
	}
}

func TestSetReplacesTheDefault(t *testing.T) {
	defer Set(0)
	Set(12345)
	if n := Bytes(); n != 12345 {
		t.Errorf("the limit is %d", n)
	}
	Set(0)
	if n := Bytes(); n != standard() {
		t.Errorf("the limit is %d, want the default %d", n, standard())
	}
}
