package engine

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// Exact executes tasks over a prime field (numerics/field) instead of rounded numbers. It reads, computes and writes
// the same as an Engine, with exact sums and products, without rounding and without the limits of fp16.
type Exact struct {
	machine[field.Elem, field.Elem]
	exact *exact
}

// ExactOptions are the options of an Exact.
type ExactOptions struct {
	Options // Numerics is ignored
	Field   *field.Functions
	// Form replaces sums of products; nil for none.
	Form *field.Form
	// Table returns what replaces the elements of a row by the function that a lookup table computes. It is called once
	// for each task with a table.
	Table func(t *Table) func(v []field.Elem)
	// Scalar returns the element for a number in a register; nil means field.Number.
	Scalar func(f float64) field.Elem
	// Writers records for each element which task wrote it, for Cells.Writer.
	Writers bool
	// Values is called with the elements of each result and where they were written, in the order in which
	// Options.Results passes patterns. It may be nil.
	Values func(index int, extent [5]int, vals []field.Elem)
}

// CellMemory has the cells to which the buffer-access registers point.
type CellMemory interface {
	// Cells returns the cells that contain bytes off to off+n of the buffer of a register, and the position of the
	// first.
	Cells(bar int, off, n int64, write bool) (c *Cells, at int64, err error)
}

// NewExact returns an engine with nothing defined in L2.
func NewExact(o ExactOptions) *Exact {
	if o.Scalar == nil {
		o.Scalar = field.Number
	}
	x := &exact{Functions: o.Field, form: o.Form, table: o.Table, scalar: o.Scalar,
		l2: &Cells{Name: "L2", size: o.L2Bytes}}
	return &Exact{machine[field.Elem, field.Elem]{opts: o.Options.defaults(), num: x, report: o.Values}, x}
}

// Run executes a chain of tasks in order, as Engine.Run does. In the cells that the tasks write, first is the number of
// the first task; the others follow.
func (e *Exact) Run(ctx context.Context, tasks []td.Placed, mem CellMemory, first int) error {
	e.exact.mem = mem
	for i, t := range tasks {
		e.exact.writer = int32(first + i)
		if err := e.step(ctx, i, t, nil); err != nil {
			return err
		}
	}
	return nil
}

// Table is the lookup table of a task.
type Table struct {
	l *lut
	// Bytes are the bytes of the table as stored.
	Bytes [lutBytes]byte
}

// Eval returns the table's value in the arithmetic of the engine, before rounding.
func (t *Table) Eval(x float32) float32 { return t.l.eval(x) }

// Cells are the elements at the addresses of a buffer. An element is identified by its address and its type: read as
// another type, or where nothing was written, the result is a distinct element.
type Cells struct {
	Name  string
	bytes []byte // constants; nil for memory that tasks write
	size  int64
	// even and odd contain, for every two bytes, the element that begins at the even and at the odd byte, with its type
	// in the bits above its 61 bits; 0 means nothing.
	even, odd []uint64
	writer    []int32 // nil if it is not recorded
	grow      sync.Mutex
}

// The types of cells.
const (
	cellFP16 = 1 << 61
	cellByte = 2 << 61
)

// NewCells returns memory of the given number of bytes that tasks may write. It records which task did if writers is
// set.
func NewCells(name string, size int64, writers bool) *Cells {
	n := (size + 1) / 2
	c := &Cells{Name: name, size: size, even: make([]uint64, n)}
	if writers {
		c.writer = make([]int32, n)
	}
	return c
}

// ConstantCells returns memory that contains bytes.
func ConstantCells(name string, b []byte) *Cells {
	return &Cells{Name: name, bytes: b, size: int64(len(b))}
}

// Size returns the size in bytes.
func (c *Cells) Size() int64 { return c.size }

// extend makes at least the first n bytes writable. L2 grows as far as tasks use it, which most do little.
func (c *Cells) extend(n int64) {
	have, want := int64(len(c.even)), (n+1)/2
	if want <= have {
		return
	}
	want = max(want, min(2*have, c.size/2)) - have
	c.even = append(c.even, make([]uint64, want)...)
	if c.odd != nil {
		c.odd = append(c.odd, make([]uint64, want)...)
	}
}

