package passes

import "math"

// prefixSums are numbers that change, with their sums from the first one on. Every operation takes logarithmic time.
type prefixSums struct {
	leaves int // a power of two
	// nodes[1] is of all numbers, the children of node i are 2i and 2i+1, and the numbers are the last ones.
	nodes []prefix
}

// prefix is what is known of some consecutive numbers.
type prefix struct {
	sum   int32
	least int32 // the least sum of the first numbers, never if no sum counts
}

// never is the least sum where none counts.
const never = math.MaxInt32 / 2

// newPrefixSums makes sums of zeros. Those at which a leaf's least is never do not count.
func newPrefixSums(leaves []prefix) *prefixSums {
	t := &prefixSums{leaves: 1}
	for t.leaves < len(leaves) {
		t.leaves *= 2
	}
	t.nodes = make([]prefix, 2*t.leaves)
	copy(t.nodes[t.leaves:], leaves)
	for i := t.leaves + len(leaves); i < len(t.nodes); i++ {
		t.nodes[i].least = never
	}
	for i := t.leaves - 1; i > 0; i-- {
		t.join(i)
	}
	return t
}

// join computes a node from its children.
func (t *prefixSums) join(i int) {
	l, r := t.nodes[2*i], t.nodes[2*i+1]
	t.nodes[i] = prefix{sum: l.sum + r.sum, least: min(l.least, l.sum+r.least)}
}

// add adds n to number i.
func (t *prefixSums) add(i int, n int32) {
	i += t.leaves
	t.nodes[i].sum += n
	t.nodes[i].least += n
	for i /= 2; i > 0; i /= 2 {
		t.join(i)
	}
}

// upTo returns the sum of the numbers up to number i.
func (t *prefixSums) upTo(i int) int32 {
	i += t.leaves
	sum := t.nodes[i].sum
	for ; i > 1; i /= 2 {
		if i%2 == 1 {
			sum += t.nodes[i-1].sum
		}
	}
	return sum
}

// last returns the last place from lo to hi, hi excluded, up to which the sum is at most most, -1 for none.
func (t *prefixSums) last(lo, hi int, most int32) int { return t.search(1, 0, t.leaves, lo, hi, most) }

// search is last in a node, of count numbers from first on; most is for the sums of its own numbers.
func (t *prefixSums) search(node, first, count, lo, hi int, most int32) int {
	if first >= hi || first+count <= lo || t.nodes[node].least > most {
		return -1
	}
	if count == 1 {
		return first
	}
	half := count / 2
	if i := t.search(2*node+1, first+half, half, lo, hi, most-t.nodes[2*node].sum); i >= 0 {
		return i
	}
	return t.search(2*node, first, half, lo, hi, most)
}
