package td

import (
	"fmt"

	"github.com/zinc-compiler/zinc/internal/node"
)

// Describe describes record i of a stream.
func (r *Record) Describe(i int) *node.Node {
	n := node.Row("", "record {-i}: task {task}, {group} register {register:#04x}, {+slot}", i, r.Task,
		Groups[r.Group].Name, r.Register, uint32(r.Slot))
	bar, where := node.Value("bar", nil), "no buffer-access register"
	if r.Bar != NoBar {
		bar, where = node.Value("bar", r.Bar), fmt.Sprintf("buffer-access register %d", r.Bar)
	}
	if r.Slot == 0 {
		return n.Add(node.Row("", "{+resolved}value {operand:#08x}, {-name}\n", r.Resolved, r.Operand, r.What()), bar,
			node.Value("offset", r.Offset))
	}
	format := "{name} unresolved{+resolved}{+operand}"
	if r.Resolved {
		format = "{name} at {+resolved}{operand:#x}"
	}
	return n.Add(node.Row("", format, r.Slot, r.Resolved, r.Operand), bar, node.Row("", ", {-where} + {offset:#x}\n",
		where, r.Offset))
}

// What returns what the record is about: a slot, the op-config register of the start or the end, or the data set of a
// tensor stream with the field that has it.
func (r *Record) What() string {
	if r.Slot != 0 {
		return r.Slot.String()
	}
	reg := uint32(r.Register % RegisterWindow)
	if i, ok := dataSetAt(reg, r.Place); ok {
		return "data set of " + dataSets[i].String()
	}
	k, _ := opConfigAt(reg)
	return "op-config " + opConfig[k].name
}
