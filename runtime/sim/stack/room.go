package stack

import "github.com/zinc-compiler/zinc/internal/memlimit"

// room returns a *memlimit.Error if surfaces of n bytes do not fit the limit of memory, together with the results of a
// task, which are as large at most until they are stored.
func room(n int64) error { return memlimit.Room(2 * n) }
