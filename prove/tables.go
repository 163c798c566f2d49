package prove

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/x448/float16"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
)

// tables contains the functions that lookup tables may compute.
type tables struct {
	fs    *field.Functions
	known map[string]func(float64) float64 // by name, the element for it
	cuts  map[float64]bool                 // numbers that comparisons compare with
	names map[string]string                // names of operations' functions among those
	seen  map[[128]byte]func(field.Elem) field.Elem
	// odd lists tables that match none of the functions.
	odd []string
}

func newTables(fs *field.Functions) *tables {
	return &tables{
		fs: fs, cuts: map[float64]bool{0: true, 0.5: true, -0.5: true},
		seen: map[[128]byte]func(field.Elem) field.Elem{}, names: map[string]string{},
		known: map[string]func(float64) float64{
			"exp2": math.Exp2, "log2": math.Log2, "sqrt": math.Sqrt,
			"reciprocal": func(x float64) float64 { return 1 / x },
			"rsqrt":      func(x float64) float64 { return 1 / math.Sqrt(x) },
			"trunc":      math.Trunc,
			"fraction":   func(x float64) float64 { return x - math.Trunc(x) },
		},
	}
}

// named returns the function with a name over the field.
func (t *tables) named(f *field.Functions, name string) func(field.Elem) field.Elem {
	switch name {
	case "reciprocal":
		return field.Inv
	case "sqrt":
		return f.Sqrt
	case "rsqrt":
		return f.Rsqrt
	case "trunc":
		return f.Trunc
	case "fraction":
		return func(x field.Elem) field.Elem { return field.Sub(x, f.Trunc(x)) }
	}
	n := f.Name("table " + name)
	if name == "silu" {
		n = f.Name("table sigmoid")
		return func(x field.Elem) field.Elem { return field.Mul(x, f.Hash(n, x)) }
	}
	return func(x field.Elem) field.Elem { return f.Hash(n, x) }
}

// curve computes an operation of one operand that has a table. It returns nil for other operations.
func (c *call) curve(k *ir.Curve) []tensor {
	if k.Table == "" {
		return nil
	}
	f, ok := c.tables.operation(c, k)
	if !ok {
		return nil
	}
	return c.pointwise(func(a []field.Elem) field.Elem { return f(a[0]) }, ir.ParamX)
}

// operation returns the function of an operation over the field.
func (t *tables) operation(c *call, k *ir.Curve) (func(field.Elem) field.Elem, bool) {
	var params []float64
	for _, p := range k.Params {
		v, ok := ir.ArgFloat(c.op, p)
		if !ok {
			return nil, false
		}
		params = append(params, v)
	}
	shift := field.Elem(0)
	if k.Shift {
		shift, _ = c.register(k.Params[0])
		params = []float64{0}
	}
	f := t.function(k, params)
	return func(x field.Elem) field.Elem { return f(field.Add(x, shift)) }, true
}

// function returns the function of a curve over the field.
func (t *tables) function(k *ir.Curve, params []float64) func(field.Elem) field.Elem {
	var f func(field.Elem) field.Elem
	switch k.Table {
	case "exp":
		power, scale := t.named(t.fs, "exp2"), field.Number(log2E)
		f = func(x field.Elem) field.Elem { return power(field.Mul(x, scale)) }
	case "log":
		log, scale := t.named(t.fs, "log2"), field.Number(ln2)
		f = func(x field.Elem) field.Elem { return field.Mul(scale, log(x)) }
	default:
		if f = t.piecewise(t.program(k, params)); f != nil {
			break
		}
		name := k.Table
		if len(params) > 0 && !k.Shift {
			name = fmt.Sprint(name, params)
		}
		f = t.named(t.fs, t.register(name, func(x float64) float64 { return k.F(x, params) }))
	}
	return f
}

// register adds a function to those that tables may compute, and returns its name: that of another function that no
// table can be told apart from.
func (t *tables) register(name string, f func(float64) float64) string {
	if n, ok := t.names[name]; ok {
		return n
	}
	same := name
	vals := make([]float64, len(finite()))
	for i, x := range finite() {
		vals[i] = f(x)
	}
	for n, g := range t.known {
		domain := func(i int) bool { return math.IsNaN(g(finite()[i])) == math.IsNaN(vals[i]) }
		if (same == name || n < same) && distance(vals, g) < sameTable && all(len(vals), domain) {
			same = n
		}
	}
	if t.names[name] = same; same == name {
		t.known[name] = f
	}
	return same
}

func all(n int, f func(i int) bool) bool {
	for i := range n {
		if !f(i) {
			return false
		}
	}
	return true
}

// program returns the values that an operation defines, rounded to fp16.
func (t *tables) program(k *ir.Curve, params []float64) *values {
	return sampled(func(x float64) float64 { return half(k.F(x, params)) })
}

// values are those of a function on the numbers of fp16: the finite ones, and the infinities.
type values struct {
	at        func(x float64) float64
	finite    []float64
	low, high float64
}

// sampled returns the values of a function.
func sampled(f func(x float64) float64) *values {
	v := &values{at: f, finite: make([]float64, len(finite())), low: f(math.Inf(-1)), high: f(math.Inf(1))}
	for i, x := range finite() {
		v.finite[i] = f(x)
	}
	return v
}

// collect records the functions of a program and the numbers it compares with, before tables are looked at.
func (t *tables) collect(f *ir.Func) {
	for _, op := range f.Body.Ops {
		if k := ir.CurveOf(op); k != nil && k.Table != "" {
			t.operation(&call{evaluator: &evaluator{Functions: t.fs, tables: t, numbers: &numbers{}}, op: op}, k)
		}
		for _, name := range []ir.ParamName{ir.ParamX, ir.ParamY} {
			if v := op.Arg(name); v.IsConst() && v.Type.Elems() == 1 && v.Type.DType.IsFloat() {
				t.cuts[v.Const.Float(0)] = true
			}
		}
	}
}

