package compile

import (
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
)

// weigh assigns every stored constant to the first operation of the pair that reads it; the others share it. The record
// of the section says what is read and what its bytes are, so nothing is inferred from addresses. What no operation
// reads belongs to the format itself: Report.Weights minus the weights of the operations.
func (d *driver) weigh() {
	type reader struct {
		unit int
		op   int // index into Report.Ops
	}
	readers := map[int64][]reader{} // by offset, in the order of the pair
	for n, u := range d.units {
		index := map[*ir.Op]int{}
		for _, st := range u.state.Partitions {
			for _, op := range st.Ops {
				index[op] = len(index)
			}
		}
		for _, p := range u.procs {
			for _, c := range p.Constants {
				if at, ok := index[c.Op]; ok {
					readers[c.Offset] = append(readers[c.Offset], reader{n, at})
				}
			}
		}
	}
	held := int64(0) // bytes that are not padding
	for _, x := range d.sec.Extents() {
		padding := int64(0)
		for _, rep := range x.Layout {
			for _, run := range rep.Runs {
				if run.Role == weights.Padding || run.Role == weights.Reserved {
					padding += int64(rep.Times) * int64(run.Size)
				}
			}
		}
		held += int64(x.Size) - padding
		rs := readers[x.Offset]
		if len(rs) == 0 {
			continue
		}
		// Lowering may look at an operation ahead of an earlier one.
		first := rs[0]
		for _, r := range rs {
			if r.unit < first.unit || r.unit == first.unit && r.op < first.op {
				first = r
			}
		}
		seen := map[reader]bool{first: true}
		o := &d.units[first.unit].rep.Ops[first.op]
		o.Weights += int64(x.Size)
		o.Padding += padding
		for _, r := range rs {
			if !seen[r] {
				seen[r] = true
				d.units[r.unit].rep.Ops[r.op].Shared += int64(x.Size)
			}
		}
	}
	for _, u := range d.units {
		u.rep.Padding = d.sec.Size() - held
	}
}
