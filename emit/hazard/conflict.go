package hazard

import "github.com/zinc-compiler/zinc/lower/td"

// conflicts checks the tensors of one task against each other: a result may replace a source only element for element.
func (c *checker) conflicts(t *td.Task, x *accesses) {
	r := &x.result
	for i := range x.sources {
		s := &x.sources[i]
		from, to := s.Span()
		at, _ := r.Span()
		step := x.same && at == from && s.Count == r.Count && sameLayout(&s.Grid, &r.Grid)
		if step || s.InDRAM != r.InDRAM || !c.sameSpace(t, s, r) || !crosses(s, r) {
			continue
		}
		c.findField(r.FirstFrom, at, to, "the result is written over the %s, %#x up to the limit, that the task is "+
			"still reading", s.Name, from)
	}
}

// sameSpace reports whether two accesses go to one buffer; in DRAM, through one register or two that point at the same
// byte.
func (c *checker) sameSpace(t *td.Task, a, b *access) bool {
	if !a.InDRAM {
		return true
	}
	p, ok := c.bars[t.Int(a.Bar)]
	q, ok2 := c.bars[t.Int(b.Bar)]
	return ok && ok2 && p == q
}

// crosses reports whether two accesses certainly share bytes: their extents overlap and one of them has no gaps that
// the other could fit in, or the rows themselves overlap.
func crosses(a, b *access) bool {
	af, at := a.Span()
	bf, bt := b.Span()
	if af >= bt || bf >= at {
		return false
	}
	if a.runs() > a.granules/8 || b.runs() > b.granules/8 {
		return false
	}
	var s intervals
	prev := int64(-1)
	ordered := true
	a.each(func(from, to int64) {
		if from < prev {
			ordered = false
		}
		prev = from
		if n := len(s.l); n > 0 && ordered && from <= s.l[n-1].to {
			s.l[n-1].to = max(s.l[n-1].to, to)
		} else if ordered {
			s.l = append(s.l, interval{from, to})
		}
	})
	if !ordered {
		return false
	}
	met := false
	b.each(func(from, to int64) { met = met || s.meets(from, to) })
	return met
}
