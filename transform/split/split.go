package split

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// MaxParts bounds the models of a pipeline.
const MaxParts = 999

// Options say where to cut.
type Options struct {
	// Parts is the number of models; 0 for as few as Bytes allows.
	Parts int
	// Bytes is the most that the constants of one model have; 0 for no limit.
	Bytes int64
}

// Part is one model of a pipeline.
type Part struct {
	Program *ir.Program
	// Operations counts the operations of the part's function, without nested ones.
	Operations int
	// Bytes is the size of the constants.
	Bytes int64
}

// Cut cuts a function of p into a pipeline of models with a function of the same name each: what an operation reads of
// an earlier part is an input of its part and an output of that one, with the name of the value. Together the parts
// have the operations of f in their order, except that an operation that unpacks a constant goes where its result is
// read, into several parts if they read it. Results of f that are inputs or constants of it are outputs of the last
// part.
//
// The parts have about equal constants, and cuts near a place of equal size go where the fewest bytes cross. A cut
// crosses only values that may be inputs and outputs of a model (ir.Type.Port), and no state has operations on both
// sides. It is an error if no such cut keeps a part's constants within the limit.
func Cut(p *ir.Program, f *ir.Func, o Options) ([]Part, error) {
	fail := func(err error) ([]Part, error) {
		place := p.PosString(f.Pos)
		if place != "" {
			place += ": "
		}
		return nil, fmt.Errorf("%sfunction %s: %w", place, f.Name, err)
	}
	if len(f.Flex.Ranges)+len(f.Flex.Enums) > 0 {
		return fail(errors.New("it has flexible input shapes, and a part has fixed ones; write the model with them"))
	}
	c := newCutter(f, o)
	if n := len(c.ops); n < max(o.Parts, 1) {
		return fail(fmt.Errorf("want at most %d parts, one for each operation; got %d", n, max(o.Parts, 1)))
	}
	ends, err := c.cuts()
	if err != nil {
		return fail(err)
	}
	var parts []Part
	at := 0
	for i, end := range ends {
		fn := c.part(f, at, end)
		q := &ir.Program{Version: p.Version, BuildInfo: p.BuildInfo, Funcs: []*ir.Func{fn}, Files: p.Files}
		if err := ir.Verify(q); err != nil {
			return fail(fmt.Errorf("part %d: %w", i+1, err))
		}
		parts = append(parts, Part{Program: q, Operations: len(fn.Body.Ops), Bytes: ir.ConstantBytes(q)})
		at = end
	}
	return parts, nil
}

// Count returns the number of models that Cut makes of a function. The shapes of its inputs may be flexible.
func Count(f *ir.Func, o Options) (int, error) {
	ends, err := newCutter(f, o).cuts()
	return len(ends), err
}

// cutter finds the cuts of one function. A cut at i is before operation i of ops.
type cutter struct {
	o    Options
	ops  []*ir.Op          // without those that unpack constants
	from map[*ir.Value]int // the inputs of the function, numbered
	// results are the results of the function, and lives the lifetimes of values and states.
	results map[*ir.Value]bool
	lives   map[*ir.Value]*lifetime
	// crossing are the bytes that cross a cut, and barred says why there is none; "" if there may be.
	crossing []int64
	barred   []string
}

// lifetime is the operations from the one that makes a value, or is the first to touch a state, to the last.
type lifetime struct{ first, last int }

