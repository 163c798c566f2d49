package prove

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/exact"
)

// Departure is a value that tasks compute in part, or neither they nor anything that is computed from it.
type Departure struct {
	Statement string  `json:"statement"`            // first result of the statement
	Line      int32   `json:"line,omitempty"`       // line of the statement, from 1
	Elements  int     `json:"elements"`             // elements of the value
	LookedFor int     `json:"looked_for,omitempty"` // elements that were looked for, if not all were
	Element   int     `json:"element"`              // the first that no task computes
	Index     []int64 `json:"index,omitempty"`      // its indices
	Missing   int     `json:"missing"`              // elements that no task computes
	Procedure string  `json:"procedure,omitempty"`  // of the task that computes other elements of it
	Task      int     `json:"task"`                 // index of this task in the procedure's chain
}

// place is a task.
type place struct {
	procedure string
	task      int
}

// computed are the elements that tasks compute: all, or if they are more than it has room for those whose hash begins
// with some zeros, which are a random part of any value.
type computed struct {
	at     map[field.Elem]int32 // by element: index of the last task that computes it
	places []place
	most   int // elements that it has room for
	zeros  int
}

// maxComputed bounds the elements that are kept: about 100 MB. The tasks of whisper-tiny's encoder compute more than 32
// times as many.
const maxComputed = 1 << 22

func newComputed(most int) *computed { return &computed{at: map[field.Elem]int32{}, most: most} }

// keeps reports whether an element is kept if a task computes it.
func (c *computed) keeps(x field.Elem) bool {
	const golden = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio: constants are not random
	return uint64(x)*golden>>(64-c.zeros) == 0
}

// add adds what a task computes.
func (c *computed) add(procedure string, task int, vals []field.Elem) {
	n := int32(len(c.places))
	c.places = append(c.places, place{procedure, task})
	for _, x := range vals {
		if !c.keeps(x) {
			continue
		}
		for c.at[x] = n; len(c.at) > c.most; {
			c.zeros++
			maps.DeleteFunc(c.at, func(x field.Elem, _ int32) bool { return !c.keeps(x) })
		}
	}
}

// has reports whether a task computes an element, and whether that is known.
func (c *computed) has(x field.Elem) (computes, known bool) {
	_, computes = c.at[x]
	return computes, c.keeps(x)
}

// departure returns which elements of a value no task computes, nil if that is known of none.
func (c *computed) departure(v *ir.Value, t exact.Tensor) *Departure {
	d := &Departure{Statement: describe(v.Def), Line: v.Def.Pos.Line, Elements: len(t.Elems)}
	for i, x := range t.Elems {
		if !c.keeps(x) {
			continue
		}
		d.LookedFor++
		n, ok := c.at[x]
		switch {
		case ok:
			d.Procedure, d.Task = c.places[n].procedure, c.places[n].task
		case d.Missing == 0:
			d.Element, d.Index = i, indices(i, t.Type.Shape)
			fallthrough
		default:
			d.Missing++
		}
	}
	switch d.LookedFor {
	case d.Elements:
		d.LookedFor = 0
	case 0:
		return nil
	}
	return d
}

// inPart reports whether a task computes an element of the value.
func (d *Departure) inPart() bool { return d.Missing < cmp.Or(d.LookedFor, d.Elements) }

// first returns the first value on the engine that is computed in part; else the first without any element, where what
// is computed from it has none either: a value that is fused with what follows is computed only there.
func first(f *ir.Func, missing map[*ir.Value]*Departure) *Departure {
	follows := map[*ir.Value]bool{} // values from which something is computed that is there
	var absent *Departure
	for _, op := range slices.Backward(f.Body.Ops) {
		there := false
		for _, v := range op.Results {
			d := missing[v]
			there = there || follows[v] || d != nil && d.inPart()
		}
		if there {
			op.Reads(func(v *ir.Value) { follows[v] = true })
		} else if d := missing[op.Results[0]]; d != nil && op.Def.Class != ir.Movement {
			absent = d
		}
	}
	for _, op := range f.Body.Ops {
		for _, v := range op.Results {
			if d := missing[v]; d != nil && op.Def.Class != ir.Movement && d.Missing > 0 && d.inPart() {
				return d
			}
		}
	}
	return absent
}
