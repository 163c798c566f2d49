package hugepages

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// TestHeapIsAdvised looks for the end of a new slice in the mappings of the process: it may begin before the first
// huge page.
func TestHeapIsAdvised(t *testing.T) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	b := make([]byte, 2*pageSize)
	at, inside := uintptr(unsafe.Pointer(&b[len(b)-1])), false
	for s := bufio.NewScanner(f); s.Scan(); {
		var begin, end uintptr
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x ", &begin, &end); n == 2 {
			inside = begin <= at && at < end
			continue
		}
		if flags, ok := strings.CutPrefix(s.Text(), "VmFlags:"); ok && inside {
			if !strings.Contains(flags+" ", " hg ") {
				t.Errorf("the flags of the mapping of %x are%s, without hg", at, flags)
			}
			return
		}
	}
	t.Error("no mapping has the slice")
}
