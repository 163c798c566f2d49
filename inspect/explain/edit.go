package explain

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/target"
)

// errNot means that a recipe does not apply to a statement. It is never reported.
var errNot = errors.New("the rewrite is not for the statement")

// An edit replaces one statement of a function's body with others.
type edit struct {
	ir.Builder
	t     *target.Table
	fn    *ir.Func
	index int // of the statement in the body
	op    *ir.Op
	base  string // prefix of new names: the name of the statement's result
	taken map[string]bool
	next  map[string]int // of a prefix of new names, the number to try next
	note  string         // condition under which the rewrite is valid
	// uses are the operations of the body that read a value, and results the function's outputs.
	uses    map[*ir.Value][]*ir.Op
	results map[*ir.Value]bool
	gone    map[*ir.Op]bool // operations that edits have replaced
	done    []replaced      // values that the edit replaces
}

// replaced is a value that an edit replaces, and its replacement, which takes its name.
type replaced struct{ old, new *ir.Value }

func newEdit(t *target.Table, fn *ir.Func, index int) *edit {
	e := &edit{t: t, fn: fn, taken: namesIn(fn), next: map[string]int{}, uses: map[*ir.Value][]*ir.Op{},
		results: map[*ir.Value]bool{}, gone: map[*ir.Op]bool{}}
	e.Make = e.make
	e.Const = func(c *ir.Const) *ir.Value { return &ir.Value{Type: c.Type, Const: c} }
	for _, op := range fn.Body.Ops {
		e.reads(op)
	}
	for _, v := range fn.Body.Outputs {
		e.results[v] = true
	}
	e.at(index)
	return e
}

// at begins an edit of the statement at an index of the body.
func (e *edit) at(index int) {
	e.index, e.op, e.base = index, e.fn.Body.Ops[index], ""
	if len(e.op.Results) > 0 {
		e.base = e.op.Results[0].Name
	}
	e.Ops, e.done, e.note = nil, nil, ""
}

// namesIn returns the names of a function's values.
func namesIn(fn *ir.Func) map[string]bool {
	taken := map[string]bool{}
	value := func(v *ir.Value) { taken[v.Name] = true }
	for _, v := range fn.Body.Params {
		value(v)
	}
	ir.Walk(fn, func(op *ir.Op) {
		op.Operands(func(_ *ir.Param, v *ir.Value) { value(v) })
		for _, v := range op.Results {
			value(v)
		}
	})
	return taken
}

// not ends a recipe that does not apply to the statement.
func (e *edit) not() { e.Stop(errNot) }

// apply applies a recipe to the statement.
func (e *edit) apply(r *Recipe) error { return e.Write(func() { r.apply(e) }) }

// fresh returns a name that the function does not have.
func (e *edit) fresh(what string) string {
	base := e.base + "_" + what
	name := base
	for i := max(e.next[base], 2); e.taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
		e.next[base] = i + 1
	}
	e.taken[name] = true
	return name
}

func arg(name ir.ParamName, v *ir.Value) ir.Arg { return ir.Arg{Param: name, Value: v} }

