package lower

import (
	"cmp"
	"slices"
)

// occupancy is what residents take of L2 in the course of a procedure. It is a segment tree over the tasks, so that a
// resident of many tasks costs a logarithm of them: n values that are all alive together cost n log n, and what their
// order in L2 takes.
type occupancy struct {
	drafts []*draft
	nodes  []occupied  // of a complete binary tree; node i has the children 2i and 2i+1, the root is 1
	byDef  []*resident // by first task: the last resident that begins there, linked by next
	placed []*resident // all, by address
	alive  []*resident // what aliveWith returned last
}

// occupied is what a node knows of its tasks.
type occupied struct {
	floor int64       // L2 up to here is taken in all tasks of the node
	reach int64       // the largest draft.reach of its tasks
	top   int64       // the largest sum of floor, aligned, and reach of its tasks
	all   []*resident // residents of all tasks of the node, but not of all of its parent's
}

func newOccupancy(drafts []*draft) *occupancy {
	n := 1
	for n < len(drafts) {
		n *= 2
	}
	o := &occupancy{drafts: drafts, nodes: make([]occupied, 2*n), byDef: make([]*resident, len(drafts))}
	for i, d := range drafts {
		o.nodes[n+i] = occupied{floor: d.floor, reach: d.reach, top: align(d.floor, 64) + d.reach}
	}
	for i := n - 1; i > 0; i-- {
		l, r := &o.nodes[2*i], &o.nodes[2*i+1]
		o.nodes[i].reach, o.nodes[i].top = max(l.reach, r.reach), max(l.top, r.top)
	}
	return o
}

// leaves is the number of leaves of the tree.
func (o *occupancy) leaves() int { return len(o.nodes) / 2 }

// visit calls do with the fewest nodes that together have the tasks from lo to hi, and then up with each node above
// them, children first.
func (o *occupancy) visit(lo, hi int, do, up func(n *occupied, i int)) {
	var walk func(i, first, tasks int)
	walk = func(i, first, tasks int) {
		if last := first + tasks - 1; hi < first || last < lo {
			return
		} else if lo <= first && last <= hi {
			do(&o.nodes[i], i)
			return
		}
		walk(2*i, first, tasks/2)
		walk(2*i+1, first+tasks/2, tasks/2)
		up(&o.nodes[i], i)
	}
	walk(1, 0, o.leaves())
}

// fits reports whether the tasks from lo to hi have room for themselves in limit bytes if L2 up to top is taken.
func (o *occupancy) fits(lo, hi int, top, limit int64) bool {
	reach, most := int64(0), int64(0)
	o.visit(lo, hi, func(n *occupied, i int) {
		reach, most = max(reach, n.reach), max(most, n.top)
		for i /= 2; i > 0; i /= 2 { // what is taken in all tasks of a node above
			most = max(most, align(o.nodes[i].floor, 64)+n.reach)
		}
	}, func(*occupied, int) {})
	return max(most, align(top, 64)+reach) <= limit
}

// floor returns how much of L2 is taken during a task.
func (o *occupancy) floor(task int) int64 {
	f := int64(0)
	for i := o.leaves() + task; i > 0; i /= 2 {
		f = max(f, o.nodes[i].floor)
	}
	return f
}

// setFloors sets the floor of every task, for later planners.
func (o *occupancy) setFloors() {
	for i, d := range o.drafts {
		d.floor = o.floor(i)
	}
}

// add adds a resident at its address.
func (o *occupancy) add(r *resident) {
	top := r.at + r.size
	o.visit(r.def, r.end(), func(n *occupied, _ int) {
		n.floor, n.top = max(n.floor, top), max(n.top, align(top, 64)+n.reach)
		n.all = append(n.all, r)
	}, func(n *occupied, i int) {
		n.top = max(o.nodes[2*i].top, o.nodes[2*i+1].top, align(n.floor, 64)+n.reach)
	})
	r.seq = len(o.placed)
	r.next, o.byDef[r.def] = o.byDef[r.def], r
	at, _ := slices.BinarySearchFunc(o.placed, r.at+1, func(l *resident, at int64) int { return cmp.Compare(l.at, at) })
	o.placed = slices.Insert(o.placed, at, r)
}

// aliveWith returns the residents that share a task with r, by address; those at one address by their first task in the
// life of r, then in the order in which they were added. The result is valid until the next call.
func (o *occupancy) aliveWith(r *resident) []*resident {
	out := o.alive[:0]
	if r.end()-r.def < len(o.placed) {
		for i := o.leaves() + r.def; i > 0; i /= 2 {
			out = append(out, o.nodes[i].all...)
		}
		for i := r.def + 1; i <= r.end(); i++ {
			for l := o.byDef[i]; l != nil; l = l.next {
				out = append(out, l)
			}
		}
	} else {
		for _, l := range o.placed {
			if l.def <= r.end() && r.def <= l.end() {
				out = append(out, l)
			}
		}
	}
	slices.SortFunc(out, func(a, b *resident) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(max(a.def, r.def), max(b.def, r.def)),
			cmp.Compare(a.seq, b.seq))
	})
	o.alive = out
	return out
}
