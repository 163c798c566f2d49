package memlimit

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// Sizes of the heap, in MiB, that say when the collector runs.
const (
	// firstCollection is when it first runs. Most commands on models of a few hundred operations end before it: a third
	// of their time was collection, which by default begins at 4 MiB.
	firstCollection = 32
	// mostGarbage is how much may be garbage. By default it is as much as is in use, which for a model of 200,000
	// operations is 400 MiB.
	mostGarbage = 96
	// leanGarbage is mostGarbage after Lean.
	leanGarbage = 24
	// answerGarbage is how much the work between two calls of Rest may leave: several times what an edit of a model of
	// 1,200 operations does.
	answerGarbage = 128
)

// leastPercent bounds the work of collections: the heap grows by at least so much between two of them.
const leastPercent = 25

// resting is set once Rest has been called, lean once Lean has.
var resting, lean atomic.Bool

// Start delays the first collection of garbage until the heap has firstCollection MiB, and lets later ones run as by
// Go's defaults, but before mostGarbage MiB are garbage. It does nothing if the user has set GOGC.
func Start() {
	if fixed() {
		return
	}
	const unit = 4 // MiB of heap before the first collection, at 100 per cent
	debug.SetGCPercent(100 * firstCollection / unit)
	afterCollection()
}

// Rest collects garbage. A program that answers requests calls it after an answer, while nobody waits: the next answer
// may then leave answerGarbage MiB before a collection runs, which takes a third of the time of a short one.
func Rest() {
	runtime.GC()
	resting.Store(true)
	adjust()
}

// Lean lets less garbage be than Start does, from the next collection on. It is for work on many small objects, such as
// compiling: a chain of 49,152 operations takes 140 MB instead of 155 to 175, in the same time. A run of a model, which
// replaces large tensors, would take a fifth longer.
func Lean() { lean.Store(true) }

// fixed reports whether the user has chosen when collections run.
func fixed() bool { return os.Getenv("GOGC") != "" }

// afterCollection sets the size of the heap at which the collector runs next, each time that it has run: then it finds
// that nothing uses the mark.
func afterCollection() {
	mark := new([16]byte)
	runtime.AddCleanup(mark, func(struct{}) {
		adjust()
		afterCollection()
	}, struct{}{})
}

// adjust sets the size of the heap at which the collector runs next, unless the user has.
func adjust() {
	if fixed() {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	n := live[0].Value.Uint64()
	switch {
	case resting.Load():
		debug.SetGCPercent(percentFor(n, answerGarbage))
	case lean.Load():
		debug.SetGCPercent(min(100, percentFor(n, leanGarbage)))
	default:
		debug.SetGCPercent(min(100, percentFor(n, mostGarbage)))
	}
}

// percentFor returns the setting for a heap of which n bytes are in use, and the garbage in MiB that it may leave.
func percentFor(n, garbage uint64) int {
	return max(leastPercent, int(100*garbage<<20/max(n, 1<<20)))
}
