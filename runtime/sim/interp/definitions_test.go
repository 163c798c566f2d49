package interp

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
)

// definition compares an operation on one row of n elements with what its published definition says of the row.
type definition struct {
	t *testing.T
	n int
}

// row is the row of a definition: distinct, positive numbers that are not in order.
func (d definition) row() []float64 {
	xs := make([]float64, d.n)
	for i := range xs {
		xs[i] = float64((i*3+2)%7+1) / 4
	}
	return xs
}

// check runs op on xs, of the given shape, and compares the first result.
func (d definition) check(op, opset string, a args, xs []float64, shape, wantShape []int64, want []float64,
	why string) {
	d.t.Helper()
	d.t.Run(fmt.Sprintf("%s/%d/%s", op, d.n, why), func(t *testing.T) {
		b := newBld(t, opset)
		single := func(vs []float64) (out []float32) {
			for _, v := range vs {
				out = append(out, float32(v))
			}
			return out
		}
		a["x"] = b.input("x", floats(t, ir.FP32, shape, single(xs)...))
		wantFloats(t, b.run(Options{}, b.op(op, a))[0], 1e-5, wantShape, single(want)...)
	})
}

// TestRowsFollowTheirDefinitions runs operations on rows of 1 to 5 elements. What it expects is written from the
// published definition of each operation (coremltools' reference), without anything that kernels use.
func TestRowsFollowTheirDefinitions(t *testing.T) {
	for n := range 5 {
		d := definition{t, n + 1}
		d.resizes()
		d.pools()
		d.convs()
		d.transposedConvs()
		d.sums()
		d.slices()
		d.pads()
		d.orders()
		d.reductions()
		d.upsamples()
		d.responses()
		d.squares()
	}
}

// between is the row between its elements, at position p clamped to it.
func between(xs []float64, p float64) float64 {
	p = min(max(p, 0), float64(len(xs)-1))
	low := int(math.Floor(p))
	high := min(low+1, len(xs)-1)
	return xs[low]*(1-(p-float64(low))) + xs[high]*(p-float64(low))
}

func (d definition) resizes() {
	xs, in := d.row(), float64(d.n)
	for m := 1; m <= 6; m++ {
		out := float64(m)
		corners := 0.0
		if m > 1 {
			corners = (in - 1) / (out - 1)
		}
		start := 0.0
		if m == 1 {
			start = (in - 1) / 2
		}
		shape, wide := []int64{1, 1, int64(d.n)}, []int64{1, 1, int64(m)}
		for mode, at := range map[string]func(i float64) float64{
			"DEFAULT":              func(i float64) float64 { return i * in / out },
			"STRICT_ALIGN_CORNERS": func(i float64) float64 { return i * corners },
			"ALIGN_CORNERS":        func(i float64) float64 { return start + i*corners },
			"UNALIGN_CORNERS":      func(i float64) float64 { return i*in/out + in/out/2 - 0.5 },
			"OFFSET_CORNERS":       func(i float64) float64 { return (0.5 + i) * max(1, in-1) / out },
		} {
			var want []float64
			for i := range m {
				want = append(want, between(xs, at(float64(i))))
			}
			d.check("resize_bilinear", "ios17", args{"target_size_height": num(1), "target_size_width": num(int64(m)),
				"sampling_mode": str(mode)}, xs, shape, wide, want, fmt.Sprint(mode, m))
			d.check("resize", "ios17", args{"shape": vec(int64(m)), "sampling_mode": str(mode),
				"resized_dims": constant(ints(d.t, ir.UInt32, nil, 1))}, xs, shape, wide, want, fmt.Sprint(mode, m))
		}
		var nearest []float64
		for i := range m {
			nearest = append(nearest, xs[i*d.n/m])
		}
		d.check("resize_nearest_neighbor", "ios15", args{"target_size_height": num(1),
			"target_size_width": num(int64(m))}, xs, shape, wide, nearest, fmt.Sprint(m))
	}
}

// walk is one way to walk a row: its padding before and after, and the starts of its windows in the padded row.
type walk struct {
	a           args
	lead, trail int
	starts      []int
	why         string
}

