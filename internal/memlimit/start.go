package memlimit

import (
	"os"
	"runtime"
	"runtime/debug"
)

// firstCollection is the size of the heap at which the garbage collector first runs, in MiB. Most commands on models
// of a few hundred operations end before it: a third of their time was collection, which by default begins at 4 MiB.
const firstCollection = 32

// Start delays the first collection of garbage until the heap has firstCollection MiB, and leaves the later ones to
// Go's defaults. It does nothing if the user has set GOGC.
func Start() {
	if os.Getenv("GOGC") != "" {
		return
	}
	const unit = 4 // MiB of heap before the first collection, at 100 per cent
	before := debug.SetGCPercent(100 * firstCollection / unit)
	// The first collection finds that nothing uses the mark.
	mark := new([16]byte)
	runtime.AddCleanup(mark, func(percent int) { debug.SetGCPercent(percent) }, before)
}
