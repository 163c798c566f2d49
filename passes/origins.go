package passes

import "github.com/zinc-compiler/zinc/ir"

// Gone is an operation that a pass took away.
type Gone struct {
	Origin *ir.Origin
	Pass   string
	// By is what represents its result since: the value that readers were turned
	// to, or the constant it became. It is nil where the operation became part of
	// others, whose origins name it, or nothing read it.
	By *ir.Origin
}

// originState is what the recording of origins knows of the pass that runs. A
// visit of an operation makes new ones out of it; whatever else they are made of
// is named by absorb.
type originState struct {
	pass     string
	visited  *ir.Op
	absorbed []*ir.Origin
	before   []*ir.Op
	by       map[*ir.Op]*ir.Value // what took the place of an operation's first result
}

// beginOrigins opens the recording of one pass.
func (s *State) beginOrigins(pass string) {
	if !s.Origins {
		return
	}
	s.origins = originState{pass: pass, before: s.origins.before[:0], by: map[*ir.Op]*ir.Value{}}
	if s.Func != nil {
		s.origins.before = append(s.origins.before, s.Func.Body.Ops...)
	}
}

// endOrigins notes which operations the pass took away.
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

// visiting opens the visit of one operation, nil for none.
func (s *State) visiting(op *ir.Op) {
	s.origins.visited, s.origins.absorbed = op, s.origins.absorbed[:0]
}

// visitingInside opens a visit inside another, and returns what closes it.
func (s *State) visitingInside(op *ir.Op) func() {
	was, n := s.origins.visited, len(s.origins.absorbed)
	s.origins.visited = op
	return func() { s.origins.visited, s.origins.absorbed = was, s.origins.absorbed[:n] }
}

// made is the origin of an operation or constant that this visit makes: the
// given ones, the operation that is visited, and what it absorbs.
func (s *State) made(from ...*ir.Origin) *ir.Origin {
	if !s.Origins {
		return nil
	}
	if op := s.origins.visited; op != nil {
		from = append(from, op.Origin)
	}
	return ir.Derive(s.origins.pass, append(from, s.origins.absorbed...)...)
}

// absorb says that the visit makes its operations and constants of these values
// too; nil ones are none.
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

// cameFrom says what a constant was made of, and that it was nothing else.
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

// foldedFrom says that a result of op is a constant now, computed of op's
// operands.
func (s *State) foldedFrom(c *ir.Value, op *ir.Op) {
	if !s.Origins {
		return
	}
	from := []*ir.Origin{op.Origin}
	op.Operands(func(_ *ir.Param, v *ir.Value) { from = append(from, v.Source()) })
	c.Origin = ir.Derive(s.origins.pass, from...)
}

// foldedOnto says that p carries out op as well, and returns p's result.
func (s *State) foldedOnto(p, op *ir.Op) *ir.Value {
	if s.Origins {
		p.Origin = ir.Derive(s.origins.pass, p.Origin, op.Origin)
	}
	return p.Results[0]
}

// standsFor notes that readers of old read v now.
func (s *State) standsFor(old, v *ir.Value) {
	if s.Origins && old.Def != nil {
		if _, ok := s.origins.by[old.Def]; !ok {
			s.origins.by[old.Def] = v
		}
	}
}