// Get returns the element at a byte. The element has one byte if isUint8 is set, otherwise two.
func (c *Cells) Get(at int64, isUint8 bool) field.Elem {
	return c.elem(c.raw(at, isUint8), at, isUint8)
}

// elem returns the element of a cell, or a distinct one if the type differs.
func (c *Cells) elem(v uint64, at int64, isUint8 bool) field.Elem {
	want := uint64(cellFP16)
	if isUint8 {
		want = cellByte
	}
	if v&^(cellFP16-1) == want {
		return field.Elem(v & (cellFP16 - 1))
	}
	h := uint64(at)*0x9e3779b97f4a7c15 + uint64(len(c.Name))<<32 + want>>40
	for i := range len(c.Name) {
		h = (h ^ uint64(c.Name[i])) * 0x100000001b3
	}
	return field.Elem((h ^ h>>29) % field.P)
}

func (c *Cells) raw(at int64, isUint8 bool) uint64 {
	switch {
	case c.bytes != nil && isUint8:
		return cellByte | uint64(field.Int(int64(c.bytes[at])))
	case c.bytes != nil:
		return cellFP16 | uint64(field.FP16Elements()[binary.LittleEndian.Uint16(c.bytes[at:])])
	case at&1 == 0:
		return c.even[at/2]
	case c.odd == nil:
		return 0
	}
	return c.odd[at/2]
}

// wrote records who wrote n elements of two bytes from an even address on.
func (c *Cells) wrote(at int64, n int, writer int32) {
	if c.writer == nil {
		return
	}
	for i := range c.writer[at/2:][:n] {
		c.writer[at/2+int64(i)] = writer
	}
}

// Put writes an element at a byte; writer is the number of the task.
func (c *Cells) Put(at int64, isUint8 bool, v field.Elem, writer int) {
	w := uint64(v) | cellFP16
	if isUint8 {
		w = uint64(v) | cellByte
	}
	c.set(at, w, int32(writer))
}

func (c *Cells) set(at int64, w uint64, writer int32) {
	if at&1 != 0 && c.odd == nil {
		c.oddBytes()
	}
	i := at / 2
	if c.writer != nil {
		c.writer[i] = writer
	}
	if at&1 != 0 {
		c.odd[i] = w
		if c.even[i]&^(cellFP16-1) == cellFP16 {
			c.even[i] = 0
		}
		return
	}
	c.even[i] = w
	if c.odd != nil && w&^(cellFP16-1) == cellFP16 {
		c.odd[i] = 0
	}
}

// oddBytes allocates the cells of odd bytes, where only elements of one byte can begin.
func (c *Cells) oddBytes() {
	c.grow.Lock()
	if c.odd == nil {
		c.odd = make([]uint64, len(c.even))
	}
	c.grow.Unlock()
}

// Writer returns the number of the task that wrote the element at a byte, or 0 if none did or it is not recorded.
func (c *Cells) Writer(at int64) int {
	if c.writer == nil {
		return 0
	}
	return int(c.writer[at/2])
}

// exact is the arithmetic of an Exact: elements and results are the same.
type exact struct {
	*field.Functions
	form   *field.Form
	table  func(t *Table) func(v []field.Elem)
	scalar func(f float64) field.Elem
	l2     *Cells
	mem    CellMemory
	writer int32 // number of the running task
}

func (e *exact) window(_ Memory, stream string, bar int, first, n int64, write bool) (place, error) {
	c, at, err := e.mem.Cells(bar, first, n, write)
	if err != nil {
		return place{}, &Fault{Stream: stream, Address: first, Msg: "window refused", Err: err}
	}
	if c.size-at < n {
		return place{}, badAt(stream, first, "the window of register %d has %d bytes, want %d", bar, c.size-at, n)
	}
	if c.bytes != nil {
		return place{buf: c.bytes[at : at+n : at+n], cells: c, from: at}, nil
	}
	return place{cells: c, from: at}, nil
}

func (e *exact) onchip(first, n int64) place {
	e.l2.extend(first + n)
	return place{cells: e.l2, from: first}
}

func (e *exact) values(bool) *[65536]field.Elem { return field.FP16Elements() }

