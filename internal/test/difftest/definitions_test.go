package difftest_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/test/irbuild"
	"github.com/zinc-compiler/zinc/internal/testform"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/runtime/sim"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
	"github.com/zinc-compiler/zinc/target"
)

// array is a tensor as a definition writes it: an element for each index.
type array struct {
	shape []int
	at    func(i []int) float64
}

// all calls f with every index of a shape, row by row.
func all(shape []int, f func(i []int)) {
	n := 1
	for _, d := range shape {
		n *= d
	}
	for k := range n {
		i := make([]int, len(shape))
		for d := len(shape) - 1; d >= 0; d-- {
			i[d], k = k%shape[d], k/shape[d]
		}
		f(i)
	}
}

// values are the elements in rows.
func (a array) values() (vs []float64) {
	all(a.shape, func(i []int) { vs = append(vs, a.at(i)) })
	return vs
}

// position is the place of an index in the rows of a shape.
func position(shape, i []int) (p int) {
	for d, n := range shape {
		p = p*n + i[d]
	}
	return p
}

// data are numbers that fp16 has, different ones where there are at most 61, not in order.
func data(shape ...int) array {
	return array{shape, func(i []int) float64 { return float64((position(shape, i)*23+5)%61-30) / 8 }}
}

// rows is a tensor of given elements.
func rows(vs []float64, shape ...int) array {
	return array{shape, func(i []int) float64 { return vs[position(shape, i)] }}
}

// whole are integers as an argument: a constant, or what an input gives.
type whole struct {
	vs    []int
	shape []int
	input bool
}

func sizes(shape []int) (s []int64) {
	for _, d := range shape {
		s = append(s, int64(d))
	}
	return s
}

// with returns a copy of an index with one number replaced.
func with(i []int, at, v int) []int {
	i = append([]int(nil), i...)
	i[at] = v
	return i
}

// definitions compares operations with what their published definitions say of one operand.
type definitions struct {
	t       *testing.T
	cases   int
	engine  int // cases that tasks compute
	onlyCPU int // cases on the engine's side too, which the CPU computes
	every   int // of how many cases one runs on the engine
}

// check runs an operation in the interpreter and as the engine's program, and compares the result with a definition.
// Arguments alternate names and values: arrays become inputs, integers constants or inputs.
func (d *definitions) check(opset, op string, want array, args ...any) {
	d.t.Helper()
	d.cases++
	g, in := irbuild.NewIn(opset, 1), map[string]interp.Tensor{}
	input := func(a array) *ir.Value {
		var vs []float32
		for _, v := range a.values() {
			vs = append(vs, float32(v))
		}
		v := g.Input(sizes(a.shape)...)
		x, err := interp.FromFloats(ir.FP16, vs, sizes(a.shape)...)
		if err != nil {
			d.t.Fatal(err)
		}
		in[v.Name] = x
		return v
	}
	why := fmt.Sprint(op, want.shape)
	for i := 1; i < len(args); i += 2 {
		switch a := args[i].(type) {
		case array:
			why += fmt.Sprint(" ", args[i-1], a.shape)
			args[i] = input(a)
		case []array:
			var vs []*ir.Value
			for _, x := range a {
				vs = append(vs, input(x))
			}
			why += fmt.Sprint(" ", args[i-1], len(a), a[0].shape)
			args[i] = vs
		case whole:
			why += fmt.Sprint(" ", args[i-1], a)
			if !a.input {
				args[i] = g.Filled(ir.Int32, func(k int64) float64 { return float64(a.vs[k]) }, sizes(a.shape)...)
				break
			}
			v := g.InputOf(ir.Int32, sizes(a.shape)...)
			var vs []int64
			for _, x := range a.vs {
				vs = append(vs, int64(x))
			}
			x, err := interp.FromInts(ir.Int32, vs, v.Type.Shape...)
			if err != nil {
				d.t.Fatal(err)
			}
			in[v.Name], args[i] = x, v
		default:
			why += fmt.Sprint(" ", args[i-1], " ", a)
		}
	}
	d.t.Run(why, func(t *testing.T) {
		vs, err := g.Try(op, args...)
		if err != nil {
			t.Fatal(err)
		}
		g.Output(vs[0])
		p := g.Program()
		got, err := interp.Run(t.Context(), p.Funcs[0], in, interp.Options{Numerics: numerics.IEEE})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "interpreter", got[vs[0].Name], want, 0x1p-10)
		if d.cases%d.every != 0 {
			return
		}
		r, err := compile.All(t.Context(), p, compile.Options{Target: target.H13, Place: passes.PlaceEngine})
		if err != nil {
			t.Fatal(err)
		}
		if d.engine++; r.Functions[0].Report.Tasks == 0 {
			d.engine, d.onlyCPU = d.engine-1, d.onlyCPU+1
		}
		m, err := verify.Open(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err = m.Run(t.Context(), in, sim.Options{Numerics: numerics.ANE}); err != nil {
			t.Fatal(err)
		}
		same(t, "engine", got[vs[0].Name], want, 0x1p-7)
	})
}

