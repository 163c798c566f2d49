package sim_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/ir/irbuild"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/target"
)

// choices is a source of decisions: bytes, then zeros.
type choices struct{ b []byte }

func (c *choices) done() bool { return len(c.b) == 0 }

// n returns a number below limit.
func (c *choices) n(limit int) int {
	if len(c.b) == 0 || limit < 2 {
		return 0
	}
	v := int(c.b[0])
	c.b = c.b[1:]
	return v % limit
}

func (c *choices) yes() bool { return c.n(2) == 1 }

// maker writes a small program by choices. Values stay in ranges where a
// comparison shows something: what could grow is scaled, what could divide by
// zero is kept away from it.
type maker struct {
	*choices
	g    *irbuild.Graph
	vals []*ir.Value // fp16 tensors so far
}

// Limits of made programs.
const (
	makeOps   = 12
	makeElems = 6000
)

// dim returns an extent: small, or about a row of 64 bytes.
func (m *maker) dim() int64 {
	return [...]int64{1, 2, 3, 5, 4, 7, 16, 17, 31, 32, 33, 40, 64, 65}[m.n(14)]
}

func (m *maker) shape() []int64 {
	s := make([]int64, 1+m.n(5))
	n := int64(1)
	for i := range s {
		if s[i] = m.dim(); n*s[i] > makeElems/4 {
			s[i] = 1
		}
		n *= s[i]
	}
	return s
}

// value picks an operand, the latest more often.
func (m *maker) value() *ir.Value {
	n := len(m.vals)
	if m.yes() {
		return m.vals[n-1]
	}
	return m.vals[m.n(n)]
}

// fresh returns a new input or constant of a shape.
func (m *maker) fresh(shape []int64) *ir.Value {
	if m.yes() {
		return m.g.Weights(shape...)
	}
	return m.g.Input(shape...)
}

func (m *maker) axis(v *ir.Value) int { return m.n(v.Type.Rank()) }

// partner returns an operand that broadcasts with v.
func (m *maker) partner(v *ir.Value) any {
	switch m.n(4) {
	case 0:
		return float64(m.n(9)-4) / 2
	case 1:
		for i := len(m.vals) - 1; i >= 0; i-- {
			u := m.vals[i]
			if s, _, ok := ir.Broadcast(v.Type.Shape, u.Type.Shape); ok && ir.TensorOf(ir.FP16, s...).
				Elems() <= makeElems && m.yes() {
				return u
			}
		}
	}
	s := append([]int64(nil), v.Type.Shape[m.n(v.Type.Rank()):]...)
	for i := range s {
		if m.yes() {
			s[i] = 1
		}
	}
	return m.fresh(s)
}

