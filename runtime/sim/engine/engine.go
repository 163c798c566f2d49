package engine

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/zinc-compiler/zinc/lower/td"
)

// Memory has the buffers to which the buffer-access registers point.
type Memory interface {
	// Window returns bytes off to off+n of the buffer of a buffer-access register, for reading or for writing in place.
	// It returns an error if the register points to nothing or the range exceeds the buffer.
	Window(bar int, off, n int64, write bool) ([]byte, error)
}

// Event describes one executed task.
type Event struct {
	Index  int    // of the task in its chain
	Off    int    // byte offset of the task in the task section
	Kind   string // "skip", "planar", or the neural operation: "kernel", "sum", "maximum", "pass"
	Source int64  // bytes that the two sources span in DRAM
	Kernel int64  // bytes of coefficients
	Result int64  // bytes that the result spans in DRAM
	MACs   int64  // products computed, or elements passed through if there are none
}

// Options of an Engine.
type Options struct {
	L2Bytes  int64 // size of the on-chip memory
	Numerics Numerics
	Workers  int         // goroutines of one task; 0 means GOMAXPROCS
	MaxWork  int64       // limit of the products or elements of one task; 0 means 2^42
	Trace    func(Event) // called after each task, in order
	// Results is called with the result of each task, before Trace: the extents of the result's loops (group, depth,
	// channel, row, column) and its fp16 patterns in that order, which must not be retained. It may be nil.
	Results func(index int, extent [5]int, patterns []uint16)
}

// Engine executes tasks. Its L2 keeps its content from task to task.
type Engine struct {
	L2 []byte
	machine[float32, uint16]
}

// machine reads tasks and has an arithmetic compute them: numbers are of type T, rounded results of type R.
type machine[T, R any] struct {
	opts   Options
	num    arithmetic[T, R]
	report func(index int, extent [5]int, vals []R)
	arena  arena[T, R]
	// exec and reader belong to the running task.
	exec   exec[T, R]
	reader reader[T, R]
	// spare has numbers for goroutines of a task, taps is memory for positions.
	spare sync.Pool
	taps  []int
	// bound is called with each tensor before its bytes are looked up. It may be nil.
	bound func(*fields, layout)
}

// released are engines for New, whose L2 is all zero.
var released sync.Pool

// New returns an engine whose L2 is all zero.
func New(o Options) *Engine {
	e, ok := released.Get().(*Engine)
	if !ok || int64(len(e.L2)) != o.L2Bytes {
		e = &Engine{L2: make([]byte, o.L2Bytes)}
	}
	e.machine = machine[float32, uint16]{
		opts: o.defaults(), num: &floats{Numerics: o.Numerics, l2: e.L2}, report: o.Results, arena: e.arena,
	}
	return e
}

// Release gives the memory of an engine that is not used any more to a later one. It clears what tasks wrote.
func (e *Engine) Release() {
	clear(e.L2[:e.num.(*floats).used])
	e.machine = machine[float32, uint16]{arena: e.arena}
	released.Put(e)
}

func (o Options) defaults() Options {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.MaxWork <= 0 {
		o.MaxWork = 1 << 42
	}
	return o
}

// Run executes a chain of tasks in order. It stops at the first *Fault, or
// with the context's error.
func (m *machine[T, R]) Run(ctx context.Context, tasks []td.Placed, mem Memory) error {
	for i, t := range tasks {
		if err := m.step(ctx, i, t, mem); err != nil {
			return err
		}
	}
	return nil
}

// Step executes one task. A Fault contains the index from the task's header.
func (m *machine[T, R]) Step(ctx context.Context, t td.Placed, mem Memory) error {
	return m.step(ctx, t.Int(td.TID), t, mem)
}

func (m *machine[T, R]) step(ctx context.Context, index int, t td.Placed, mem Memory) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.arena.reset()
	x := &m.exec
	defer func() { *x = exec[T, R]{} }() // what it points to belongs to the task
	x.machine, x.run, x.t, x.mem = m, run{ctx: ctx, workers: m.opts.Workers}, t.Task, mem
	if x.codec = t.Codec; x.codec == nil {
		x.codec = td.V7
	}
	x.ev = Event{Index: index, Off: t.Off}
	if err := x.task(); err != nil {
		var f *Fault
		if errors.As(err, &f) {
			f.Task, f.Off = index, t.Off
		}
		return err
	}
	if m.opts.Trace != nil {
		m.opts.Trace(x.ev)
	}
	return nil
}

// exec is the execution of one task.
type exec[T, R any] struct {
	*machine[T, R]
	run
	t     *td.Task
	mem   Memory
	ev    Event
	tiles [5]tile   // two sources and the result, and where the sources are staged
	used  int       // of tiles
	codec *td.Codec // of the version that the task was written in
	ops   [3]operand[T]
	// The rest is of a task of the neural engine.
	geometry     geometry
	coefficients kernel[T]
}

// tile returns a tile of the task.
func (x *exec[T, R]) tile(l layout, p place, first int64) *tile {
	t := &x.tiles[x.used]
	x.used++
	*t = tile{layout: l, place: p, first: first}
	return t
}