func (e *exact) readFP16(dst []field.Elem, p place, from, step int, _ bool) {
	if p.buf != nil {
		table := field.FP16Elements()
		for i := range dst {
			dst[i] = table[binary.LittleEndian.Uint16(p.buf[from+i*step:])]
		}
		return
	}
	c, at := p.cells, p.from+int64(from)
	i := 0
	if step == 2 && at&1 == 0 {
		i = c.row(dst, at)
	}
	for ; i < len(dst); i++ {
		dst[i] = c.Get(at+int64(i*step), false)
	}
}

// row reads elements of two bytes that are next to each other from an even address on, as far as they were written as
// such. It returns how many it read.
func (c *Cells) row(dst []field.Elem, at int64) int {
	if !c.evenFP16() {
		return 0
	}
	src, other := c.even[at/2:][:len(dst)], uint64(0)
	for i, w := range src {
		dst[i] = field.Elem(w & (cellFP16 - 1))
		other |= w ^ cellFP16
	}
	if other < cellFP16 {
		return len(dst)
	}
	return slices.IndexFunc(src, func(w uint64) bool { return w&^(cellFP16-1) != cellFP16 })
}

func (e *exact) transpose(dst []field.Elem, ld int, src []field.Elem, cols int) {
	for row := 0; row*cols < len(src); row++ {
		for col, x := range src[row*cols:][:cols] {
			dst[col*ld+row] = x
		}
	}
}

// evenFP16 reports whether the cells at even addresses may be read and written one by one: nothing begins at odd
// addresses.
func (c *Cells) evenFP16() bool { return c.bytes == nil && c.odd == nil }

// evenFP16 reports the same of a tile of fp16.
func (t *tile) evenFP16() bool { return t.cells.evenFP16() && !t.isUint8 }

func (e *exact) load(run *run, t *tile, _ bool, out []field.Elem) error {
	step, fast := t.size()*t.inter, t.evenFP16()
	return t.eachRow(run, false, func(k, dk, cols int, at int64) {
		at += t.from
		if fast && step == 2 && dk == 1 && at&1 == 0 {
			done := t.cells.row(out[k:][:cols], at)
			k, at, cols = k+done, at+2*int64(done), cols-done
		}
		for range cols {
			if fast && at&1 == 0 && t.cells.even[at/2]&^(cellFP16-1) == cellFP16 {
				out[k] = field.Elem(t.cells.even[at/2] & (cellFP16 - 1))
			} else {
				out[k] = t.cells.Get(at, t.isUint8)
			}
			k += dk
			at += step
		}
	})
}

func (e *exact) store(run *run, t *tile, vals []field.Elem) error {
	if t.cells.bytes != nil {
		return badAt(t.name, t.first, "the result is written to constants")
	}
	if t.isUint8 {
		t.cells.oddBytes()
	} else if (t.from+t.first)%2 != 0 {
		return badAt(t.name, t.first, "fp16 elements are at odd addresses, want even ones")
	}
	step, fast := t.size()*t.inter, t.evenFP16()
	return t.eachRow(run, !t.disjoint(), func(k, dk, cols int, at int64) {
		at += t.from
		if fast && step == 2 && dk == 1 && at&1 == 0 {
			row := t.cells.even[at/2:][:cols]
			for i, v := range vals[k:][:cols] {
				row[i] = uint64(v) | cellFP16
			}
			t.cells.wrote(at, cols, e.writer)
			return
		}
		if fast && step&1 == 0 && at&1 == 0 && t.cells.writer == nil {
			cells, i := t.cells.even, at/2
			for range cols {
				cells[i] = uint64(vals[k]) | cellFP16
				i += step / 2
				k += dk
			}
			return
		}
		for range cols {
			t.cells.Put(at, t.isUint8, vals[k], int(e.writer))
			k += dk
			at += step
		}
	})
}