func newCutter(f *ir.Func, o Options) *cutter {
	c := &cutter{
		o: o, from: map[*ir.Value]int{}, results: map[*ir.Value]bool{}, lives: map[*ir.Value]*lifetime{},
	}
	for i, v := range f.Body.Params {
		c.from[v] = i
	}
	for _, v := range f.Body.Outputs {
		c.results[v] = true
	}
	var values []*ir.Value
	for _, op := range f.Body.Ops {
		if ir.IsConstexpr(op) {
			continue
		}
		touch := func(v *ir.Value) {
			if c.lives[v] == nil {
				values = append(values, v)
				c.lives[v] = &lifetime{first: len(c.ops)}
			}
			c.lives[v].last = len(c.ops)
		}
		op.Reads(func(v *ir.Value) {
			if v.Type.Kind == ir.State || v.Def != nil && !ir.IsConstexpr(v.Def) {
				touch(v)
			}
		})
		for _, r := range op.Results {
			touch(r)
		}
		c.ops = append(c.ops, op)
	}
	c.crossing, c.barred = make([]int64, len(c.ops)+1), make([]string, len(c.ops)+1)
	until := 0 // up to which cut barred is known
	for _, v := range values {
		l := c.lives[v]
		why := ""
		switch {
		case v.Type.Kind == ir.State:
			why = fmt.Sprintf("state %q has operations on both sides", v.Name)
		case v.Type.Port():
			c.crossing[l.first+1] += v.Type.Bytes()
			c.crossing[l.last+1] -= v.Type.Bytes()
			continue
		default:
			why = fmt.Sprintf("%q, %s, would cross, and a model has no such inputs", v.Name, v.Type)
		}
		for until = max(until, l.first); until < l.last; until++ {
			c.barred[until+1] = why
		}
	}
	for k := 1; k < len(c.crossing); k++ {
		c.crossing[k] += c.crossing[k-1]
	}
	return c
}

// walk calls f for an operation, after those that unpack what it reads. It leaves out what seen has.
func walk(op *ir.Op, seen map[*ir.Op]bool, f func(op *ir.Op)) {
	if seen[op] {
		return
	}
	seen[op] = true
	op.Reads(func(v *ir.Value) {
		if v.Def != nil && ir.IsConstexpr(v.Def) {
			walk(v.Def, seen, f)
		}
	})
	f(op)
}

// size adds up the constants of a part.
type size struct {
	bytes int64 // of constants
	ops   map[*ir.Op]bool
	seen  map[*ir.Const]bool
}

func newSize() *size { return &size{ops: map[*ir.Op]bool{}, seen: map[*ir.Const]bool{}} }

// add adds an operation, with those that unpack what it reads.
func (s *size) add(op *ir.Op) {
	walk(op, s.ops, func(op *ir.Op) {
		op.Reads(func(v *ir.Value) {
			if v.Const != nil && !s.seen[v.Const] {
				s.seen[v.Const] = true
				s.bytes += int64(len(v.Const.Data))
			}
		})
	})
}

// cuts returns where the parts end.
func (c *cutter) cuts() (ends []int, err error) {
	all := newSize()
	for _, op := range c.ops {
		all.add(op)
	}
	parts := c.o.Parts
	if parts == 0 && c.o.Bytes > 0 {
		parts = int((all.bytes + c.o.Bytes - 1) / c.o.Bytes)
	}
	left := all.bytes
	for at := 0; at < len(c.ops); {
		if len(ends) == MaxParts {
			return nil, fmt.Errorf("the model would become more than %d models; raise the limit", MaxParts)
		}
		end, bytes, err := c.next(at, left, max(parts-len(ends), 1))
		if err != nil {
			return nil, err
		}
		ends = append(ends, end)
		at, left = end, max(left-bytes, 0)
	}
	if c.o.Parts > 0 && len(ends) != c.o.Parts {
		return nil, fmt.Errorf("only %d of %d parts can be cut: %s", len(ends), c.o.Parts, c.bars(0, len(c.ops)))
	}
	return ends, nil
}

