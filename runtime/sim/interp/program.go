package interp

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

// maxDepth is the deepest nesting of blocks that is run.
const maxDepth = 64

// Error is a failure of one operation, or of the function as a whole.
type Error struct {
	Op   string // operation, "" for the function
	Name string // name of the operation or of its first result
	Pos  ir.Pos // place in the source, the zero Pos when it is not known
	Msg  string // the rule, the offending value, what to do
	Err  error  // Msg is its text; nil for none
}

// Unwrap returns the error that the failure is from.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	s := ""
	if e.Pos.IsValid() {
		s = fmt.Sprintf("%d:%d: ", e.Pos.Line, e.Pos.Col)
	}
	if e.Op != "" {
		s += e.Op
		if e.Name != "" {
			s += fmt.Sprintf(" %q", e.Name)
		}
		s += ": "
	}
	return s + e.Msg
}

// opError returns an Error about op.
func opError(op *ir.Op, format string, args ...any) *Error {
	e := &Error{Name: op.Name, Pos: op.Pos, Msg: fmt.Sprintf(format, args...)}
	if op.Def != nil {
		e.Op = op.Def.Name
	}
	if e.Name == "" && len(op.Results) > 0 && op.Results[0] != nil {
		e.Name = op.Results[0].Name
	}
	return e
}

// step is one operation of a plan.
type step struct {
	op     *ir.Op
	run    kernel
	index  int   // counts operations of the whole function, nested ones included
	free   []int // slots that nothing reads after this step
	blocks []*plan
}

// plan is a block made ready: its parameters' slots and its steps in order.
type plan struct {
	block   *ir.Block
	params  []int
	steps   []step
	atStart []int // parameters that nothing reads
}

// Program is a function made ready to run: checked, numbered, with the last
// use of every value known. It may be run many times and from several
// goroutines at once.
type Program struct {
	fn    *ir.Func
	slot  map[*ir.Value]int
	main  *plan
	count int
}

// Prepare checks the function's structure and plans its run. It returns an error for an operation that has no kernel, a
// value used before it is defined, or a constant whose bytes do not fit its type.
func Prepare(f *ir.Func) (*Program, error) {
	if f == nil || f.Body == nil {
		return nil, &Error{Msg: "the function has no body"}
	}
	p := &Program{fn: f, slot: make(map[*ir.Value]int)}
	defined := make(map[*ir.Value]bool)
	main, err := p.plan(f.Body, defined, 0)
	if err != nil {
		return nil, err
	}
	p.main = main
	keep := make(map[int]bool)
	for _, v := range f.Body.Outputs {
		if v != nil && v.Const == nil {
			keep[p.slot[v]] = true
		}
	}
	p.liveness(main, keep)
	return p, nil
}

