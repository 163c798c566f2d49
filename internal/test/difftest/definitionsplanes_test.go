package difftest_test

import (
	"maps"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// grids are the places of n elements in an axis of size elements, by mode of sampling.
var grids = map[string]func(i, size, n float64) float64{
	"DEFAULT": func(i, size, n float64) float64 { return i * (size - size/n) / max(n-1, 1) },
	"STRICT_ALIGN_CORNERS": func(i, size, n float64) float64 {
		return i * (size - 1) / max(n-1, 1)
	},
	"ALIGN_CORNERS": func(i, size, n float64) float64 {
		if n == 1 {
			return (size - 1) / 2
		}
		return i * (size - 1) / (n - 1)
	},
	"UNALIGN_CORNERS": func(i, size, n float64) float64 { return i*size/n + size/n/2 - 0.5 },
	"OFFSET_CORNERS":  func(i, size, n float64) float64 { return (0.5 + i) * max(1, size-1) / n },
}

// between is the plane c of x at a place, which is clamped to it.
func between(x array, n, c int, y, z float64) (v float64) {
	part := func(p float64, size int) (low, high int, f float64) {
		p = min(max(p, 0), float64(size-1))
		low = int(math.Floor(p))
		return low, min(low+1, size-1), p - float64(low)
	}
	t, b, fy := part(y, x.shape[2])
	l, r, fx := part(z, x.shape[3])
	return (x.at([]int{n, c, t, l})*(1-fx)+x.at([]int{n, c, t, r})*fx)*(1-fy) +
		(x.at([]int{n, c, b, l})*(1-fx)+x.at([]int{n, c, b, r})*fx)*fy
}

func (d *definitions) resizes(h, w int) {
	x := data(1, 2, h, w)
	for _, to := range [][2]int{{1, 1}, {1, 3}, {h, w}, {2, 5}, {2 * h, 3 * w}, {4, 2}, {h, 4}, {3, w}} {
		shape := []int{1, 2, to[0], to[1]}
		for _, mode := range slices.Sorted(maps.Keys(grids)) {
			at := grids[mode]
			d.check("ios17", "resize_bilinear", array{shape, func(i []int) float64 {
				return between(x, 0, i[1], at(float64(i[2]), float64(h), float64(to[0])),
					at(float64(i[3]), float64(w), float64(to[1])))
			}}, "x", x, "target_size_height", to[0], "target_size_width", to[1], "sampling_mode", mode)
		}
		d.check("ios17", "resize_nearest_neighbor", array{shape, func(i []int) float64 {
			return x.at([]int{0, i[1], i[2] * h / to[0], i[3] * w / to[1]})
		}}, "x", x, "target_size_height", to[0], "target_size_width", to[1])
	}
	for _, by := range [][2]int{{1, 1}, {2, 1}, {1, 3}, {2, 3}} {
		shape := []int{1, 2, h * by[0], w * by[1]}
		d.check("ios17", "upsample_nearest_neighbor", array{shape, func(i []int) float64 {
			return x.at([]int{0, i[1], i[2] / by[0], i[3] / by[1]})
		}}, "x", x, "scale_factor_height", float64(by[0]), "scale_factor_width", float64(by[1]))
		for _, corners := range []bool{false, true} {
			at := grids[map[bool]string{false: "UNALIGN_CORNERS", true: "STRICT_ALIGN_CORNERS"}[corners]]
			d.check("ios17", "upsample_bilinear", array{shape, func(i []int) float64 {
				return between(x, 0, i[1], at(float64(i[2]), float64(h), float64(shape[2])),
					at(float64(i[3]), float64(w), float64(shape[3])))
			}}, "x", x, "scale_factor_height", float64(by[0]), "scale_factor_width", float64(by[1]), "align_corners",
				corners)
		}
	}
}

// boxes write the corners of a box, top, left, bottom and right, in each mode of coordinates.
var boxes = map[string]func(t, l, b, r float64) []float64{
	"CORNERS_HEIGHT_FIRST": func(t, l, b, r float64) []float64 { return []float64{t, l, b, r} },
	"CORNERS_WIDTH_FIRST":  func(t, l, b, r float64) []float64 { return []float64{l, t, r, b} },
	"CENTER_SIZE_HEIGHT_FIRST": func(t, l, b, r float64) []float64 {
		return []float64{(t + b) / 2, (l + r) / 2, b - t, r - l}
	},
	"CENTER_SIZE_WIDTH_FIRST": func(t, l, b, r float64) []float64 {
		return []float64{(l + r) / 2, (t + b) / 2, r - l, b - t}
	},
}

// crops cuts boxes inside the image out of it: a box is resized as an image whose corners are the box's.
func (d *definitions) crops(h, w int) {
	x := data(2, 2, h, w)
	corners := []float64{0, 0, float64(h - 1), float64(w - 1), 0, float64(w-1) / 2, float64(h-1) / 2, float64(w - 1)}
	images := []int{1, 0}
	for _, to := range [][2]int{{1, 1}, {h, w}, {3, 2}} {
		for _, mode := range []string{"DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"} {
			at := func(i, n int, from, to float64) float64 {
				return from + grids[mode](float64(i), to-from+1, float64(n))
			}
			want := array{[]int{2, 2, to[0], to[1]}, func(i []int) float64 {
				b := corners[4*i[0] : 4*i[0]+4]
				return between(x, images[i[0]], i[1], min(at(i[2], to[0], b[0], b[2]), b[2]),
					min(at(i[3], to[1], b[1], b[3]), b[3]))
			}}
			check := func(order string, unit bool, vs []float64) {
				d.check("ios17", "crop_resize", want, "x", x, "boxes", rows(vs, 2, 4), "box_indices",
					whole{images, []int{2}, false}, "target_height", to[0], "target_width", to[1],
					"sampling_mode", mode, "box_coordinate_mode", order, "normalized_coordinates", unit)
			}
			for _, order := range slices.Sorted(maps.Keys(boxes)) {
				write, c := boxes[order], corners
				check(order, false, append(write(c[0], c[1], c[2], c[3]), write(c[4], c[5], c[6], c[7])...))
			}
			check("CORNERS_HEIGHT_FIRST", true, []float64{0, 0, 1, 1, 0, 0.5, 0.5, 1})
		}
	}
}

// outside is the element of an axis of n that stands at a place outside it, as each padding mode says, -1 for none.
var outside = map[string]func(p, n int) int{
	"constant": func(int, int) int { return -1 },
	"border":   func(p, n int) int { return min(max(p, 0), n-1) },
	"reflection": func(p, n int) int {
		for n > 1 && (p < 0 || p >= n) {
			p = max(-p, min(p, 2*(n-1)-p))
		}
		return min(max(p, 0), n-1) // all places of an axis of one element are it
	},
	"symmetric": func(p, n int) int {
		for p < 0 || p >= n {
			p = max(-1-p, min(p, 2*n-1-p))
		}
		return p
	},
}

// samples reads planes of h by w at places that are partly outside them.
func (d *definitions) samples(h, w int) {
	x := data(2, 2, h, w)
	at := array{[]int{2, 2, 3, 2}, func(i []int) float64 { return float64(position([]int{2, 2, 3, 2}, i)*7%23-9) / 8 }}
	// pixel is where a coordinate is in an axis of n elements.
	pixel := map[string]func(v float64, n int, corners bool) float64{
		"unnormalized": func(v float64, _ int, _ bool) float64 { return v },
		"normalized_zero_to_one": func(v float64, n int, corners bool) float64 {
			if corners {
				return v * float64(n-1)
			}
			return v*float64(n) - 0.5
		},
		"normalized_minus_one_to_one": func(v float64, n int, corners bool) float64 {
			if corners {
				return (v + 1) / 2 * float64(n-1)
			}
			return (v+1)/2*float64(n) - 0.5
		},
	}
	for _, mode := range slices.Sorted(maps.Keys(outside)) {
		// value is the plane c at a pixel that may be outside it.
		value := func(n, c, y, z int) float64 {
			if y < 0 || y >= h {
				y = outside[mode](y, h)
			}
			if z < 0 || z >= w {
				z = outside[mode](z, w)
			}
			if y < 0 || z < 0 {
				return 1.5
			}
			return x.at([]int{n, c, y, z})
		}
		for _, unit := range slices.Sorted(maps.Keys(pixel)) {
			for _, corners := range []bool{false, true} {
				d.check("ios17", "resample", array{[]int{2, 2, 2, 3}, func(i []int) float64 {
					z := pixel[unit](at.at([]int{i[0], i[2], i[3], 0}), w, corners)
					y := pixel[unit](at.at([]int{i[0], i[2], i[3], 1}), h, corners)
					t, l := int(math.Floor(y)), int(math.Floor(z))
					fy, fx := y-float64(t), z-float64(l)
					return (value(i[0], i[1], t, l)*(1-fx)+value(i[0], i[1], t, l+1)*fx)*(1-fy) +
						(value(i[0], i[1], t+1, l)*(1-fx)+value(i[0], i[1], t+1, l+1)*fx)*fy
				}}, "x", x, "coordinates", at, "sampling_mode", "bilinear", "padding_mode", mode, "padding_value", 1.5,
					"coordinates_mode", unit, "align_corners", corners)
			}
		}
	}
	for top := range h {
		left := top % w
		d.check("ios17", "crop", array{[]int{2, 2, h - top, w - left}, func(i []int) float64 {
			return x.at([]int{i[0], i[1], i[2] + top, i[3] + left})
		}}, "x", x, "crop_height", []int{top, 0}, "crop_width", []int{left, 0})
	}
}

// windows walks planes of h by w by windows: pools, convolutions and their transposes.
func (d *definitions) windows(h, w int) {
	x := data(1, 2, h, w)
	for i := range 2 * 2 * 2 * 2 * 3 {
		kh, kw, sh, sw, kind := i%2+1, i/2%2+2, i/4%2+1, i/8%2+1, []string{"valid", "custom", "same"}[i/16]
		var pad []int
		starts := func(n, k, s, before, after int) int { return (n+before+after-k)/s + 1 }
		switch kind {
		case "valid":
			pad = []int{0, 0, 0, 0}
		case "custom":
			pad = []int{kh - 1, 0, 1, kw - 1}
		case "same":
			total := func(n, k, s int) int { return max(0, (n+s-1)/s*s-s+k-n) }
			th, tw := total(h, kh, sh), total(w, kw, sw)
			pad = []int{th / 2, th - th/2, tw / 2, tw - tw/2}
		}
		if h+pad[0]+pad[1] < kh || w+pad[2]+pad[3] < kw {
			continue
		}
		shape := []int{1, 2, starts(h, kh, sh, pad[0], pad[1]), starts(w, kw, sw, pad[2], pad[3])}
		// in calls f with the places of a window that are in the plane.
		in := func(i []int, f func(p, q, y, x int)) {
			all([]int{kh, kw}, func(k []int) {
				y, z := i[2]*sh+k[0]-pad[0], i[3]*sw+k[1]-pad[2]
				if y >= 0 && y < h && z >= 0 && z < w {
					f(k[0], k[1], y, z)
				}
			})
		}
		args := func(more ...any) []any {
			return append([]any{"x", x, "strides", []int{sh, sw}, "pad_type", kind, "pad", pad}, more...)
		}
		sizes := []int{kh, kw}
		d.check("ios17", "max_pool", array{shape, func(i []int) float64 {
			top := math.Inf(-1)
			in(i, func(_, _, y, z int) { top = max(top, x.at([]int{0, i[1], y, z})) })
			return top
		}}, args("kernel_sizes", sizes)...)
		for _, exclude := range []bool{false, true} {
			d.check("ios17", "avg_pool", array{shape, func(i []int) float64 {
				sum, n := 0.0, 0
				in(i, func(_, _, y, z int) { sum, n = sum+x.at([]int{0, i[1], y, z}), n+1 })
				if !exclude {
					n = kh * kw
				}
				return sum / float64(n)
			}}, args("kernel_sizes", sizes, "exclude_padding_from_average", exclude)...)
		}
		d.check("ios17", "l2_pool", array{shape, func(i []int) float64 {
			sum := 0.0
			in(i, func(_, _, y, z int) { sum += x.at([]int{0, i[1], y, z}) * x.at([]int{0, i[1], y, z}) })
			return math.Sqrt(sum)
		}}, args("kernel_sizes", sizes)...)
		weight := data(3, 2, kh, kw)
		d.check("ios17", "conv", array{[]int{1, 3, shape[2], shape[3]}, func(i []int) (sum float64) {
			in(i, func(p, q, y, z int) {
				for c := range 2 {
					sum += x.at([]int{0, c, y, z}) * weight.at([]int{i[1], c, p, q})
				}
			})
			return sum
		}}, args("weight", constant(weight))...)
		if kind == "same" {
			continue
		}
		// Every element adds its multiple of the filter to the result, whose padding is cut off.
		filter := data(2, 3, kh, kw)
		th, tw := (h-1)*sh+kh-pad[0]-pad[1], (w-1)*sw+kw-pad[2]-pad[3]
		if th < 1 || tw < 1 {
			continue
		}
		sum := make([]float64, 3*th*tw)
		all([]int{2, 3, h, w, kh, kw}, func(i []int) {
			y, z := i[2]*sh+i[4]-pad[0], i[3]*sw+i[5]-pad[2]
			if y >= 0 && y < th && z >= 0 && z < tw {
				sum[(i[1]*th+y)*tw+z] += x.at([]int{0, i[0], i[2], i[3]}) * filter.at([]int{i[0], i[1], i[4], i[5]})
			}
		})
		d.check("ios17", "conv_transpose", rows(sum, 1, 3, th, tw), args("weight", constant(filter))...)
	}
}

// filters walks planes of h by w, and boxes of 3 such planes, by filters with dilations and groups.
func (d *definitions) filters(h, w int) {
	for i := range 2 * 2 * 2 {
		dh, dw, groups := i%2+1, i/2%2+1, i/4+1
		x, weight := data(1, 4, h, w), data(6, 4/groups, 2, 2)
		// The padding is a dilated filter's, less its last element.
		want := array{[]int{1, 6, h + dh, w + dw}, func(i []int) (sum float64) {
			all([]int{4 / groups, 2, 2}, func(k []int) {
				y, z := i[2]+(k[1]-1)*dh, i[3]+(k[2]-1)*dw
				if y >= 0 && y < h && z >= 0 && z < w {
					sum += x.at([]int{0, i[1]/(6/groups)*(4/groups) + k[0], y, z}) *
						weight.at([]int{i[1], k[0], k[1], k[2]})
				}
			})
			return sum
		}}
		d.check("ios17", "conv", want, "x", x, "weight", constant(weight), "dilations", []int{dh, dw}, "groups", groups,
			"pad_type", "custom", "pad", []int{dh, dh, dw, dw})
	}
	x, weight := data(1, 2, 3, h, w), data(3, 2, 2, 1, 2)
	pad := []int{1, 0, 0, 0, 0, 1}
	shape := []int{1, 2, 3, h, w}
	in := func(i []int, f func(k []int, y, z, v int)) {
		all([]int{2, 1, 2}, func(k []int) {
			if y, z, v := i[2]+k[0]-1, i[3], i[4]+k[2]; y >= 0 && v < w {
				f(k, y, z, v)
			}
		})
	}
	d.check("ios17", "conv", array{with(shape, 1, 3), func(i []int) (sum float64) {
		in(i, func(k []int, y, z, v int) {
			for c := range 2 {
				sum += x.at([]int{0, c, y, z, v}) * weight.at([]int{i[1], c, k[0], 0, k[2]})
			}
		})
		return sum
	}}, "x", x, "weight", constant(weight), "pad_type", "custom", "pad", pad)
	d.check("ios17", "max_pool", array{shape, func(i []int) float64 {
		top := math.Inf(-1)
		in(i, func(_ []int, y, z, v int) { top = max(top, x.at([]int{0, i[1], y, z, v})) })
		return top
	}}, "x", x, "kernel_sizes", []int{2, 1, 2}, "strides", []int{1, 1, 1}, "pad_type", "custom", "pad", pad)
	d.check("ios17", "avg_pool", array{shape, func(i []int) (sum float64) {
		in(i, func(_ []int, y, z, v int) { sum += x.at([]int{0, i[1], y, z, v}) / 4 })
		return sum
	}}, "x", x, "kernel_sizes", []int{2, 1, 2}, "strides", []int{1, 1, 1}, "pad_type", "custom", "pad", pad)
}

// constant is an array as a constant argument.
func constant(a array) *ir.Value {
	c := &ir.Const{Type: ir.TensorOf(ir.FP16, sizes(a.shape)...)}
	for _, v := range a.values() {
		c.Data = ir.AppendElem(c.Data, ir.FP16, v)
	}
	return &ir.Value{Name: "weight", Type: c.Type, Const: c}
}

func (d *definitions) pads(h, w int) {
	x := data(1, 2, h, w)
	for _, p := range [][]int{{1, 0, 0, 2}, {0, 1, 1, 1}, {2, 2, 0, 0}, {0, 0, 3, 1}, {0, 0, 0, 0}} {
		for _, mode := range []string{"constant", "reflect", "replicate"} {
			if mode == "reflect" && (max(p[0], p[1]) >= h || max(p[2], p[3]) >= w) {
				continue
			}
			place := func(at, n int) (int, bool) {
				switch {
				case at >= 0 && at < n:
					return at, true
				case mode == "reflect" && at < 0:
					return -at, true
				case mode == "reflect":
					return 2*(n-1) - at, true
				}
				return min(max(at, 0), n-1), mode == "replicate"
			}
			d.check("ios17", "pad", array{[]int{1, 2, h + p[0] + p[1], w + p[2] + p[3]}, func(i []int) float64 {
				y, in := place(i[2]-p[0], h)
				z, also := place(i[3]-p[2], w)
				if !in || !also {
					return 1.5
				}
				return x.at([]int{0, i[1], y, z})
			}}, "x", x, "pad", p, "mode", mode, "constant_val", 1.5)
		}
	}
}