// next returns where the part from at on ends and the bytes of its constants, if so many bytes and parts are left. It
// looks no further than about that part of the rest.
func (c *cutter) next(at int, left int64, parts int) (end int, bytes int64, err error) {
	limit := c.o.Bytes
	limit = cmp.Or(limit, math.MaxInt64)
	// A part without constants is measured by its operations. If the rest does not fit one part, because parts share
	// constants, as much of it goes there as fits.
	aim := (left + int64(len(c.ops)-at)) / int64(parts)
	if parts == 1 {
		aim = limit
	}
	best := struct {
		at       int
		off      int64 // from the aim
		crossing int64
		bytes    int64
	}{}
	s := newSize()
	for k := at + 1; k <= len(c.ops); k++ {
		before := s.bytes
		if s.add(c.ops[k-1]); s.bytes > limit {
			if k == at+1 {
				return 0, 0, fmt.Errorf("%s has %d bytes of constants, more than the %d of a part", c.name(at),
					s.bytes, limit)
			}
			s.bytes = before
			break
		}
		if k == len(c.ops) {
			if parts == 1 || best.at == 0 {
				return k, s.bytes, nil
			}
			break
		}
		measure := s.bytes + int64(k-at)
		off := abs(measure - aim)
		near := off <= aim/8
		if measure > aim && !near && best.at > 0 && parts > 1 {
			break
		}
		if c.barred[k] != "" {
			continue
		}
		better := best.at == 0 || off < best.off
		if near && best.at > 0 && best.off <= aim/8 && c.crossing[k] != best.crossing {
			better = c.crossing[k] < best.crossing
		}
		if better {
			best.at, best.off, best.crossing, best.bytes = k, off, c.crossing[k], s.bytes
		}
	}
	if best.at == 0 {
		return 0, 0, fmt.Errorf("from %s on no cut keeps the constants of a part within %d bytes: %s", c.name(at),
			limit, c.bars(at, len(c.ops)))
	}
	return best.at, best.bytes, nil
}

// param numbers the inputs of the function before all other values.
func (c *cutter) param(v *ir.Value) int {
	if i, ok := c.from[v]; ok {
		return i
	}
	return len(c.from)
}

// bars returns the first reason for which there is no cut between two operations.
func (c *cutter) bars(from, to int) string {
	for k := from + 1; k < to; k++ {
		if c.barred[k] != "" {
			return fmt.Sprintf("before %s: %s", c.name(k), c.barred[k])
		}
	}
	return "there are too few operations"
}

// name names an operation in errors.
func (c *cutter) name(i int) string {
	op := c.ops[i]
	s := op.Def.Name
	if len(op.Results) > 0 {
		s = fmt.Sprintf("%s %q", s, op.Results[0].Name)
	}
	if op.Pos.IsValid() {
		s += fmt.Sprintf(" of line %d", op.Pos.Line)
	}
	return s
}

// part returns the function of operations [at, end).
func (c *cutter) part(f *ir.Func, at, end int) *ir.Func {
	var ops []*ir.Op
	in := map[*ir.Op]bool{}
	add := func(op *ir.Op) { walk(op, in, func(op *ir.Op) { ops = append(ops, op) }) }
	for _, op := range c.ops[at:end] {
		add(op)
	}
	last := end == len(c.ops)
	if last {
		for _, v := range f.Body.Outputs {
			if v.Def != nil && ir.IsConstexpr(v.Def) {
				add(v.Def)
			}
		}
	}
	copies := &ir.Cloner{Values: map[*ir.Value]*ir.Value{}}
	var inputs []*ir.Value
	input := func(v *ir.Value) {
		if v.Const == nil && (v.Def == nil || !in[v.Def]) && copies.Values[v] == nil {
			n := *v
			n.Def = nil
			copies.Values[v] = &n
			inputs = append(inputs, v)
		}
	}
	for _, op := range ops {
		op.Reads(input)
	}
	if last {
		for _, v := range f.Body.Outputs {
			if v.Def == nil {
				input(v)
			}
		}
	}
	fn := &ir.Func{Name: f.Name, Opset: f.Opset, Pos: f.Pos, Body: &ir.Block{}}
	// The inputs of f come first, in its order.
	slices.SortStableFunc(inputs, func(a, b *ir.Value) int { return c.param(a) - c.param(b) })
	for _, v := range inputs {
		fn.Body.Params = append(fn.Body.Params, copies.Value(v))
	}
	for _, op := range ops {
		fn.Body.Ops = append(fn.Body.Ops, copies.Op(op))
		for _, r := range op.Results {
			if l := c.lives[r]; !last && l != nil && (l.last >= end || c.results[r]) {
				fn.Body.Outputs = append(fn.Body.Outputs, copies.Value(r))
			}
		}
	}
	if last {
		for _, v := range f.Body.Outputs {
			if v.Def == nil || in[v.Def] {
				fn.Body.Outputs = append(fn.Body.Outputs, copies.Value(v))
			}
		}
	}
	return fn
}

func abs(x int64) int64 { return max(x, -x) }
