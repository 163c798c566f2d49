package compare

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
)

// constOp is the operation of a constant.
const constOp = "const"

// qualified returns a name of a function's value that is unique in the model.
func qualified(fn, name string) string { return fn + "\x00" + name }

// statements compares the syntax trees. Values of constants are compared at level Constants.
func (p *pairing) statements() ([]*Change, error) {
	w := &treeDiff{pairing: p, a: p.a.text, b: p.b.text}
	if w.a.Version != w.b.Version {
		w.add(&Change{Kind: Changed, Subject: "program version", Details: []string{w.a.Version + " -> " + w.b.Version}})
	}
	w.head("program", w.a.Attrs, w.b.Attrs, "")
	to, from := matchBy(w.a.Funcs, w.b.Funcs, func(f **mil.Func) string { return (*f).Name })
	for i, f := range w.a.Funcs {
		if to[i] < 0 {
			w.add(&Change{Kind: Removed, Subject: "function " + f.Name, A: place(w.a, f.Pos)})
			continue
		}
		w.function(f, w.b.Funcs[to[i]])
	}
	for j, f := range w.b.Funcs {
		if from[j] < 0 {
			w.add(&Change{Kind: Added, Subject: "function " + f.Name, B: place(w.b, f.Pos)})
		}
	}
	for _, i := range moved(to) {
		w.add(&Change{Kind: Moved, Subject: "function " + w.a.Funcs[i].Name, A: place(w.a, w.a.Funcs[i].Pos)})
	}
	return w.out, nil
}

func place(p *mil.Program, at diag.Pos) string {
	x := p.File.Position(at)
	return p.File.Name + ":" + strconv.Itoa(x.Line) + ":" + strconv.Itoa(x.Column)
}

// treeDiff compares two syntax trees.
type treeDiff struct {
	*pairing
	a, b *mil.Program
	fn   string
	out  []*Change
}

func (w *treeDiff) add(c *Change) {
	c.Level, c.cause = MIL, true
	w.out = append(w.out, c)
}

// changed returns a change of a statement: s on side A, t on side B, nil where there is none.
func (w *treeDiff) changed(k Kind, s, t *mil.Stmt, details ...string) *Change {
	c := newChange(MIL, k, subject(cmp.Or(s, t)), nil, details...)
	if s != nil {
		c.A, c.names = place(w.a, s.Pos), w.names(s)
	}
	if t != nil {
		c.B, c.names = place(w.b, t.Pos), append(c.names, w.names(t)...)
	}
	return c
}

// head compares attributes outside statements.
func (w *treeDiff) head(what string, a, b []mil.Arg, name string) {
	if d := arguments(a, b, nil); len(d) > 0 {
		c := &Change{Kind: Changed, Subject: "attributes of " + what, Details: d}
		if name != "" {
			c.names = []string{name}
		}
		w.add(c)
	}
}

func (w *treeDiff) function(a, b *mil.Func) {
	w.fn = a.Name
	var d []string
	if a.Opset != b.Opset {
		d = append(d, "opset: "+shown(a.Opset)+" -> "+shown(b.Opset))
	}
	names := params("input", a.Params, b.Params, &d)
	if x, y := refs(a.Body.Outputs), refs(b.Body.Outputs); x != y {
		d = append(d, "outputs: "+x+" -> "+y)
	}
	var head *Change
	if len(d) > 0 {
		c := &Change{
			Kind:    Changed,
			Subject: "function " + a.Name,
			A:       place(w.a, a.Pos),
			B:       place(w.b, b.Pos),
			Details: d,
		}
		for _, n := range names {
			c.names = append(c.names, qualified(w.fn, n))
		}
		w.add(c)
		head = c
	}
	w.head("function "+a.Name, a.Attrs, b.Attrs, "")
	first := len(w.out)
	w.block(a.Body, b.Body)
	w.out = append(w.out[:first], simplify(w.out[first:])...)
	if len(names) > 0 {
		w.out = append(w.out[:first], behindInputs(head, names, w.out[first:])...)
	}
}

// params compares parameters and returns the names of those that differ.
func params(what string, a, b []mil.Param, d *[]string) (names []string) {
	list := func(ps []mil.Param) (out []attribute) {
		for _, p := range ps {
			out = append(out, attribute{what + " " + p.Name, p.Type.String()})
		}
		return out
	}
	x := attributes(list(a), list(b))
	*d = append(*d, x...)
	for _, s := range x {
		names = append(names, strings.TrimPrefix(s[:strings.Index(s, ": ")], what+" "))
	}
	if len(x) == 0 && len(a) == len(b) {
		for i := range a {
			if a[i].Name != b[i].Name {
				*d = append(*d, "order of "+what+"s from "+a[i].Name+" on")
				break
			}
		}
	}
	return names
}

func refs(rs []mil.Ref) string {
	names := make([]string, len(rs))
	for i := range rs {
		names[i] = rs[i].Name
	}
	return strings.Join(names, ", ")
}

