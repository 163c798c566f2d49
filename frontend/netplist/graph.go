package netplist

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

// opset is the operation set of every function.
const opset = "ios18"

// arg is an argument of an operation by the name of its parameter.
type arg struct {
	param ir.ParamName
	value any // *ir.Value, []*ir.Value, *ir.Const, []int64 or string
}

// nameSet is a set of names in use.
type nameSet map[string]bool

// unique returns stem, with a number if it is already used, and adds it to the set.
func (s nameSet) unique(stem string) string {
	name := stem
	for i := 1; s[name]; i++ {
		name = fmt.Sprintf("%s.%d", stem, i)
	}
	s[name] = true
	return name
}

// constant returns the value of a constant of a unit.
func (n *network) constant(unit string, param ir.ParamName, c *ir.Const) *ir.Value {
	return &ir.Value{Name: n.names.unique(unit + "." + string(param)), Type: c.Type, Const: c}
}

// add adds an operation for a unit; arguments that the operation refuses become an error of the unit.
func (n *network) add(d *dict, o *ir.Operation, args ...arg) *ir.Value {
	def := ir.Lookup(o.Name, opset)
	op := ir.NewOp(def)
	op.Name = d.unit
	for _, a := range args {
		k := def.ParamIndex(a.param)
		switch v := a.value.(type) {
		case *ir.Value:
			op.Args[k] = []*ir.Value{v}
		case []*ir.Value:
			op.Args[k] = v
		case *ir.Const:
			op.Args[k] = []*ir.Value{n.constant(d.unit, a.param, v)}
		case []int64:
			op.Args[k] = []*ir.Value{n.constant(d.unit, a.param, ir.ConstInts(ir.Int32, v...))}
		case int64:
			op.Args[k] = []*ir.Value{n.constant(d.unit, a.param, ir.ConstInt(ir.Int32, v))}
		case string:
			op.Args[k] = []*ir.Value{n.constant(d.unit, a.param, ir.ConstString(v))}
		}
	}
	types, err := ir.InferOp(op)
	if err != nil {
		d.fail("Type", "the unit does not accept the tensors: "+err.Error(), shown(d.m["Type"]),
			"change the extents of the tensors that it reads")
		return nil
	}
	v := &ir.Value{Name: n.names.unique(d.unit), Type: types[0], Def: op}
	op.Results = []*ir.Value{v}
	n.fn.Body.Ops = append(n.fn.Body.Ops, op)
	return v
}
