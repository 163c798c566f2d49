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
	for mib, want := range map[uint64]int{96: 100, 192: 50, 384: 25, 10000: 25} {
		if got := percentFor(mib<<20, mostGarbage); got != want {
			t.Errorf("%d MiB in use: GOGC is %d, want %d", mib, got, want)
		}
	}
	for mib, want := range map[uint64]int{24: 100, 48: 50, 60: 40, 96: 25, 10000: 25} {
		if got := percentFor(mib<<20, leanGarbage); got != want {
			t.Errorf("%d MiB in use, after Lean: GOGC is %d, want %d", mib, got, want)
		}
	}
}

// TestLeanBoundsGarbage holds that collections after Lean run earlier.
func TestLeanBoundsGarbage(t *testing.T) {
	t.Setenv("GOGC", "")
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	defer lean.Store(false)
	held := make([]byte, 64<<20)
	runtime.GC()
	Lean()
	adjust()
	if got := percent(); got > 60 {
		t.Errorf("after Lean with %d MiB in use: GOGC is %d", len(held)>>20, got)
	}
	runtime.KeepAlive(held)
}

// TestRestLeavesRoomForAnAnswer holds that collections after Rest run later, unless the user has said when.
func TestRestLeavesRoomForAnAnswer(t *testing.T) {
	t.Setenv("GOGC", "50")
	was := debug.SetGCPercent(50)
	defer debug.SetGCPercent(was)
	defer resting.Store(false)
	Rest()
	if got := percent(); got != 50 {
		t.Errorf("with GOGC set by the user, Rest changed it to %d", got)
	}
	t.Setenv("GOGC", "")
	Rest()
	if got := percent(); got <= 100 {
		t.Errorf("after Rest: GOGC is %d", got)
	}
	for mib, want := range map[uint64]int{0: 12800, 32: 400, 128: 100, 10000: 25} {
		if got := percentFor(mib<<20, answerGarbage); got != want {
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
