package explore

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/compile/provenance"
)

// stretch is a range of bytes of a section.
type stretch struct {
	Section string `json:"section"` // text or constants
	Offset  uint64 `json:"offset"`
	Size    uint64 `json:"size"`
}

// linked lists what belongs to an item: the answer to GET links.
type linked struct {
	Kind string `json:"kind"`
	ID   int64  `json:"id"`
	// Statements are the item's origins, Users the statements it was created for, With the constants that those name.
	Statements []int     `json:"statements"`
	Users      []int     `json:"users"`
	With       []int     `json:"with"`
	Passes     []string  `json:"passes"`
	Rule       string    `json:"rule,omitempty"`
	Tasks      []int     `json:"tasks"`
	Bytes      []stretch `json:"bytes"`
	Surfaces   []string  `json:"surfaces"`
	Operations []int     `json:"operations"` // into the list of all operations of the chain
	// Gone are the passes that removed an operation of the statement.
	Gone []string `json:"gone,omitempty"`
	Role string   `json:"role,omitempty"` // of bytes
	More bool     `json:"more,omitempty"` // lists are cut short
}

// linkKinds lists the kinds of items, the largest number of each, and the function that answers.
var linkKinds = []struct {
	name string
	last func(v *view) int64
	fill func(v *view, i int64, l *linked)
}{
	{"statement", func(v *view) int64 { return int64(len(v.db.Statements)) - 1 }, (*view).linkStatement},
	{"task", func(v *view) int64 { return int64(len(v.db.Tasks)) - 1 }, (*view).linkTask},
	{"operation", func(v *view) int64 { return int64(len(v.databaseOp)) - 1 }, (*view).linkOperation},
	{"text", func(v *view) int64 { return int64(v.db.TextSize) - 1 }, (*view).linkText},
	{"constants", func(v *view) int64 { return int64(v.db.ConstantSize) - 1 }, (*view).linkConstant},
}

func linksView(_ *Server, v *view, r *http.Request) (any, error) {
	kind := r.URL.Query().Get("kind")
	var names []string
	for _, k := range linkKinds {
		names = append(names, k.name)
		if k.name != kind {
			continue
		}
		id, err := number(r, "id", 0, k.last(v), -1)
		if err != nil {
			return nil, err
		}
		l := &linked{
			Kind:       kind,
			ID:         id,
			Statements: []int{},
			Users:      []int{},
			With:       []int{},
			Passes:     []string{},
			Tasks:      []int{},
			Bytes:      []stretch{},
			Surfaces:   []string{},
			Operations: []int{},
		}
		k.fill(v, id, l)
		l.trim()
		return l, nil
	}
	return nil, bad("kind is %q, want one of %s", cut(kind), strings.Join(names, ", "))
}

// trim sorts lists and truncates them to the size of an answer.
func (l *linked) trim() {
	for _, list := range []*[]int{&l.Statements, &l.Users, &l.With, &l.Tasks, &l.Operations} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		l.More = l.More || len(*list) > maxLinks
		*list = (*list)[:min(len(*list), maxLinks)]
	}
	l.More = l.More || len(l.Bytes) > maxLinks
	l.Bytes = l.Bytes[:min(len(l.Bytes), maxLinks)]
}

func (l *linked) source(db *provenance.DB, r provenance.Ref) {
	s := db.Brief(r, maxLinks)
	l.Statements = append(l.Statements, s.Statements...)
	l.Users = append(l.Users, s.Users...)
	l.With = append(l.With, s.With...)
	for _, p := range s.Passes {
		if !slices.Contains(l.Passes, p) {
			l.Passes = append(l.Passes, p)
		}
	}
	l.Rule = cmp.Or(l.Rule, s.Rule)
	l.More = l.More || s.More
}

// addTask lists a task with its bytes.
func (l *linked) addTask(db *provenance.DB, i int) {
	t := &db.Tasks[i]
	l.Tasks = append(l.Tasks, i)
	l.Bytes = append(l.Bytes, stretch{"text", t.Offset, 4 * uint64(t.Words)})
}

func (l *linked) addExtent(db *provenance.DB, i int) {
	x := &db.Extents[i]
	s := stretch{"constants", x.Offset, x.Size}
	if !slices.Contains(l.Bytes, s) {
		l.Bytes = append(l.Bytes, s)
	}
}

