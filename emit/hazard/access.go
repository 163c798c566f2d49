package hazard

import (
	"cmp"
	"slices"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/target"
)

// access is a tensor of a task.
type access struct {
	td.Access
	*memory
}

// memory is the size of L2: bases and strides are whole granules, so no two rows share one unless they overlap.
type memory struct{ bytes, granule, granules int64 }

func memoryOf(t *target.Table) *memory {
	return &memory{bytes: t.L2Bytes, granule: t.L2Granule, granules: t.L2Bytes / t.L2Granule}
}

// sameLayout reports whether rows have the same length and distance. The stride of an axis with an extent of 1 does not
// matter.
func sameLayout(g, o *td.Grid) bool {
	for i := range g.Count {
		if g.Count[i] > 1 && o.Count[i] > 1 && g.Stride[i] != o.Stride[i] {
			return false
		}
	}
	return g.Row == o.Row
}

// furthest is the register that reaches out most.
func (a *access) furthest() td.Field {
	best, reach := a.FirstFrom, a.First
	for i, n := range a.Count {
		if r := (n - 1) * a.Stride[i]; r > reach {
			best, reach = a.StrideField(td.Axis(i)), r
		}
	}
	return best
}

// aliased returns an axis along which neighbouring elements certainly share bytes, and the extent of that axis; 0 if
// there is none.
func (a *access) aliased() (n int64, axis td.Axis) {
	for i, n := range a.Count {
		if n > 1 && a.Stride[i] < a.Row {
			return n, td.Axis(i)
		}
	}
	return 0, 0
}

// runs is the number of rows that are in different places.
func (a *access) runs() int64 {
	n := int64(1)
	for i, c := range a.Count {
		if a.Stride[i] != 0 {
			n *= c
			if n > a.granules {
				return n
			}
		}
	}
	return n
}

// each calls f for every row or, if there are more rows than L2 has granules, once for the whole extent.
func (a *access) each(f func(from, to int64)) {
	if a.runs() > a.granules || a.runs()*(a.Row/a.granule+1) > 4*a.granules {
		f(a.Span())
		return
	}
	n := a.Count
	for i := range n {
		if a.Stride[i] == 0 {
			n[i] = 1
		}
	}
	for g := range n[td.AxisGroup] {
		for d := range n[td.AxisDepth] {
			for p := range n[td.AxisChannel] {
				at := a.First + g*a.Stride[td.AxisGroup] + d*a.Stride[td.AxisDepth] + p*a.Stride[td.AxisChannel]
				for h := range n[td.AxisRow] {
					f(at+h*a.Stride[td.AxisRow], at+h*a.Stride[td.AxisRow]+a.Row)
				}
			}
		}
	}
}

// stretches calls f for every run of granules that the access takes, page by page in order of address, with the
// granules from and to of the page. Rows that follow each other without a gap are one run; if there are more runs than
// L2 has granules, the whole extent counts as one. The access must be inside the memory.
func (a *access) stretches(f func(page, from, to int64)) {
	type axis struct{ n, stride int64 }
	var axes []axis // by stride, the widest first
	for i, n := range a.Count {
		if n > 1 && a.Stride[i] > 0 {
			axes = append(axes, axis{n, a.Stride[i]})
		}
	}
	slices.SortStableFunc(axes, func(x, y axis) int { return cmp.Compare(y.stride, x.stride) })
	run := a.Row
	for len(axes) > 0 {
		x := axes[len(axes)-1]
		if x.stride > (run+a.granule-1)/a.granule*a.granule {
			break
		}
		run += (x.n - 1) * x.stride
		axes = axes[:len(axes)-1]
	}
	runs := int64(1)
	for _, x := range axes {
		if runs *= x.n; runs > a.granules {
			break
		}
	}
	if runs > a.granules || runs*(run/a.granule+1) > 4*a.granules {
		from, to := a.Span()
		axes, run = nil, to-from
	}
	var walk func(axes []axis, at int64)
	walk = func(axes []axis, at int64) {
		if len(axes) > 0 {
			for i := range axes[0].n {
				walk(axes[1:], at+i*axes[0].stride)
			}
			return
		}
		to := (at + run + a.granule - 1) / a.granule
		for g := at / a.granule; g < to; {
			page := g / pageGranules
			end := min(to, (page+1)*pageGranules)
			f(page, g, end)
			g = end
		}
	}
	walk(axes, a.First)
}

// accesses are the tensors of one task.
type accesses struct {
	sources []access
	result  access
	same    bool // every result element takes in only the source elements at its own place

	all []td.Access // of the task
	*memory
}

// take computes the sources and the result of a task that is not skipped, in place of another task's.
func (x *accesses) take(t *td.Task) {
	x.same = t.InExtents() == t.OutExtents()
	x.all, x.sources = td.AppendAccesses(x.all[:0], t), x.sources[:0]
	for i := range x.all {
		if a := &x.all[i]; a.Result {
			x.result = access{*a, x.memory}
		} else {
			x.sources = append(x.sources, access{*a, x.memory})
		}
	}
	if t.Planar() == td.NotPlanar {
		x.same = x.same && (t.NeuralOp() == td.NEPass || t.Multiplies() && t.On(td.UnicastEn) && !t.Window())
	} else {
		x.same = x.same && !t.Planar().Reduces()
	}
}
