package witness

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// drawnSamples is the number of recorded runs on drawn inputs, in addition to those on Options.Samples.
const drawnSamples = 2

// drawn are inputs as zinc verify draws them, mapped from the default range to the input's own and clipped to it.
func drawn(ports []*Input, seed uint64) (Candidate, error) {
	c := Candidate{tensors{}, fmt.Sprintf("values drawn from seed %d as zinc verify does, spread over the ranges",
		seed)}
	for _, q := range ports {
		x, err := verify.Random(q.Value.Type, q.Value.Name, seed)
		if err != nil {
			return c, err
		}
		vs := x.Const().Floats()
		d := interval.Span(0, verify.MaxRandomInt)
		if t := q.Value.Type.DType; t.IsFloat() || t == ir.Bool || t == ir.UInt1 {
			d = DefaultRange(q.Value.Type)
		}
		t, err := q.fill(func(i int) float64 {
			if q.Range == d {
				return vs[i]
			}
			return q.Range.Lo + (vs[i]-d.Lo)/(d.Hi-d.Lo)*(q.Range.Hi-q.Range.Lo)
		})
		if err != nil {
			return c, err
		}
		c.Values[q.Value.Name] = t
	}
	return c, nil
}

// given are the arrays of Options.Samples that have the type of their input; a run without any is omitted.
func (s *search) given() (out []Candidate, err error) {
	for k, m := range s.o.Samples {
		c, err := drawn(s.ports, uint64(k+1))
		if err != nil {
			return nil, err
		}
		fits := 0
		for _, q := range s.ports {
			x, ok := m[q.Value.Name]
			if !ok || !slices.Equal(x.Type.Shape, q.Value.Type.Shape) {
				continue
			}
			vs := x.Const().Floats()
			if c.Values[q.Value.Name], err = q.fill(func(i int) float64 { return vs[i] }); err != nil {
				return nil, err
			}
			fits++
		}
		if fits > 0 {
			c.How = "the values of a calibration array"
			out = append(out, c)
		}
	}
	return out, nil
}

// record runs the function on Options.Samples and on drawn inputs, and keeps the range of every value: how close
// statements come to their limits without a search.
func (s *search) record() error {
	cs := s.first
	if cs == nil {
		var err error
		if cs, err = s.given(); err != nil {
			return err
		}
		for k := range uint64(drawnSamples) {
			c, err := drawn(s.ports, k+1)
			if err != nil {
				return err
			}
			cs = append(cs, c)
		}
	}
	for i, c := range cs {
		// The model always runs once: without a recorded run nothing else can be judged.
		if i > 0 && !s.afford(1) || s.ctx.Err() != nil {
			break
		}
		seen := map[*ir.Value]interval.Interval{}
		see := func(v *ir.Value, x interp.Tensor) { seen[v] = RangeOf(x) }
		_, t, err := s.b.watched(s.ctx, c.Values, s.keep, see)
		if err != nil {
			if err := s.failed(err); err != nil {
				return err
			}
			continue
		}
		for v, r := range seen {
			s.seen[v] = joined(s.seen, v, r)
			if _, ok := s.a.Repaired(v); ok {
				if x, clipped := s.b.raw[v]; clipped {
					r = RangeOf(x)
				}
				s.own[v] = joined(s.own, v, r)
			}
		}
		if s.kept == nil {
			s.kept = t
		}
		s.recorded++
		if err := s.look(c, t, s.open); err != nil {
			return err
		}
	}
	for _, p := range s.open {
		p.Growth = s.gapOf(p.Suspicion)
		if r, ok := s.seenBy(p.Suspicion, p.Value); ok {
			p.Seen = r
		}
	}
	return nil
}

// joined is the hull of a value's entry and a range.
func joined(m map[*ir.Value]interval.Interval, v *ir.Value, r interval.Interval) interval.Interval {
	if old, ok := m[v]; ok {
		return old.Hull(r)
	}
	return r
}

// seenBy returns the recorded range of a value for a suspicion: its own results as computed, others as repaired.
func (s *search) seenBy(p *Suspicion, v *ir.Value) (interval.Interval, bool) {
	if r, ok := s.own[v]; ok && p.has(v.Def) {
		return r, true
	}
	r, ok := s.seen[v]
	return r, ok
}

// RangeOf is the smallest interval that contains the elements of a tensor.
func RangeOf(t interp.Tensor) interval.Interval {
	r := interval.Nothing
	if t.Type.Kind != ir.Tensor || t.Type.DType == ir.String {
		return interval.All
	}
	for _, x := range t.Const().Floats() {
		if x != x {
			r.NaN = true
			continue
		}
		r = r.With(x)
	}
	return r
}

// gapOf returns the factor by which the recorded values would have to grow to meet the limit: 1 if they meet it,
// infinity if growth does not lead there, and 0 if nothing was recorded.
func (s *search) gapOf(p *Suspicion) float64 {
	if s.recorded == 0 {
		return 0
	}
	unseen := false // no run reached it
	seen := func(v *ir.Value) interval.Interval {
		if v.Const != nil {
			return s.a.Range(v)
		}
		if r, ok := s.seenBy(p, v); ok {
			return r
		}
		unseen = true
		return interval.Nothing
	}
	g := inf
	switch {
	case p.Gap != nil:
		g = p.Gap(seen)
	case p.Limit > 0:
		g = p.Limit / seen(p.Value).Mag()
	}
	switch {
	case unseen:
		return 0
	case g != g:
		return inf
	}
	return max(g, 1)
}
