package witness

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/ir"
)

// cornerSteps is the number of corners computed in sequence, each from the derivative at the one before; an affine
// function needs one. starts are the points to begin at: where all inputs are 0, some derivatives are too.
const cornerSteps = 3

var starts = []pattern{
	constant("the middle", func(r interval.Interval) float64 { return (r.Lo + r.Hi) / 2 }),
	patterns[4],
}

// extreme is an input in which an element has the value y.
type extreme struct {
	c  Candidate
	at int
	y  float64
}

// corners returns inputs that bring an element of the goal's value towards its extreme in the direction dir, the best
// first. at is the element; if it is negative, each step chooses one.
func (s *search) corners(g Goal, dir float64, at int) ([]extreme, error) {
	wv := s.b.wideOf[g.Value]
	if wv == nil || !wv.Type.Static() || !wv.Type.DType.IsFloat() {
		return nil, nil
	}
	var out []extreme
	for k, start := range starts {
		if len(out) > 0 && g.Peaks != nil {
			break // affine, as far as the weights tell
		}
		c, err := start.make(s.ports, k)
		if err != nil {
			return nil, err
		}
		if !s.pay(s.reach(g.Value)) {
			break
		}
		t, err := s.b.upTo(s.ctx, c.Values, wv)
		if err != nil {
			return nil, s.failed(err)
		}
		for range cornerSteps {
			ys := t.Floats(wv)
			if len(ys) == 0 || !s.pay(3*s.reach(g.Value)) {
				break
			}
			e := at
			if e < 0 {
				e = element(wv, ys, dir, g.Peaks)
			}
			n, changed, err := s.corner(c, t, wv, e, dir)
			if err != nil {
				return nil, err
			}
			if !changed {
				break
			}
			if t, err = s.b.upTo(s.ctx, n.Values, wv); err != nil {
				return nil, s.failed(err)
			}
			if ys = t.Floats(wv); e < len(ys) {
				out = append(out, extreme{n, e, ys[e]})
			}
			c = n
		}
	}
	slices.SortStableFunc(out, func(a, b extreme) int { return cmp.Compare(dir*b.y, dir*a.y) })
	return out, nil
}

// corner moves every input element that has a derivative to the end of its range that the derivative of the element at
// indicates, and reports whether any changed.
func (s *search) corner(c Candidate, t Trace, wv *ir.Value, at int, dir float64) (n Candidate, changed bool,
	err error) {
	grads := gradient(s.ctx, s.b.wide, t, unit(wv, at))
	n = Candidate{maps.Clone(c.Values), "the corner of the input ranges that the signs of the derivative indicate"}
	for _, q := range s.ports {
		gr := grads[s.b.wideOf[q.Value]]
		old := c.Values[q.Value.Name].Const().Floats()
		x, err := q.fill(func(i int) float64 {
			switch {
			case i >= len(gr) || gr[i] == 0 || gr[i] != gr[i]:
				return old[i]
			case gr[i]*dir > 0:
				return q.Range.Hi
			}
			return q.Range.Lo
		})
		if err != nil {
			return n, false, err
		}
		changed = changed || !x.Equal(c.Values[q.Value.Name])
		n.Values[q.Value.Name] = x
	}
	return n, changed, nil
}

// element chooses the element to push: one in the middle of the channel that the weights make the largest, or else the
// one that is largest now.
func element(v *ir.Value, ys []float64, dir float64, h *Peaks) int {
	if h != nil && h.Axis < v.Type.Rank() {
		row := h.Hi
		if dir < 0 {
			row = h.Lo
		}
		at := int64(0)
		for i, d := range v.Type.Shape {
			k := d / 2
			if i == h.Axis {
				k = min(row, d-1)
			} else if i == 0 && d == 1 {
				k = 0
			}
			at = at*d + k
		}
		return int(at)
	}
	best := 0
	for i, y := range ys {
		if dir*y > dir*ys[best] {
			best = i
		}
	}
	return best
}
