package compare

import (
	"slices"
	"sort"
	"strconv"
)

// match pairs the elements of two lists by their keys; elements with equal keys are paired in order. to[i] is the
// partner of a[i] in b, or -1; from is the inverse.
func match(a, b []string) (to, from []int) {
	to, from = alone(len(a)), alone(len(b))
	matchRest(a, b, to, from)
	return to, from
}

// matchRest is match for the elements that have no partner yet.
func matchRest(a, b []string, to, from []int) {
	waiting := map[string][]int{}
	for j, k := range b {
		if from[j] < 0 {
			waiting[k] = append(waiting[k], j)
		}
	}
	for i, k := range a {
		if w := waiting[k]; to[i] < 0 && len(w) > 0 {
			to[i], from[w[0]] = w[0], i
			waiting[k] = w[1:]
		}
	}
}

// alone returns n elements without a partner.
func alone(n int) []int { return slices.Repeat([]int{-1}, n) }

// keysOf lists the keys by which elements are paired.
func keysOf[T any](list []T, key func(x *T) string) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = key(&list[i])
	}
	return out
}

// matchBy is match for elements that have a key method.
func matchBy[T any](a, b []T, key func(x *T) string) (to, from []int) {
	return match(keysOf(a, key), keysOf(b, key))
}

// again pairs the elements that match left over by another key; elements with key "" are not paired.
func again[T any](a, b []T, to, from []int, key func(x *T) string) {
	waiting := map[string][]int{}
	for j := range b {
		if k := key(&b[j]); from[j] < 0 && k != "" {
			waiting[k] = append(waiting[k], j)
		}
	}
	for i := range a {
		if to[i] >= 0 {
			continue
		}
		if k := key(&a[i]); len(waiting[k]) > 0 {
			to[i], from[waiting[k][0]] = waiting[k][0], i
			waiting[k] = waiting[k][1:]
		}
	}
}

// fill pairs, in order, the elements that match left over between the same neighbours, if like allows it.
func fill(to, from []int, like func(i, j int) bool) {
	j := 0
	for i := range to {
		if to[i] >= 0 {
			j = to[i] + 1
			continue
		}
		if j < len(from) && from[j] < 0 && like(i, j) {
			to[i], from[j] = j, i
			j++
		}
	}
}

// moved returns the elements of the first list whose partners are in another
// order: all but a longest run that ascends in both.
func moved(to []int) (out []int) {
	var at, top []int // paired elements; top[k]: the element that ends the best chain of k+1
	for i, j := range to {
		if j >= 0 {
			at = append(at, i)
		}
	}
	before := make([]int, len(at))
	for p, i := range at {
		k := sort.Search(len(top), func(k int) bool { return to[at[top[k]]] >= to[i] })
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
	stays := make([]bool, len(at))
	if len(top) > 0 {
		for p := top[len(top)-1]; p >= 0; p = before[p] {
			stays[p] = true
		}
	}
	for p, i := range at {
		if !stays[p] {
			out = append(out, i)
		}
	}
	return out
}

// attribute is a named property of a record.
type attribute struct{ name, value string }

// record is a part of a file with its name and properties.
type record struct {
	key   string
	by    string // the key to pair it by; "" means key
	attrs []attribute
	text  string   // a program, compared line by line
	names []string // statements that it came from
}

func (r *record) num(name string, v uint64) { r.put(name, strconv.FormatUint(v, 10)) }
func (r *record) put(name, value string)    { r.attrs = append(r.attrs, attribute{name, value}) }

// records compares two lists of records.
func records(l Level, a, b []record) (out []*Change) {
	to, from := matchBy(a, b, func(r *record) string {
		if r.by != "" {
			return r.by
		}
		return r.key
	})
	for i := range a {
		if to[i] < 0 {
			out = append(out, newChange(l, Removed, a[i].key, a[i].names))
			continue
		}
		x, y := &a[i], &b[to[i]]
		if d := append(attributes(x.attrs, y.attrs), programText(x.text, y.text)...); len(d) > 0 {
			out = append(out, newChange(l, Changed, x.key, slices.Concat(x.names, y.names), d...))
		}
	}
	for j := range b {
		if from[j] < 0 {
			out = append(out, newChange(l, Added, b[j].key, b[j].names))
		}
	}
	for _, i := range moved(to) {
		out = append(out, newChange(l, Moved, a[i].key, a[i].names))
	}
	return out
}

// attributes lists the properties that differ.
func attributes(a, b []attribute) (out []string) {
	other := map[string]string{}
	for _, y := range b {
		other[y.name] = y.value
	}
	for _, x := range a {
		y, ok := other[x.name]
		delete(other, x.name)
		switch {
		case !ok:
			out = append(out, x.name+": "+x.value+" -> none")
		case x.value != y:
			out = append(out, x.name+": "+x.value+" -> "+y)
		}
	}
	for _, y := range b {
		if _, left := other[y.name]; left {
			out = append(out, y.name+": none -> "+y.value)
		}
	}
	return out
}