// same compares elements, within a part of the largest.
func same(t *testing.T, who string, got interp.Tensor, want array, part float64) {
	t.Helper()
	if fmt.Sprint(got.Type.Shape) != fmt.Sprint(want.shape) {
		t.Errorf("%s: shape %v, want %v", who, got.Type.Shape, want.shape)
		return
	}
	ws, scale := want.values(), 0.0
	for _, w := range ws {
		scale = max(scale, math.Abs(w))
	}
	for i, g := range got.Const().Floats() {
		if !(math.Abs(g-ws[i]) <= part*scale) {
			t.Errorf("%s: %v, want %v", who, got.Const().Floats(), ws)
			return
		}
	}
}

// TestOperationsFollowTheirDefinitions compares operations with their published definitions (coremltools' reference)
// on extents that are equal, 1, odd and even. What it expects shares nothing with kernels, passes or lowering.
func TestOperationsFollowTheirDefinitions(t *testing.T) {
	d := &definitions{t: t, every: testform.Of(40, 8, 1)}
	d.gathers()
	d.scatters()
	d.blocks()
	d.orders()
	d.products()
	d.norms()
	d.moves()
	d.joins()
	for _, h := range []int{1, 2, 3, 4} {
		for _, w := range []int{1, 2, 3, 4} {
			d.resizes(h, w)
			d.crops(h, w)
			d.windows(h, w)
			d.samples(h, w)
			d.filters(h, w)
			d.pads(h, w)
		}
	}
	t.Logf("%d cases in the interpreter; %d by tasks of the engine, and %d placed programs of the CPU alone", d.cases,
		d.engine, d.onlyCPU)
}

// blocks3 are shapes of rank 3 with extents that are equal, 1, odd and even.
var blocks3 = [][]int{{2, 2, 2}, {1, 3, 4}, {3, 1, 2}, {4, 2, 1}, {1, 1, 1}, {2, 4, 3}}

