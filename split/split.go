package split

import (
	"errors"
	"fmt"
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
	// Operations are those of the part's function, nested ones not counted.
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
		return fail(fmt.Errorf("%d operations cannot become %d models", n, max(o.Parts, 1)))
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

// cutter finds the cuts of one function. A cut at i is before operation i of ops.
type cutter struct {
	o    Options
	ops  []*ir.Op
	from map[*ir.Value]int   // the inputs of the function, numbered
	made map[*ir.Op][]*ir.Op // by operation: those that unpack the constants that it reads
	// uses are the constants that an operation reads first of all, with those of what unpacks them.
	uses [][]*ir.Const
	// crossing are the bytes that cross a cut, and barred says why there is none; "" if there may be.
	crossing []int64
	barred   []string
}

func newCutter(f *ir.Func, o Options) *cutter {
	c := &cutter{o: o, from: map[*ir.Value]int{}, made: map[*ir.Op][]*ir.Op{}}
	for i, v := range f.Body.Params {
		c.from[v] = i
	}
	for _, op := range f.Body.Ops {
		if !ir.IsConstexpr(op) {
			c.ops = append(c.ops, op)
		}
	}
	n := len(c.ops)
	c.uses, c.crossing, c.barred = make([][]*ir.Const, n), make([]int64, n+1), make([]string, n+1)
	first, last := map[*ir.Value]int{}, map[*ir.Value]int{} // operations that have a value or touch a state
	for i, op := range c.ops {
		for _, u := range c.unpacked(op) {
			c.uses[i] = append(c.uses[i], constants(u)...)
		}
		c.uses[i] = append(c.uses[i], constants(op)...)
		touch := func(v *ir.Value) {
			if _, ok := first[v]; !ok {
				first[v] = i
			}
			last[v] = i
		}
		op.Reads(func(v *ir.Value) {
			if v.Type.Kind == ir.State || v.Def != nil && !ir.IsConstexpr(v.Def) {
				touch(v)
			}
		})
		for _, r := range op.Results {
			touch(r)
		}
	}
	for v, i := range first {
		why := ""
		switch {
		case v.Type.Kind == ir.State:
			why = fmt.Sprintf("state %q has operations on both sides", v.Name)
		case !v.Type.Port():
			why = fmt.Sprintf("%q, %s, would cross, and a model has no such inputs", v.Name, v.Type)
		}
		for k := i + 1; k <= last[v]; k++ {
			if why == "" {
				c.crossing[k] += v.Type.Bytes()
			} else if c.barred[k] == "" || why < c.barred[k] {
				c.barred[k] = why
			}
		}
	}
	return c
}

// unpacked returns the operations that unpack what op reads, each after those that it reads itself.
func (c *cutter) unpacked(op *ir.Op) []*ir.Op {
	if us, ok := c.made[op]; ok {
		return us
	}
	var us []*ir.Op
	op.Reads(func(v *ir.Value) {
		if v.Def == nil || !ir.IsConstexpr(v.Def) || slices.Contains(us, v.Def) {
			return
		}
		for _, u := range append(slices.Clip(c.unpacked(v.Def)), v.Def) {
			if !slices.Contains(us, u) {
				us = append(us, u)
			}
		}
	})
	c.made[op] = us
	return us
}

// constants returns the constants that an operation and its blocks read.
func constants(op *ir.Op) (cs []*ir.Const) {
	op.Reads(func(v *ir.Value) {
		if v.Const != nil {
			cs = append(cs, v.Const)
		}
	})
	return cs
}

// cuts returns where the parts end.
func (c *cutter) cuts() (ends []int, err error) {
	for at := 0; at < len(c.ops); at = ends[len(ends)-1] {
		if len(ends) == MaxParts {
			return nil, fmt.Errorf("the model would become more than %d models; raise the limit", MaxParts)
		}
		end, err := c.next(at, c.o.Parts-len(ends))
		if err != nil {
			return nil, err
		}
		ends = append(ends, end)
	}
	if c.o.Parts > 0 && len(ends) != c.o.Parts {
		return nil, fmt.Errorf("only %d of %d parts can be cut: %s", len(ends), c.o.Parts, c.bars(0, len(c.ops)))
	}
	return ends, nil
}

// next returns where the part from at on ends, if that many are left; 0 or less: as few as the limit allows.
func (c *cutter) next(at, parts int) (int, error) {
	sizes := c.sizes(at)
	n := len(c.ops) - at
	all, limit := sizes[n], c.o.Bytes
	if limit == 0 {
		limit = all
	}
	if c.o.Parts == 0 {
		parts = int((all + limit - 1) / max(limit, 1))
	}
	// A part without constants is measured by its operations.
	measure := func(k int) int64 { return sizes[k] + int64(k) }
	aim := measure(n) / int64(max(parts, 1))
	if parts <= 1 && all <= limit {
		return len(c.ops), nil
	}
	best, near := 0, false
	for k := 1; k < n && sizes[k] <= limit; k++ {
		if c.barred[at+k] != "" {
			continue
		}
		off := abs(measure(k) - aim)
		isNear := off <= aim/8
		switch {
		case best == 0, isNear && !near:
		case near && !isNear:
			continue
		case near && c.crossing[at+k] != c.crossing[at+best]:
			if c.crossing[at+k] > c.crossing[at+best] {
				continue
			}
		case off >= abs(measure(best)-aim):
			continue
		}
		best, near = k, isNear
	}
	switch {
	case best > 0:
		return at + best, nil
	case all <= limit:
		return len(c.ops), nil
	case sizes[1] > limit:
		return 0, fmt.Errorf("%s has %d bytes of constants, more than the %d of a part", c.name(at), sizes[1], limit)
	}
	return 0, fmt.Errorf("from %s on no cut keeps the constants of a part within %d bytes: %s", c.name(at), limit,
		c.bars(at, len(c.ops)))
}

// sizes returns the bytes of the constants of the first k operations from at on, for each k.
func (c *cutter) sizes(at int) []int64 {
	sizes := []int64{0}
	seen := map[*ir.Const]bool{}
	size := int64(0)
	for _, use := range c.uses[at:] {
		for _, k := range use {
			if !seen[k] {
				seen[k] = true
				size += int64(len(k.Data))
			}
		}
		sizes = append(sizes, size)
	}
	return sizes
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
	add := func(op *ir.Op) {
		for _, u := range append(slices.Clip(c.unpacked(op)), op) {
			if !in[u] {
				in[u] = true
				ops = append(ops, u)
			}
		}
	}
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
	fn, ins, outs := ir.Extract(f, f.Name, ops)
	copied := map[*ir.Value]*ir.Value{}
	for i, v := range ins {
		copied[v] = fn.Body.Params[i]
	}
	for i, v := range outs {
		copied[v] = fn.Body.Outputs[i]
	}
	// The inputs of f come first, in its order.
	slices.SortStableFunc(ins, func(a, b *ir.Value) int { return c.param(a) - c.param(b) })
	fn.Body.Params, fn.Body.Outputs = nil, nil
	for _, v := range ins {
		fn.Body.Params = append(fn.Body.Params, copied[v])
	}
	for _, v := range outs {
		if !last && !ir.IsConstexpr(v.Def) {
			fn.Body.Outputs = append(fn.Body.Outputs, copied[v])
		}
	}
	if !last {
		return fn
	}
	for _, v := range f.Body.Outputs {
		if v.Def == nil && v.Const == nil && copied[v] == nil {
			n := *v
			copied[v] = &n
			fn.Body.Params = append(fn.Body.Params, &n)
		}
		switch {
		case v.Const != nil:
			fn.Body.Outputs = append(fn.Body.Outputs, v)
		case v.Def == nil || in[v.Def]:
			fn.Body.Outputs = append(fn.Body.Outputs, copied[v])
		}
	}
	return fn
}

func abs(x int64) int64 { return max(x, -x) }
