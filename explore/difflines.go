package explore

import (
	"fmt"
	"sort"
)

// Context of a comparison: rows of both sides that are shown around a difference.
const contextRows = 3

// mostCells bounds the table in which a short stretch is compared exactly.
const mostCells = 1 << 20

// diffLines compares two lists of lines. Lines that stand once on each side are
// what it holds on to; between those it finds a longest common subsequence where
// the stretch is short, and takes the stretch as replaced where it is long.
func diffLines(a, b []string) []diffRow {
	d := &lineDiff{}
	d.compare(a, b, 0, 0)
	return d.rows
}

type lineDiff struct{ rows []diffRow }

func (d *lineDiff) same(a []string, i, j int) {
	for k := range a {
		d.rows = append(d.rows, diffRow{"=", i + k + 1, j + k + 1, a[k]})
	}
}

func (d *lineDiff) replace(a, b []string, i, j int) {
	for k := range a {
		d.rows = append(d.rows, diffRow{"-", i + k + 1, 0, a[k]})
	}
	for k := range b {
		d.rows = append(d.rows, diffRow{"+", 0, j + k + 1, b[k]})
	}
}

// compare compares a, which begins at line i of its text, with b at line j.
func (d *lineDiff) compare(a, b []string, i, j int) {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	d.same(a[:n], i, j)
	a, b, i, j = a[n:], b[n:], i+n, j+n
	t := 0
	for t < len(a) && t < len(b) && a[len(a)-1-t] == b[len(b)-1-t] {
		t++
	}
	tail := a[len(a)-t:]
	a, b = a[:len(a)-t], b[:len(b)-t]
	switch anchors := anchors(a, b); {
	case len(a) == 0 || len(b) == 0:
		d.replace(a, b, i, j)
	case len(anchors) > 0:
		p, q := 0, 0
		for _, x := range anchors {
			d.stretch(a[p:x[0]], b[q:x[1]], i+p, j+q)
			d.same(a[x[0]:x[0]+1], i+x[0], j+x[1])
			p, q = x[0]+1, x[1]+1
		}
		d.stretch(a[p:], b[q:], i+p, j+q)
	default:
		d.stretch(a, b, i, j)
	}
	d.same(tail, i+len(a), j+len(b))
}

// stretch compares what lies between two anchors.
func (d *lineDiff) stretch(a, b []string, i, j int) {
	if len(a) == 0 || len(b) == 0 || len(a) > mostCells/len(b) {
		d.replace(a, b, i, j)
		return
	}
	// best[x][y] is the length of a longest common subsequence of a[x:] and b[y:].
	w := len(b) + 1
	best := make([]int32, (len(a)+1)*w)
	for x := len(a) - 1; x >= 0; x-- {
		for y := len(b) - 1; y >= 0; y-- {
			if a[x] == b[y] {
				best[x*w+y] = best[(x+1)*w+y+1] + 1
			} else {
				best[x*w+y] = max(best[(x+1)*w+y], best[x*w+y+1])
			}
		}
	}
	x, y := 0, 0
	for x < len(a) && y < len(b) {
		switch {
		case a[x] == b[y]:
			d.same(a[x:x+1], i+x, j+y)
			x, y = x+1, y+1
		case best[(x+1)*w+y] >= best[x*w+y+1]:
			d.replace(a[x:x+1], nil, i+x, j+y)
			x++
		default:
			d.replace(nil, b[y:y+1], i+x, j+y)
			y++
		}
	}
	d.replace(a[x:], b[y:], i+x, j+y)
}

// anchors returns pairs of lines that stand once on each side, ascending in both,
// as many as can be.
func anchors(a, b []string) [][2]int {
	type count struct{ a, b, at, to int }
	lines := map[string]*count{}
	for i, s := range a {
		c := lines[s]
		if c == nil {
			c = &count{}
			lines[s] = c
		}
		c.a++
		c.at = i
	}
	for j, s := range b {
		if c := lines[s]; c != nil {
			c.b++
			c.to = j
		}
	}
	var pairs [][2]int
	for i, s := range a {
		if c := lines[s]; c.a == 1 && c.b == 1 {
			pairs = append(pairs, [2]int{i, c.to})
		}
	}
	// A longest ascending subsequence of the second places.
	var top []int // top[k]: the pair that ends the best chain of k+1
	before := make([]int, len(pairs))
	for p := range pairs {
		k := sort.Search(len(top), func(k int) bool { return pairs[top[k]][1] >= pairs[p][1] })
		before[p] = -1
		if k > 0 {
			before[p] = top[k-1]
		}
		if k == len(top) {
			top = append(top, p)
		} else {
			top[k] = p
		}
	}
	out := make([][2]int, len(top))
	if len(top) > 0 {
		for k, p := len(top)-1, top[len(top)-1]; p >= 0; k, p = k-1, before[p] {
			out[k] = pairs[p]
		}
	}
	return out
}

// folded leaves out rows of both sides that are far from every difference.
func folded(rows []diffRow) (out []diffRow) {
	near := make([]bool, len(rows))
	for i := range rows {
		if rows[i].Op != "=" {
			for k := max(i-contextRows, 0); k <= min(i+contextRows, len(rows)-1); k++ {
				near[k] = true
			}
		}
	}
	for i := 0; i < len(rows); i++ {
		if near[i] {
			out = append(out, rows[i])
			continue
		}
		first := i
		for i+1 < len(rows) && !near[i+1] {
			i++
		}
		out = append(out, diffRow{"@", rows[first].A, rows[first].B, fmt.Sprintf("%d rows are the same", i-first+1)})
	}
	return out
}
