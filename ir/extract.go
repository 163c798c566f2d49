package ir

import "slices"

// A Cloner copies operations with their blocks. Constants are shared, because they are read-only.
type Cloner struct {
	// Values maps old values to new ones; other values are kept. Entries added before copying
	// replace operands in the copies.
	Values map[*Value]*Value
	// Rename returns the name of a copied value; if nil, the old name is kept.
	Rename func(old string) string
	// Ops counts the copied operations, including those in blocks.
	Ops int
}

// Value returns the value that replaces v in the copies.
func (c *Cloner) Value(v *Value) *Value {
	if n, ok := c.Values[v]; ok {
		return n
	}
	return v
}

func (c *Cloner) define(v *Value, def *Op) *Value {
	n := *v
	n.Def = def
	if c.Rename != nil {
		n.Name = c.Rename(v.Name)
	}
	c.Values[v] = &n
	return &n
}

// Op returns a copy of op.
func (c *Cloner) Op(op *Op) *Op {
	c.Ops++
	n := *op
	n.Args = make([][]*Value, len(op.Args))
	for i, a := range op.Args {
		if a == nil {
			continue
		}
		n.Args[i] = make([]*Value, len(a))
		for j, v := range a {
			n.Args[i][j] = c.Value(v)
		}
	}
	n.Blocks = nil
	for _, b := range op.Blocks {
		n.Blocks = append(n.Blocks, c.block(b))
	}
	n.Results = nil
	for _, r := range op.Results {
		n.Results = append(n.Results, c.define(r, &n))
	}
	return &n
}

func (c *Cloner) block(b *Block) *Block {
	n := &Block{}
	for _, p := range b.Params {
		n.Params = append(n.Params, c.define(p, nil))
	}
	for _, op := range b.Ops {
		n.Ops = append(n.Ops, c.Op(op))
	}
	for _, v := range b.Outputs {
		n.Outputs = append(n.Outputs, c.Value(v))
	}
	return n
}

// CloneFunc returns a copy of f under another name; constants are shared.
func CloneFunc(f *Func, name string) *Func {
	c := &Cloner{Values: map[*Value]*Value{}}
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