// makers are the steps; each returns nil where it does not suit the operand.
var makers = []struct {
	name string
	f    func(m *maker, x *ir.Value) []*ir.Value
}{
	{"binary", func(m *maker, x *ir.Value) []*ir.Value {
		op := []string{"add", "sub", "mul", "maximum", "minimum"}[m.n(5)]
		y := m.partner(x)
		if m.yes() {
			return m.try(op, "x", y, "y", x)
		}
		return m.try(op, "x", x, "y", y)
	}},
	{"relu", func(m *maker, x *ir.Value) []*ir.Value {
		return m.try([]string{"relu", "abs", "relu6"}[m.n(3)], "x", x)
	}},
	{"clip", func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("clip", "x", x, "alpha", -float64(1+m.n(4))/4, "beta", float64(m.n(8))/4)
	}},
	{"table", func(m *maker, x *ir.Value) []*ir.Value {
		switch m.n(6) {
		case 0:
			return m.try("gelu", "x", x, "mode", "EXACT")
		case 1:
			return m.try("leaky_relu", "x", x, "alpha", 0.125)
		}
		return m.try([]string{"sigmoid", "tanh", "silu", "erf", "softsign"}[m.n(5)], "x", x)
	}},
	{"exponential", func(m *maker, x *ir.Value) []*ir.Value {
		c := m.try("clip", "x", x, "alpha", -4.0, "beta", 2.0)
		return m.try([]string{"exp", "exp2"}[m.n(2)], "x", c[0])
	}},
	{"root", func(m *maker, x *ir.Value) []*ir.Value {
		p := m.try("add", "x", m.try("abs", "x", x)[0], "y", 0.5)
		return m.try([]string{"sqrt", "rsqrt", "log"}[m.n(3)], "x", p[0])
	}},
	{"real_div", func(m *maker, x *ir.Value) []*ir.Value {
		switch m.n(3) {
		case 0:
			return m.try("real_div", "x", x, "y", float64(1+m.n(7))/2)
		case 1:
			return m.try("real_div", "x", x, "y", positive(m.g, x.Type.Shape[m.axis(x):]...))
		}
		return m.try("real_div", "x", m.partner(x), "y", m.try("add", "x", m.try("abs", "x", x)[0], "y", 0.5)[0])
	}},
	{"conv", func(m *maker, x *ir.Value) []*ir.Value {
		s := x.Type.Shape
		if len(s) != 3 && len(s) != 4 {
			return nil
		}
		groups := int64(1)
		switch m.n(4) {
		case 0:
			groups = s[1]
		case 1:
			for _, d := range []int64{2, 3, 5} {
				if s[1]%d == 0 {
					groups = d
				}
			}
		}
		out := groups * int64(1+m.n(5))
		if groups == 1 {
			out = m.dim()
		}
		w := []int64{out, s[1] / groups}
		terms := s[1] / groups
		var strides, dil, pad []int
		for range len(s) - 2 {
			k := int64(1 + m.n(4))
			w, terms = append(w, k), terms*k
			strides, dil, pad = append(strides, 1+m.n(3)), append(dil, 1+m.n(2)), append(pad, m.n(4), m.n(4))
		}
		args := []any{"x", x, "weight", scaled(m.g, terms, w...), "strides", strides, "dilations", dil, "groups",
			groups}
		switch kind := []string{"valid", "same", "custom", "same_lower"}[m.n(4)]; kind {
		case "custom":
			args = append(args, "pad_type", kind, "pad", pad)
		default:
			args = append(args, "pad_type", kind)
		}
		if m.yes() {
			args = append(args, "bias", m.g.Weights(out))
		}
		return m.try("conv", args...)
	}},
	{"linear", func(m *maker, x *ir.Value) []*ir.Value {
		k, n := x.Type.Shape[x.Type.Rank()-1], m.dim()
		args := []any{"x", x, "weight", scaled(m.g, k, n, k)}
		if m.yes() {
			args = append(args, "bias", m.g.Weights(n))
		}
		return m.try("linear", args...)
	}},
	{"matmul", func(m *maker, x *ir.Value) []*ir.Value {
		s := x.Type.Shape
		r := len(s)
		if r < 2 {
			return nil
		}
		tx, ty := m.yes(), m.yes()
		if m.n(5) == 0 {
			if tx == ty { // one of them, or rows and columns differ
				return m.scaled(m.try("matmul", "x", x, "y", x, "transpose_x", true), s[r-2])
			}
			return m.scaled(m.try("matmul", "x", x, "y", x, "transpose_y", true), s[r-1])
		}
		left := m.yes()
		var k int64 // what the product sums over
		if !left {
			k = s[r-2]
			if ty {
				k = s[r-1]
			}
		} else {
			k = s[r-1]
			if tx {
				k = s[r-2]
			}
		}
		lead := append([]int64(nil), s[m.n(r-1):r-2]...)
		if len(lead) > r-2 {
			lead = nil
		}
		for i := range lead {
			if m.yes() {
				lead[i] = 1
			}
		}
		n := m.dim()
		other := append(append([]int64(nil), lead...), k, n)
		if left {
			if ty {
				other = append(append([]int64(nil), lead...), n, k)
			}
			return m.scaled(m.try("matmul", "x", x, "y", m.fresh(other), "transpose_x", tx, "transpose_y", ty), k)
		}
		if !tx {
			other = append(append([]int64(nil), lead...), n, k)
		}
		return m.scaled(m.try("matmul", "x", m.fresh(other), "y", x, "transpose_x", tx, "transpose_y", ty), k)
	}},
	{"reduce", func(m *maker, x *ir.Value) []*ir.Value {
		var axes []int
		for i := range x.Type.Rank() {
			if m.yes() {
				axes = append(axes, i)
			}
		}
		if axes == nil {
			axes = []int{m.axis(x)}
		}
		op := []string{"reduce_mean", "reduce_max", "reduce_sum"}[m.n(3)]
		y := m.try(op, "x", x, "axes", axes, "keep_dims", m.yes())
		if op == "reduce_sum" && y != nil {
			return m.scaled(y, x.Type.Elems()/y[0].Type.Elems())
		}
		return y
	}},
	{"softmax", func(m *maker, x *ir.Value) []*ir.Value { return m.try("softmax", "x", x, "axis", m.axis(x)) }},
	{"layer_norm", func(m *maker, x *ir.Value) []*ir.Value {
		r := x.Type.Rank()
		n := 1 + m.n(min(3, r))
		axes := make([]int, n)
		for i := range axes {
			axes[i] = r - n + i
		}
		args := []any{"x", x, "axes", axes, "epsilon", 0.1}
		if m.yes() {
			args = append(args, "gamma", m.g.Weights(x.Type.Shape[r-n:]...))
		}
		if m.yes() {
			args = append(args, "beta", m.g.Weights(x.Type.Shape[r-n:]...))
		}
		return m.try("layer_norm", args...)
	}},
	{"pool", func(m *maker, x *ir.Value) []*ir.Value {
		s := x.Type.Shape
		if len(s) != 3 && len(s) != 4 {
			return nil
		}
		var kernel, strides, pad []int
		for range len(s) - 2 {
			k := 1 + m.n(3)
			kernel, strides, pad = append(kernel, k), append(strides, 1+m.n(3)), append(pad, m.n(k), m.n(k))
		}
		args := []any{"x", x, "kernel_sizes", kernel, "strides", strides, "ceil_mode", m.yes()}
		if kind := []string{"valid", "same", "custom"}[m.n(3)]; kind == "custom" {
			args = append(args, "pad_type", kind, "pad", pad)
		} else {
			args = append(args, "pad_type", kind)
		}
		if m.yes() {
			return m.try("max_pool", args...)
		}
		return m.try("avg_pool", append(args, "exclude_padding_from_average", m.yes())...)
	}},
	{"transpose", func(m *maker, x *ir.Value) []*ir.Value {
		perm := make([]int, x.Type.Rank())
		for i := range perm {
			perm[i] = i
			j := m.n(i + 1)
			perm[i], perm[j] = perm[j], perm[i]
		}
		return m.try("transpose", "x", x, "perm", perm)
	}},
	{"reshape", func(m *maker, x *ir.Value) []*ir.Value {
		n := x.Type.Elems()
		var shape []int64
		for len(shape) < 1+m.n(4) {
			d := int64(1 + m.n(12))
			if n%d != 0 {
				d = 1
			}
			shape, n = append(shape, d), n/d
		}
		at := m.n(len(shape) + 1)
		shape = append(shape[:at], append([]int64{n}, shape[at:]...)...)
		return m.try("reshape", "x", x, "shape", shape)
	}},
	{"expand_dims", func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("expand_dims", "x", x, "axes", []int{m.n(x.Type.Rank() + 1)})
	}},
	{"squeeze", func(m *maker, x *ir.Value) []*ir.Value { return m.try("squeeze", "x", x) }},
	{"slice", func(m *maker, x *ir.Value) []*ir.Value {
		var begin, end, stride []int64
		var squeeze []bool
		for _, d := range x.Type.Shape {
			b := int64(m.n(int(d)))
			e := b + 1 + int64(m.n(int(d-b)))
			s := int64(1)
			if m.n(4) == 0 {
				s = 2
			}
			begin, end, stride, squeeze = append(begin, b), append(end, e), append(stride, s),
				append(squeeze, m.n(8) == 0)
		}
		squeeze[len(squeeze)-1] = squeeze[len(squeeze)-1] && m.n(4) == 0
		return m.try("slice_by_index", "x", x, "begin", begin, "end", end, "stride", stride, "squeeze_mask", squeeze)
	}},
	{"split", func(m *maker, x *ir.Value) []*ir.Value {
		a := m.axis(x)
		d := x.Type.Shape[a]
		if d < 2 {
			return nil
		}
		first := 1 + int64(m.n(int(d-1)))
		return m.try("split", "x", x, "axis", a, "split_sizes", []int64{first, d - first})
	}},
	{"concat", func(m *maker, x *ir.Value) []*ir.Value {
		a := m.axis(x)
		vs := []*ir.Value{x}
		for range 1 + m.n(2) {
			s := append([]int64(nil), x.Type.Shape...)
			s[a] = m.dim()
			switch m.n(3) {
			case 0:
				vs = append(vs, x)
			case 1:
				vs = append(vs, m.fresh(s))
			default:
				vs = append([]*ir.Value{m.fresh(s)}, vs...)
			}
		}
		return m.try("concat", "values", vs, "axis", a, "interleave", false)
	}},
	{"stack", func(m *maker, x *ir.Value) []*ir.Value {
		return m.try("stack", "values", []*ir.Value{x, m.fresh(x.Type.Shape)}, "axis", m.n(x.Type.Rank()+1))
	}},
	{"pad", func(m *maker, x *ir.Value) []*ir.Value {
		var pad []int
		for range 1 + m.n(x.Type.Rank()) {
			pad = append(pad, m.n(4), m.n(3))
		}
		return m.try("pad", "x", x, "pad", pad, "mode", "constant", "constant_val", float64(m.n(3)))
	}},
	{"cpu", func(m *maker, x *ir.Value) []*ir.Value {
		switch m.n(3) {
		case 0:
			return m.try("reverse", "x", x, "axes", []int{m.axis(x)})
		case 1:
			return m.try("cumsum", "x", m.try("mul", "x", x, "y", 0.0625)[0], "axis", m.axis(x), "exclusive", false,
				"reverse", false)
		}
		reps := make([]int, x.Type.Rank())
		for i := range reps {
			reps[i] = 1 + m.n(2)
		}
		return m.try("tile", "x", x, "reps", reps)
	}},
	{"wide", func(m *maker, x *ir.Value) []*ir.Value { // through fp32
		w := m.try("cast", "x", x, "dtype", "fp32")
		if m.yes() {
			w = m.try("sin", "x", w[0])
		}
		return m.try("cast", "x", w[0], "dtype", "fp16")
	}},
}

