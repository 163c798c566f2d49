package memlimit

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

func TestRoomIsWhatIsLeftOfTheLimit(t *testing.T) {
	defer Set(0)
	runtime.GC()
	Set(inUse() + 64<<20)
	if err := Room(16 << 20); err != nil {
		t.Error(err)
	}
	held := make([]byte, 40<<20)
	if err := Room(16 << 20); err != nil {
		t.Error(err)
	}
	var e *Error
	if err := Room(40 << 20); !errors.As(err, &e) || e.Need != 40<<20 || e.Limit != Bytes() || e.Used < 40<<20 {
		t.Errorf("beside 40 MiB in use: %v", err)
	}
	runtime.KeepAlive(held)
	held = nil
	if err := Room(40 << 20); err != nil {
		t.Errorf("beside garbage: %v", err)
	}
	if err := Room(-8); err == nil || strings.Contains(err.Error(), "-8") {
		t.Errorf("a size beyond 63 bits: %v", err)
	}
}
