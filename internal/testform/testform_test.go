package testform

import (
	"slices"
	"testing"
)

func TestSampleHasDifferentIndexes(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100, stride, 2 * stride} {
		for _, most := range []int{1, 5, 99} {
			got := slices.Sorted(Sample(n, most, most))
			want := most
			if Long() {
				want = n
			}
			if len(got) != min(n, want) || len(slices.Compact(got)) != len(got) {
				t.Errorf("%d of %d: %v", most, n, got)
			}
			if len(got) > 0 && (got[0] < 0 || got[len(got)-1] >= n) {
				t.Errorf("%d of %d: %v is out of range", most, n, got)
			}
		}
	}
}