// someOf returns n indices of an axis of m elements, out of order and with repeats.
func someOf(n, m int) (vs []int) {
	for i := range n {
		vs = append(vs, (i*5+m-1)%m)
	}
	return vs
}

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func (d *definitions) gathers() {
	for _, s := range blocks3 {
		x := data(s...)
		for axis := range s {
			for _, is := range [][]int{{1}, {3}, {2, 2}} {
				ind := someOf(count(is), s[axis])
				shape := append(append(append([]int{}, s[:axis]...), is...), s[axis+1:]...)
				want := array{shape, func(i []int) float64 {
					at := append(append([]int{}, i[:axis]...), ind[position(is, i[axis:axis+len(is)])])
					return x.at(append(at, i[axis+len(is):]...))
				}}
				for _, input := range []bool{false, true} {
					d.check("ios17", "gather", want, "x", x, "indices", whole{ind, is, input}, "axis", axis)
				}
			}
			shape := append([]int{}, s...)
			shape[axis] = 3
			ind := someOf(count(shape), s[axis])
			want := array{shape, func(i []int) float64 { return x.at(with(i, axis, ind[position(shape, i)])) }}
			for _, input := range []bool{false, true} {
				d.check("ios17", "gather_along_axis", want, "x", x, "indices", whole{ind, shape, input}, "axis", axis)
			}
		}
		// Batches of dimension 0 have indices of their own.
		ind := someOf(s[0]*2, s[1])
		d.check("ios17", "gather", array{[]int{s[0], 2, s[2]}, func(i []int) float64 {
			return x.at([]int{i[0], ind[2*i[0]+i[1]], i[2]})
		}}, "x", x, "indices", whole{ind, []int{s[0], 2}, false}, "axis", 1, "batch_dims", 1)
		d.check("ios17", "gather_nd", array{[]int{s[0], 2, s[2]}, func(i []int) float64 {
			return x.at([]int{i[0], ind[2*i[0]+i[1]], i[2]})
		}}, "x", x, "indices", whole{ind, []int{s[0], 2, 1}, false}, "batch_dims", 1)
		for k := 1; k <= 3; k++ {
			var at []int
			for i := range 5 {
				for q := range k {
					at = append(at, (i*3+q)%s[q])
				}
			}
			d.check("ios17", "gather_nd", array{append([]int{5}, s[k:]...), func(i []int) float64 {
				return x.at(append(append([]int{}, at[i[0]*k:(i[0]+1)*k]...), i[1:]...))
			}}, "x", x, "indices", whole{at, []int{5, k}, false})
		}
	}
}

var modes = map[string]func(x, u float64) float64{
	"add": func(x, u float64) float64 { return x + u }, "sub": func(x, u float64) float64 { return x - u },
	"mul": func(x, u float64) float64 { return x * u }, "div": func(x, u float64) float64 { return x / u },
	"min": math.Min, "max": math.Max, "update": func(_, u float64) float64 { return u },
}

func (d *definitions) scatters() {
	for _, s := range blocks3 {
		x := data(s...)
		for _, mode := range slices.Sorted(maps.Keys(modes)) {
			f := modes[mode]
			for axis := range s {
				us := append([]int{}, s...)
				us[axis] = 2
				u := array{us, func(i []int) float64 { return float64(position(us, i)%4) + 0.5 }}
				if s[axis] > 1 || mode != "update" && mode != "div" {
					ind := someOf(2, s[axis])
					out := x.values()
					all(us, func(i []int) {
						p := position(s, with(i, axis, ind[i[axis]]))
						out[p] = f(out[p], u.at(i))
					})
					d.check("ios17", "scatter", rows(out, s...), "data", x, "indices", whole{ind, []int{2}, false},
						"updates", u, "axis", axis, "mode", mode)
				}
				ind := someOf(count(us), s[axis])
				out := x.values()
				all(us, func(i []int) {
					p := position(s, with(i, axis, ind[position(us, i)]))
					out[p] = f(out[p], u.at(i))
				})
				d.check("ios17", "scatter_along_axis", rows(out, s...), "data", x, "indices", whole{ind, us, false},
					"updates", u, "axis", axis, "mode", mode)
			}
			at := []int{0, s[1] - 1, s[0] - 1, 0}
			u := array{[]int{2, s[2]}, func(i []int) float64 { return float64(i[0]+i[1]%3) + 0.5 }}
			out := x.values()
			all(u.shape, func(i []int) {
				p := position(s, []int{at[2*i[0]], at[2*i[0]+1], i[1]})
				out[p] = f(out[p], u.at(i))
			})
			d.check("ios17", "scatter_nd", rows(out, s...), "data", x, "indices", whole{at, []int{2, 2}, false},
				"updates", u, "mode", mode)
		}
	}
}

