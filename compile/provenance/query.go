package provenance

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// Ref is the origin of something: Node is what it was computed from; User is the
// operation that it was created for, if that is another node; With is the constants
// that its operations name.
type Ref struct {
	Node, User, With NodeID
	Rule             string
}

// Source is a resolved Ref. Its lists of statements are ascending indices into
// DB.Statements, and no statement is in two of them.
type Source struct {
	Statements []int    `json:"statements"`       // statements it came from
	Users      []int    `json:"users,omitempty"`  // operations it was created for
	With       []int    `json:"with,omitempty"`   // constants that those operations name, and their origins
	Passes     []string `json:"passes,omitempty"` // passes that created or changed it, in order
	Rule       string   `json:"rule,omitempty"`
	More       bool     `json:"more,omitempty"` // the answer was cut short (see Brief); the rest is in the graph
}

// Source resolves a Ref.
func (db *DB) Source(r Ref) Source { return db.Brief(r, len(db.Nodes)) }

// Brief resolves a Ref like Source, but visits at most max nodes, the nearest ones,
// for each part of the answer.
func (db *DB) Brief(r Ref, max int) Source {
	s := Source{Rule: r.Rule}
	var all []NodeID
	var seen []int
	for _, part := range []struct {
		node NodeID
		list *[]int
	}{{r.Node, &s.Statements}, {r.User, &s.Users}, {r.With, &s.With}} {
		nodes, cut := db.reach(part.node, max)
		s.More = s.More || cut
		for _, i := range db.statements(nodes) {
			if _, ok := slices.BinarySearch(seen, i); !ok {
				*part.list = append(*part.list, i)
			}
		}
		seen = append(seen, *part.list...)
		slices.Sort(seen)
		all = append(all, nodes...)
	}
	for _, n := range all {
		if p := db.Nodes[n].Pass; p != "" && !slices.Contains(s.Passes, p) {
			s.Passes = append(s.Passes, p)
		}
	}
	slices.SortFunc(s.Passes, func(a, b string) int {
		return cmp.Or(cmp.Compare(slices.Index(db.Passes, a), slices.Index(db.Passes, b)), cmp.Compare(a, b))
	})
	return s
}

