package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// A Place identifies a statement: by a line of the text, starting at 1, or by the name of a result.
type Place struct {
	Line int
	Name string // used if Line is 0
}

func (p Place) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("%q", p.Name)
}

// PlaceError reports that a place matches no statement or several.
type PlaceError struct {
	Place Place
	Near  []string // statements that may have been meant
	Many  bool     // the place matches all of Near
}

// Error names the place and the statements near it.
func (e *PlaceError) Error() string {
	s := fmt.Sprintf("no statement at %s", e.Place)
	if e.Many {
		s = fmt.Sprintf("several statements at %s", e.Place)
	}
	if len(e.Near) > 0 {
		s += "; "
		if !e.Many {
			s += "near it "
		}
		s += "there are " + strings.Join(e.Near, ", ")
	}
	if e.Many {
		s += "; use the name of one"
	}
	return s
}

// maxNear is the maximum number of statements that a PlaceError lists.
const maxNear = 4

// found is a statement of a program.
type found struct {
	fn     *ir.Func
	op     *ir.Op    // nil for a constant or an input
	value  *ir.Value // first result, constant or input; nil for an operation without results
	index  int       // of op in the function's body; -1 if it is in a nested block or there is no operation
	reader *ir.Op    // of a constant: an operation that names it
}

func (s *found) pos() ir.Pos {
	if s.op != nil {
		return s.op.Pos
	}
	return s.value.Pos
}

func (s *found) name() string {
	if s.value != nil {
		return s.value.Name
	}
	return s.op.Name
}

func (s *found) kind() string {
	switch {
	case s.op != nil:
		return s.op.Def.Name
	case s.value.Const != nil:
		return ir.StmtConst
	}
	return ir.StmtParam
}

func (s *found) String() string {
	if p := s.pos(); p.IsValid() {
		return fmt.Sprintf("%s %q (line %d)", s.kind(), s.name(), p.Line)
	}
	return fmt.Sprintf("%s %q", s.kind(), s.name())
}

// statements lists the statements of a program: inputs, operations in order, and each named constant before the first
// operation that reads it.
func statements(p *ir.Program) []*found {
	var out []*found
	for _, f := range p.Funcs {
		seen := map[*ir.Value]bool{}
		for _, v := range f.Body.Params {
			out = append(out, &found{fn: f, value: v, index: -1})
		}
		top := map[*ir.Op]int{}
		for i, op := range f.Body.Ops {
			top[op] = i
		}
		ir.Walk(f, func(op *ir.Op) {
			op.Operands(func(_ *ir.Param, v *ir.Value) {
				if v.Const != nil && v.Name != "" && !seen[v] {
					seen[v] = true
					out = append(out, &found{fn: f, value: v, index: -1, reader: op})
				}
			})
			s := &found{fn: f, op: op, index: -1}
			if i, ok := top[op]; ok {
				s.index = i
			}
			if len(op.Results) > 0 {
				s.value = op.Results[0]
			}
			out = append(out, s)
		})
	}
	return out
}

// find returns the statement at a place. If a line contains an operation, the place means the
// operation. fn selects the function, "" for any.
func find(p *ir.Program, at Place, fn string) (*found, error) {
	all := statements(p)
	if fn != "" {
		all = slices.DeleteFunc(all, func(s *found) bool { return s.fn.Name != fn })
	}
	var hits []*found
	for _, s := range all {
		if at.Line > 0 && int(s.pos().Line) == at.Line || at.Line == 0 && s.named(at.Name) {
			hits = append(hits, s)
		}
	}
	if ops := slices.DeleteFunc(slices.Clone(hits), func(s *found) bool { return s.op == nil }); len(ops) > 0 {
		hits = ops
	}
	if len(hits) == 1 {
		return hits[0], nil
	}
	e := &PlaceError{Place: at, Many: len(hits) > 1}
	if len(hits) == 0 {
		hits = near(all, at)
	}
	for _, s := range hits {
		if len(e.Near) < maxNear {
			e.Near = append(e.Near, s.String())
		}
	}
	return nil, e
}

// named reports whether a name belongs to the operation or to a result.
func (s *found) named(name string) bool {
	if s.op == nil {
		return s.value.Name == name
	}
	return s.op.Name == name || slices.ContainsFunc(s.op.Results, func(v *ir.Value) bool { return v.Name == name })
}

// near returns suggestions for a place without a statement: the statements on the nearest lines
// before and after, or those with similar names, the most similar first.
func near(all []*found, at Place) []*found {
	var out []*found
	if at.Line == 0 {
		return alike(all, at.Name)
	}
	// On one line an operation comes before its constants.
	var before, after *found
	for _, s := range all {
		l := int(s.pos().Line)
		nearer := func(old *found, sign int) bool {
			if old == nil {
				return true
			}
			d := sign * (l - int(old.pos().Line))
			return d > 0 || d == 0 && old.op == nil && s.op != nil
		}
		switch {
		case l == 0:
		case l < at.Line && nearer(before, 1):
			before = s
		case l > at.Line && nearer(after, -1):
			after = s
		}
	}
	for _, s := range []*found{before, after} {
		if s != nil {
			out = append(out, s)
		}
	}
	return out
}

// maxCompared is the maximum length of names to compare by edit distance.
const maxCompared = 128

// alike returns the statements whose names are similar to an unknown name, the most similar first:
// names that contain it, differ in case, or differ in at most one letter out of four.
func alike(all []*found, name string) []*found {
	type hit struct {
		s   *found
		off int
	}
	var hits []hit
	want := strings.ToLower(name)
	if want == "" {
		return nil
	}
	for _, s := range all {
		have := strings.ToLower(s.name())
		off := -1
		if len(have) <= maxCompared && len(want) <= maxCompared {
			if d := ir.EditDistance(have, want); d <= max(len(have), len(want))/4 {
				off = d
			}
		}
		if off < 0 && strings.Contains(have, want) {
			off = maxCompared + len(have) - len(want)
		}
		if off >= 0 {
			hits = append(hits, hit{s, off})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.off - b.off })
	var out []*found
	for _, h := range hits[:min(len(hits), maxNear)] {
		out = append(out, h.s)
	}
	return out
}
