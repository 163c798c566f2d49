package lower

// A regroup changes the rows of a tensor without moving single elements. Rows become columns and columns rows, so that
// every split or union of the rows' elements is a view, and the columns rows again. Rows of w elements that are a
// multiple of the rows of n elements on the other side are first seen as their parts of long elements, which start at
// multiples of 64 bytes; lines of them are exchanged at a time, outer times.
type regroup struct {
	outer, lines, long, short int64
	merges                    bool // short rows become long ones
}

// size returns the bytes of the exchanged tensor.
func (r *regroup) size() int64 { return r.outer * r.long * rowBytes(r.lines) }

// regroupOf returns the regrouping between rows of w and of n elements that takes the fewest bytes, or nil if there is
// none: one must be a multiple of the other. elems is the number of all elements, and no row may be wider than most.
func regroupOf(elems, w, n, most int64) *regroup {
	long, short := max(w, n), min(w, n)
	if short < 2 || long%short != 0 {
		return nil
	}
	parts := []int64{long}
	if l := lcm(short, 64/elemBytes); l < long && long%l == 0 {
		parts = append(parts, l)
	}
	var best *regroup
	for _, l := range parts {
		rows := elems / l
		for d := int64(1); d*d <= rows; d++ {
			if rows%d != 0 {
				continue
			}
			for _, lines := range [2]int64{d, rows / d} {
				r := &regroup{outer: rows / lines, lines: lines, long: l, short: short, merges: w < n}
				if lines <= most && (best == nil || r.size() < best.size() ||
					r.size() == best.size() && r.outer < best.outer) {
					best = r
				}
			}
		}
	}
	return best
}

func lcm(a, b int64) int64 { return a / gcd(a, b) * b }

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// between returns the length of intermediate rows through which rows of w become rows of n elements, 0 for none.
func between(w, n int64) int64 {
	if g := gcd(w, n); g > 1 && g < min(w, n) {
		return g
	}
	return 0
}

// regroups reports whether moveTo changes rows of w into rows of n elements without moving single elements.
func regroups(elems, w, n, most int64) bool {
	cost := int64(0)
	steps := [][2]int64{{w, n}}
	if g := between(w, n); g > 0 {
		steps = [][2]int64{{w, g}, {g, n}}
		cost = elems / g * rowBytes(g)
	}
	for _, s := range steps {
		r := regroupOf(elems, s[0], s[1], most)
		if r == nil {
			return false
		}
		cost += r.size()
	}
	return cost < elems*rowBytes(1)
}

// regroupTo writes x to dst as a regrouping.
func (b *builder) regroupTo(x, dst *view) error {
	elems, most := x.elems(), int64(b.t.MaxWidth)
	if !regroups(elems, x.w(), dst.w(), most) {
		return noFit("no regrouping takes fewer bytes than a column of single elements")
	}
	if g := between(x.w(), dst.w()); g > 0 {
		rows := b.temp([]int64{elems / g, g})
		b.regroup(x, rows, regroupOf(elems, x.w(), g, most))
		x = rows
	}
	b.regroup(x, dst, regroupOf(elems, x.w(), dst.w(), most))
	return nil
}

func (b *builder) regroup(x, dst *view, r *regroup) {
	whole := []int64{r.outer, r.lines, r.long}
	parts := []int64{r.outer, r.lines, r.long / r.short, r.short}
	t := b.temp([]int64{r.outer, r.long, r.lines})
	split := t.reshape([]int64{r.outer, r.long / r.short, r.short, r.lines})
	if r.merges {
		b.transposeTo(b.viewed(x, parts), split, []int{0, 2, 3, 1})
		b.assembled(dst, whole, func(dst *view) { b.transposeTo(t, dst, []int{0, 2, 1}) })
		return
	}
	b.transposeTo(b.viewed(x, whole), t, []int{0, 2, 1})
	b.assembled(dst, parts, func(dst *view) { b.transposeTo(split, dst, []int{0, 3, 1, 2}) })
}

// viewed returns x with other dimensions; a part of a larger tensor may have to be copied for that.
func (b *builder) viewed(x *view, dims []int64) *view {
	if v := x.reshape(dims); v != nil {
		return v
	}
	c := b.temp(x.dims)
	b.copyTo(x, c)
	return c.reshape(dims)
}

// assembled writes dst by a function that takes it with other dimensions; a part of a larger tensor may have to be a
// copy of its own first.
func (b *builder) assembled(dst *view, dims []int64, write func(dst *view)) {
	if v := dst.reshape(dims); v != nil {
		write(v)
		return
	}
	c := b.temp(dst.dims)
	write(c.reshape(dims))
	b.copyTo(c, dst)
}
