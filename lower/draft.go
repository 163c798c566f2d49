package lower

import (
	"errors"
	"iter"
	"math"
	"sync"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Axes of a task's tensors: the five loops, slow to fast.
const (
	axG, axD, axC, axH, axW = 0, 1, 2, 3, 4
)

// draft is one task without registers. A rule sets what the task computes, where it reads and where it writes; the
// planners (see Planners) set the rest; encode turns it into registers.
type draft struct {
	t    *target.Table // set by emit
	op   *ir.Op        // operation, or the leading one of a fused run
	rule string

	// Set by the rule. Exactly one of ne and pe is set.
	ne     *neuralWork
	pe     *planarWork
	window window
	padMax bool // padding is the identity of a maximum, not zero
	src    [2]operand
	two    bool // src[1] is in use
	dst    operand
	kernel *kernelUse          // coefficients, or nil; a trial packs none
	table  *weights.Activation // the task's own lookup table, not an epilogue's
	tile   int64               // rows of a tile; 0 for all until the planner shape
	gather bool                // the result is put together in L2 before it leaves
	// rowAgain is set if the planar engine reads the single row of each channel of source 1 for every row of the
	// result.
	rowAgain   bool
	partRows   int  // if more than 1, the number of rows as which a reduction reads a single row
	readsAlone bool // no other task of the operation reads the source of a reduction

	// Set by the planner shape.
	shift shift
	patch [2]int // log2 of width and height of a planar patch
	cores int    // of the neural engine; 0 if none or unknown
	reach int64  // bytes of L2 that the task's sources take, counted from address 0

	// Set by the planners of L2.
	floor int64 // first byte of L2 above the residents of the task
	keeps bool  // source 1 stays in L2 for later tasks
	// takesKept is set if an earlier task has kept source 1 in L2.
	takesKept bool
	keptBy    *draft // the task that has kept source 1, or source 2

	// Set by later planners.
	hint    cacheHint // of source 1
	hint2   cacheHint // of source 2, if it comes by DMA
	partial bool      // a later task writes to the same port
	deps    dependence
	time    int64  // microseconds
	first   bool   // first task of the procedure
	last    bool   // last task of the procedure
	live    uint32 // td.LiveOuts

	kernelStays bool // kernel memory has the kernel of the task before or after too
}

// neuralWork is work of the neural engine.
type neuralWork struct {
	op       td.NeuralOp
	unicast  bool    // channelwise: each output channel reads only its own input channel
	span     int64   // channels that a maximum over channels covers, 0 for other work
	category int     // 1 for sums and roots by table (recorded; the meaning is unknown)
	bias     float64 // added to the accumulator
	scale    float64 // factor applied before the nonlinearity
	terms    int64   // of a convolution, that the model sums for an element
	winograd bool    // the task computes by Winograd's method
	act      td.Nonlinearity
}

// planarWork is work of the planar engine.
type planarWork struct {
	kind       td.PlanarWork
	op         td.PlanarOp // of elementwise work
	pool       td.Pool     // of a reduction
	square     bool
	cond       td.Condition
	neg1, neg2 bool              // a source is negated
	clamp2     bool              // source 2 is clamped at zero before use
	relu       bool              // the result is clamped at zero
	end        td.PlanarFunction // of a reduction, on its result
	scale      float64
	bias       float64
	epsilon    float64
	final      float32 // factor of a reduction's result
}

// window is the geometry of a kernel or a pooling window; ox is the number of result columns computed at a time.
type window struct{ kw, kh, sx, sy, px, py, ox int64 }

// alone reports whether the window is one element and its stride is one.
func (w *window) alone() bool { return w.kw*w.kh*w.sx*w.sy <= 1 }

// shift describes how the neural engine folds rows into work units: 1 << shift rows each. small is the mode for images
// of at most 8x8.
type shift struct {
	max, min, pref int
	small          bool
}

// kernelUse is the source of a task's coefficients: parts of the constant section, or rows of a buffer written at run
// time.
type kernelUse struct {
	parts   *weights.Parts
	rows    *kernelRows
	ocgSize int
	bias    bool // coefficients begin with one bias per output channel
	skip    bool // stored without their zeros
	filled  bool // which a rewrite put there
	bytes   bool // coefficients are signed bytes
	scaled  bool // they are, with one scale per output channel before the biases
	bits    int  // of the indices that coefficients are stored as, 0 for others
	masks   bool // a codebook of one value, the bodies are masks
}

// residence is where a stream's tensor is when the task runs.
type residence uint8

const (
	byDMA residence = iota // in its buffer, moved by DMA
	named                  // in L2, but the task names the buffer
	inL2                   // in L2
)

// l2Place is the place of a tensor in L2: byte address, and byte strides of the group, depth, channel and row loops.
type l2Place struct {
	base   int64
	stride [4]int64
}

// operand is one tensor of a task: extents of the five loops and a window of a buffer.
type operand struct {
	ext       [5]int64
	buf       *buffer
	off       int64 // bytes in buf, a multiple of 64
	stride    [4]int64
	pix       int64   // source only
	inter     int64   // channels interleaved in a row, 0 for one
	swap      bool    // stored with channels and width exchanged
	broadcast [5]bool // axes along which the task reads the same index for all
	flat      [5]bool // axes along which the tensor has one index in L2
	rows      int64   // rows of a source that are on chip at a time; 0 for the tile's
	cols      int64   // columns of a neural source that are on chip at a time; 0 for a work unit

	// Set by the planners.
	where  residence
	l2     l2Place
	staged int64 // bytes of L2 that a source takes while it passes through
}

// broadcastAlong makes the task read one index of the tensor for all indexes along an axis.
func (o *operand) broadcastAlong(ax int) { o.broadcast[ax], o.flat[ax] = true, true }

// role is what a task uses a buffer for.
type role int

const (
	source1 role = iota
	source2
	result
	coefficients
)

// drafts are those of procedures that are done.
var drafts = sync.Pool{New: func() any { return new(draft) }}

// newDraft returns a draft whose window is one element.
func newDraft() *draft {
	d := drafts.Get().(*draft)
	*d = draft{window: window{kw: 1, kh: 1, sx: 1, sy: 1, ox: 1}}
	return d
}

// maxReused limits the drafts of a procedure that are kept until it is done, 900 bytes each.
const maxReused = 1 << 13

// reuse gives the drafts of a procedure that is done to later ones.
func reuse(done []*draft) {
	for _, d := range done {
		*d = draft{} // what it points to is free
		drafts.Put(d)
	}
}

// planar returns planar work of a kind, with factors of one and no addends.
func planar(kind td.PlanarWork) *draft {
	d := newDraft()
	d.pe = &planarWork{kind: kind, scale: 1, final: 1}
	return d
}

// elementwise returns planar work on two sources.
func elementwise(op td.PlanarOp) *draft {
	d := planar(td.PlanarTwo)
	d.pe.op = op
	return d
}

// folding returns a planar reduction whose result is multiplied by factor.
func folding(pool td.Pool, factor float64) *draft {
	d := planar(td.PlanarReduce)
	d.pe.pool, d.pe.final, d.padMax = pool, float32(factor), pool == td.PoolMax
	return d
}

// powerDifference returns a draft of the difference of two sources times log2 e; 2 to that power is e to the power of
// the difference.
func powerDifference() *draft {
	d := elementwise(td.PEAdd)
	d.pe.neg2, d.pe.scale = true, math.Log2E
	return d
}

// neural returns work of the neural engine with a factor of one.
func neural(op td.NeuralOp) *draft {
	d := newDraft()
	d.ne = &neuralWork{op: op, scale: 1}
	return d
}

// copying returns a pass of the neural engine that changes nothing.
func copying() *draft {
	d := neural(td.NEPass)
	d.ne.unicast = true
	return d
}

// overChannels returns a maximum over c channels.
func overChannels(c int64) *draft {
	d := neural(td.NEMax)
	d.padMax, d.ne.unicast, d.ne.span = true, true, min(c, 1<<16-1)
	return d
}

// kind is the kind of planar work.
func (d *draft) kind() td.PlanarWork {
	if d.pe == nil {
		return td.NotPlanar
	}
	return d.pe.kind
}

// does reports whether the task is neural work with the operation op.
func (d *draft) does(op td.NeuralOp) bool { return d.ne != nil && d.ne.op == op }

// copies reports whether the task leaves every number unchanged.
func (d *draft) copies() bool { return d.does(td.NEPass) && d.ne.act == td.NonlinNone }

// reduces reports whether the task is a planar reduction or window.
func (d *draft) reduces() bool { return d.kind().Reduces() }

// writesRows reports whether the result is rows of one channel.
func (d *draft) writesRows() bool { return d.dst.ext[axC] == 1 && d.dst.ext[axH] > 1 }

// groups is the number of iterations of the task's slowest loop.
func (d *draft) groups() int64 { return max(d.src[0].ext[axG], 1) }

// stream returns the tensor in a role; nil for coefficients and for a second source that the task does not have.
func (d *draft) stream(r role) *operand {
	switch {
	case r == source1:
		return &d.src[0]
	case r == source2 && d.two:
		return &d.src[1]
	case r == result:
		return &d.dst
	}
	return nil
}

// extents returns the extents that the registers hold for a role: both sources use the first one's.
func (d *draft) extents(r role) [5]int64 {
	if r == result {
		return d.dst.ext
	}
	return d.src[0].ext
}

// fetches reports whether a source comes by DMA.
func (d *draft) fetches() bool { return d.src[0].where == byDMA || d.fetchesSecond() }

// fetchesSecond reports whether there is a second source that comes by DMA.
func (d *draft) fetchesSecond() bool { return d.two && d.src[1].where == byDMA }

// taskKind is the name of the task's work in reports.
func (d *draft) taskKind() string {
	switch {
	case d.pe != nil:
		return "planar"
	case d.ne.op == td.NEMultiply:
		return "multiply"
	}
	return "neural"
}

// use is one use of a buffer by a task.
type use struct {
	task int
	role role
	d    *draft
	o    *operand // nil for coefficients
}

// buf returns the buffer that the task uses.
func (u *use) buf() *buffer {
	if u.o == nil {
		return u.d.kernel.rows.buf
	}
	return u.o.buf
}

// uses yields the task's uses of buffers: coefficients, sources, result.
func (d *draft) uses(task int) iter.Seq[use] {
	return func(yield func(use) bool) {
		if d.kernel != nil && d.kernel.rows != nil && !yield(use{task: task, role: coefficients, d: d}) {
			return
		}
		for _, r := range [...]role{source1, source2, result} {
			if o := d.stream(r); o != nil && !yield(use{task: task, role: r, d: d, o: o}) {
				return
			}
		}
	}
}

// errFull stops a rule that emits more tasks than a procedure can contain.
var errFull = errors.New("the procedure has no room for more tasks")

// full reports whether a draft did not fit. Loops whose length no limit of the target bounds must check it.
func (b *builder) full() bool { return b.err == errFull }

// emit appends a draft with its tensors. src2 may be nil. tile is the height of a tile, 0 for the whole.
func (b *builder) emit(d *draft, src1, src2, dst *operand, tile int64) {
	if most := b.room(); len(b.drafts) >= most {
		b.err = errFull
		return
	}
	d.t, d.op, d.rule, d.tile = b.t, b.op, b.rule, tile
	d.src[0], d.dst = *src1, *dst
	if src2 != nil {
		d.src[1], d.two = *src2, true
	}
	d.dst.buf.writer = d
	b.drafts = append(b.drafts, d)
}

// room is the largest number of tasks that the builder accepts.
func (b *builder) room() int {
	if b.trial {
		return opTasks(b.t)
	}
	return b.t.MaxTasks
}
