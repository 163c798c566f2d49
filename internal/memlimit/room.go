package memlimit

import (
	"fmt"
	"runtime"
	"runtime/metrics"
)

// Error reports work that needs more memory than the limit leaves.
type Error struct{ Need, Used, Limit int64 } // in bytes; a negative need is of more than 63 bits count

func (e *Error) Error() string {
	if e.Need < 0 {
		return fmt.Sprintf("needs more bytes of memory than 63 bits count, the limit is %d; use smaller shapes or "+
			"files", e.Limit)
	}
	return fmt.Sprintf("needs %d bytes of memory beside %d in use, the limit is %d; use smaller shapes or files, "+
		"or a larger limit", e.Need, e.Used, e.Limit)
}

// minChecked is how many bytes Room checks at least: less than that is not worth the question.
const minChecked = 1 << 20

// Room returns an *Error if n more bytes do not fit the limit beside all that the process uses. A negative n is more
// than 63 bits count. It collects garbage first if that decides. Whoever computes values calls it before it allocates
// them, so that one limit bounds all of them together, whatever holds them.
func Room(n int64) error {
	if n >= 0 && n < minChecked {
		return nil
	}
	limit := Bytes()
	if n < 0 || n > limit {
		return &Error{Need: n, Limit: limit}
	}
	used := inUse()
	if used > limit-n {
		runtime.GC()
		used = inUse()
	}
	if used > limit-n {
		return &Error{Need: n, Used: used, Limit: limit}
	}
	return nil
}

// inUse returns the bytes of the heap that are in use, including garbage that is not collected yet.
func inUse() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
