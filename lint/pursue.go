package lint

import "math"

// pursue goes after one goal: to a corner of the ranges by the signs of the
// derivative, which for an affine function is its extreme, and where a number is
// wanted along the way between two corners.
func (s *search) pursue(p *proof, g goal) error {
	if p.shown != nil {
		return nil
	}
	if p.suspect.reached == nil {
		return nil
	}
	for _, q := range s.ports {
		if source(g.v) == q.v {
			return s.fillPort(p, q, g)
		}
	}
	if g.near != g.near {
		cs, err := s.corners(g, g.dir, -1)
		if err != nil {
			return err
		}
		for _, c := range cs {
			if p.shown != nil || !s.afford(1) {
				return nil
			}
			p.tries++
			if err := s.try(c.c, []*proof{p}); err != nil {
				return err
			}
		}
		return nil
	}
	return s.bisect(p, g)
}

// fillPort is a goal on an input itself.
func (s *search) fillPort(p *proof, q *port, g goal) error {
	xs := []float64{q.r.Hi, q.r.Hi * 0.75}
	if g.dir < 0 {
		xs = []float64{q.r.Lo, q.r.Lo * 0.75}
	}
	if g.near == g.near {
		xs = []float64{g.near, g.near / 2, 2 * g.near}
	}
	if g.near != g.near && q.r.Has(0) && g.v != nil && q.r.Hi == 0 {
		xs = append(xs, math.Copysign(0, -1))
	}
	for _, x := range xs {
		if !q.r.Has(x) {
			continue
		}
		// The others at their upper bounds, then all alike.
		for _, same := range []bool{false, true} {
			if p.shown != nil || !s.afford(1) {
				return nil
			}
			c := candidate{tensors{}, q.v.Name + " filled with " + number(x)}
			for _, o := range s.ports {
				v := o.r.Hi
				if o == q || same {
					v = x
				}
				t, err := o.fill(func(int) float64 { return v })
				if err != nil {
					return err
				}
				c.in[o.v.Name] = t
			}
			p.tries++
			if err := s.try(c, []*proof{p}); err != nil {
				return err
			}
			if len(s.ports) == 1 {
				break
			}
		}
	}
	return nil
}

// bisections is how often the way between two corners is halved.
const bisections = 40

// bisect looks for a number between the corners in which an element is largest
// and least.
func (s *search) bisect(p *proof, g goal) error {
	up, err := s.corners(g, 1, -1)
	if err != nil || len(up) == 0 {
		return err
	}
	at := up[0].at
	down, err := s.corners(g, -1, at)
	if err != nil || len(down) == 0 {
		return err
	}
	wv := s.b.wide.of[g.v]
	lo, hi := 0.0, 1.0 // 0: down, 1: up
	for range bisections {
		if p.shown != nil || p.tries > maxTries || !s.afford(2) {
			return nil
		}
		m := (lo + hi) / 2
		c := candidate{tensors{}, "between two corners of the input ranges, where the value meets the limit"}
		for _, q := range s.ports {
			a, b := down[0].c.in[q.v.Name].Const().Floats(), up[0].c.in[q.v.Name].Const().Floats()
			t, err := q.fill(func(i int) float64 { return a[i] + (b[i]-a[i])*m })
			if err != nil {
				return err
			}
			c.in[q.v.Name] = t
		}
		t, err := s.b.upTo(s.ctx, c.in, wv)
		if err != nil {
			return s.failed(err)
		}
		ys := t.floats(wv)
		if at >= len(ys) {
			return nil
		}
		p.tries++
		if err := s.try(c, []*proof{p}); err != nil {
			return err
		}
		if ys[at] < g.near {
			lo = m
		} else {
			hi = m
		}
	}
	return nil
}
