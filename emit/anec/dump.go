package anec

import "github.com/zinc-compiler/zinc/internal/node"

// Describe returns the header as a tree.
func (f *File) Describe() *node.Node {
	n := node.Row("headers", "program for the Linux driver: {tasks} tasks in {task_bytes:#x} bytes, the first of "+
		"{first_bytes:#x}; {constant_bytes:#x} bytes of constants at {constants_at:#x}; header of {header_bytes:#x} "+
		"bytes\n{inputs} inputs, {outputs} outputs\n", f.Tasks, f.TasksSize, f.TaskSize, f.Constants, f.constantsAt(),
		fieldsSize+len(f.Rest), f.Inputs, f.Outputs)
	list := node.List("buffers")
	for reg := range f.Tiles {
		name, t := f.Buffer(reg), f.Tensors[reg]
		if name == "" {
			continue
		}
		x := node.Row("", "register {register}\t{name}\t{bytes:#x} bytes", reg, name, f.Bytes(reg))
		x.AddIf(t != Tensor{}, node.Row("tensor",
			"\tn c h w [{n} {c} {h} {w}], planes of {plane:#x} bytes, rows of {row:#x}",
			t.N, t.C, t.H, t.W, t.Plane, t.Row))
		list.Add(x.Add(node.Text("\n")))
	}
	return n.Add(list)
}
