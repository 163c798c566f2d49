package weights

import (
	"bytes"
	"testing"
)

// TestPackMasks lays out a window of 2 by 3 with its only weight at tap (1, 1) for 18 channels: two bodies on the first
// two of sixteen cores. A body has six cells of two slots, so that the tap is slot 8, or of four slots, slot 16.
func TestPackMasks(t *testing.T) {
	p, err := PlanDepthwise(18)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		small bool
		body  []byte
	}{
		{false, []byte{2, 0, 0, 0, 1}},
		{true, []byte{3, 0, 0, 0, 0, 1}},
	} {
		got, sizes, err := p.PackMasks(ShiftKernel(18, 2, 3, 1, 1), c.small)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for core := range MaxCores {
			part := append([]byte{0, 0x3c}, make([]byte, Granule-2)...)
			part = append(part, c.body...)
			if core < 2 {
				part = append(part, c.body...)
			}
			part = pad(part, 0)
			if sizes[core] != len(part) {
				t.Errorf("core %d has %d bytes, want %d", core, sizes[core], len(part))
			}
			want = append(want, part...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("small %t:\n%x, want\n%x", c.small, got, want)
		}
	}
	k := ShiftKernel(18, 2, 3, 1, 1)
	k.W[0] = 1
	if _, _, err := p.PackMasks(k, false); err == nil {
		t.Error("masks tell two values from zero")
	}
}