func (d *definitions) blocks() {
	for i := range 3 * 3 * 3 * 2 {
		c, h, w, n := i%3+1, i/3%3+1, i/9%3+1, i/27+1
		for _, b := range []int{2, 3} {
			deep, wide := data(n, c*b*b, h, w), data(n, c, h*b, w*b)
			d.check("ios17", "depth_to_space", array{wide.shape, func(i []int) float64 {
				return deep.at([]int{i[0], (i[2]%b*b+i[3]%b)*c + i[1], i[2] / b, i[3] / b})
			}}, "x", deep, "block_size", b)
			d.check("ios17", "pixel_shuffle", array{wide.shape, func(i []int) float64 {
				return deep.at([]int{i[0], i[1]*b*b + i[2]%b*b + i[3]%b, i[2] / b, i[3] / b})
			}}, "x", deep, "upscale_factor", b)
			d.check("ios17", "space_to_depth", array{deep.shape, func(i []int) float64 {
				return wide.at([]int{i[0], i[1] % c, i[2]*b + i[1]/c/b, i[3]*b + i[1]/c%b})
			}}, "x", wide, "block_size", b)
			d.check("ios17", "pixel_unshuffle", array{deep.shape, func(i []int) float64 {
				return wide.at([]int{i[0], i[1] / (b * b), i[2]*b + i[1]%(b*b)/b, i[3]*b + i[1]%b})
			}}, "x", wide, "downscale_factor", b)
		}
		bh, bw := 1+i%2, 3-i%2
		left, right := 1, 0
		if w*bw > 2 {
			right = i % 2
		}
		x := data(n, c, h*bh, w*bw-left-right)
		d.check("ios17", "space_to_batch", array{[]int{n * bh * bw, c, h, w},
			func(i []int) float64 {
				at := []int{i[0] % n, i[1], i[2]*bh + i[0]/n/bw, i[3]*bw + i[0]/n%bw - left}
				if at[3] < 0 || at[3] >= x.shape[3] {
					return 0
				}
				return x.at(at)
			}}, "x", x, "block_shape", []int{bh, bw}, "paddings", whole{[]int{0, 0, left, right}, []int{2, 2}, false})
		y := data(n*bh*bw, c, h, w+1)
		d.check("ios17", "batch_to_space", array{[]int{n, c, h * bh, (w+1)*bw - 1}, func(i []int) float64 {
			return y.at([]int{(i[2]%bh*bw+(i[3]+1)%bw)*n + i[0], i[1], i[2] / bh, (i[3] + 1) / bw})
		}}, "x", y, "block_shape", []int{bh, bw}, "crops", whole{[]int{0, 0, 1, 0}, []int{2, 2}, false})
	}
}

// line returns the elements of x along an axis at an index.
func line(x array, i []int, axis int) (vs []float64) {
	for k := range x.shape[axis] {
		vs = append(vs, x.at(with(i, axis, k)))
	}
	return vs
}

func (d *definitions) orders() {
	for _, s := range blocks3 {
		x := data(s...)
		for axis := range s {
			for _, up := range []bool{false, true} {
				// rank is how many elements of the line come before one.
				rank := func(i []int) (n int) {
					for _, v := range line(x, i, axis) {
						if up && v < x.at(i) || !up && v > x.at(i) {
							n++
						}
					}
					return n
				}
				sorted := array{s, func(i []int) float64 {
					for k := range s[axis] {
						if rank(with(i, axis, k)) == i[axis] {
							return float64(k)
						}
					}
					return math.NaN()
				}}
				d.check("ios17", "argsort", sorted, "x", x, "axis", axis, "ascending", up)
				top := append([]int{}, s...)
				top[axis] = (s[axis] + 1) / 2
				d.check("ios17", "topk", array{top, func(i []int) float64 {
					return x.at(with(i, axis, int(sorted.at(i))))
				}}, "x", x, "k", top[axis], "axis", axis, "ascending", up)
				d.check("ios17", "cumsum", array{s, func(i []int) (sum float64) {
					for k, v := range line(x, i, axis) {
						if !up && k <= i[axis] || up && k > i[axis] {
							sum += v
						}
					}
					return sum
				}}, "x", x, "axis", axis, "exclusive", up, "reverse", up)
				ends := append([]int{}, s...)
				ends[axis] = 1
				d.check("ios17", map[bool]string{true: "reduce_argmin", false: "reduce_argmax"}[up],
					array{ends, func(i []int) float64 { return sorted.at(i) }}, "x", x, "axis", axis, "keep_dims", true)
			}
		}
		var set []float64
		zeros := array{s, func(i []int) float64 { return float64(position(s, i) % 3) }}
		all(s, func(i []int) {
			if zeros.at(i) != 0 {
				set = append(set, float64(i[0]), float64(i[1]), float64(i[2]))
			}
		})
		if set != nil {
			d.check("ios17", "non_zero", rows(set, len(set)/3, 3), "x", zeros)
		}
	}
}