// walks returns the ways to walk a row of n elements by windows of k taps, with every kind of padding.
func (d definition) walks(k, stride, dilation int, ceil bool) (ws []walk) {
	eff := (k-1)*dilation + 1
	for _, p := range []struct {
		kind        string
		lead, trail int
	}{{"valid", 0, 0}, {"same", 0, 0}, {"same_lower", 0, 0}, {"custom", 1, 0}, {"custom", 0, 1}, {"custom", 1, 1}} {
		w := walk{a: args{"pad_type": str(p.kind), "strides": vec(int64(stride)),
			"pad": vec(int64(p.lead), int64(p.trail))}, lead: p.lead, trail: p.trail,
			why: fmt.Sprint(p, k, stride, dilation, ceil)}
		if p.kind[0] == 's' {
			total := max(0, (d.n+stride-1)/stride*stride-stride+eff-d.n)
			w.lead, w.trail = total/2, total-total/2
			if p.kind == "same_lower" {
				w.lead, w.trail = w.trail, w.lead
			}
		}
		if eff > d.n+w.lead+w.trail || p.kind == "custom" && k < 2 || ceil && p.kind[0] == 's' {
			continue
		}
		s := 0
		for ; s+eff <= d.n+w.lead+w.trail; s += stride {
			w.starts = append(w.starts, s)
		}
		if ceil {
			w.a["ceil_mode"] = truth(true)
			if s-stride+eff < d.n+w.lead+w.trail && s < d.n+w.lead {
				w.starts = append(w.starts, s)
			}
		}
		ws = append(ws, w)
	}
	return ws
}

func (d definition) pools() {
	xs := d.row()
	for i := range 2 * 3 * 3 * 2 {
		exclude, stride, k, ceil := i%2 == 1, i/2%3+1, i/6%3+1, i/18 == 1
		for _, w := range d.walks(k, stride, 1, ceil) {
			var largest, mean []float64
			for _, s := range w.starts {
				top, sum, count, inside := math.Inf(-1), 0.0, 0, 0
				for p := s; p < s+k && p < w.lead+d.n+w.trail; p++ {
					count++
					if p >= w.lead && p < w.lead+d.n {
						top, sum, inside = max(top, xs[p-w.lead]), sum+xs[p-w.lead], inside+1
					}
				}
				if exclude {
					count = inside
				}
				largest, mean = append(largest, top), append(mean, sum/float64(count))
			}
			w.a["kernel_sizes"] = vec(int64(k))
			shape, wide := []int64{1, 1, int64(d.n)}, []int64{1, 1, int64(len(w.starts))}
			d.check("max_pool", "ios15", w.a, xs, shape, wide, largest, w.why)
			w.a["exclude_padding_from_average"] = truth(exclude)
			d.check("avg_pool", "ios15", w.a, xs, shape, wide, mean, w.why)
		}
	}
}

// planes returns a plane of d's row and one of its negative halves, and the weights of four filters of k taps.
func (d definition) planes(k, taps int) (xs, ws []float64) {
	for c := range 2 {
		for _, x := range d.row() {
			xs = append(xs, x*(1-1.5*float64(c)))
		}
	}
	for i := range k * taps {
		ws = append(ws, float64(i*5%11)-4)
	}
	return xs, ws
}

func (d definition) weights(ws []float64, shape ...int64) *ir.Value {
	var vs []float32
	for _, w := range ws {
		vs = append(vs, float32(w))
	}
	return constant(floats(d.t, ir.FP32, shape, vs...))
}

func (d definition) convs() {
	for i := range 2 * 2 * 2 * 3 {
		groups, stride, dilation, k := i%2+1, i/2%2+1, i/4%2+1, i/8+1
		in := 2 / groups // channels that a filter reads
		xs, ws := d.planes(k, 4*in)
		for _, w := range d.walks(k, stride, dilation, false) {
			var want []float64
			for o := range 4 {
				for _, s := range w.starts {
					sum := 0.0
					for c := range in {
						for q := range k {
							if p := s + q*dilation - w.lead; p >= 0 && p < d.n {
								sum += ws[(o*in+c)*k+q] * xs[(o/(4/groups)*in+c)*d.n+p]
							}
						}
					}
					want = append(want, sum)
				}
			}
			w.a["weight"], w.a["groups"] = d.weights(ws, 4, int64(in), int64(k)), num(int64(groups))
			w.a["dilations"] = vec(int64(dilation))
			d.check("conv", "ios15", w.a, xs, []int64{1, 2, int64(d.n)}, []int64{1, 4, int64(len(w.starts))}, want,
				fmt.Sprint(w.why, groups))
		}
	}
}