// try adds an operation, or returns nil where the op table refuses it.
func (m *maker) try(op string, args ...any) []*ir.Value {
	vs, err := m.g.Try(op, args...)
	if err != nil {
		return nil
	}
	return vs
}

// scaled brings sums of n terms back to the size of one.
func (m *maker) scaled(vs []*ir.Value, n int64) []*ir.Value {
	if vs == nil {
		return nil
	}
	return m.try("mul", "x", vs[0], "y", irbuild.Scale(n))
}

// makeProgram writes a program of up to makeOps steps and says which.
func makeProgram(b []byte) (p *ir.Program, steps string) {
	m := &maker{choices: &choices{b}, g: irbuild.New(uint64(len(b)))}
	m.vals = append(m.vals, m.g.Input(m.shape()...))
	var names []string
	for range makeOps {
		if m.done() {
			break
		}
		row := &makers[m.n(len(makers))]
		var usable []*ir.Value
		for _, v := range row.f(m, m.value()) {
			if n := v.Type.Elems(); v.Type.DType == ir.FP16 && n > 0 && n <= makeElems && v.Type.Rank() > 0 &&
				v.Type.Rank() <= 5 {
				usable = append(usable, v)
			}
		}
		if usable != nil {
			m.vals = append(m.vals, usable...)
			names = append(names, row.name)
		}
	}
	returned := map[*ir.Value]bool{}
	for i := range 1 + m.n(4) {
		v := m.vals[len(m.vals)-1]
		if i > 0 {
			v = m.vals[m.n(len(m.vals))]
		}
		if !returned[v] {
			returned[v] = true
			m.g.Output(v)
		}
	}
	return m.g.Program(), strings.Join(names, " ")
}