// make returns an operation with names that the function does not have.
func (e *edit) make(o *ir.Operation, args ...ir.Arg) (*ir.Op, error) {
	op, err := ir.NewOpOf(o, e.fn.Opset, e.op.Pos, e.fresh, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	e.nameConstants(op)
	return op, nil
}

func (e *edit) nameConstants(op *ir.Op) {
	op.Operands(func(p *ir.Param, v *ir.Value) {
		if v.Const != nil && v.Name == "" {
			v.Name = e.fresh(string(p.Name))
		}
	})
}

// again adds a copy of the statement's operation with some arguments replaced; nil arguments are dropped.
func (e *edit) again(args ...ir.Arg) *ir.Value {
	op := ir.NewOp(e.op.Def)
	op.Pos = e.op.Pos
	for i, a := range e.op.Args {
		op.Args[i] = slices.Clone(a)
	}
	for _, a := range args {
		if a.Value == nil {
			op.SetArg(a.Param)
			continue
		}
		op.SetArg(a.Param, a.Value)
	}
	return e.add(op)
}

// add adds an operation with its arguments and names its results.
func (e *edit) add(op *ir.Op) *ir.Value {
	if err := op.InferResults(e.fresh); err != nil {
		return e.Fail("%s: %w", op.Def.Name, err)
	}
	e.nameConstants(op)
	e.Ops = append(e.Ops, op)
	return op.Results[0]
}

// constant is a named constant with packed elements.
func (e *edit) constant(what string, t ir.Type, data []byte) *ir.Value {
	c, err := ir.NewConst(t, data)
	if err != nil {
		return e.Fail("%s: %w", what, err)
	}
	return &ir.Value{Name: e.fresh(what), Type: t, Const: c, Pos: e.op.Pos}
}

// maxMatrix is the maximum number of elements of a constant that a rewrite creates.
const maxMatrix = 1 << 22

// known returns the constant value of an operand, unpacked if it is compressed; nil for a runtime value.
func known(v *ir.Value) *ir.Const {
	switch {
	case v == nil:
		return nil
	case v.Const != nil:
		return v.Const
	case v.Def == nil || !ir.IsConstexpr(v.Def):
		return nil
	}
	cs, err := ir.FoldOp(v.Def)
	if err != nil || len(cs) == 0 {
		return nil
	}
	return cs[0]
}

// cut returns a constant with the elements from lo to hi along an axis of c.
func (e *edit) cut(what string, c *ir.Const, axis int, lo, hi int64) *ir.Value {
	shape := slices.Clone(c.Type.Shape)
	if c.Type.DType.Bits()%8 != 0 {
		return e.Fail("a rewrite does not split constants of %s", c.Type.DType)
	}
	inner := int64(c.Type.DType.Bits() / 8)
	for _, d := range shape[axis+1:] {
		inner *= d
	}
	if inner*shape[axis] <= 0 {
		return e.Fail("part of %s is empty", what)
	}
	if inner*shape[axis] == int64(len(c.Data)) { // one part, which is not copied
		shape[axis] = hi - lo
		return e.constant(what, ir.TensorOf(c.Type.DType, shape...), c.Data[lo*inner:hi*inner])
	}
	var data []byte
	for at := int64(0); at+shape[axis]*inner <= int64(len(c.Data)); at += shape[axis] * inner {
		data = append(data, c.Data[at+lo*inner:at+hi*inner]...)
	}
	shape[axis] = hi - lo
	return e.constant(what, ir.TensorOf(c.Type.DType, shape...), data)
}

// become ends the edit: v replaces the statement's result and takes its name.
func (e *edit) become(v *ir.Value) {
	if len(e.op.Results) != 1 {
		e.Fail("the statement has %d results, want 1", len(e.op.Results))
	}
	e.replace(e.op.Results[0], v)
}

// replace has v, which the edit computes, replace a value that the statement or one after it computes.
func (e *edit) replace(old, v *ir.Value) {
	switch {
	case v == nil || !slices.Contains(e.Ops, v.Def):
		e.Fail("the edit computes nothing that replaces %q", old.Name)
	case !v.Type.Fits(old.Type):
		e.Fail("the replacement has the type %s, the statement %s", v.Type, old.Type)
	default:
		v.Name = old.Name
		e.done = append(e.done, replaced{old, v})
	}
}

// commit puts the operations of an edit without error in the place of its statement, and removes what nothing reads
// any more. An edit that replaces no value has changed the function itself.
func (e *edit) commit() {
	if len(e.done) == 0 {
		return
	}
	var r ir.Rewriter
	e.recordReplaced(&r)
	e.fn.Body.Ops = slices.Insert(e.fn.Body.Ops, e.index, e.Ops...)
	r.Apply(e.fn)
	e.fn.Body.Ops = slices.DeleteFunc(e.fn.Body.Ops, func(op *ir.Op) bool { return e.gone[op] })
}

// names returns the names of the values that the edit replaces.
func (e *edit) names() []string {
	var out []string
	for _, d := range e.done {
		out = append(out, d.new.Name)
	}
	return out
}

// each applies to every statement of the function's body the recipe that which returns, if any, and returns the places
// that changed. A recipe that changes the function's inputs is applied once.
func (e *edit) each(which func(op *ir.Op) *Recipe) (sites []site) {
	var swap ir.Rewriter
	var body []*ir.Op
	for i, op := range e.fn.Body.Ops {
		swap.Op(op)
		if e.gone[op] {
			continue
		}
		if r := which(op); r != nil {
			e.at(i)
			if e.apply(r) == nil {
				sites = append(sites, site{op: op, names: e.names(), ops: e.Ops, note: e.note})
				if r.Interface {
					return sites
				}
				body = append(body, e.Ops...)
				e.recordReplaced(&swap)
			}
		}
		if !e.gone[op] {
			body = append(body, op)
		}
	}
	for i, v := range e.fn.Body.Outputs {
		e.fn.Body.Outputs[i] = swap.Find(v)
	}
	e.fn.Body.Ops = slices.DeleteFunc(body, func(op *ir.Op) bool { return e.gone[op] })
	return sites
}

// site is one place that a recipe changed.
type site struct {
	op    *ir.Op   // the statement
	names []string // of the values that were replaced
	ops   []*ir.Op // that replace it
	note  string
}

// recordReplaced records in r what an edit replaces, and marks the operations that nothing reads any more as gone.
func (e *edit) recordReplaced(r *ir.Rewriter) {
	for _, op := range e.Ops {
		e.reads(op)
	}
	var idle []*ir.Op
	for _, d := range e.done {
		r.Replace(d.old, d.new)
		e.uses[d.new] = append(e.uses[d.new], e.uses[d.old]...)
		delete(e.uses, d.old)
		if e.results[d.old] {
			delete(e.results, d.old)
			e.results[d.new] = true
		}
		idle = append(idle, d.old.Def)
	}
	for len(idle) > 0 {
		op := idle[len(idle)-1]
		idle = idle[:len(idle)-1]
		if op == nil || e.gone[op] || op.Def.Effect != ir.Pure || slices.ContainsFunc(op.Results, e.read) {
			continue
		}
		e.gone[op] = true
		op.Reads(func(v *ir.Value) { idle = append(idle, v.Def) })
	}
}

// reads records what an operation reads.
func (e *edit) reads(op *ir.Op) {
	op.Reads(func(v *ir.Value) {
		if us := e.uses[v]; v.Const == nil && (len(us) == 0 || us[len(us)-1] != op) {
			e.uses[v] = append(us, op)
		}
	})
}

// read reports whether anything reads a value.
func (e *edit) read(v *ir.Value) bool {
	return e.results[v] || slices.ContainsFunc(e.uses[v], func(op *ir.Op) bool { return !e.gone[op] })
}

// readOnce reports whether one operation reads a value, or none and it is a result of the function.
func (e *edit) readOnce(v *ir.Value) bool {
	n := 0
	if e.results[v] {
		n++
	}
	for _, op := range e.uses[v] {
		if !e.gone[op] {
			n++
		}
		if n > 1 {
			return false
		}
	}
	return n == 1
}

// readers returns the operations that read a value; a result of the function counts as nil.
func (e *edit) readers(v *ir.Value) []*ir.Op {
	out := slices.DeleteFunc(slices.Clone(e.uses[v]), func(op *ir.Op) bool { return e.gone[op] })
	if e.results[v] {
		out = append(out, nil)
	}
	return out
}
