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
		k, _ := opConfigAt(uint32(r.Register % RegisterWindow))
		return n.Add(node.Row("", "{+resolved}value {operand:#08x}, op-config {-name}\n", r.Resolved, r.Operand,
			opConfig[k].name), bar, node.Value("offset", r.Offset))
	}
	format := "{name} unresolved{+resolved}{+operand}"
	if r.Resolved {
		format = "{name} at {+resolved}{operand:#x}"
	}
	return n.Add(node.Row("", format, r.Slot, r.Resolved, r.Operand), bar, node.Row("", ", {-where} + {offset:#x}\n",
		where, r.Offset))
}
