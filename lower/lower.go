package lower

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// Segment is a run of operations for the engine.
type Segment struct {
	Name    string
	Ops     []*ir.Op
	Inputs  []*ir.Value // read from the host, fp16
	Outputs []*ir.Value // returned to the host, fp16
	// Fused maps a leading operation to the other operations that its tasks compute, in order (see package passes,
	// fuse-epilogue).
	Fused map[*ir.Op][]*ir.Op
	// Ports names every input and output in the container. Buffer-access registers, and therefore addresses, follow the
	// order of these names, as in every recorded program.
	Ports map[*ir.Value]string
	// Codec writes the tasks.
	Codec *td.Codec
	// Emit, if set, is called with each task in order, the kernel-DMA lanes whose base address points into the constant
	// section, and the number of tasks that follow. A task stays as it is until the next call.
	Emit func(t *td.Task, relocs []int, follow int) error
	// Keep fills in Procedure.Tasks, Stores and Materialised, which take as much memory as the program.
	Keep bool
}

// Surface is one port of a procedure: a tensor in the layout the engine reads.
type Surface struct {
	Value  *ir.Value
	Name   string  // of the port
	Bar    int     // buffer-access register
	Dims   []int64 // of the value; at least one
	Stride []int64 // bytes
	Size   int64   // bytes of the whole window
}

// Narrow reports whether the engine reads the elements as single bytes; an integer is as many of them as it has bytes.
func (s *Surface) Narrow() bool { return givenBytes(s.Value.Type.DType) > 0 }

// NCHW returns the surface as the container describes it: four dimensions and their byte strides, with leading
// dimensions added or merged.
func (s *Surface) NCHW() (dims [4]int64, strides [4]int64) {
	d, st := s.Dims, s.Stride
	for len(d) > 4 { // canonical, so that the two slowest merge
		d = append([]int64{d[0] * d[1]}, d[2:]...)
		st = st[1:]
	}
	for i := range dims {
		j := len(d) - 4 + i
		if j >= 0 {
			dims[i], strides[i] = d[j], st[j]
			continue
		}
		dims[i], strides[i] = 1, s.Size
	}
	if s.Narrow() {
		dims[3], strides[3] = dims[3]*strides[3], 1
	}
	return dims, strides
}

// TaskInfo describes the origin of a task.
type TaskInfo struct {
	Op   *ir.Op // operation, or the leading one of a fused run
	Rule string
	Kind string // "multiply", "neural" or "planar"
}

// Procedure is a lowered segment.
type Procedure struct {
	Name    string
	Tasks   []*td.Task
	Infos   []TaskInfo
	Inputs  []Surface
	Outputs []Surface
	Scratch int64 // bytes
	// Tables lists the lookup tables in use, with their stated errors.
	Tables   []TableUse
	Resident int // intermediate tensors that stay in L2
	// Constants lists what the segment's operations read of the constant section, in the order of lowering, if the
	// section is tracked.
	Constants []ConstantUse
	// Stores lists where tasks put their results, and Materialised where the values of the segment's operations are, in
	// buffers as planned.
	Stores       []Store
	Materialised []Materialised
	// Exceeds is the error of the first operation whose constants no container has room for, with those before it. Only
	// an endless section gets so far (weights.Section.Endless).
	Exceeds error
}

// TableUse is a lookup table that an operation's tasks use.
type TableUse struct {
	Op    *ir.Op
	Name  string
	Worst func() weights.WorstCase // its error; found when it is first called, which takes milliseconds
	Table *weights.Activation
}

// builder is the state of lowering one segment.
type builder struct {
	schedule   // the drafts so far
	constants  // what they read
	vals       map[*ir.Value]*view
	bytes      map[*ir.Value]*view   // booleans and integers from the host, as the host stores them
	zeros      map[*ir.Value]*view   // the negations of booleans, in fp16
	planes     map[*ir.Value][]*view // the bytes of integers, in fp16
	fused      map[*ir.Op][]*ir.Op
	outs       map[*ir.Value]*buffer      // results that go to a port
	read       map[*ir.Value]reading      // how the segment reads a value
	transposes map[transposeKey]*view     // matrices that are stored transposed already
	images     map[*ir.Value]*view        // products kept as channels by rows for the next product
	kernels    map[*buffer]kernelRows     // by tensor: where its rows are stored as a kernel already
	pieces     map[*ir.Value]piecesKernel // products stored as the kernel of a product in pieces
	clamped    map[*ir.Value]bool         // results whose reader clamps the operand itself
	inputs     []Surface
	outputs    []Surface
	exceeds    error // Procedure.Exceeds
	err        error
	op         *ir.Op
	rule       string
	trial      bool // constants are not packed, and an operation may take a quarter of a procedure
}

// reading is how the operations of a segment read a value.
type reading struct {
	n     int    // uses
	last  *ir.Op // that reads it
	whole bool   // some operation reads it without accepting column vectors along a row
}