func (d *definitions) products() {
	for _, s := range blocks3 {
		a, b, c := s[0], s[1], s[2]
		x, y := data(a, b, c), data(c, a)
		sum := func(n int, f func(k int) float64) (v float64) {
			for k := range n {
				v += f(k)
			}
			return v
		}
		d.check("ios17", "einsum", array{[]int{a, b, a}, func(i []int) float64 {
			return sum(c, func(k int) float64 { return x.at([]int{i[0], i[1], k}) * y.at([]int{k, i[2]}) })
		}}, "values", []array{x, y}, "equation", "abc,cd->abd")
		p, q := data(a, b, 2, c), data(a, c, 2, b)
		d.check("ios17", "einsum", array{[]int{a, b, 2, b}, func(i []int) float64 {
			return sum(c, func(k int) float64 {
				return p.at([]int{i[0], i[1], i[2], k}) * q.at([]int{i[0], k, i[2], i[3]})
			})
		}}, "values", []array{p, q}, "equation", "abcd,adce->abce")
		r := data(b, c, a)
		d.check("ios17", "einsum", array{[]int{a, c}, func(i []int) float64 {
			return sum(b, func(k int) float64 { return x.at([]int{i[0], k, i[1]}) * r.at([]int{k, i[1], i[0]}) })
		}}, "values", []array{x, r}, "equation", "abc,bca->ac")
		for i := range 4 {
			tx, ty := i%2 == 1, i/2 == 1
			l, m := []int{a, b, c}, []int{a, c, b}
			if tx {
				l = []int{a, c, b}
			}
			if ty {
				m = []int{a, b, c}
			}
			u, v := data(l...), data(m...)
			d.check("ios17", "matmul", array{[]int{a, b, b}, func(i []int) float64 {
				return sum(c, func(k int) float64 {
					at, of := []int{i[0], i[1], k}, []int{i[0], k, i[2]}
					if tx {
						at[1], at[2] = at[2], at[1]
					}
					if ty {
						of[1], of[2] = of[2], of[1]
					}
					return u.at(at) * v.at(of)
				})
			}}, "x", u, "y", v, "transpose_x", tx, "transpose_y", ty)
		}
	}
}

// over returns the mean and the variance of f over the elements of x whose index agrees with i outside the axes.
func over(x array, i []int, axes ...int) (mean, variance, squares float64, n int) {
	shape := make([]int, len(axes))
	for k, a := range axes {
		shape[k] = x.shape[a]
	}
	var vs []float64
	all(shape, func(j []int) {
		at := append([]int{}, i...)
		for k, a := range axes {
			at[a] = j[k]
		}
		vs = append(vs, x.at(at))
	})
	for _, v := range vs {
		mean += v / float64(len(vs))
		squares += v * v
	}
	for _, v := range vs {
		variance += (v - mean) * (v - mean) / float64(len(vs))
	}
	return mean, variance, squares, len(vs)
}