func (d definition) transposedConvs() {
	for i := range 2 * 3 * 2 * 3 * 2 {
		groups, stride, dilation, k, pad := i%2+1, i/2%3+1, i/6%2+1, i/12%3+1, i/36
		out := 4 / groups // channels that a plane of the input adds to
		xs, ws := d.planes(k, 2*out)
		size := (d.n-1)*stride + (k-1)*dilation + 1 - 2*pad
		if size < 1 {
			continue
		}
		want := make([]float64, 4*size)
		for c := range 2 {
			for p := range d.n {
				for o := range out {
					for q := range k {
						if at := p*stride + q*dilation - pad; at >= 0 && at < size {
							want[(c/(2/groups)*out+o)*size+at] += xs[c*d.n+p] * ws[(c*out+o)*k+q]
						}
					}
				}
			}
		}
		d.check("conv_transpose", "ios15", args{"weight": d.weights(ws, 2, int64(out), int64(k)),
			"groups": num(int64(groups)), "strides": vec(int64(stride)), "dilations": vec(int64(dilation)),
			"pad_type": str("custom"), "pad": vec(int64(pad), int64(pad))}, xs, []int64{1, 2, int64(d.n)},
			[]int64{1, 4, int64(size)}, want, fmt.Sprint(groups, stride, dilation, k, pad))
	}
}

func (d definition) sums() {
	xs, shape := d.row(), []int64{int64(d.n)}
	for i := range 4 {
		exclusive, reverse := i%2 == 1, i/2 == 1
		var want []float64
		for p := range xs {
			sum := 0.0
			for q, x := range xs {
				if q < p && !reverse || q > p && reverse || q == p && !exclusive {
					sum += x
				}
			}
			want = append(want, sum)
		}
		d.check("cumsum", "ios15", args{"axis": num(0), "exclusive": truth(exclusive), "reverse": truth(reverse)}, xs,
			shape, shape, want, fmt.Sprint(exclusive, reverse))
	}
}

func (d definition) slices() {
	xs, n := d.row(), d.n
	for begin := -n; begin < n; begin++ {
		for end := -n; end <= n; end++ {
			for _, stride := range []int{-2, -1, 1, 2, 3} {
				for masks := range 4 {
					from, to := (begin+n)%n, end
					if end < 0 {
						to += n
					}
					if masks&1 != 0 {
						from = 0
						if stride < 0 {
							from = n - 1
						}
					}
					if masks&2 != 0 {
						to = n
						if stride < 0 {
							to = -1
						}
					}
					var want []float64
					for p := from; stride > 0 && p < to || stride < 0 && p > to; p += stride {
						want = append(want, xs[p])
					}
					if want == nil {
						continue // an empty result
					}
					bit := func(i int) *ir.Value { return constant(ints(d.t, ir.Bool, []int64{1}, int64(masks>>i&1))) }
					d.check("slice_by_index", "ios15", args{"begin": vec(int64(begin)), "end": vec(int64(end)),
						"stride": vec(int64(stride)), "begin_mask": bit(0), "end_mask": bit(1)}, xs, []int64{int64(n)},
						[]int64{int64(len(want))}, want, fmt.Sprint(begin, end, stride, masks))
				}
			}
		}
	}
}

func (d definition) pads() {
	xs := d.row()
	for before := range 3 {
		for after := range 3 {
			for _, mode := range []string{"constant", "reflect", "replicate"} {
				if mode == "reflect" && max(before, after) >= d.n {
					continue
				}
				var want []float64
				for p := -before; p < d.n+after; p++ {
					q := p
					switch {
					case p >= 0 && p < d.n:
					case mode == "constant":
						want = append(want, 7)
						continue
					case mode == "reflect" && p < 0:
						q = -p
					case mode == "reflect":
						q = 2*(d.n-1) - p
					case p < 0:
						q = 0
					default:
						q = d.n - 1
					}
					want = append(want, xs[q])
				}
				d.check("pad", "ios15", args{"pad": vec(int64(before), int64(after)), "mode": str(mode),
					"constant_val": scalar(ir.FP32, 7)}, xs, []int64{int64(d.n)}, []int64{int64(len(want))}, want,
					fmt.Sprint(mode, before, after))
			}
		}
	}
}

func (d definition) orders() {
	xs, shape := d.row(), []int64{int64(d.n)}
	for _, ascending := range []bool{false, true} {
		sorted := slices.Sorted(slices.Values(xs))
		if !ascending {
			slices.Reverse(sorted)
		}
		for k := 1; k <= d.n; k++ {
			d.check("topk", "ios15", args{"k": num(int64(k)), "axis": num(0), "ascending": truth(ascending)}, xs, shape,
				[]int64{int64(k)}, sorted[:k], fmt.Sprint(k, ascending))
		}
	}
	for size := 1; size <= d.n; size++ {
		for stride := 1; stride <= 3; stride++ {
			var want []float64
			for s := 0; s+size <= d.n; s += stride {
				want = append(want, xs[s:s+size]...)
			}
			d.check("sliding_windows", "ios15", args{"axis": num(0), "size": num(int64(size)),
				"stride": num(int64(stride))}, xs, shape, []int64{int64(len(want) / size), int64(size)}, want,
				fmt.Sprint(size, stride))
		}
	}
}

