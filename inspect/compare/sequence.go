package compare

// maxEdits bounds the edit distance of lists that are aligned in order, which keeps the alignment linear; other lists
// are paired by key alone.
const maxEdits = 512

// sequence pairs two lists in order by a shortest edit script, then the remaining elements, which moved, by key alone.
func sequence(a, b []string) (to, from []int) {
	to, from = alone(len(a)), alone(len(b))
	lo := 0
	for lo < len(a) && lo < len(b) && a[lo] == b[lo] {
		to[lo], from[lo] = lo, lo
		lo++
	}
	m, n := len(a), len(b)
	for m > lo && n > lo && a[m-1] == b[n-1] {
		m, n = m-1, n-1
		to[m], from[n] = n, m
	}
	for _, s := range edits(a[lo:m], b[lo:n]) {
		to[lo+s[0]], from[lo+s[1]] = lo+s[1], lo+s[0]
	}
	matchRest(a, b, to, from)
	return to, from
}

// edits returns the pairs of equal elements that a shortest edit script keeps (the greedy algorithm of Myers, 1986), or
// nil if the script has more than maxEdits edits.
func edits(a, b []string) (kept [][2]int) {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return nil
	}
	// reach[d][k+d] is the end in a of the best path of d edits on diagonal k.
	var reach [][]int
	get := func(v []int, d, k int) int {
		if k < -d || k > d {
			return -1
		}
		return v[k+d]
	}
	for d := 0; d <= min(n+m, maxEdits); d++ {
		v := make([]int, 2*d+1)
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				down, right := get(reach[d-1], d-1, k+1), get(reach[d-1], d-1, k-1)+1
				x = max(down, right)
			}
			for x-k >= 0 && x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			v[k+d] = x
			if x < n || x-k < m {
				continue
			}
			reach = append(reach, v)
			return walk(reach, a, b)
		}
		reach = append(reach, v)
	}
	return nil
}

// walk traces the paths of edits back and lists the kept pairs.
func walk(reach [][]int, a, b []string) (kept [][2]int) {
	x, y := len(a), len(b)
	for d := len(reach) - 1; d > 0; d-- {
		k := x - y
		v := reach[d-1]
		at := func(k int) int {
			if k < -(d-1) || k > d-1 {
				return -1
			}
			return v[k+d-1]
		}
		px, from := at(k+1), k+1 // an element of b was inserted
		if right := at(k-1) + 1; right > px {
			px, from = right, k-1
		}
		for x > px {
			x, y = x-1, y-1
			kept = append(kept, [2]int{x, y})
		}
		x = at(from)
		y = x - from
	}
	for x > 0 && y > 0 {
		x, y = x-1, y-1
		kept = append(kept, [2]int{x, y})
	}
	return kept
}