func (d *definitions) norms() {
	const eps = 0.25
	for _, s := range blocks3 {
		x := data(s...)
		for _, axes := range [][]int{{2}, {1}, {0}, {1, 2}, {0, 1, 2}, {0, 2}} {
			d.check("ios17", "layer_norm", array{s, func(i []int) float64 {
				mean, variance, _, _ := over(x, i, axes...)
				return (x.at(i) - mean) / math.Sqrt(variance+eps)
			}}, "x", x, "axes", axes, "epsilon", eps)
		}
		gamma, beta := make([]float64, s[2]), make([]float64, s[2])
		for k := range gamma {
			gamma[k], beta[k] = 1.5-float64(k), float64(k%2)+0.25
		}
		d.check("ios17", "layer_norm", array{s, func(i []int) float64 {
			mean, variance, _, _ := over(x, i, 2)
			return (x.at(i)-mean)/math.Sqrt(variance+eps)*gamma[i[2]] + beta[i[2]]
		}}, "x", x, "axes", []int{-1}, "epsilon", eps, "gamma", gamma, "beta", beta)
		scale, shift := make([]float64, s[1]), make([]float64, s[1])
		mean, variance := make([]float64, s[1]), make([]float64, s[1])
		for k := range scale {
			scale[k], shift[k], mean[k], variance[k] = 0.5+float64(k), -float64(k), 0.25*float64(k), 1.75
		}
		for _, rank := range []int{3, 4} {
			z := x
			if rank == 4 {
				z = data(append(append([]int{}, s...), 2)...)
			}
			space := []int{2, 3}[:rank-2]
			d.check("ios17", "instance_norm", array{z.shape, func(i []int) float64 {
				m, v, _, _ := over(z, i, space...)
				return (z.at(i)-m)/math.Sqrt(v+eps)*scale[i[1]] + shift[i[1]]
			}}, "x", z, "epsilon", eps, "gamma", scale, "beta", shift)
			d.check("ios17", "batch_norm", array{z.shape, func(i []int) float64 {
				return (z.at(i)-mean[i[1]])/math.Sqrt(variance[i[1]]+eps)*scale[i[1]] + shift[i[1]]
			}}, "x", z, "mean", mean, "variance", variance, "epsilon", eps, "gamma", scale, "beta", shift)
			last := []int{0, 1, 2, 3}[rank-3 : rank]
			d.check("ios17", "l2_norm", array{z.shape, func(i []int) float64 {
				_, _, squares, _ := over(z, i, last...)
				return z.at(i) / math.Sqrt(squares+eps)
			}}, "x", z, "epsilon", eps)
		}
		for axis := range s {
			d.check("ios17", "softmax", array{s, func(i []int) float64 {
				sum := 0.0
				for _, v := range line(x, i, axis) {
					sum += math.Exp(v - x.at(i))
				}
				return 1 / sum
			}}, "x", x, "axis", axis)
		}
	}
}

