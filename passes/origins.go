package passes

import "github.com/zinc-compiler/zinc/ir"

// Gone is an operation that a pass removed.
type Gone struct {
	Origin *ir.Origin
	Pass   string
	// By is what replaces its result: the value that readers now read, or the constant it became. It is nil if the
	// operation became part of others, whose origins name it, or if nothing read it.
	By *ir.Origin
}

// originState is what the recording of origins knows about the running pass. A visit of an operation creates new ones
// from it; absorb names whatever else they are created from.
type originState struct {
	pass     string
	visited  *ir.Op
	absorbed []*ir.Origin
	before   []*ir.Op
	by       map[*ir.Op]*ir.Value // the replacement of an operation's first result
}

// beginOrigins starts the recording for one pass.
func (s *State) beginOrigins(pass string) {
	if !s.Origins {
		return
	}
	s.origins = originState{pass: pass, before: s.origins.before[:0], by: map[*ir.Op]*ir.Value{}}
	if s.Func != nil {
		s.origins.before = append(s.origins.before, s.Func.Body.Ops...)
	}
}

// endOrigins records which operations the pass removed.
func (s *State) endOrigins() {
	if !s.Origins {
		return
	}
	now := make(map[*ir.Op]bool, len(s.Func.Body.Ops))
	for _, op := range s.Func.Body.Ops {
		now[op] = true
	}
	for _, op := range s.origins.before {
		if now[op] {
			continue
		}
		g := Gone{Origin: op.Origin, Pass: s.origins.pass}
		by := s.origins.by[op]
		if by == nil && len(op.Results) > 0 && op.Results[0].IsConst() {
			by = op.Results[0]
		}
		g.By = by.Source()
		s.Gone = append(s.Gone, g)
	}
}

// visiting starts the visit of one operation, nil for none.
func (s *State) visiting(op *ir.Op) {
	s.origins.visited, s.origins.absorbed = op, s.origins.absorbed[:0]
}

// visitingInside starts a visit inside another, and returns a function that ends it.
func (s *State) visitingInside(op *ir.Op) func() {
	was, n := s.origins.visited, len(s.origins.absorbed)
	s.origins.visited = op
	return func() { s.origins.visited, s.origins.absorbed = was, s.origins.absorbed[:n] }
}

// made returns the origin of an operation or constant that this visit creates: the given origins, the operation that is
// visited, and what it absorbs.
func (s *State) made(from ...*ir.Origin) *ir.Origin {
	if !s.Origins {
		return nil
	}
	if op := s.origins.visited; op != nil {
		from = append(from, op.Origin)
	}
	return ir.Derive(s.origins.pass, append(from, s.origins.absorbed...)...)
}

// absorb records that the visit creates its operations and constants from these values too; nil values are ignored.
func (s *State) absorb(vs ...*ir.Value) {
	if !s.Origins {
		return
	}
	for _, v := range vs {
		if o := v.Source(); o != nil {
			s.origins.absorbed = append(s.origins.absorbed, o)
		}
	}
}

// cameFrom records that a constant was computed from vs and from nothing else.
func (s *State) cameFrom(c *ir.Value, vs ...*ir.Value) {
	if !s.Origins {
		return
	}
	var from []*ir.Origin
	for _, v := range vs {
		from = append(from, v.Source())
	}
	c.Origin = ir.Derive(s.origins.pass, from...)
}

// foldedFrom records that a result of op is now a constant computed from op's operands.
func (s *State) foldedFrom(c *ir.Value, op *ir.Op) {
	if !s.Origins {
		return
	}
	from := []*ir.Origin{op.Origin}
	op.Operands(func(_ *ir.Param, v *ir.Value) { from = append(from, v.Source()) })
	c.Origin = ir.Derive(s.origins.pass, from...)
}

// foldedOnto records that p now computes op as well, and returns p's result.
func (s *State) foldedOnto(p, op *ir.Op) *ir.Value {
	if s.Origins {
		p.Origin = ir.Derive(s.origins.pass, p.Origin, op.Origin)
	}
	return p.Results[0]
}

// standsFor records that readers of old now read v.
func (s *State) standsFor(old, v *ir.Value) {
	if s.Origins && old.Def != nil {
		if _, ok := s.origins.by[old.Def]; !ok {
			s.origins.by[old.Def] = v
		}
	}
}
