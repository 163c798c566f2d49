package witness

import (
	"maps"
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// climbSteps bounds the steps of a climb; strides are the lengths of the steps that are tried, as parts of an input's
// range.
const climbSteps = 8

var strides = []float64{1, 1.0 / 4, 1.0 / 16, 1.0 / 64}

// climb follows the signs of the derivative from the recorded run in which the goal's value came furthest, as long as
// its furthest element grows.
func (s *search) climb(p *proof, g Goal) error {
	wv := s.b.wide.of[g.Value]
	if p.Shown != nil || wv == nil || len(s.samples) == 0 || !wv.Type.Static() || !wv.Type.DType.IsFloat() {
		return nil
	}
	c, far := s.samples[0].Candidate, -inf
	for _, m := range s.samples {
		r := m.seen[g.Value]
		y := r.Hi
		if g.Direction < 0 {
			y = -r.Lo
		}
		if y > far {
			c, far = m.Candidate, y
		}
	}
	if !s.pay(s.reach(g.Value)) {
		return nil
	}
	t, err := s.b.upTo(s.ctx, c.Values, wv)
	if err != nil {
		return s.failed(err)
	}
	moved := false
	for range climbSteps {
		ys := t.Floats(wv)
		if len(ys) == 0 || !s.pay(2*s.reach(g.Value)) {
			break
		}
		at := element(wv, ys, g.Direction, g.Peaks)
		grads := gradient(s.ctx, s.b.wide.fn, t, unit(wv, at))
		score := func(t Trace) float64 {
			if ys := t.Floats(wv); at < len(ys) && ys[at] == ys[at] {
				return g.Direction * ys[at]
			}
			return -inf
		}
		n, nt, err := s.stride(c, wv, grads, g.Direction, score(t), score)
		if err != nil {
			return err
		}
		if nt == nil {
			break
		}
		c, t, moved = n, nt, true
		if y := math.Abs(score(t)); p.Cliff > 0 && y < 0.9*p.Cliff {
			continue
		}
		if err := s.attempt(p, c); err != nil || p.Shown != nil {
			return err
		}
	}
	if moved {
		return s.attempt(p, c)
	}
	return nil
}

// attempt tries a candidate for one suspicion.
func (s *search) attempt(p *proof, c Candidate) error {
	if p.tries > maxTries || !s.afford(1) {
		return nil
	}
	return s.tryFor(p, c)
}

func (s *search) tryFor(p *proof, c Candidate) error {
	p.tries++
	return s.try(c, []*proof{p})
}

// stride moves the inputs along the signs of a derivative, by the largest part of their ranges that raises the score;
// the trace is nil if none does. It moves all inputs, or else one of a few, since factors of one product that both
// change sign gain nothing.
func (s *search) stride(c Candidate, until *ir.Value, grads map[*ir.Value][]float64, dir, best float64,
	score func(t Trace) float64) (Candidate, Trace, error) {
	which := []*Input{nil}
	if n := len(s.ports); n > 1 && n <= 4 {
		which = append(which, s.ports...)
	}
	for _, share := range strides {
		for _, one := range which {
			n, changed, err := s.step(c, one, grads, dir, share)
			if err != nil {
				return n, nil, err
			}
			if !changed {
				continue
			}
			if !s.pay(s.runCost(until)) {
				return c, nil, nil
			}
			t, err := s.b.upTo(s.ctx, n.Values, until)
			if err != nil {
				if err := s.failed(err); err != nil {
					return n, nil, err
				}
				continue
			}
			if score(t) > best {
				return n, t, nil
			}
		}
	}
	return c, nil, nil
}

// step moves an input, or all inputs if it is nil, by a share of its range.
func (s *search) step(c Candidate, one *Input, grads map[*ir.Value][]float64, dir, share float64) (Candidate, bool,
	error) {
	return s.moved(c, "a climb from a recorded run by the signs of the derivative", one, grads,
		func(q *Input, x, slope float64) float64 {
			return x + math.Copysign((q.Range.Hi-q.Range.Lo)*share, slope*dir)
		})
}

// moved moves the elements of one input, or of all inputs if one is nil, that have a derivative, and reports whether
// any changed.
func (s *search) moved(c Candidate, how string, one *Input, grads map[*ir.Value][]float64,
	to func(q *Input, x, slope float64) float64) (n Candidate, changed bool, err error) {
	n = Candidate{maps.Clone(c.Values), how}
	for _, q := range s.ports {
		if one != nil && q != one {
			continue
		}
		gr := grads[s.b.wide.of[q.Value]]
		old := c.Values[q.Value.Name].Const().Floats()
		x, err := q.fill(func(i int) float64 {
			if i >= len(gr) || gr[i] == 0 || gr[i] != gr[i] {
				return old[i]
			}
			return to(q, old[i], gr[i])
		})
		if err != nil {
			return n, false, err
		}
		changed = changed || !x.Equal(c.Values[q.Value.Name])
		n.Values[q.Value.Name] = x
	}
	return n, changed, nil
}

// runCost is the cost of a run that ends after a value of the widened function.
func (s *search) runCost(v *ir.Value) int64 {
	for i, op := range s.b.wide.fn.Body.Ops {
		if op == v.Def {
			return s.until[s.a.Func().Body.Ops[i]]
		}
	}
	return s.cost
}
