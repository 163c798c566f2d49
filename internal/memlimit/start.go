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
	firstCollection = 64
	// minGarbage and maxGarbage are how much is garbage when it runs again: garbagePercent of what is in use between
	// them, and more than maxGarbage only within a heap of roomyHeap. With less than minGarbage a check of a decoder of
	// 16 layers takes longer to collect, with more it takes longer to touch memory.
	minGarbage = 48
	maxGarbage = 72
	roomyHeap  = 400
	// answerGarbage is how much the work between two calls of Rest may leave: several times what an edit of a model of
	// 1,200 operations does.
	answerGarbage = 128
)

// garbagePercent is how much the heap grows between two collections. A collection takes time for each object in use, so
// with one percentage the time of collections is a part of the whole that does not grow with the model. Beyond
// roomyHeap time gives way to memory: a chain of 200,000 operations takes 490 MB to explain, and took 640 MB with the
// percentage alone.
const garbagePercent = 100

// minPercent bounds the work of collections: the heap grows by at least so much between two of them.
const minPercent = 20

// resting is set once Rest has been called.
var resting atomic.Bool

// Start delays the first collection of garbage until the heap has firstCollection MiB, and lets later ones run as
// garbagePercent says. It does nothing if the user has set GOGC.
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
	if resting.Load() {
		debug.SetGCPercent(percentFor(n, answerGarbage))
		return
	}
	debug.SetGCPercent(percentOf(n))
}

// percentOf returns the setting for a heap with n bytes in use.
func percentOf(n uint64) int {
	most := uint64(max(maxGarbage, roomyHeap-int64(n>>20)))
	return min(max(garbagePercent, percentFor(n, minGarbage)), percentFor(n, most))
}

// percentFor returns the setting for a heap with n bytes in use, and the garbage in MiB that it may leave.
func percentFor(n, garbage uint64) int {
	return max(minPercent, int(100*garbage<<20/max(n, 1<<20)))
}