// reach returns a node and the nodes it came from, at most max of them, in ascending
// order, which is the order of creation.
func (db *DB) reach(n NodeID, max int) (out []NodeID, cut bool) {
	if n == 0 || int(n) >= len(db.Nodes) {
		return nil, false
	}
	out = []NodeID{n}
	if len(db.Nodes[n].From) == 0 {
		return out, false
	}
	seen := map[NodeID]bool{n: true}
	for i := 0; i < len(out); i++ {
		for _, f := range db.Nodes[out[i]].From {
			if seen[f] {
				continue
			}
			if len(out) >= max {
				cut = true
				break
			}
			seen[f] = true
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out, cut
}

func (db *DB) statements(nodes []NodeID) (out []int) {
	for _, n := range nodes {
		if s := db.Nodes[n].Statement; s >= 0 {
			out = append(out, int(s))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Hit is a stretch of bytes of one kind.
type Hit struct {
	Offset, Size uint64
	// What is WhatTask, RolePadding or the role of constant bytes.
	What   string
	Task   int // index into DB.Tasks, -1 for none
	Extent int // index into DB.Extents, -1 for none
	Refs   []Ref
}

// WhatTask is the Hit.What of the bytes of a task.
const WhatTask = "task"

// Text returns the contents of n bytes of __TEXT,__text at off, in order and without
// gaps: tasks, and the padding between them, which belongs to the preceding task.
// Bytes outside the section are ignored.
func (db *DB) Text(off, n uint64) (hits []Hit) {
	end := limit(off, n, db.TextSize)
	i := sort.Search(len(db.Tasks), func(i int) bool { return db.Tasks[i].Offset > off })
	for at, i := off, i-1; at < end; i++ {
		next := db.TextSize
		if i+1 < len(db.Tasks) {
			next = db.Tasks[i+1].Offset
		}
		if i >= 0 {
			t := &db.Tasks[i]
			refs := []Ref{t.Ref()}
			if stop := min(t.Offset+4*uint64(t.Words), end); at < stop {
				hits = append(hits, Hit{Offset: at, Size: stop - at, What: WhatTask, Task: i, Extent: -1, Refs: refs})
				at = stop
			}
			if stop := min(next, end); at < stop {
				hits = append(hits, Hit{
					Offset: at,
					Size:   stop - at,
					What:   RolePadding,
					Task:   i,
					Extent: -1,
					Refs:   refs,
				})
				at = stop
			}
			continue
		}
		if stop := min(next, end); at < stop {
			hits = append(hits, Hit{Offset: at, Size: stop - at, What: RolePadding, Task: -1, Extent: -1})
			at = stop
		}
	}
	return hits
}

func limit(off, n, size uint64) uint64 {
	if off >= size {
		return off
	}
	return off + min(n, size-off)
}

// Ref returns the origin of a task.
func (t *Task) Ref() Ref { return Ref{Node: t.Node, With: t.With, Rule: t.Rule} }

// RuleSurface is the rule of every surface.
const RuleSurface = "surface"

// Ref returns the origin of a surface, which is the origin of its value.
func (s *Surface) Ref() Ref { return Ref{Node: s.Node, Rule: RuleSurface} }

// Ref returns the origin of an operation.
func (o *Operation) Ref() Ref { return Ref{Node: o.Node, With: o.With, Rule: o.Rule} }

// Ref returns the origin of an operation of the lowered program.
func (o *Operator) Ref() Ref { return Ref{Node: o.Node, With: o.With, Rule: o.Rule} }

// Constants calls visit for each stretch of n bytes of the constants at off, in
// order, until it returns false. Bytes outside all extents are padding with Extent
// -1.
func (db *DB) Constants(off, n uint64, visit func(h Hit) bool) {
	end := limit(off, n, db.ConstantSize)
	i := sort.Search(len(db.Extents), func(i int) bool { return db.Extents[i].Offset+db.Extents[i].Size > off })
	at := off
	for ; at < end && i < len(db.Extents); i++ {
		x := &db.Extents[i]
		if x.Offset > at {
			stop := min(x.Offset, end)
			if !visit(Hit{Offset: at, Size: stop - at, What: RolePadding, Task: -1, Extent: -1}) || stop == end {
				return
			}
			at = stop
		}
		next, ok := db.inExtent(i, at, end, visit)
		if !ok {
			return
		}
		at = next
	}
	if at < end {
		visit(Hit{Offset: at, Size: end - at, What: RolePadding, Task: -1, Extent: -1})
	}
}

// inExtent visits the stretches of one extent from at up to end.
func (db *DB) inExtent(i int, at, end uint64, visit func(h Hit) bool) (uint64, bool) {
	x := &db.Extents[i]
	refs := map[string][]Ref{}
	end = min(end, x.Offset+x.Size)
	pos := x.Offset
	for k := range x.Layout {
		r := &x.Layout[k]
		each := r.each()
		first := uint64(0)
		if at > pos {
			first = min((at-pos)/max(each, 1), uint64(r.Times))
		}
		p := pos + first*each
		for t := first; t < uint64(r.Times) && p < end; t++ {
			for _, run := range r.Runs {
				from, to := max(p, at), min(p+uint64(run.Size), end)
				p += uint64(run.Size)
				if from >= to {
					continue
				}
				rs, ok := refs[run.Role]
				if !ok {
					rs = x.Refs(run.Role)
					refs[run.Role] = rs
				}
				if !visit(Hit{Offset: from, Size: to - from, What: run.Role, Task: -1, Extent: i, Refs: rs}) {
					return 0, false
				}
				at = to
			}
		}
		pos += uint64(r.Times) * each
	}
	return at, true
}

// each returns the number of bytes of one repetition.
func (r *Repeat) each() (n uint64) {
	for _, x := range r.Runs {
		n += uint64(x.Size)
	}
	return n
}

// Refs returns the origins of an extent's bytes of a role, one for each user.
func (x *Extent) Refs(role string) []Ref {
	out := make([]Ref, 0, len(x.Uses))
	for _, u := range x.Uses {
		if r := (Ref{Node: u.of(role), User: u.Node, Rule: u.Rule}); !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// of returns the node of the bytes of a role.
func (u *Use) of(role string) NodeID {
	n := u.Values
	switch role {
	case RoleBias:
		n = u.Bias
	case RoleTable:
		n = u.Table
	case RolePadding, RoleReserved:
		n = 0
	}
	if n == 0 {
		return u.Node
	}
	return n
}

// Word is one word of a task.
type Word struct {
	Offset uint64 // in __TEXT,__text
	Ref    Ref
	Link   *Link // what it points at; nil if it is not an address
}

// Task returns the index of a task in DB.Tasks.
func (db *DB) Task(procedure string, index int) (int, error) {
	for i := range db.Tasks {
		t := &db.Tasks[i]
		if int(t.Index) == index && db.Procedures[t.Procedure].Name == procedure {
			return i, nil
		}
	}
	return 0, fmt.Errorf("missing task %d of procedure %q", index, procedure)
}

// TaskAt returns the index of the task at a byte of __TEXT,__text, or -1.
func (db *DB) TaskAt(off uint64) int {
	i := sort.Search(len(db.Tasks), func(i int) bool { return db.Tasks[i].Offset > off }) - 1
	if i < 0 || off >= db.Tasks[i].Offset+4*uint64(db.Tasks[i].Words) {
		return -1
	}
	return i
}

// Word returns a word of a task, an index into DB.Tasks.
func (db *DB) Word(task, word int) (Word, error) {
	if task < 0 || task >= len(db.Tasks) {
		return Word{}, fmt.Errorf("task index %d, want less than %d", task, len(db.Tasks))
	}
	t := &db.Tasks[task]
	if word < 0 || word >= int(t.Words) {
		return Word{}, fmt.Errorf("word %d of task %d, want less than %d", word, t.Index, t.Words)
	}
	w := Word{Offset: t.Offset + 4*uint64(word), Ref: t.Ref()}
	for i := range t.Links {
		if t.Links[i].Word == uint32(word) {
			w.Link = &t.Links[i]
		}
	}
	return w, nil
}

// Surface returns the index of the surface of that name, or -1.
func (db *DB) Surface(name string) int {
	return slices.IndexFunc(db.Surfaces, func(s Surface) bool { return s.Name == name })
}

// Line returns the statements on a line of a file, "" for any file.
func (db *DB) Line(file string, line int) (out []int) {
	for i := range db.Statements {
		s := &db.Statements[i]
		if int(s.Line) == line && line > 0 && (file == "" || db.File(s) == file) {
			out = append(out, i)
		}
	}
	return out
}

// Named returns the statements whose first result has that name.
func (db *DB) Named(name string) (out []int) {
	for i := range db.Statements {
		if db.Statements[i].Name == name {
			out = append(out, i)
		}
	}
	return out
}

// Readers returns the operations that name a constant, both as indices into
// DB.Statements. The effect of an attribute is visible only in these operations.
func (db *DB) Readers(statement int) (out []int) {
	for i := range db.Statements {
		if slices.Contains(db.Statements[i].Args, int32(statement)) {
			out = append(out, i)
		}
	}
	return out
}

// File returns the name of a statement's file, or "" if it is not known.
func (db *DB) File(s *Statement) string {
	if int(s.File) < len(db.Files) && s.Line > 0 {
		return db.Files[s.File]
	}
	return ""
}

// Made is what statements were compiled to: ascending indices into the lists of a DB.
type Made struct {
	Operators  []int
	Gone       []int
	Tasks      []int
	Extents    []int // with bytes that came from the statements
	Reads      []int // read by operations that came from the statements
	Surfaces   []int
	Operations []int
}

// From returns what statements, given as indices into DB.Statements, were compiled to.
func (db *DB) From(statements ...int) *Made {
	hit := make([]bool, len(db.Nodes))
	for i, n := range db.Nodes {
		hit[i] = n.Statement >= 0 && slices.Contains(statements, int(n.Statement))
		for _, f := range n.From {
			hit[i] = hit[i] || hit[f]
		}
	}
	m := &Made{}
	pick(&m.Operators, db.Operators, func(x *Operator) bool { return hit[x.Node] || hit[x.With] })
	pick(&m.Gone, db.Gone, func(x *Gone) bool { return hit[x.Node] })
	pick(&m.Tasks, db.Tasks, func(x *Task) bool { return hit[x.Node] || hit[x.With] })
	pick(&m.Extents, db.Extents, func(x *Extent) bool {
		return slices.ContainsFunc(x.Roles(), func(role string) bool {
			return role != RolePadding && role != RoleReserved && slices.ContainsFunc(x.Uses, func(u Use) bool {
				return hit[u.of(role)]
			})
		})
	})
	pick(&m.Reads, db.Extents, func(x *Extent) bool {
		return slices.ContainsFunc(x.Uses, func(u Use) bool { return hit[u.Node] })
	})
	pick(&m.Surfaces, db.Surfaces, func(x *Surface) bool { return hit[x.Node] })
	pick(&m.Operations, db.Operations, func(x *Operation) bool { return hit[x.Node] || hit[x.With] })
	return m
}

func pick[T any](out *[]int, list []T, is func(x *T) bool) {
	for i := range list {
		if is(&list[i]) {
			*out = append(*out, i)
		}
	}
}