// edge is a point where a step function changes: its values there and above it.
type edge struct{ at, value, above float64 }

// steps is a step function; below is its value under the first edge.
func (t *tables) steps(f *field.Functions, x field.Elem, edges []edge, below float64) field.Elem {
	y, left, boolean := field.Number(below), below, below == 0 || below == 1
	for _, e := range edges {
		boolean = boolean && (e.value == 0 || e.value == 1) && (e.above == 0 || e.above == 1)
		lo, hi := f.Signs(f.Sub(x, field.Number(e.at)))
		y = field.Add(y, field.Mul(field.Number(e.value-left), field.Sub(1, lo)))
		y = field.Add(y, field.Mul(field.Number(e.above-e.value), hi))
		left = e.above
	}
	if boolean {
		f.Known(y)
	}
	return y
}

// of returns the function that a table computes.
func (t *tables) of(table *engine.Table) func(field.Elem) field.Elem {
	if f := t.seen[table.Bytes]; f != nil {
		return f
	}
	f := t.recognise(table)
	t.seen[table.Bytes] = f
	return f
}

// finite returns the finite numbers of fp16, ascending, with one zero.
var finite = sync.OnceValue(func() []float64 {
	var out []float64
	for i := range 0x7c00 {
		out = append(out, float64(float16.Frombits(uint16(i)).Float32()))
		if i > 0 {
			out = append(out, float64(float16.Frombits(uint16(i|0x8000)).Float32()))
		}
	}
	slices.Sort(out)
	return out
})

func (t *tables) recognise(table *engine.Table) func(field.Elem) field.Elem {
	v := sampled(func(x float64) float64 { return float64(table.Eval(float32(x))) })
	if f := t.piecewise(v); f != nil {
		return f
	}
	vals := v.finite
	best, name := math.Inf(1), ""
	for n, f := range t.known {
		if e := distance(vals, f); e < best || e == best && n < name {
			best, name = e, n
		}
	}
	if best > nearTable {
		t.odd = append(t.odd, fmt.Sprintf("a table computes none of the functions of the program; nearest is %s, "+
			"which it misses by %.3g", strings.TrimSpace(name), best))
		name = fmt.Sprintf("%x", table.Bytes)
	}
	return t.named(t.fs, name)
}

// nearTable is how far a table may be from the function that it approximates, relative for numbers above 1.
const nearTable = 1.0 / 32

// sameTable is how near two functions are that count as one, such as the two forms of gelu.
const sameTable = 1.0 / 512

// distance returns how far a table is from a function.
func distance(vals []float64, f func(float64) float64) float64 {
	far := 0.0
	for i, x := range finite() {
		y := f(x)
		if y != y || math.Abs(y) > 65504 || vals[i] != vals[i] {
			continue
		}
		far = max(far, math.Abs(vals[i]-y)/max(1, math.Abs(y)))
	}
	return far
}

// piecewise returns the function of values that are the identity between two bounds or that have few steps, nil for
// others.
func (t *tables) piecewise(v *values) func(field.Elem) field.Elem {
	if f := t.bounds(v); f != nil {
		return f
	}
	edges, below, ok := t.edges(v)
	if !ok {
		return nil
	}
	zero, one := field.Number(v.at(0)), field.Number(v.at(1))
	return func(x field.Elem) field.Elem {
		if t.fs.IsBoolean(x) {
			return field.Add(zero, field.Mul(field.Sub(one, zero), x))
		}
		return t.steps(t.fs, x, edges, below)
	}
}

// bounds recognises the identity between two bounds.
func (t *tables) bounds(v *values) func(field.Elem) field.Elem {
	low, high := v.low, v.high
	if low != low {
		low = v.finite[0]
	}
	if high != high {
		high = v.finite[len(finite())-1]
	}
	if low >= high {
		return nil
	}
	for i, x := range finite() {
		if v.finite[i] != max(low, min(x, high)) {
			return nil
		}
	}
	lo, hi := field.Number(low), field.Number(high)
	return func(x field.Elem) field.Elem { return t.fs.Clip(x, lo, hi) }
}

// edges recognises a function with few steps, which may be at an infinity.
func (t *tables) edges(v *values) (edges []edge, below float64, ok bool) {
	const most = 4
	xs := slices.Concat([]float64{math.Inf(-1)}, finite(), []float64{math.Inf(1)})
	vals := slices.Concat([]float64{v.low}, v.finite, []float64{v.high})
	if v.low != v.low {
		vals[0] = vals[1]
	}
	if n := len(vals) - 1; v.high != v.high {
		vals[n] = vals[n-1]
	}
	below = vals[0]
	for i := 1; i < len(vals); i++ {
		if vals[i] == vals[i-1] {
			continue
		}
		if len(edges) == most || vals[i] != vals[i] {
			return nil, 0, false
		}
		switch {
		case i+1 < len(vals) && vals[i+1] != vals[i]: // a value at a single number
			edges = append(edges, edge{xs[i], vals[i], vals[i+1]})
			i++
		case t.cuts[xs[i-1]] && !t.cuts[xs[i]]:
			edges = append(edges, edge{xs[i-1], vals[i-1], vals[i]})
		default:
			edges = append(edges, edge{xs[i], vals[i], vals[i]})
		}
	}
	return edges, below, true
}
