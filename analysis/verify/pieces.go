package verify

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// pieceElems is the number of elements of a piece: what a rule computes for them stays in a cache of the machine.
var pieceElems = int64(1 << 13)

// maxRows bounds the rows of a matrix product in a piece, over which the work of reading the other operand is divided.
const maxRows = 256

// late is a result that is not computed yet. Its statement computes each element from a few rows of its operands, so
// that it is computed in pieces, and together with operands that are late themselves: none of their elements is kept.
type late struct {
	e     *encloser // nil for a value without errors
	k     *kernels
	op    *ir.Op
	args  map[*ir.Value]*enclosure
	rows  rows
	taken bool // an operation reads it; for a second one it is computed
	keep  bool // the value without errors is kept when the pieces are computed
	// kept is the value without errors, once count elements of it are all of them.
	kept  interp.Tensor
	count int64
	mu    sync.Mutex
}

// rows says how the statement of a late result is cut.
type rows struct {
	axis  int   // the last dimension of the result that may be cut
	least int64 // elements of a piece that are worth the operand which every piece reads
}

// region is a part of a tensor whose elements follow each other: one index of each dimension before the last one of at,
// a range of the next, and all of those after it.
type region struct {
	at       []int64
	from, to int64
}

// shape returns the shape of the region of a tensor.
func (r region) shape(of []int64) []int64 {
	out := slices.Clone(of)
	for i := range r.at {
		out[i] = 1
	}
	if len(of) > 0 {
		out[len(r.at)] = r.to - r.from
	}
	return out
}

// first returns the index of the first element of the region of a tensor.
func (r region) first(of []int64) int64 {
	if len(of) == 0 {
		return 0
	}
	i := int64(0)
	for k, a := range r.at {
		i = i*of[k] + a
	}
	return (i*of[len(r.at)] + r.from) * product64(of[len(r.at)+1:])
}