// block compares two bodies. It pairs statements by the name of their first result, then those that are equal except
// for their names.
func (w *treeDiff) block(a, b *mil.Block) {
	to, from := matchBy(a.Stmts, b.Stmts, func(s **mil.Stmt) string {
		if rs := (*s).Results; len(rs) > 0 {
			return "%" + rs[0].Name
		}
		return (*s).Op
	})
	w.renames(a, b, to, from)
	var read map[string]*reading
	for i, s := range a.Stmts {
		if to[i] < 0 {
			c := w.changed(Removed, s, nil)
			c.edit.gone = s
			if len(s.Results) > 0 {
				if read == nil {
					read = readers(a)
				}
				c.Details = read[s.Results[0].Name].was()
			}
			w.add(c)
			continue
		}
		w.stmt(s, b.Stmts[to[i]])
	}
	for j, s := range b.Stmts {
		if from[j] < 0 {
			c := w.changed(Added, nil, s, operandsOf(s)...)
			c.edit.come = s
			w.add(c)
		}
	}
	for _, i := range moved(to) {
		w.add(w.changed(Moved, a.Stmts[i], b.Stmts[to[i]], "it was "+behind(a, i)+" and is "+behind(b, to[i])))
	}
}

func behind(b *mil.Block, i int) string {
	if i == 0 {
		return "first"
	}
	return "after " + subject(b.Stmts[i-1])
}

// renames pairs statements that differ only in the names of their results.
func (w *treeDiff) renames(a, b *mil.Block, to, from []int) {
	waiting := map[string][]int{}
	for j, s := range b.Stmts {
		if from[j] < 0 && len(s.Results) > 0 {
			k := signature(s, nil)
			waiting[k] = append(waiting[k], j)
		}
	}
	if len(waiting) == 0 {
		return
	}
	other := map[string]string{}
	for i, s := range a.Stmts {
		if to[i] >= 0 || len(s.Results) == 0 {
			continue
		}
		k := signature(s, other)
		q := waiting[k]
		if len(q) == 0 {
			continue
		}
		to[i], from[q[0]], waiting[k] = q[0], i, q[1:]
		t := b.Stmts[to[i]]
		for r := range s.Results {
			other[s.Results[r].Name] = t.Results[r].Name
			w.renamed[qualified(w.fn, s.Results[r].Name)] = t.Results[r].Name
		}
	}
}

// signature returns a statement without the names of its results.
func signature(s *mil.Stmt, renamed map[string]string) string {
	var b strings.Builder
	b.WriteString(s.Op + "<" + s.OpOpset + ">")
	for _, r := range s.Results {
		b.WriteString(r.Type.String() + ";")
	}
	for _, x := range s.Args {
		b.WriteString(x.Name + "=" + spelled(x.Value, renamed) + ";")
	}
	for _, x := range s.Attrs {
		if x.Name != "name" {
			b.WriteString("[" + x.Name + "=" + spelled(x.Value, renamed) + ";")
		}
	}
	return b.String() + strconv.Itoa(len(s.Blocks))
}

func (w *treeDiff) names(s *mil.Stmt) (out []string) {
	for _, r := range s.Results {
		out = append(out, qualified(w.fn, r.Name))
	}
	return out
}

func subject(s *mil.Stmt) string {
	if len(s.Results) == 0 {
		return s.Op
	}
	return s.Op + " " + s.Results[0].Name
}

func operandsOf(s *mil.Stmt) (out []string) {
	for _, x := range s.Args {
		out = append(out, x.Name+" = "+brief(spelled(x.Value, nil)))
	}
	return out
}

// maxReaders bounds the named readers of a statement.
const maxReaders = 4

// readers returns the readers of each name in a block: at most maxReaders, and their number.
func readers(b *mil.Block) map[string]*reading {
	out := map[string]*reading{}
	for _, s := range b.Stmts {
		for _, x := range s.Args {
			eachRead(x.Value, func(name string) {
				r := out[name]
				if r == nil {
					r = &reading{}
					out[name] = r
				}
				if r.n++; r.n <= maxReaders {
					r.as = append(r.as, x.Name+" of "+subject(s))
				}
			})
		}
	}
	return out
}

// eachRead calls f for every value that an argument names.
func eachRead(v mil.Value, f func(name string)) {
	switch v := v.(type) {
	case *mil.Ref:
		f(v.Name)
	case *mil.Tuple:
		for _, e := range v.Elems {
			eachRead(e, f)
		}
	}
}

// reading lists the readers of a name.
type reading struct {
	as []string
	n  int
}

func (r *reading) was() []string {
	switch {
	case r == nil:
		return []string{"no statement beside it read it"}
	case r.n > maxReaders:
		return []string{"it was " + strings.Join(r.as, ", ") + " and " + strconv.Itoa(r.n-maxReaders) + " more"}
	}
	return []string{"it was " + strings.Join(r.as, ", ")}
}

