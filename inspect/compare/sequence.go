package compare

import "github.com/zinc-compiler/zinc/internal/align"

// maxWork bounds the comparisons with which two lists are aligned in order, by the number of their elements. Where they
// do not suffice, elements are paired by key alone.
const maxWork = 512

// sequence pairs two lists in order by a shortest edit script, then the remaining elements, which moved, by key alone.
func sequence(a, b []string) (to, from []int) {
	to, from = alone(len(a)), alone(len(b))
	pairs, _ := align.Strings(a, b, maxWork*int64(len(a)+len(b)))
	for _, p := range pairs {
		to[p[0]], from[p[1]] = int(p[1]), int(p[0])
	}
	matchRest(a, b, to, from)
	return to, from
}
