package compress

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// maxMixtures bounds the mixtures that are measured.
const maxMixtures = 8

// move changes the form of one weight on the way from dense weights to the fastest ones.
type move struct {
	w     *weight
	index int // of the weight
	form  string
	noise float64 // that it adds, in proportion to the power of the noise
	cost  float64 // that it saves
}

// mixture adds the row of the mixture that is estimated to be fastest among those whose error is within the limit.
func (s *study) mixture() error {
	asItIs := s.Rows[0].Error
	if !s.o.Metric.within(asItIs, s.o.Limit) {
		return fmt.Errorf("the model as it is has %s %.6g compared with fp32, beyond the limit of %.6g; nothing that "+
			"is compressed comes closer", s.o.Metric, s.o.Metric.of(asItIs), s.o.Limit)
	}
	moves := s.moves()
	sums := make([]float64, len(moves)+1) // of the noise of the first moves
	for i, m := range moves {
		sums[i+1] = sums[i] + m.noise
	}
	// lo moves are within the limit and hi are not, as far as is known. The noise of the outputs grows about as the
	// sums do, so the last measurement says where to look next.
	lo, hi, best := 0, len(moves)+1, asItIs
	guess, runs := len(moves), 0
	limit, base := s.o.Metric.power(s.o.Limit), s.o.Metric.power(s.o.Metric.of(asItIs))
	for ; hi-lo > 1 && runs < maxMixtures; runs++ {
		guess = min(max(guess, lo+1), hi-1)
		e, err := s.errorOf(s.after(moves[:guess]))
		s.step(Mixture)
		if err != nil {
			return err
		}
		if s.o.Metric.within(e, s.o.Limit) {
			lo, best = guess, e
		} else {
			hi = guess
		}
		per := max(s.o.Metric.power(s.o.Metric.of(e))-base, 0) / sums[guess]
		next, _ := slices.BinarySearch(sums, (limit-base)/per)
		if guess = next - 1; per == 0 || math.IsNaN(per) || guess <= lo || guess >= hi {
			guess = (lo + hi) / 2
		}
	}
	c := s.after(moves[:lo])
	if err := s.measured(Mixture, c, best); err != nil {
		return err
	}
	row := &s.Rows[len(s.Rows)-1]
	row.Runs = runs
	for i, w := range s.weights {
		if s.Weights[i].In = AsItIs; c[w] != nil {
			s.Weights[i].In = s.formOf(moves[:lo], i)
		}
		for _, x := range s.Weights[i].Forms {
			row.Predicted = row.Predicted || x.Error == nil
		}
	}
	return nil
}

// formOf returns the form that moves leave a weight in.
func (s *study) formOf(moves []move, index int) (form string) {
	for _, m := range moves {
		if m.index == index {
			form = m.form
		}
	}
	return form
}

// after returns the forms that moves lead to.
func (s *study) after(moves []move) choice {
	c := choice{}
	for _, m := range moves {
		c[m.w] = s.choices[m.form][m.w]
	}
	return c
}

// moves returns the moves from dense weights to the fastest ones, in the order of the noise that each adds for what it
// saves. A weight goes through the forms on the lower convex hull of noise over cost, for which every prefix of the
// moves is the best mixture of its noise if the noise of the weights adds up. Forms that save no time are left out, so
// that weights that no product waits for stay as they are; without an estimate, bytes count.
func (s *study) moves() []move {
	var all []move
	for i, w := range s.weights {
		of := &s.Weights[i]
		type point struct {
			form        string
			noise, cost float64
		}
		var points []point
		for _, x := range of.Forms {
			// A picosecond weighs as much as a byte, which decides among forms of equal times.
			gain := float64(x.Saves)*1e3 + float64(of.Bytes-x.Bytes)
			if s.Rows[0].Time == 0 {
				gain = float64(of.Bytes - x.Bytes)
			} else if x.Saves <= 0 {
				continue
			}
			noise := math.Pow(10, -float64(x.Ratio)/10)
			if x.Error != nil {
				noise = s.o.Metric.power(s.o.Metric.of(x.Error)) - s.o.Metric.power(s.o.Metric.of(s.Rows[0].Error))
			}
			points = append(points, point{x.Form, max(noise, 0), gain})
		}
		slices.SortStableFunc(points, func(a, b point) int {
			return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(b.noise, a.noise))
		})
		at := point{}
		for {
			best, slope := -1, math.Inf(1)
			for k, p := range points {
				if p.cost > at.cost {
					if v := (p.noise - at.noise) / (p.cost - at.cost); v <= slope {
						best, slope = k, v
					}
				}
			}
			if best < 0 {
				break
			}
			p := points[best]
			all = append(all, move{w: w, index: i, form: p.form, noise: p.noise - at.noise, cost: p.cost - at.cost})
			at = p
		}
	}
	slices.SortStableFunc(all, func(a, b move) int { return cmp.Compare(a.noise/a.cost, b.noise/b.cost) })
	return all
}
