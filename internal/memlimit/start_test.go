package memlimit

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestStartDelaysTheFirstCollectionAlone holds that another setting is there after the first collection.
func TestStartDelaysTheFirstCollectionAlone(t *testing.T) {
	t.Setenv("GOGC", "")
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	Start()
	if got := percent(); got != 100*firstCollection/4 {
		t.Fatalf("after Start: GOGC is %d", got)
	}
	for percent() == 100*firstCollection/4 {
		runtime.GC() // the cleanup runs some time after a collection
	}
	after := percent()
	t.Setenv("GOGC", "50")
	Start()
	if got := percent(); got != after {
		t.Fatalf("with GOGC set by the user, Start changed it to %d", got)
	}
}

// TestGarbageIsAShareOfTheHeap holds that between a small and a very large heap collections take the same time for each
// byte that is allocated.
func TestGarbageIsAShareOfTheHeap(t *testing.T) {
	for mib, want := range map[uint64]int{8: 600, 16: 300, 72: 100, 200: 100, 248: 61, 288: 38, 328: 21, 10000: 20} {
		if got := percentOf(mib << 20); got != want {
			t.Errorf("%d MiB in use: GOGC is %d, want %d", mib, got, want)
		}
	}
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
	for mib, want := range map[uint64]int{0: 12800, 32: 400, 128: 100, 10000: 20} {
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
