package ir

import (
	"slices"

	"github.com/zinc-compiler/zinc/internal/slab"
)

// A Cloner copies operations with their blocks. Constants are shared, because they are read-only.
type Cloner struct {
	// Values maps old values to new ones; other values are kept. Entries added before copying
	// replace operands in the copies.
	Values map[*Value]*Value
	// Rename returns the name of a copied value; if nil, the old name is kept.
	Rename func(old string) string
	// Ops counts the copied operations, including those in blocks.
	Ops int

	ops    slab.Slab[Op]
	values slab.Slab[Value]
	lists  slab.Slab[[]*Value]
	refs   slab.Slab[*Value]
}

// Value returns the value that replaces v in the copies.
func (c *Cloner) Value(v *Value) *Value {
	if n, ok := c.Values[v]; ok {
		return n
	}
	return v
}

func (c *Cloner) define(v *Value, def *Op) *Value {
	n := c.values.One(*v)
	n.Def = def
	if c.Rename != nil {
		n.Name = c.Rename(v.Name)
	}
	c.Values[v] = n
	return n
}

// Op returns a copy of op.
func (c *Cloner) Op(op *Op) *Op {
	c.Ops++
	n := c.ops.One(*op)
	n.Args = c.lists.Many(op.Args)
	for i, a := range n.Args {
		if len(a) == 0 {
			continue // absent, or a list of none
		}
		n.Args[i] = c.refs.Many(a)
		for j, v := range n.Args[i] {
			n.Args[i][j] = c.Value(v)
		}
	}
	n.Blocks = nil
	for _, b := range op.Blocks {
		n.Blocks = append(n.Blocks, c.block(b))
	}
	n.Results = c.refs.Many(op.Results)
	for i, r := range n.Results {
		n.Results[i] = c.define(r, n)
	}
	return n
}

func (c *Cloner) block(b *Block) *Block {
	n := &Block{
		Params:  slices.Clone(b.Params),
		Ops:     slices.Clone(b.Ops),
		Outputs: slices.Clone(b.Outputs),
	}
	for i, p := range n.Params {
		n.Params[i] = c.define(p, nil)
	}
	for i, op := range n.Ops {
		n.Ops[i] = c.Op(op)
	}
	for i, v := range n.Outputs {
		n.Outputs[i] = c.Value(v)
	}
	return n
}

// CloneFunc returns a copy of f under another name; constants are shared.
func CloneFunc(f *Func, name string) *Func {
	c := &Cloner{Values: make(map[*Value]*Value, len(f.Body.Params)+len(f.Body.Ops))}
	c.ops.Expect(len(f.Body.Ops))
	c.values.Expect(len(f.Body.Params) + len(f.Body.Ops))
	n := *f
	n.Name, n.Body = name, c.block(f.Body)
	return &n
}

// CloneProgram returns a copy of p whose functions, operations and values are its own;
// constants are shared.
func CloneProgram(p *Program) *Program {
	n := *p
	n.BuildInfo = slices.Clone(p.BuildInfo)
	n.Funcs = make([]*Func, len(p.Funcs))
	for i, f := range p.Funcs {
		n.Funcs[i] = CloneFunc(f, f.Name)
	}
	return &n
}

// Extract copies operations of f's body, in the order of ops, into a new function. inputs are the values of f that
// the operations read but do not compute, in order of first use; constants are copied and not passed. outputs are
// the values that they compute and that are read elsewhere in f or are results of f, in order of definition. They
// are the inputs and outputs of the new function, in these orders. f is not changed.
func Extract(f *Func, name string, ops []*Op) (fn *Func, inputs, outputs []*Value) {
	inside := map[*Op]bool{}
	made := map[*Value]bool{}
	for _, op := range ops {
		inside[op] = true
		for _, r := range op.Results {
			made[r] = true
		}
	}
	c := &Cloner{Values: map[*Value]*Value{}}
	fn = &Func{Name: name, Opset: f.Opset, Pos: f.Pos, Body: &Block{}}
	for _, op := range ops {
		op.Reads(func(v *Value) {
			if v.Const == nil && !made[v] && c.Values[v] == nil {
				inputs = append(inputs, v)
				fn.Body.Params = append(fn.Body.Params, c.define(v, nil))
			}
		})
	}
	needed := map[*Value]bool{}
	for _, op := range f.Body.Ops {
		if !inside[op] {
			op.Reads(func(v *Value) { needed[v] = true })
		}
	}
	for _, v := range f.Body.Outputs {
		needed[v] = true
	}
	for _, op := range ops {
		fn.Body.Ops = append(fn.Body.Ops, c.Op(op))
		for _, r := range op.Results {
			if needed[r] {
				outputs = append(outputs, r)
				fn.Body.Outputs = append(fn.Body.Outputs, c.Value(r))
			}
		}
	}
	return fn, inputs, outputs
}