func (d *definitions) moves() {
	for _, s := range blocks3 {
		x := data(s...)
		for _, axes := range [][]int{{0}, {1}, {2}, {0, 2}, {0, 1, 2}} {
			d.check("ios17", "reverse", array{s, func(i []int) float64 {
				for _, a := range axes {
					i = with(i, a, s[a]-1-i[a])
				}
				return x.at(i)
			}}, "x", x, "axes", axes)
		}
		for _, perm := range [][]int{{0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}} {
			d.check("ios17", "transpose", array{[]int{s[perm[0]], s[perm[1]], s[perm[2]]}, func(i []int) float64 {
				at := make([]int, 3)
				for k, p := range perm {
					at[p] = i[k]
				}
				return x.at(at)
			}}, "x", x, "perm", perm)
		}
		for _, reps := range [][]int{{1, 2, 3}, {3, 1, 1}, {2, 2, 2}} {
			d.check("ios17", "tile", array{[]int{s[0] * reps[0], s[1] * reps[1], s[2] * reps[2]},
				func(i []int) float64 {
					return x.at([]int{i[0] % s[0], i[1] % s[1], i[2] % s[2]})
				}}, "x", x, "reps", reps)
		}
		lengths := make([]int, s[0])
		for b := range lengths {
			lengths[b] = (b*2)%s[1] + 1
		}
		d.check("ios17", "reverse_sequence", array{s, func(i []int) float64 {
			if n := lengths[i[0]]; i[1] < n {
				i = with(i, 1, n-1-i[1])
			}
			return x.at(i)
		}}, "x", x, "lengths", whole{lengths, []int{s[0]}, false}, "seq_axis", 1, "batch_axis", 0)
		for axis := range s {
			for size := 1; size <= s[axis]; size++ {
				for stride := 1; stride <= 2; stride++ {
					n := (s[axis]-size)/stride + 1
					shape := append(append(append([]int{}, s[:axis]...), n, size), s[axis+1:]...)
					d.check("ios17", "sliding_windows", array{shape, func(i []int) float64 {
						at := append(append([]int{}, i[:axis]...), i[axis]*stride+i[axis+1])
						return x.at(append(at, i[axis+2:]...))
					}}, "x", x, "axis", axis, "size", size, "stride", stride)
				}
			}
		}
		for lower := -1; lower <= 1; lower++ {
			for upper := -1; upper <= 1; upper++ {
				d.check("ios17", "band_part", array{s, func(i []int) float64 {
					if lower >= 0 && i[1]-i[2] > lower || upper >= 0 && i[2]-i[1] > upper {
						return 0
					}
					return x.at(i)
				}}, "x", x, "lower", lower, "upper", upper)
			}
		}
		ind := someOf(s[0]*s[1], s[2]+1)
		for axis := -1; axis < 3; axis++ {
			at := axis
			if axis < 0 {
				at = 2
			}
			shape := append(append(append([]int{}, s[:2][:at]...), s[2]+1), s[:2][at:]...)
			d.check("ios17", "one_hot", array{shape, func(i []int) float64 {
				of := append(append([]int{}, i[:at]...), i[at+1:]...)
				if ind[position(s[:2], of)] == i[at] {
					return 2.5
				}
				return -0.5
			}}, "indices", whole{ind, s[:2], true}, "one_hot_vector_size", s[2]+1, "axis", axis, "on_value", 2.5,
				"off_value", -0.5)
		}
		// The shape comes from other tensors: the first two dimensions of one, and the last of another.
		like := []int{s[2], s[0], s[1]}
		d.check("ios17", "reshape_like", rows(x.values(), like...), "x", x, "ref_tensors",
			[]array{data(s[2], s[0], 2), data(5, s[1])}, "begins", []*ir.Value{scalar(0), scalar(1)}, "ends",
			[]*ir.Value{scalar(2), scalar(2)}, "end_masks", []*ir.Value{yes(false), yes(true)})
	}
}

func scalar(n int64) *ir.Value {
	c := ir.ConstInt(ir.Int32, n)
	return &ir.Value{Name: fmt.Sprint("n", n), Type: c.Type, Const: c}
}

func yes(b bool) *ir.Value {
	c := ir.ConstBool(b)
	return &ir.Value{Name: fmt.Sprint(b), Type: c.Type, Const: c}
}

func (d *definitions) joins() {
	for _, s := range blocks3 {
		for axis := range s {
			more := with(s, axis, s[axis]+2)
			x, y := data(s...), data(more...)
			d.check("ios17", "concat", array{with(s, axis, 2*s[axis]+2), func(i []int) float64 {
				if i[axis] < s[axis] {
					return x.at(i)
				}
				return y.at(with(i, axis, i[axis]-s[axis]))
			}}, "values", []array{x, y}, "axis", axis)
			z := array{s, func(i []int) float64 { return -x.at(i) }}
			d.check("ios17", "concat", array{with(s, axis, 2*s[axis]), func(i []int) float64 {
				return []array{x, z}[i[axis]%2].at(with(i, axis, i[axis]/2))
			}}, "values", []array{x, z}, "axis", axis, "interleave", true)
			for at := range 4 {
				shape := append(append(append([]int{}, s[:at]...), 2), s[at:]...)
				d.check("ios17", "stack", array{shape, func(i []int) float64 {
					return []array{x, z}[i[at]].at(append(append([]int{}, i[:at]...), i[at+1:]...))
				}}, "values", []array{x, z}, "axis", at)
			}
			d.check("ios17", "split", array{with(s, axis, 2), func(i []int) float64 { return y.at(i) }}, "x", y,
				"split_sizes", []int{2, s[axis]}, "axis", axis)
			twice := data(with(s, axis, 2*s[axis])...)
			d.check("ios17", "split", array{s, func(i []int) float64 { return twice.at(i) }}, "x", twice,
				"num_splits", 2, "axis", axis)
		}
	}
}
