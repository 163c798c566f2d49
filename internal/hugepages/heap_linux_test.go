package hugepages

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// TestHeapIsAdvised looks for a new slice in the process's mappings.
func TestHeapIsAdvised(t *testing.T) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	b := make([]byte, 1<<20)
	at, inside := uintptr(unsafe.Pointer(unsafe.SliceData(b))), false
	for s := bufio.NewScanner(f); s.Scan(); {
		var begin, end uintptr
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &begin, &end); n == 2 {
			inside = begin <= at && at < end
			continue
		}
		if flags, ok := strings.CutPrefix(s.Text(), "VmFlags:"); ok && inside {
			if !strings.Contains(flags+" ", " hg ") {
				t.Errorf("the flags of %x to %x are%s, without hg", begin, end, flags)
			}
			return
		}
	}
	t.Error("no mapping has the slice")
}