func product64(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// under returns the region of an operand from which region r of the result is broadcast. rank is the result's.
func (r region) under(shape []int64, rank int) region {
	less := rank - len(shape)
	axis := len(r.at) - less
	switch {
	case len(shape) == 0:
		return region{}
	case axis < 0:
		return region{to: shape[0]}
	}
	out := region{at: make([]int64, axis), from: r.from, to: r.to}
	for i := range out.at {
		if shape[i] > 1 {
			out.at[i] = r.at[i+less]
		}
	}
	if shape[axis] == 1 {
		out.from, out.to = 0, 1
	}
	return out
}

// cut returns the regions of a tensor whose pieces have about as many elements as pieceElems.
func (w rows) cut(shape []int64) []region {
	size, axis := max(pieceElems, w.least), w.axis
	for axis > 0 && product64(shape[axis:]) < size {
		axis--
	}
	n := shape[axis]
	step := max(1, min(n, size/product64(shape[axis+1:])))
	var out []region
	for o := range product64(shape[:axis]) {
		at := make([]int64, axis)
		for i, rest := axis-1, o; i >= 0; i-- {
			at[i], rest = rest%shape[i], rest/shape[i]
		}
		for from := int64(0); from < n; from += step {
			out = append(out, region{at, from, min(from+step, n)})
		}
	}
	return out
}

// elementwise are the operations other than curves that compute each element from those at its place.
var elementwise = []*ir.Operation{
	ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpRealDiv, ir.OpCast, ir.OpSelect, ir.OpEqual, ir.OpNotEqual, ir.OpGreater,
	ir.OpGreaterEqual, ir.OpLess, ir.OpLessEqual, ir.OpLogicalNot, ir.OpLogicalAnd, ir.OpLogicalOr,
}

// lastCut returns the last dimension that the result of an operation may be cut along, negative for none, and the
// elements that a piece has at least.
func lastCut(op *ir.Op) rows {
	y := op.Results[0].Type
	x := op.Arg(ir.ParamX)
	none := rows{axis: -1}
	switch {
	case op.Is(elementwise...):
		return rows{axis: y.Rank() - 1}
	case x == nil:
		return none
	case op.Is(ir.OpSoftmax):
		axis, err := ir.AxisAttr(op, ir.ParamAxis, x.Type.Rank())
		if err != nil {
			return none
		}
		return rows{axis: axis - 1}
	case op.Is(ir.OpLayerNorm):
		axes, err := ir.LayerNormAxes(op)
		if err != nil || len(axes) == 0 {
			return none
		}
		return rows{axis: slices.Min(axes) - 1}
	case op.Is(ir.OpMatMul):
		m, err := ir.MatMulAttrs(op)
		if err != nil || m.VectorX || m.VectorY || x.Type.Rank() != y.Rank() || x == op.Arg(ir.ParamY) {
			return none
		}
		least := min(4*m.K, maxRows) * m.N
		if m.TransposeX {
			return rows{axis: y.Rank() - 3, least: least}
		}
		return rows{axis: y.Rank() - 2, least: least}
	}
	if k := ir.CurveOf(op); k != nil && !k.Channels && !x.IsConst() {
		return rows{axis: y.Rank() - 1}
	}
	return none
}

// delay returns the result of an operation as one that is computed later, or nil if that is not possible or not worth
// while; then all operands are computed. Without an encloser the result has no errors.
func delay(e *encloser, k *kernels, op *ir.Op, args map[*ir.Value]*enclosure) (*enclosure, error) {
	w := cutOf(op, args)
	for v, a := range args {
		if a.late == nil {
			continue
		}
		if w.axis < 0 || a.late.taken || a.late.rows.axis < 0 || !sameRows(op, v) {
			if err := a.now(); err != nil {
				return nil, err
			}
			continue
		}
		w.axis = min(w.axis, a.late.rows.axis)
		w.least = max(w.least, a.late.rows.least*op.Results[0].Type.Elems()/v.Type.Elems())
	}
	if w.axis < 0 || len(w.cut(op.Results[0].Type.Shape)) < 2 {
		for _, a := range args {
			if err := a.now(); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	for _, a := range args {
		if a.late != nil {
			a.late.taken = true
		}
	}
	return &enclosure{late: &late{e: e, k: k, op: op, args: args, rows: w}}, nil
}

// unknown reports that the enclosure of the result will be unknown, because the enclosure of an operand is.
func (l *late) unknown() bool {
	for _, a := range l.args {
		if a.unknown || a.late != nil && a.late.unknown() {
			return true
		}
	}
	return false
}

// cutOf says how an operation on these operands is cut.
func cutOf(op *ir.Op, args map[*ir.Value]*enclosure) rows {
	none := rows{axis: -1}
	if len(op.Results) != 1 || plain(op) || op.Results[0].Type.Elems() < 8*pieceElems {
		return none
	}
	y := op.Results[0].Type
	fits := func(v *ir.Value) bool {
		less := y.Rank() - v.Type.Rank()
		if less < 0 {
			return false
		}
		for i, d := range v.Type.Shape {
			if d != 1 && d != y.Shape[i+less] {
				return false
			}
		}
		return true
	}
	w, ok := lastCut(op), true
	op.Operands(func(p *ir.Param, v *ir.Value) {
		switch {
		case v.IsConst() && (p.Const || v.Type.Elems() == 1):
			return
		case v.Type.Elems() < 0 || v.Type.DType.Bits() < 8 || !op.Is(ir.OpMatMul) && !fits(v):
			ok = false
		case !v.IsConst() && args[v].late == nil && !slices.Equal(args[v].t.Type.Shape, v.Type.Shape):
			ok = false
		}
	})
	if !ok {
		return none
	}
	return w
}

// sameRows reports whether a region of the result is computed from that region of an operand.
func sameRows(op *ir.Op, v *ir.Value) bool {
	y := op.Results[0].Type.Shape
	if op.Is(ir.OpMatMul) {
		return v == op.Arg(ir.ParamX) && slices.Equal(v.Type.Shape[:len(y)-2], y[:len(y)-2])
	}
	return slices.Equal(v.Type.Shape, y)
}

// operand returns the region of an operand from which a region of the result is computed.
func (l *late) operand(v *ir.Value, r region) region {
	rank := l.op.Results[0].Type.Rank()
	if l.op.Is(ir.OpMatMul) && v == l.op.Arg(ir.ParamY) && len(r.at) == rank-2 {
		if rank == 2 {
			return region{to: v.Type.Shape[0]}
		}
		b := r.at[rank-3]
		r = region{r.at[:rank-3], b, b + 1}
	}
	return r.under(v.Type.Shape, rank)
}

// piece computes a region of the result, without errors if bare is set.
func (l *late) piece(r region, bare bool, m *memory) (*enclosure, error) {
	op, args, err := l.statement(r, bare, m)
	if err != nil {
		return nil, err
	}
	if l.e == nil {
		k := *l.k
		k.workers, k.memory = 1, m
		ts, err := k.wide(op, (&statement{op: op, args: args}).middles())
		if err != nil {
			return nil, err
		}
		return enclosuresOf(ts, false)[0], nil
	}
	e := *l.e
	e.workers, e.bare, e.memory = 1, bare, m
	e.tables = func(*ir.Op) []lower.TableUse { return l.e.tables(l.op) }
	out, err := e.results(op, args)
	if err == nil && l.keep {
		err = l.note(r, out[0].t)
	}
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// note keeps a piece of the value without errors.
func (l *late) note(r region, t interp.Tensor) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	y, size := l.op.Results[0].Type, int64(t.Type.DType.Bits()/8)
	if l.kept.Data == nil {
		if err := room(l.op, nil); err != nil {
			return err
		}
		l.kept = interp.Tensor{Type: ir.TensorOf(t.Type.DType, y.Shape...), Data: make([]byte, y.Elems()*size)}
	}
	copy(l.kept.Data[r.first(y.Shape)*size:], t.Data)
	l.count += int64(t.Elems())
	return nil
}

// middle returns the value without errors as an exact one.
func (s *enclosure) middle() (*enclosure, error) {
	l := s.late
	if l == nil {
		return &enclosure{t: s.t}, nil
	}
	if l.keep = true; l.count < l.op.Results[0].Type.Elems() {
		if err := l.pieces(true, func(int, region, *enclosure) {}); err != nil {
			return nil, err
		}
	}
	return &enclosure{t: l.kept}, nil
}

// statement returns the operation that computes a region of the result, and its operands, without errors if bare is
// set. Its numbers are in m.
func (l *late) statement(r region, bare bool, m *memory) (*ir.Op, map[*ir.Value]*enclosure, error) {
	op, args, made := *l.op, map[*ir.Value]*enclosure{}, map[*ir.Value]*ir.Value{}
	op.Args = make([][]*ir.Value, len(l.op.Args))
	y := l.op.Results[0]
	op.Results = []*ir.Value{{Name: y.Name, Type: y.Type.WithShape(r.shape(y.Type.Shape)...), Def: y.Def}}
	for i, list := range l.op.Args {
		for _, v := range list {
			part := made[v]
			switch {
			case part != nil:
			case v.IsConst() && (l.op.Def.Params[i].Const || v.Type.Elems() == 1):
				part = v
			case v.IsConst():
				at := l.operand(v, r)
				t := sliced(interp.FromConst(v.Const), at)
				part = &ir.Value{Name: v.Name, Type: t.Type, Const: t.Const()}
			default:
				at := l.operand(v, r)
				a, err := l.args[v].part(at, bare, m)
				if err != nil {
					return nil, nil, err
				}
				part = &ir.Value{Name: v.Name, Type: v.Type.WithShape(at.shape(v.Type.Shape)...), Def: v.Def}
				args[part] = a
			}
			made[v] = part
			op.Args[i] = append(op.Args[i], part)
		}
	}
	return &op, args, nil
}

// sliced returns a region of a tensor, which shares its bytes.
func sliced(t interp.Tensor, r region) interp.Tensor {
	shape, size := r.shape(t.Type.Shape), int64(t.Type.DType.Bits()/8)
	from := r.first(t.Type.Shape) * size
	return interp.Tensor{Type: t.Type.WithShape(shape...), Data: t.Data[from : from+product64(shape)*size]}
}

// part returns a region of a value, 16-bit floats in fp32, without errors if bare is set.
func (s *enclosure) part(r region, bare bool, m *memory) (*enclosure, error) {
	if s.late != nil {
		return s.late.piece(r, bare, m)
	}
	out := &enclosure{t: m.in32(sliced(s.t, r)), unknown: s.unknown, mayNaN: s.mayNaN}
	if s.lo != nil && !bare {
		from := int(r.first(s.t.Type.Shape))
		to := from + out.t.Elems()
		out.lo, out.hi = s.lo[from:to:to], s.hi[from:to:to]
	}
	return out, nil
}

// pieces calls f with every piece of a late result, without errors if bare is set, in no order, each on one goroutine.
// The numbers of a piece are the next one's memory.
func (l *late) pieces(bare bool, f func(i int, r region, s *enclosure)) error {
	regions := l.rows.cut(l.op.Results[0].Type.Shape)
	workers := l.k.workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	errs := make([]error, len(regions))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers, len(regions)) {
		wg.Go(func() {
			m := memories.Get().(*memory)
			defer memories.Put(m)
			for i := int(next.Add(1)) - 1; i < len(regions); i = int(next.Add(1)) - 1 {
				m.again()
				s, err := l.piece(regions[i], bare, m)
				if errs[i] = err; err != nil {
					return
				}
				f(i, regions[i], s)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// now computes a late result.
func (s *enclosure) now() error {
	l := s.late
	if l == nil {
		return nil
	}
	y := l.op.Results[0].Type
	n := y.Elems()
	if err := room(l.op, nil); err != nil {
		return err
	}
	var mu sync.Mutex
	out := &enclosure{}
	exact := map[int]region{} // pieces without ends
	err := l.pieces(false, func(i int, r region, p *enclosure) {
		from := r.first(y.Shape)
		mu.Lock()
		if out.t.Data == nil {
			d := p.t.Type.DType
			out.t = interp.Tensor{Type: ir.TensorOf(d, y.Shape...), Data: make([]byte, n*int64(d.Bits()/8))}
		}
		out.unknown, out.mayNaN = out.unknown || p.unknown, out.mayNaN || p.mayNaN
		if p.lo != nil && out.lo == nil {
			out.lo, out.hi = make([]float32, n), make([]float32, n)
		}
		if p.lo == nil {
			exact[i] = r
		}
		mu.Unlock()
		copy(out.t.Data[from*int64(p.t.Type.DType.Bits()/8):], p.t.Data)
		if p.lo != nil {
			copy(out.lo[from:], p.lo)
			copy(out.hi[from:], p.hi)
		}
	})
	if err != nil {
		return err
	}
	if out.unknown {
		out.lo, out.hi = nil, nil
	}
	if out.lo != nil {
		for _, r := range exact {
			vs := sliced(out.t, r).View32()
			copy(out.lo[r.first(y.Shape):], vs)
			copy(out.hi[r.first(y.Shape):], vs)
		}
	}
	*s = *out
	return nil
}

// against compares a value with its enclosure, and reports whether none is known.
func (s *enclosure) against(got interp.Tensor) (f fit, unknown bool, err error) {
	if s.late == nil {
		return s.compare(got), s.unknown, nil
	}
	shape := s.late.op.Results[0].Type.Shape
	got.Type = got.Type.WithShape(shape...)
	fits := make([]fit, len(s.late.rows.cut(shape)))
	from := make([]int, len(fits))
	var none atomic.Bool
	err = s.late.pieces(false, func(i int, r region, p *enclosure) {
		if p.unknown {
			none.Store(true)
		}
		fits[i], from[i] = p.compare(sliced(got, r)), int(r.first(shape))
	})
	f = fit{pass: true}
	for i := range fits {
		f.join(&fits[i], from[i])
	}
	return f, none.Load(), err
}

// join adds the elements of a piece from some element on.
func (f *fit) join(p *fit, from int) {
	if from == 0 || f.pass && (!p.pass || p.maxAbs > f.maxAbs) {
		f.worst, f.limit = p.worst, p.limit
		f.worst.Index += from
	}
	if f.notFinite == 0 && p.notFinite > 0 {
		f.first = p.first + from
	}
	if f.nan == 0 && p.nan > 0 {
		f.firstNaN = p.firstNaN + from
	}
	f.pass = f.pass && p.pass
	f.maxAbs, f.bound = max(f.maxAbs, p.maxAbs), max(f.bound, p.bound)
	f.scale, f.used = max(f.scale, p.scale), max(f.used, p.used)
	f.beyond, f.steps = f.beyond+p.beyond, f.steps+p.steps
	f.notFinite, f.nan, f.elements = f.notFinite+p.notFinite, f.nan+p.nan, f.elements+p.elements
}
