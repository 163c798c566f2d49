package compare

import (
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// edit describes a change of a statement, so that changes from one edit of the text can be merged.
type edit struct {
	come, gone *mil.Stmt // the statement that was added, or removed
	reads      []rewire  // of a statement that differs only in the values it reads
	typed      *mil.Stmt // of side B, if only the types of its results differ
	called     bool      // only its attribute name differs
}

// rewire is an argument that names another value.
type rewire struct{ param, was, is string }

// nameDetail begins the detail of an attribute name that differs.
const nameDetail = `name: `

// rewired lists the arguments of two statements that name other values, or nil if an argument differs in another way.
func (w *treeDiff) rewired(a, b *mil.Stmt) (out []rewire) {
	if len(a.Args) != len(b.Args) {
		return nil
	}
	rename := func(name string) string { return w.now(w.fn, name) }
	for i := range a.Args {
		x := &a.Args[i]
		y := mil.FindArg(b.Args, x.Name)
		if y == nil {
			return nil
		}
		if equalValue(x.Value, y.Value, rename) {
			continue
		}
		was, ok := x.Value.(*mil.Ref)
		is, and := y.Value.(*mil.Ref)
		if !ok || !and {
			return nil
		}
		out = append(out, rewire{x.Name, rename(was.Name), is.Name})
	}
	return out
}

// maxNamed is the number of statements that differ only in their attribute name which are listed one by one.
const maxNamed = 3

// simplify merges the changes of one edit: a statement inserted between a value and its readers, or removed from there,
// with the changes of the readers; and the renaming of many statements.
func simplify(all []*Change) (out []*Change) {
	come, gone := map[string]*Change{}, map[string]*Change{}
	var called []*Change
	for _, c := range all {
		if s := c.edit.come; s != nil && len(s.Results) == 1 {
			come[s.Results[0].Name] = c
		}
		if s := c.edit.gone; s != nil && len(s.Results) == 1 {
			gone[s.Results[0].Name] = c
		}
		if c.edit.called {
			called = append(called, c)
		}
	}
	for _, c := range all {
		if c.edit.called && len(called) > maxNamed {
			continue
		}
		if to := between(c, come, gone); to != nil {
			to.names = append(to.names, c.names...)
			for _, x := range c.edit.reads {
				if to.Kind == Added {
					to.Details = append(to.Details, x.param+" of "+c.Subject+" reads it instead of "+x.was)
				} else {
					to.Details = append(to.Details, x.param+" of "+c.Subject+" reads "+x.is+" instead")
				}
			}
			continue
		}
		out = append(out, c)
	}
	if len(called) > maxNamed {
		all := &Change{
			Level:   MIL,
			Kind:    Changed,
			Subject: "names of " + diag.Count(len(called), "operation", "operations"),
			A:       called[0].A,
			B:       called[0].B,
			cause:   true,
		}
		for _, c := range called {
			all.Details = append(all.Details, c.Subject+": "+strings.TrimPrefix(c.Details[0], nameDetail))
			all.names = append(all.names, c.names...)
		}
		out = append(out, all)
	}
	return out
}

// between returns the change of the statement that was inserted between a statement and a value it read, or removed
// from there.
func between(c *Change, come, gone map[string]*Change) (to *Change) {
	for _, x := range c.edit.reads {
		in, left := come[x.is], gone[x.was]
		var this *Change
		switch {
		case in != nil && readsValue(in.edit.come, x.was):
			this = in
		case left != nil && readsValue(left.edit.gone, x.is):
			this = left
		}
		if this == nil || to != nil && to != this {
			return nil
		}
		to = this
	}
	return to
}

func readsValue(s *mil.Stmt, name string) bool {
	for _, x := range s.Args {
		if r, ok := x.Value.(*mil.Ref); ok && r.Name == name {
			return true
		}
	}
	return false
}

// behindInputs merges the statements whose types follow from changed types of inputs into the change of these inputs,
// of, and returns the others.
func behindInputs(of *Change, inputs []string, all []*Change) (out []*Change) {
	other := map[string]bool{}
	for _, n := range inputs {
		other[n] = true
	}
	n, first := 0, ""
	for _, c := range all {
		s := c.edit.typed
		if s == nil || !readsAny(s, other) {
			out = append(out, c)
			continue
		}
		for _, r := range s.Results {
			other[r.Name] = true
		}
		of.names = append(of.names, c.names...)
		if n++; n == 1 {
			first = c.Subject + ", " + c.Details[0]
		}
	}
	if n > 0 {
		of.Details = append(of.Details, "and with it the types of "+diag.Count(n, "operation", "operations")+
			", the first "+first)
	}
	return out
}

func readsAny(s *mil.Stmt, names map[string]bool) (found bool) {
	for _, x := range s.Args {
		eachRead(x.Value, func(name string) { found = found || names[name] })
	}
	return found
}
