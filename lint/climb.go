package lint

import (
	"maps"
	"math"

	"github.com/zinc-compiler/zinc/ir"
)

// climbSteps bounds the steps of a climb; strides are the parts of an input's
// range that a step is tried with.
const climbSteps = 8

var strides = []float64{1, 1.0 / 4, 1.0 / 16, 1.0 / 64}

// climb goes from the recorded run in which the goal's value came furthest, along
// the signs of the derivative, for as long as its furthest element grows.
func (s *search) climb(p *proof, g goal) error {
	wv := s.b.wide.of[g.v]
	if p.shown != nil || wv == nil || len(s.samples) == 0 || !wv.Type.Static() || !wv.Type.DType.IsFloat() {
		return nil
	}
	c, far := s.samples[0].candidate, -inf
	for _, m := range s.samples {
		r := m.seen[g.v]
		y := r.Hi
		if g.dir < 0 {
			y = -r.Lo
		}
		if y > far {
			c, far = m.candidate, y
		}
	}
	if !s.pay(s.reach(g.v)) {
		return nil
	}
	t, err := s.b.upTo(s.ctx, c.in, wv)
	if err != nil {
		return s.failed(err)
	}
	moved := false
	for range climbSteps {
		ys := t.floats(wv)
		if len(ys) == 0 || !s.pay(2*s.reach(g.v)) {
			break
		}
		at := element(wv, ys, g.dir, g.hot)
		grads := gradient(s.ctx, s.b.wide.fn, t, unit(wv, at))
		score := func(t trace) float64 {
			if ys := t.floats(wv); at < len(ys) && ys[at] == ys[at] {
				return g.dir * ys[at]
			}
			return -inf
		}
		n, nt, err := s.stride(c, wv, grads, g.dir, score(t), score)
		if err != nil {
			return err
		}
		if nt == nil {
			break
		}
		c, t, moved = n, nt, true
		if y := math.Abs(score(t)); p.cliff > 0 && y < 0.9*p.cliff {
			continue
		}
		if err := s.attempt(p, c); err != nil || p.shown != nil {
			return err
		}
	}
	if moved {
		return s.attempt(p, c)
	}
	return nil
}

// attempt tries a candidate for one suspicion.
func (s *search) attempt(p *proof, c candidate) error {
	if p.tries > maxTries || !s.afford(1) {
		return nil
	}
	p.tries++
	return s.try(c, []*proof{p})
}

// stride moves the inputs by the signs of a derivative, by the largest part of their
// ranges that raises the score; a nil trace where none does. All are moved, else one
// of a few: factors of one product that both change sign gain nothing.
func (s *search) stride(c candidate, until *ir.Value, grads map[*ir.Value][]float64, dir, best float64,
	score func(t trace) float64) (candidate, trace, error) {
	which := []*port{nil}
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
			if !s.pay(s.price(until)) {
				return c, nil, nil
			}
			t, err := s.b.upTo(s.ctx, n.in, until)
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

// step moves an input, or all where it is nil, by a share of its range.
func (s *search) step(c candidate, one *port, grads map[*ir.Value][]float64, dir, share float64) (candidate, bool,
	error) {
	n := candidate{maps.Clone(c.in), "a climb from a recorded run by the signs of the derivative"}
	changed := false
	for _, q := range s.ports {
		if one != nil && q != one {
			continue
		}
		gr := grads[s.b.wide.of[q.v]]
		old := c.in[q.v.Name].Const().Floats()
		far := (q.r.Hi - q.r.Lo) * share
		x, err := q.fill(func(i int) float64 {
			if i >= len(gr) || gr[i] == 0 || gr[i] != gr[i] {
				return old[i]
			}
			return old[i] + math.Copysign(far, gr[i]*dir)
		})
		if err != nil {
			return n, false, err
		}
		changed = changed || !x.Equal(c.in[q.v.Name])
		n.in[q.v.Name] = x
	}
	return n, changed, nil
}

// price is the cost of a run that ends behind a value of the widened function.
func (s *search) price(v *ir.Value) int64 {
	for i, op := range s.b.wide.fn.Body.Ops {
		if op == v.Def {
			return s.until[s.a.fn.Body.Ops[i]]
		}
	}
	return s.cost
}