func (d definition) reductions() {
	xs := d.row()
	top, low, product := xs[0], xs[0], 1.0
	var sum, squares, exps float64
	for _, x := range xs {
		top, low, product = max(top, x), min(low, x), product*x
		sum, squares, exps = sum+x, squares+x*x, exps+math.Exp(x)
	}
	for op, want := range map[string]float64{
		"reduce_max": top, "reduce_min": low, "reduce_prod": product, "reduce_sum": sum, "reduce_l1_norm": sum,
		"reduce_mean": sum / float64(d.n), "reduce_sum_square": squares, "reduce_l2_norm": math.Sqrt(squares),
		"reduce_log_sum": math.Log(sum), "reduce_log_sum_exp": math.Log(exps),
	} {
		d.check(op, "ios15", args{"axes": vec(-1), "keep_dims": truth(true)}, xs, []int64{1, int64(d.n)}, []int64{1, 1},
			[]float64{want}, "")
	}
}

func (d definition) upsamples() {
	xs, in := d.row(), float64(d.n)
	for _, factor := range []float64{1, 1.5, 2, 2.75, 3} {
		m := int(math.Floor(factor * in))
		var aligned, centred, nearest []float64
		for i := range m {
			spacing := 0.0
			if m > 1 {
				spacing = (in - 1) / float64(m-1)
			}
			aligned = append(aligned, between(xs, float64(i)*spacing))
			centred = append(centred, between(xs, (float64(i)+0.5)*in/float64(m)-0.5))
			nearest = append(nearest, xs[i*d.n/m])
		}
		shape, wide := []int64{1, 1, int64(d.n)}, []int64{1, 1, int64(m)}
		a := func() args { return args{"scale_factor_width": scalar(ir.FP32, factor)} }
		d.check("upsample_nearest_neighbor", "ios15", a(), xs, shape, wide, nearest, fmt.Sprint(factor))
		d.check("upsample_bilinear", "ios15", a(), xs, shape, wide, aligned, fmt.Sprint(factor))
		half := a()
		half["align_corners"] = truth(false)
		d.check("upsample_bilinear", "ios15", half, xs, shape, wide, centred, fmt.Sprint("centred", factor))
	}
}

// responses normalises the row as channels. A window of an even size has one more channel before its own.
func (d definition) responses() {
	xs := d.row()
	for size := 1; size <= 6; size++ {
		var want []float64
		for c := range d.n {
			sum := 0.0
			for q := c - size/2; q < c-size/2+size; q++ {
				if q >= 0 && q < d.n {
					sum += xs[q] * xs[q]
				}
			}
			want = append(want, xs[c]/math.Pow(1.5+0.3*sum/float64(size), 0.75))
		}
		shape := []int64{1, int64(d.n), 1}
		d.check("local_response_norm", "ios15", args{"size": num(int64(size)), "alpha": scalar(ir.FP32, 0.3),
			"beta": scalar(ir.FP32, 0.75), "k": scalar(ir.FP32, 1.5)}, xs, shape, shape, want, fmt.Sprint(size))
	}
}

// squares repeats the row and keeps bands of a square of it.
func (d definition) squares() {
	xs, n := d.row(), d.n
	for reps := 1; reps <= 3; reps++ {
		want := slices.Repeat(xs, reps)
		d.check("tile", "ios15", args{"reps": vec(int64(reps))}, xs, []int64{int64(n)}, []int64{int64(n * reps)}, want,
			fmt.Sprint(reps))
	}
	shape := []int64{int64(n), int64(n)}
	for lower := -1; lower <= n; lower++ {
		for upper := -1; upper <= n; upper++ {
			var want []float64
			for i := range n * n {
				down, v := i/n-i%n, xs[i%n]
				if lower >= 0 && down > lower || upper >= 0 && -down > upper {
					v = 0
				}
				want = append(want, v)
			}
			d.check("band_part", "ios15", args{"lower": num(int64(lower)), "upper": num(int64(upper))},
				slices.Repeat(xs, n), shape, shape, want, fmt.Sprint(lower, upper))
		}
	}
}