// plan numbers and checks one block. defined contains the values in scope; the block's own values are removed again at
// its end.
func (p *Program) plan(b *ir.Block, defined map[*ir.Value]bool, depth int) (*plan, error) {
	if depth > maxDepth {
		return nil, &Error{Msg: fmt.Sprintf("blocks are nested more than %d deep", maxDepth)}
	}
	pl := &plan{block: b, steps: make([]step, 0, len(b.Ops))}
	var own []*ir.Value
	define := func(v *ir.Value) int {
		if _, ok := p.slot[v]; !ok {
			p.slot[v] = len(p.slot)
		}
		defined[v] = true
		own = append(own, v)
		return p.slot[v]
	}
	for i, v := range b.Params {
		if v == nil || v.Const != nil || defined[v] {
			return nil, &Error{Msg: fmt.Sprintf("parameter %d of a block is missing, constant or defined twice", i)}
		}
		pl.params = append(pl.params, define(v))
	}
	for i, op := range b.Ops {
		if op == nil || op.Def == nil {
			return nil, &Error{Msg: fmt.Sprintf("operation %d of a block has no row in the op table", i)}
		}
		if len(op.Args) > len(op.Def.Params) {
			return nil, opError(op, "has %d argument lists, its row has %d parameters", len(op.Args),
				len(op.Def.Params))
		}
		for j, list := range op.Args {
			for _, v := range list {
				if err := usable(v, defined); err != nil {
					return nil, opError(op, "argument %s: %v", op.Def.Params[j].Name, err)
				}
			}
		}
		k, ok := kernels[op.Def.Operation]
		if !ok {
			return nil, opError(op, "the interpreter has no kernel for this operation")
		}
		s := step{op: op, run: k, index: p.count}
		p.count++
		for _, nested := range op.Blocks {
			if nested == nil {
				return nil, opError(op, "a nested block is missing")
			}
			n, err := p.plan(nested, defined, depth+1)
			if err != nil {
				return nil, err
			}
			s.blocks = append(s.blocks, n)
		}
		for j, v := range op.Results {
			if v == nil || v.Const != nil || defined[v] {
				return nil, opError(op, "result %d is missing, constant or defined twice", j)
			}
			define(v)
		}
		pl.steps = append(pl.steps, s)
	}
	for i, v := range b.Outputs {
		if err := usable(v, defined); err != nil {
			return nil, &Error{Pos: posOf(v), Msg: fmt.Sprintf("output %d of a block: %v", i, err)}
		}
	}
	for _, v := range own {
		delete(defined, v)
	}
	return pl, nil
}

func posOf(v *ir.Value) ir.Pos {
	if v == nil {
		return ir.Pos{}
	}
	return v.Pos
}

// usable reports a value that cannot be read here.
func usable(v *ir.Value, defined map[*ir.Value]bool) error {
	switch {
	case v == nil:
		return fmt.Errorf("is missing")
	case v.Const != nil:
		if err := FromConst(v.Const).check(); err != nil {
			return fmt.Errorf("constant %q: %w", v.Name, err)
		}
	case !defined[v]:
		return fmt.Errorf("value %q is used before it is defined", v.Name)
	}
	return nil
}

// uses calls f with the slot of every value that the operation reads, nested
// blocks included.
func (p *Program) uses(op *ir.Op, f func(slot int)) {
	for _, list := range op.Args {
		for _, v := range list {
			if v.Const == nil {
				f(p.slot[v])
			}
		}
	}
	for _, b := range op.Blocks {
		for _, inner := range b.Ops {
			p.uses(inner, f)
		}
		for _, v := range b.Outputs {
			if v.Const == nil {
				f(p.slot[v])
			}
		}
	}
}

// liveness fills the free lists of a plan: a value of this block is freed after the last step that reads it, or after
// the step that made it, unless it is in keep. This block does not free values of outer blocks.
func (p *Program) liveness(pl *plan, keep map[int]bool) {
	last := make(map[int]int) // slot -> step; -1: parameter never read
	for _, s := range pl.params {
		last[s] = -1
	}
	for i, s := range pl.steps {
		p.uses(s.op, func(slot int) {
			if _, ok := last[slot]; ok {
				last[slot] = i
			}
		})
		for _, v := range s.op.Results {
			last[p.slot[v]] = i
		}
	}
	for i := range pl.steps {
		s := &pl.steps[i]
		freed := func(slot int) {
			if at, ok := last[slot]; ok && at == i && !keep[slot] {
				s.free = append(s.free, slot)
				delete(last, slot)
			}
		}
		p.uses(s.op, freed)
		for _, v := range s.op.Results {
			freed(p.slot[v])
		}
		for _, n := range s.blocks {
			inner := make(map[int]bool)
			for _, v := range n.block.Outputs {
				if v.Const == nil {
					inner[p.slot[v]] = true
				}
			}
			p.liveness(n, inner)
		}
	}
	for _, s := range pl.params {
		if at, ok := last[s]; ok && at == -1 && !keep[s] {
			pl.atStart = append(pl.atStart, s)
		}
	}
}