// tryProgram compiles and compares a made program. Any error is a find.
func tryProgram(b []byte, on *target.Table) (engine bool, err error) {
	p, steps := makeProgram(b)
	c, err := compilePair(p, compile.Options{Target: on, SplitKernel: len(b)%2 == 0, Workers: 1})
	if err == nil {
		in := c.inputs(uint64(len(b)), nil)
		for _, mode := range []numerics.Mode{numerics.ANE, numerics.IEEE} {
			if e := c.check(in, mode); e != nil {
				err = e
			}
		}
	}
	if err != nil {
		return false, fmt.Errorf("%s\n%w\n%s", steps, err, c.brief())
	}
	return c.res.Report.EngineOps > 0, nil
}

// randomGraphs compiles seeded random programs for a target and compares the
// pair with the interpreter. ZINC_RANDOM_GRAPHS sets another number of programs.
func randomGraphs(t *testing.T, n int, stream uint64, on *target.Table) {
	if testing.Short() {
		n /= 5
	}
	if v, err := strconv.Atoi(os.Getenv("ZINC_RANDOM_GRAPHS")); err == nil {
		n = v
	}
	engine := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), stream))
		b := make([]byte, 20+r.IntN(160))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		used, err := tryProgram(b, on)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if used {
			engine++
		}
	}
	if engine < n/2 {
		t.Errorf("only %d of %d programs use the engine", engine, n)
	}
}

func TestRandomGraphs(t *testing.T) { randomGraphs(t, 300, 1, target.H13) }

// TestRandomCuts: on a target with little L2 and low limits small tensors are
// cut as large ones are. The engine, which has more, runs the result.
func TestRandomCuts(t *testing.T) {
	small := *target.H13
	small.L2Bytes, small.MaxHeight, small.MaxGroups, small.StreamPixels = 48<<10, 20, 5, 16
	randomGraphs(t, 300, 3, &small)
}

// FuzzGraph makes programs of bytes.
func FuzzGraph(f *testing.F) {
	for seed := range 8 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		b := make([]byte, 40)
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 400 {
			return
		}
		if _, err := tryProgram(b, target.H13); err != nil {
			t.Fatal(err)
		}
	})
}