func (v *view) linkStatement(i int64, l *linked) {
	db := v.db
	ids := []int{int(i)}
	made := db.From(ids...)
	if len(made.Tasks)+len(made.Extents)+len(made.Operations) == 0 {
		// An attribute affects the statements that read it.
		l.Users = db.Readers(int(i))
		if len(l.Users) > 0 {
			made = db.From(l.Users...)
		}
	}
	l.Statements = ids
	for _, t := range made.Tasks[:min(len(made.Tasks), maxLinks)] {
		l.addTask(db, t)
		if l.Rule == "" {
			l.Rule = db.Tasks[t].Rule
		}
	}
	for _, list := range [][]int{made.Extents, made.Reads} {
		for _, x := range list[:min(len(list), maxLinks)] {
			l.addExtent(db, x)
		}
	}
	for _, s := range made.Surfaces {
		l.Surfaces = append(l.Surfaces, db.Surfaces[s].Name)
	}
	for _, o := range made.Operations {
		if k := v.chainOp[o]; k >= 0 {
			l.Operations = append(l.Operations, k)
		}
	}
	for _, g := range made.Gone {
		if p := db.Gone[g].Pass; !slices.Contains(l.Gone, p) {
			l.Gone = append(l.Gone, p)
		}
	}
}

func (v *view) linkTask(i int64, l *linked) {
	db := v.db
	t := &db.Tasks[i]
	l.source(db, t.Ref())
	l.addTask(db, int(i))
	for _, k := range t.Links {
		switch k.Kind {
		case provenance.LinkSurface:
			l.Surfaces = append(l.Surfaces, db.Surfaces[k.Target].Name)
		case provenance.LinkConstant:
			db.Constants(k.Target, 1, func(h provenance.Hit) bool {
				if h.Extent >= 0 {
					l.addExtent(db, h.Extent)
				}
				return false
			})
		}
	}
	name := db.Procedures[t.Procedure].Name
	k := 0
	for _, f := range v.chain {
		for _, o := range f.Operations {
			if o.Procedure == name {
				l.Operations = append(l.Operations, k)
			}
			k++
		}
	}
}

func (v *view) linkOperation(i int64, l *linked) {
	db := v.db
	l.Operations = append(l.Operations, int(i))
	o := v.operation(int(i))
	if k := v.databaseOp[i]; k >= 0 {
		l.source(db, db.Operations[k].Ref())
	}
	if o.Procedure == "" {
		return
	}
	for k := range db.Tasks {
		if db.Procedures[db.Tasks[k].Procedure].Name == o.Procedure && len(l.Tasks) <= maxLinks {
			l.addTask(db, k)
		}
	}
}

// operation returns an operation of the chain by its index in the list of all operations.
func (v *view) operation(i int) *chainOp {
	for k := range v.chain {
		ops := v.chain[k].Operations
		if i < len(ops) {
			return &ops[i]
		}
		i -= len(ops)
	}
	return nil
}

// pairOperations finds the chain's operations in the debug database and the other
// way round.
func (v *view) pairOperations() {
	type key struct {
		fn    string
		index int
	}
	index := map[key]int{}
	for i := range v.db.Operations {
		o := &v.db.Operations[i]
		index[key{o.Func, int(o.Index)}] = i
	}
	v.chainOp = slices.Repeat([]int{-1}, len(v.db.Operations))
	for _, f := range v.chain {
		for k := range f.Operations {
			i, ok := index[key{f.Name, k}]
			if !ok {
				i = -1
			} else {
				v.chainOp[i] = len(v.databaseOp)
			}
			v.databaseOp = append(v.databaseOp, i)
		}
	}
}

func (v *view) linkText(off int64, l *linked) {
	if t := v.db.TaskAt(uint64(off)); t >= 0 {
		l.Role = provenance.WhatTask
		v.linkTask(int64(t), l)
		return
	}
	l.Role = provenance.RolePadding
}

func (v *view) linkConstant(off int64, l *linked) {
	db := v.db
	if v.unlinked {
		l.Role = "constants"
		return
	}
	db.Constants(uint64(off), 1, func(h provenance.Hit) bool {
		l.Role = h.What
		for _, r := range h.Refs[:min(len(h.Refs), briefNodes)] {
			l.source(db, r)
		}
		if h.Extent < 0 {
			return false
		}
		x := &db.Extents[h.Extent]
		l.addExtent(db, h.Extent)
		for t := range db.Tasks {
			if slices.ContainsFunc(db.Tasks[t].Links, func(k provenance.Link) bool {
				return k.Kind == provenance.LinkConstant && k.Target >= x.Offset && k.Target < x.Offset+x.Size
			}) {
				l.addTask(db, t)
			}
		}
		return false
	})
}