func (e *exact) copyRows(dst, src *tile) {
	if src.isUint8 {
		dst.cells.oddBytes()
	}
	fast := src.evenFP16() && dst.evenFP16() && src.size()*src.inter == 2 && dst.size()*dst.inter == 2
	_, cols := src.stored()
	src.rows(func(g, d, p, h int, at int64) {
		to := dst.from + dst.at(g, d, p, h)
		at += src.from
		if fast && (at|to)&1 == 0 {
			copy(dst.cells.even[to/2:][:cols], src.cells.even[at/2:][:cols])
			dst.cells.wrote(to, cols, e.writer)
			return
		}
		for range cols {
			dst.cells.set(to, src.cells.raw(at, src.isUint8), e.writer)
			to += dst.size() * dst.inter
			at += src.size() * src.inter
		}
	})
}

func (e *exact) spoil(at, n int64) {
	e.l2.extend(at + n)
	lo, hi := at/2, (at+n+1)/2
	clear(e.l2.even[lo:hi])
	if e.l2.odd != nil {
		clear(e.l2.odd[lo:hi])
	}
}

func (e *exact) begin(c []field.Elem, bias field.Elem) field.Elem {
	clear(c)
	return bias
}

func (e *exact) clamp(v []field.Elem) { each(v, func(x field.Elem) field.Elem { return e.Max(x, 0) }) }

// each replaces the elements of a row by a function of them.
func each(v []field.Elem, f func(x field.Elem) field.Elem) {
	for i, x := range v {
		v[i] = f(x)
	}
}

// affine replaces the elements of a row by a product and a sum, which in most rows change nothing.
func affine(v []field.Elem, factor, addend field.Elem) {
	if factor != 1 {
		field.MulRow(v, []field.Elem{factor})
	}
	if addend != 0 {
		field.AddRow(v, []field.Elem{addend})
	}
}

func (e *exact) channels(dst, src []field.Elem, plane, n int, maximum bool) {
	clear(dst)
	for c := range n {
		for k, x := range src[c*plane:][:len(dst)] {
			if maximum {
				x = e.Order(x)
			}
			dst[k] = field.Add(dst[k], x)
		}
	}
	if maximum {
		each(dst, e.Unorder)
	}
}

func (e *exact) multiply(c []field.Elem, w, b matrix[field.Elem]) {
	at := make([]int, w.Cols)
	for l := range at {
		at[l] = l * b.RowStep
	}
	e.form.AddMul(c, b.Cols, w.Data, w.RowStep, w.Rows, b.Data, at, b.Cols)
}

func (e *exact) add(c []field.Elem, ldc int, w []field.Elem, ldw, m int, b []field.Elem, at []int, cols int) {
	e.form.AddMul(c, ldc, w, ldw, m, b, at, cols)
}

// exactPost is the arithmetic between accumulator and result.
type exactPost struct {
	e          *exact
	add, scale field.Elem
	clamp      bool
	table      func(v []field.Elem)
}

func (e *exact) post(t *td.Task, l *lut, _ bool) poster[field.Elem, field.Elem] {
	p := &exactPost{
		e:     e,
		add:   e.fp16Register(t, td.AccBias),
		scale: e.fp16Register(t, td.PostScale),
		clamp: t.Get(td.Nonlinear) == uint32(td.NonlinReLU),
	}
	if t.Get(td.Nonlinear) == uint32(td.NonlinTable) {
		p.table = e.table(&Table{l, l.bytes})
	}
	return p
}

// fp16Register returns the number in a register that contains an fp16 pattern.
func (e *exact) fp16Register(t *td.Task, f td.Field) field.Elem {
	return e.scalar(float64(port.Widen(uint16(t.Get(f)))))
}

func (p *exactPost) row(out, acc []field.Elem, bias field.Elem) {
	out = out[:copy(out, acc)]
	affine(out, p.scale, field.Mul(field.Add(bias, p.add), p.scale))
	if p.clamp {
		p.e.clamp(out)
	}
	if p.table != nil {
		p.table(out)
	}
}

// exactRows is the arithmetic of one element before any reduction.
type exactRows struct {
	e                 *exact
	op                td.PlanarOp
	neg1, neg2        bool
	scale, bias       field.Elem
	abs, square, relu bool
}

func (e *exact) elementwise(t *td.Task) rows[field.Elem] {
	scale, bias := planarConstants(t)
	return &exactRows{
		e:      e,
		op:     td.PlanarOp(t.Get(td.PEOp)),
		neg1:   t.On(td.PENeg1),
		neg2:   t.On(td.PENeg2),
		scale:  e.scalar(float64(scale)),
		bias:   e.scalar(float64(bias)),
		abs:    t.Get(td.PECond) != 0,
		square: t.On(td.PESquare),
		relu:   t.On(td.PERelu),
	}
}

