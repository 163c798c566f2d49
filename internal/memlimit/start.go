package memlimit

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Sizes of the heap, in MiB, that say when the collector runs.
const (
	// firstCollection is when it first runs. Most commands on models of a few hundred operations end before it: a third
	// of their time was collection, which by default begins at 4 MiB.
	firstCollection = 32
	// mostGarbage is how much may be garbage. By default it is as much as is in use, which for a model of 200,000
	// operations is 400 MiB.
	mostGarbage = 32
)

// leastPercent bounds the work of collections: the heap grows by at least so much between two of them.
const leastPercent = 25

// Start delays the first collection of garbage until the heap has firstCollection MiB, and lets later ones run as by
// Go's defaults, but before mostGarbage MiB are garbage. It does nothing if the user has set GOGC.
func Start() {
	if os.Getenv("GOGC") != "" {
		return
	}
	const unit = 4 // MiB of heap before the first collection, at 100 per cent
	debug.SetGCPercent(100 * firstCollection / unit)
	afterCollection()
}

// afterCollection sets the size of the heap at which the collector runs next, each time that it has run: then it finds
// that nothing uses the mark.
func afterCollection() {
	mark := new([16]byte)
	runtime.AddCleanup(mark, func(struct{}) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(percentFor(live[0].Value.Uint64()))
		afterCollection()
	}, struct{}{})
}

// percentFor returns the setting for a heap of which n bytes are in use.
func percentFor(n uint64) int {
	return int(min(100, max(leastPercent, 100*mostGarbage<<20/max(n, 1))))
}