// countReads adds what op reads.
func (b *builder) countReads(op *ir.Op) {
	whole := !takesColumnVectors(op)
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		r := b.read[v]
		b.read[v] = reading{n: r.n + 1, last: op, whole: r.whole || whole}
	})
}

// Error is an operation that could not be lowered although its rule accepted it, which is a bug in zinc. Constants that
// exceed a container together are not: their error is a *weights.LimitError.
type Error struct {
	Op   *ir.Op
	Rule string
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("lowering %s %q by rule %s: %v", e.Op.Def.Name, e.Op.Name, e.Rule, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

func newBuilder(seg *Segment, t *target.Table, sec *weights.Section) *builder {
	return &builder{
		schedule:  schedule{t: t, codec: seg.Codec, kernels: seg.Codec.KernelBar(len(seg.Inputs) + len(seg.Outputs))},
		constants: newConstants(sec), fused: seg.Fused,
		vals: make(map[*ir.Value]*view, len(seg.Ops)), bytes: map[*ir.Value]*view{}, zeros: map[*ir.Value]*view{},
		planes: map[*ir.Value][]*view{},
		outs:   map[*ir.Value]*buffer{}, read: make(map[*ir.Value]reading, len(seg.Ops)),
		images: map[*ir.Value]*view{}, clamped: map[*ir.Value]bool{},
		kernels: map[*buffer]kernelRows{}, pieces: map[*ir.Value]piecesKernel{}, transposes: map[transposeKey]*view{},
	}
}

// Lower turns a segment into tasks and adds its constants to sec.
func Lower(seg *Segment, t *target.Table, sec *weights.Section) (*Procedure, error) {
	b := newBuilder(seg, t, sec)
	if err := b.makeDrafts(seg); err != nil {
		return nil, err
	}
	b.read = nil // only rules look at it
	if !seg.Keep {
		b.vals = nil // the drafts have what tasks need
	}
	if err := b.plan(Planners); err != nil {
		return nil, err
	}
	return b.procedure(seg)
}

// makeDrafts applies the rules to a segment.
func (b *builder) makeDrafts(seg *Segment) error {
	if n := len(seg.Inputs) + len(seg.Outputs); n > b.t.MaxSurfaces {
		return fmt.Errorf("segment %s has %d surfaces; a procedure has buffer-access registers for %d", seg.Name, n,
			b.t.MaxSurfaces)
	}
	bars := portRegisters(seg)
	for _, v := range seg.Inputs {
		buf, sf := b.port(v, inPort, seg.Ports[v], bars[v])
		b.giveInput(v, buf)
		b.inputs = append(b.inputs, sf)
	}
	for _, v := range seg.Outputs {
		buf, sf := b.port(v, outPort, seg.Ports[v], bars[v])
		b.outs[v] = buf
		b.outputs = append(b.outputs, sf)
	}
	for _, op := range seg.Ops {
		b.countReads(op)
	}
	covered, before := map[*ir.Op]bool{}, b.sec.Exceeds()
	for _, op := range b.scheduled(seg.Ops) {
		if covered[op] {
			continue
		}
		for _, e := range b.fused[op] {
			covered[e] = true
		}
		r := ruleFor(op)
		if r == nil {
			return &Error{op, "", fmt.Errorf("no rule")}
		}
		b.op, b.rule = op, r.Name
		if err := b.failure(r.lower(b, op)); err != nil {
			if errors.As(err, new(*weights.LimitError)) {
				return fmt.Errorf("%s %q: %w", op.Def.Name, op.Name, err)
			}
			return &Error{op, r.Name, err}
		}
		if err := b.sec.Exceeds(); err != before && b.exceeds == nil {
			b.exceeds = exceeds(op, err)
		}
	}
	return b.exportViews(seg)
}

// exceeds returns Procedure.Exceeds.
func exceeds(op *ir.Op, err error) error { return fmt.Errorf("%s %q: %w", op.Def.Name, op.Name, err) }

// portRegisters assigns every port its buffer-access register, in the order of their names. Compilers of the older form
// put the outputs before the inputs, as the public driver for their programs binds them, and both in the reverse
// order of names, which puts "probs@output" before "image2" and that before "image", as recorded.
func portRegisters(seg *Segment) map[*ir.Value]int {
	byName := func(vs []*ir.Value) []*ir.Value {
		return slices.SortedStableFunc(slices.Values(vs), func(a, b *ir.Value) int {
			return strings.Compare(seg.Ports[a], seg.Ports[b])
		})
	}
	ports := byName(slices.Concat(seg.Inputs, seg.Outputs))
	switch {
	case seg.Codec.Older:
		ports = slices.Concat(byName(seg.Inputs), byName(seg.Outputs))
		slices.Reverse(ports)
	case seg.Codec.OutputsFirst:
		ports = slices.Concat(byName(seg.Outputs), byName(seg.Inputs))
	}
	bars := make(map[*ir.Value]int, len(ports))
	for i, v := range ports {
		bars[v] = seg.Codec.FirstPort + i
	}
	return bars
}

// port returns the buffer and the description of one port.
func (b *builder) port(v *ir.Value, sp space, name string, bar int) (*buffer, Surface) {
	dims := tensorDims(v.Type)
	elem := givenBytes(v.Type.DType)
	buf := &buffer{space: sp, narrow: elem > 0, bar: bar, def: -1}
	elem = cmp.Or(elem, elemBytes)
	st, size := stridesOf(dims, elem)
	buf.size = size
	return buf, Surface{Value: v, Name: name, Bar: bar, Dims: dims, Stride: st, Size: size}
}

// giveInput records where an input of the segment is. Rules see booleans as fp16 numbers 0 and 1, which tensor computes
// from the bytes in the port when they are first requested.
func (b *builder) giveInput(v *ir.Value, port *buffer) {
	s := inBuffer(port, byteDims(v.Type))
	if port.narrow {
		b.bytes[v] = s
		return
	}
	b.vals[v] = s
}

// exportViews copies to their ports the results that are views of other tensors or that later operations read as well,
// because a port's window is written and not read.
func (b *builder) exportViews(seg *Segment) error {
	for _, v := range seg.Outputs {
		port := b.outs[v]
		s := b.vals[v]
		if s == nil {
			return fmt.Errorf("segment %s: output %q has no tensor", seg.Name, v.Name)
		}
		if s.buf == port {
			continue
		}
		b.op, b.rule = v.Def, "copy"
		b.copyTo(s, inBuffer(port, s.dims))
		if err := b.failure(nil); err != nil {
			return &Error{v.Def, "copy", err}
		}
	}
	return nil
}

// TaskLimitError reports a procedure with more tasks than a program may have.
type TaskLimitError struct{ Max int }

func (e *TaskLimitError) Error() string {
	return fmt.Sprintf("its procedure has more than %d tasks; cut the model in two or keep the operation off the "+
		"engine", e.Max)
}

// failure returns why the operation could not be lowered: err, which its rule returned, or an error that occurred on
// the way.
func (b *builder) failure(err error) error {
	switch {
	case b.full():
		return &TaskLimitError{b.t.MaxTasks}
	case err == nil:
		return b.err
	}
	return err
}

// resultOf returns the view for a value that tasks are about to write: the output port if nothing in the segment
// reads the value again, else scratch.
func (b *builder) resultOf(v *ir.Value) *view {
	dims := tensorDims(v.Type)
	if port := b.outs[v]; port != nil && !port.narrow && b.read[v].n == 0 {
		s := inBuffer(port, dims)
		b.vals[v] = s
		return s
	}
	s := b.valueTemp(v, takesColumnVectors(b.op))
	b.vals[v] = s
	return s
}

// valueTemp returns a view in scratch for a value, which may be a column vector along a row if its writer and all its
// readers are elementwise.
func (b *builder) valueTemp(v *ir.Value, elementwise bool) *view {
	if dims := tensorDims(v.Type); !elementwise || b.read[v].whole || b.outs[v] != nil {
		return b.temp(dims)
	}
	return b.between(tensorDims(v.Type))
}

// temp returns a view in scratch.
func (b *builder) temp(dims []int64) *view {
	_, size := canonicalStrides(dims)
	w := dims[len(dims)-1]
	buf := &buffer{space: scratch, size: size, def: -1, rowBytes: rowBytes(w), rowElems: w}
	if len(dims) == 4 && dims[0] == 1 && dims[1] > 1 && dims[2] > 1 {
		buf.image = imageOf(dims)
		buf.image.whole, buf.image.optional = true, true
	}
	return inBuffer(buf, dims)
}

// tensor returns the view of an operand; a constant is added to the constant section.
func (b *builder) tensor(v *ir.Value) (*view, error) {
	if s := b.vals[v]; s != nil {
		if s.buf.space == constant {
			b.readsAt(s.buf.extent, constantUse{values: v})
		}
		return s, nil
	}
	if port := b.bytes[v]; port != nil {
		return b.nonzero(v, port)
	}
	if v.Const == nil {
		return nil, fmt.Errorf("value %q is not in the segment", v.Name)
	}
	c := v.Const
	if c.Type.DType == ir.Bool {
		c = asNumbers(c)
	}
	s, err := b.constView(c, tensorDims(v.Type))
	if err == nil {
		b.vals[v] = s
	}
	return s, err
}

// constView adds a constant to the constant section with the given dimensions.
func (b *builder) constView(c *ir.Const, dims []int64) (*view, error) {
	st, size := canonicalStrides(dims)
	if b.trial {
		return &view{buf: &buffer{space: constant, size: size, bar: BarConstants, def: -1}, dims: dims, stride: st}, nil
	}
	w := int(dims[len(dims)-1])
	off, err := b.sec.AddSurface(int(c.Elems())/w, w*elemBytes, c.Data)
	if err != nil {
		return nil, err
	}
	b.reads(b.operandOf(c))
	buf := &buffer{
		space: constant, size: size, bar: BarConstants, off: int64(off), extent: b.sec.Last(), def: -1,
	}
	return &view{buf: buf, dims: dims, stride: st}, nil
}