func (r *exactRows) row(v []field.Elem, ops [3][]field.Elem, n int) {
	e := r.e
	if first := ops[0]; len(first) == 1 {
		each(v, func(field.Elem) field.Elem { return first[0] })
	} else {
		copy(v, first)
	}
	if r.neg1 {
		each(v, field.Neg)
	}
	if n > 1 {
		r.second(v, ops[1])
	}
	if n > 2 {
		field.MulRow(v, ops[2])
	}
	affine(v, r.scale, r.bias)
	if r.abs {
		each(v, e.Abs)
	}
	if r.square {
		field.MulRow(v, v)
	}
	if r.relu {
		e.clamp(v)
	}
}

// second computes with the second source.
func (r *exactRows) second(v, b []field.Elem) {
	if r.neg2 && r.op != td.PEAdd {
		b = slices.Clone(b)
		each(b, field.Neg)
	}
	switch {
	case r.op == td.PEAdd && r.neg2:
		r.e.SubRow(v, b)
	case r.op == td.PEAdd:
		field.AddRow(v, b)
	case r.op == td.PEMultiply:
		r.e.MulRow(v, b)
	case r.op == td.PEMax:
		r.e.MaxRow(v, b)
	case r.op == td.PEMin:
		r.e.MinRow(v, b)
	}
}

// exactFinal is the arithmetic after a reduction, or after elementwise work.
type exactFinal struct {
	e               *exact
	factor, epsilon field.Elem
	nonlinear       td.PlanarFunction
}

func (e *exact) final(t *td.Task) finish[field.Elem, field.Elem] {
	f := float64(math.Float32frombits(t.Get(td.PEFinal))) * float64(port.Widen(uint16(t.Get(td.PEPreScale))))
	return &exactFinal{
		e:         e,
		factor:    e.scalar(f),
		epsilon:   e.fp16Register(t, td.PEEpsilon),
		nonlinear: td.PlanarFunction(t.Get(td.PENonlinear)),
	}
}

func (f *exactFinal) value(v field.Elem) field.Elem {
	return f.function(field.Add(field.Mul(v, f.factor), f.epsilon))
}

func (f *exactFinal) function(v field.Elem) field.Elem {
	switch f.nonlinear {
	case td.PEReciprocal:
		return field.Inv(v)
	case td.PERsqrt:
		return f.e.Rsqrt(v)
	}
	return v
}

func (f *exactFinal) elements(out, v []field.Elem) {
	out = out[:copy(out, v)]
	affine(out, f.factor, f.epsilon)
	if f.nonlinear != 0 {
		each(out, f.function)
	}
}

// exactFold is a reduction of the planar engine.
type exactFold struct {
	mode td.Pool
	fin  *exactFinal
	acc  field.Elem
	n    int
}

func (e *exact) fold(mode td.Pool, fin finish[field.Elem, field.Elem]) folder[field.Elem, field.Elem] {
	return &exactFold{mode: mode, fin: fin.(*exactFinal)}
}

func (f *exactFold) reset() { f.acc, f.n = 0, 0 }

func (f *exactFold) add(v []field.Elem) {
	e := f.fin.e
	switch f.mode {
	case td.PoolMax:
		f.acc = field.Add(f.acc, e.Orders(v))
	case td.PoolMin:
		for _, x := range v {
			f.acc = field.Add(f.acc, e.Order(field.Neg(x)))
		}
	default:
		f.acc = field.Add(f.acc, field.Sum(v))
	}
	f.n += len(v)
}

func (f *exactFold) value() field.Elem {
	v := f.acc
	switch {
	case f.mode == td.PoolAverage && f.n > 0:
		v = field.Mul(v, field.Inv(field.Int(int64(f.n))))
	case f.mode == td.PoolMax:
		v = f.fin.e.Unorder(v)
	case f.mode == td.PoolMin:
		v = field.Neg(f.fin.e.Unorder(v))
	}
	return f.fin.value(v)
}
