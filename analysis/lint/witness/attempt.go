package witness

import (
	"math"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
)

// attempt tries one goal: it tries the corner of the ranges that the signs of the derivative indicate, which for an
// affine function is its extreme, and for a goal that is a number the line between two corners.
func (s *search) attempt(p *proof, g Goal) error {
	if p.Shown != nil || p.Reached == nil {
		return nil
	}
	for _, q := range s.ports {
		if Unreshaped(g.Value) == q.Value {
			return s.fillPort(p, q, g)
		}
	}
	if g.Near != g.Near {
		cs, err := s.corners(g, g.Direction, -1)
		if err != nil {
			return err
		}
		for _, c := range cs {
			if p.Shown != nil || !s.afford(1) {
				return nil
			}
			if err := s.tryFor(p, c.c); err != nil {
				return err
			}
		}
		return nil
	}
	return s.bisect(p, g)
}

// tryFor tries a candidate for one suspicion.
func (s *search) tryFor(p *proof, c Candidate) error {
	p.tries++
	return s.try(c, []*proof{p})
}

// fillPort is a goal on an input itself.
func (s *search) fillPort(p *proof, q *Input, g Goal) error {
	xs := []float64{q.Range.Hi, q.Range.Hi * 0.75}
	if g.Direction < 0 {
		xs = []float64{q.Range.Lo, q.Range.Lo * 0.75}
	}
	if g.Near == g.Near {
		xs = []float64{g.Near, g.Near / 2, 2 * g.Near}
	}
	if g.Near != g.Near && q.Range.Has(0) && g.Value != nil && q.Range.Hi == 0 {
		xs = append(xs, math.Copysign(0, -1))
	}
	for _, x := range xs {
		if !q.Range.Has(x) {
			continue
		}
		// The others at their upper bounds, then all with the number.
		for _, same := range []bool{false, true} {
			if p.Shown != nil || !s.afford(1) {
				return nil
			}
			c, err := filled(s.ports, q.Value.Name+" filled with "+interval.Number(x), func(o *Input, _ int) float64 {
				if o == q || same {
					return x
				}
				return o.Range.Hi
			})
			if err != nil {
				return err
			}
			if err := s.tryFor(p, c); err != nil {
				return err
			}
			if len(s.ports) == 1 {
				break
			}
		}
	}
	return nil
}

// bisections is the number of times that the line between two corners is halved.
const bisections = 40

// bisect looks for a number between the corners in which an element is largest and smallest.
func (s *search) bisect(p *proof, g Goal) error {
	up, err := s.corners(g, 1, -1)
	if err != nil || len(up) == 0 {
		return err
	}
	at := up[0].at
	down, err := s.corners(g, -1, at)
	if err != nil || len(down) == 0 {
		return err
	}
	wv := s.b.wideOf[g.Value]
	lo, hi := 0.0, 1.0 // 0: down, 1: up
	from, to := map[*Input][]float64{}, map[*Input][]float64{}
	for _, q := range s.ports {
		from[q], to[q] = down[0].c.Values[q.Value.Name].Const().Floats(), up[0].c.Values[q.Value.Name].Const().Floats()
	}
	for range bisections {
		if p.Shown != nil || p.tries > maxTries || !s.afford(2) {
			return nil
		}
		m := (lo + hi) / 2
		c, err := filled(s.ports, "between two corners of the input ranges, where the value meets the limit",
			func(q *Input, i int) float64 { return from[q][i] + (to[q][i]-from[q][i])*m })
		if err != nil {
			return err
		}
		t, err := s.b.upTo(s.ctx, c.Values, wv)
		if err != nil {
			return s.failed(err)
		}
		ys := t.Floats(wv)
		if at >= len(ys) {
			return nil
		}
		if err := s.tryFor(p, c); err != nil {
			return err
		}
		if ys[at] < g.Near {
			lo = m
		} else {
			hi = m
		}
	}
	return nil
}