// put stores a task's result.
func (x *exec[T, R]) put(dst *tile, vals []R) error {
	if x.report != nil {
		x.report(x.ev.Index, [5]int(dst.dim), vals)
	}
	return x.num.store(&x.run, dst, vals)
}

func (x *exec[T, R]) task() error {
	if x.t.On(td.TDSkip) {
		x.ev.Kind = "skip"
		return nil
	}
	if err := x.t.Err(); err != nil {
		return bad("%v", err)
	}
	if err := legal(x.t, x.codec); err != nil {
		return err
	}
	if x.t.Get(td.PlanarType) == 0 {
		return x.neural()
	}
	return x.planar()
}

// work returns a fault if the product of the factors, which are extents of the task, exceeds the limit of products or
// elements.
func (x *exec[T, R]) work(factors ...int) error {
	n := int64(1)
	for _, f := range factors {
		f := int64(max(1, f))
		if n > x.opts.MaxWork/f {
			return bad("the task asks for more than %d operations (extents %v)", x.opts.MaxWork, factors)
		}
		n *= f
	}
	x.ev.MACs = n
	return nil
}

// ext reads an extent; zero means one.
func ext(t *td.Task, f td.Field) int { return max(1, t.Int(f)) }

func inShape(t *td.Task) shape {
	return shape{ext(t, td.NumGroups), ext(t, td.Din), ext(t, td.Cin), ext(t, td.Hin), ext(t, td.Win)}
}

func outShape(t *td.Task) shape {
	return shape{ext(t, td.NumGroups), ext(t, td.Dout), ext(t, td.Cout), ext(t, td.Hout), ext(t, td.Wout)}
}

// bind checks a layout against its buffer and returns it with its bytes.
func (x *exec[T, R]) bind(f *fields, dim shape, swap, write bool) (*tile, error) {
	l := f.onchip(x.t, dim, swap)
	if f.moved(x.t) {
		l = f.dram(x.t, dim, swap)
	}
	if x.bound != nil {
		x.bound(f, l)
	}
	if !f.moved(x.t) {
		return x.bindL2(l)
	}
	if !x.t.On(f.barEn) {
		return nil, badField(x.t, f.barEn, "the DMA is on but names no buffer-access register")
	}
	for _, s := range [...]td.Field{f.row, f.plane, f.depth, f.group} {
		if x.t.Int(s) < 0 {
			return nil, badField(x.t, s, "strides in recorded tasks are positive; a negative one is not simulated")
		}
	}
	first, n, err := l.extent()
	if err != nil {
		return nil, err
	}
	bar := x.t.Int(f.bar)
	at, err := x.num.window(x.mem, l.name, bar, first, n, write)
	if err != nil {
		return nil, err
	}
	if write {
		x.ev.Result += n
	} else {
		x.ev.Source += n
	}
	return x.tile(l, at, first), nil
}

func (x *exec[T, R]) bindL2(l layout) (*tile, error) {
	first, n, err := l.extent()
	if err != nil {
		return nil, err
	}
	if first+n > x.opts.L2Bytes {
		return nil, x.pastL2(l.name, first, n)
	}
	return x.tile(l, x.num.onchip(first, n), first), nil
}

func (x *exec[T, R]) pastL2(name string, first, n int64) *Fault {
	return badAt(name, first, "%d bytes end past the %d bytes of L2", n, x.opts.L2Bytes)
}

// stage leaves a source that came by DMA in L2: the whole source or, if it passes through in parts, undefined content
// in the space of one part. A source passes in parts if the task works in smaller tiles, or if the rows of the L2
// layout overlap, as they do for a source whose columns pass one work unit at a time.
func (x *exec[T, R]) stage(f *fields, src *tile) error {
	if !f.moved(x.t) {
		return nil
	}
	l := f.onchip(x.t, src.dim, src.swap)
	if l.row|l.plane|l.depth|l.group == 0 {
		return nil
	}
	tall, out := x.t.Int(td.TileHeight), ext(x.t, td.Hout)
	whole := tall == 0 || tall >= out || f == &source1 && x.t.Get(td.SrcType) == 1
	if !whole {
		l.dim[axH] = min(l.dim[axH], tall)
	}
	if whole && l.disjoint() {
		dst, err := x.bindL2(l)
		if err != nil {
			return err
		}
		x.num.copyRows(dst, src)
		return nil
	}
	c := l.cover()
	if c.first+c.reach > x.opts.L2Bytes {
		return x.pastL2(l.name, c.first, c.reach)
	}
	c.runs(x.num.spoil)
	return nil
}

// unbroadcast returns the shape of a source with the axes it is broadcast along reduced to index 0.
func unbroadcast(t *td.Task, dim shape, first td.Field) shape {
	// The four flags are in the order width, height, depth, channel.
	for i, a := range [4]int{axW, axH, axD, axC} {
		if t.On(first.At(i)) {
			dim[a] = 1
		}
	}
	return dim
}
