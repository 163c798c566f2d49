package memlimit

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestStartDelaysTheFirstCollectionAlone holds that the usual setting is back after the first collection.
func TestStartDelaysTheFirstCollectionAlone(t *testing.T) {
	t.Setenv("GOGC", "")
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	Start()
	if got := percent(); got != 100*firstCollection/4 {
		t.Fatalf("after Start: GOGC is %d", got)
	}
	for percent() != 100 {
		runtime.GC() // the cleanup runs some time after a collection
	}
	t.Setenv("GOGC", "50")
	Start()
	if got := percent(); got != 100 {
		t.Fatalf("with GOGC set by the user, Start changed it to %d", got)
	}
}

func TestLargeHeapsHaveLittleGarbage(t *testing.T) {
	for mib, want := range map[uint64]int{0: 100, 32: 100, 64: 50, 80: 40, 128: 25, 10000: 25} {
		if got := percentFor(mib << 20); got != want {
			t.Errorf("%d MiB in use: GOGC is %d, want %d", mib, got, want)
		}
	}
}

// percent returns the setting.
func percent() int {
	p := debug.SetGCPercent(-1)
	debug.SetGCPercent(p)
	return p
}