// stmt compares two statements that are paired.
func (w *treeDiff) stmt(a, b *mil.Stmt) {
	var d []string
	typed := 0 // differences of types of results
	if a.Op != b.Op || a.OpOpset != b.OpOpset {
		d = append(d, "operation: "+opName(a)+" -> "+opName(b))
	}
	if x, y := len(a.Results), len(b.Results); x != y {
		d = append(d, "results: "+strconv.Itoa(x)+" -> "+strconv.Itoa(y))
	} else {
		for i := range a.Results {
			r, q := &a.Results[i], &b.Results[i]
			if r.Name != q.Name {
				d = append(d, "name: "+r.Name+" -> "+q.Name)
			}
			if !mil.EqualType(r.Type, q.Type) {
				typed++
				d = append(d, "type of "+q.Name+": "+r.Type.String()+" -> "+q.Type.String())
			}
		}
	}
	attrsA, attrsB := a.Attrs, b.Attrs
	if a.Op == constOp && b.Op == constOp && w.known(a, b) {
		attrsA, attrsB = without(attrsA, "val"), without(attrsB, "val")
	}
	rename := func(name string) string { return w.now(w.fn, name) }
	before := len(d)
	d = append(d, arguments(a.Args, b.Args, rename)...)
	own := len(d) - before // differences of arguments
	d = append(d, arguments(attrsA, attrsB, rename)...)
	if len(a.Blocks) != len(b.Blocks) {
		d = append(d, "blocks: "+strconv.Itoa(len(a.Blocks))+" -> "+strconv.Itoa(len(b.Blocks)))
	}
	if len(d) > 0 {
		c := w.changed(Changed, a, b, d...)
		if own == len(d) {
			c.edit.reads = w.rewired(a, b)
		}
		if typed > 0 && typed == len(d) {
			c.edit.typed = b
		}
		c.edit.called = len(d) == 1 && strings.HasPrefix(d[0], nameDetail)
		w.add(c)
	}
	for i := range min(len(a.Blocks), len(b.Blocks)) {
		x, y := a.Blocks[i], b.Blocks[i]
		var d []string
		params("parameter", x.Params, y.Params, &d)
		if p, q := refs(x.Outputs), refs(y.Outputs); p != q {
			d = append(d, "outputs: "+p+" -> "+q)
		}
		if len(d) > 0 {
			c := w.changed(Changed, a, b, d...)
			c.Subject = "block " + strconv.Itoa(i+1) + " of " + c.Subject
			c.A, c.B = place(w.a, x.Pos), place(w.b, y.Pos)
			w.add(c)
		}
		w.block(x, y)
	}
}

// known reports whether level Constants has both values.
func (w *treeDiff) known(a, b *mil.Stmt) bool {
	return len(a.Results) == 1 && len(b.Results) == 1 && w.constantOf(w.pairing.a, a.Results[0].Name) &&
		w.constantOf(w.pairing.b, b.Results[0].Name)
}

func (w *treeDiff) constantOf(s *Side, name string) bool {
	return s.byName()[qualified(w.fn, name)] != nil
}

func opName(s *mil.Stmt) string {
	if s.OpOpset == "" {
		return s.Op
	}
	return s.Op + "<" + s.OpOpset + ">"
}

func without(args []mil.Arg, name string) (out []mil.Arg) {
	for _, x := range args {
		if x.Name != name {
			out = append(out, x)
		}
	}
	return out
}

// arguments compares two lists of arguments by name; their order is irrelevant.
func arguments(a, b []mil.Arg, rename func(string) string) (out []string) {
	for i := range a {
		x := &a[i]
		y := mil.FindArg(b, x.Name)
		switch {
		case y == nil:
			out = append(out, x.Name+": "+brief(spelled(x.Value, nil))+" -> none")
		case !equalValue(x.Value, y.Value, rename):
			out = append(out, x.Name+": "+brief(spelled(x.Value, nil))+" -> "+brief(spelled(y.Value, nil)))
		}
	}
	for i := range b {
		if mil.FindArg(a, b[i].Name) == nil {
			out = append(out, b[i].Name+": none -> "+brief(spelled(b[i].Value, nil)))
		}
	}
	return out
}

// equalValue is mil.EqualValue with the names of side A replaced by the names of side B.
func equalValue(a, b mil.Value, rename func(string) string) bool {
	if rename != nil {
		switch x := a.(type) {
		case *mil.Ref:
			y, ok := b.(*mil.Ref)
			return ok && rename(x.Name) == y.Name
		case *mil.Tuple:
			y, ok := b.(*mil.Tuple)
			if !ok || len(x.Elems) != len(y.Elems) {
				return false
			}
			for i := range x.Elems {
				if !equalValue(x.Elems[i], y.Elems[i], rename) {
					return false
				}
			}
			return true
		}
	}
	return mil.EqualValue(a, b)
}
