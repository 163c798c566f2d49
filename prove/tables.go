package prove

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/numerics/field"
	"github.com/zinc-compiler/zinc/runtime/sim/engine"
)

// tables contains the functions that lookup tables may compute.
type tables struct {
	fs    *field.Functions
	known map[string]func() *values              // by name, the element for it
	cuts  map[float64]bool                       // numbers that comparisons compare with
	made  map[string]func(field.Elem) field.Elem // functions of operations, by name and parameters
	seen  map[[128]byte]func(field.Elem) field.Elem
	// odd lists tables that match none of the functions.
	odd []string
}

// standard are the functions that the compiler makes tables of for operations with other names.
var standard = map[string]func() *values{
	"exp2":       lazily(math.Exp2),
	"log2":       lazily(math.Log2),
	"sqrt":       lazily(math.Sqrt),
	"reciprocal": lazily(func(x float64) float64 { return 1 / x }),
	"rsqrt":      lazily(func(x float64) float64 { return 1 / math.Sqrt(x) }),
	"trunc":      lazily(math.Trunc),
	"fraction":   lazily(func(x float64) float64 { return x - math.Trunc(x) }),
}

// lazily returns a function that samples f when it is called first.
func lazily(f func(float64) float64) func() *values {
	return sync.OnceValue(func() *values { return sampled(f) })
}

// newTables returns the standard functions and those of programs.
func newTables(fs *field.Functions, programs ...*ir.Func) *tables {
	t := &tables{
		fs:    fs,
		known: maps.Clone(standard),
		cuts:  map[float64]bool{0: true, 0.5: true, -0.5: true},
		made:  map[string]func(field.Elem) field.Elem{},
		seen:  map[[128]byte]func(field.Elem) field.Elem{},
	}
	for _, f := range programs {
		t.compared(f)
	}
	for _, f := range programs {
		t.collect(f)
	}
	return t
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
	switch k.Table {
	case "exp":
		power, scale := t.named(t.fs, "exp2"), field.Number(log2E)
		return func(x field.Elem) field.Elem { return power(field.Mul(x, scale)) }
	case "log":
		log, scale := t.named(t.fs, "log2"), field.Number(ln2)
		return func(x field.Elem) field.Elem { return field.Mul(scale, log(x)) }
	}
	name := k.Table
	if len(params) > 0 && !k.Shift {
		name = fmt.Sprint(name, params)
	}
	f := t.made[name]
	if f == nil {
		v := curveValues(k, params)
		if f = t.piecewise(v.rounded()); f == nil {
			f = t.named(t.fs, t.register(name, v))
		}
		t.made[name] = f
	}
	return f
}

// comparison returns the function that is low below a number, at the number at, and high above it.
func (t *tables) comparison(n float64, low, at, high field.Elem) func(field.Elem) field.Elem {
	name := fmt.Sprint("comparison ", n, low, at, high)
	if t.made[name] == nil {
		t.made[name] = t.piecewise(sampled(func(v float64) float64 {
			switch {
			case v < n:
				return float64(low)
			case v > n:
				return float64(high)
			}
			return float64(at)
		}))
	}
	return t.made[name]
}

// fixedCurves has the values of the curves without parameters, of which the sheet of operations has a few.
var fixedCurves sync.Map

// curveValues returns the values that an operation defines, not rounded.
func curveValues(k *ir.Curve, params []float64) *values {
	f := func(x float64) float64 { return k.F(x, params) }
	if len(k.Params) > 0 && !k.Shift {
		return sampled(f)
	}
	v, ok := fixedCurves.Load(k)
	if !ok {
		v, _ = fixedCurves.LoadOrStore(k, sampled(f))
	}
	return v.(*values)
}

// register adds a function to those that tables may compute, and returns its name: that of another function that no
// table can be told apart from.
func (t *tables) register(name string, v *values) string {
	same := name
	for n, known := range t.known {
		if same != name && n > same {
			continue
		}
		w := known()
		if distance(v, w, sameTable) < sameTable && slices.EqualFunc(v.finite(), w.finite(), bothDefined) {
			same = n
		}
	}
	if same == name {
		t.known[name] = func() *values { return v }
	}
	return same
}

// bothDefined reports whether two functions have the same number in their domains, of which a and b are the values.
func bothDefined(a, b float64) bool { return (a == a) == (b == b) }

// values are those of a function on the numbers of fp16, ascending: an infinity, the finite ones, and the other
// infinity.
type values struct{ all []float64 }

// sampled returns the values of a function.
func sampled(f func(x float64) float64) *values {
	v := &values{make([]float64, len(halves()))}
	for i, x := range halves() {
		v.all[i] = f(x)
	}
	return v
}

// rounded returns the values rounded to fp16.
func (v *values) rounded() *values {
	r := &values{make([]float64, len(v.all))}
	for i, y := range v.all {
		r.all[i] = numerics.Half(y)
	}
	return r
}

// finite are the values on finite numbers.
func (v *values) finite() []float64 { return v.all[1 : len(v.all)-1] }

// compared records the numbers that a program compares with.
func (t *tables) compared(f *ir.Func) {
	for _, op := range f.Body.Ops {
		for _, name := range []ir.ParamName{ir.ParamX, ir.ParamY} {
			if v := op.Arg(name); v.IsConst() && v.Type.Elems() == 1 && v.Type.DType.IsFloat() {
				t.cuts[v.Const.Float(0)] = true
			}
		}
	}
}

// collect records the functions of a program, before tables are looked at.
func (t *tables) collect(f *ir.Func) {
	for _, op := range f.Body.Ops {
		if k := ir.CurveOf(op); k != nil && k.Table != "" {
			t.operation(&call{evaluator: &evaluator{Functions: t.fs, tables: t, numbers: &numbers{}}, op: op}, k)
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

// halves returns the numbers of fp16, ascending, with one zero.
var halves = sync.OnceValue(func() []float64 {
	var out []float64
	for i := range 0x7c01 {
		out = append(out, float64(numerics.Widen(uint16(i))))
		if i > 0 {
			out = append(out, float64(numerics.Widen(uint16(i|0x8000))))
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
	best, name := math.Inf(1), ""
	for n, known := range t.known {
		if e := distance(v, known(), best); e < best || e == best && n < name {
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

// distance returns how far a table is from a function, or some distance over most if it is farther than that.
func distance(table, function *values, most float64) float64 {
	far := 0.0
	for _, step := range [...]int{499, 1} { // a few numbers tell most functions apart
		for i := 1; i < len(table.all)-1; i += step {
			y, v := function.all[i], table.all[i]
			if y != y || math.Abs(y) > 65504 || v != v {
				continue
			}
			if far = max(far, math.Abs(v-y)/max(1, math.Abs(y))); far > most {
				return far
			}
		}
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

// at returns the value at a number of fp16.
func (v *values) at(x float64) float64 {
	i, _ := slices.BinarySearch(halves(), x)
	return v.all[i]
}

// limits are the values at the infinities, or at the last finite numbers if those are not numbers.
func (v *values) limits() (low, high float64) {
	n := len(v.all) - 1
	if low = v.all[0]; low != low {
		low = v.all[1]
	}
	if high = v.all[n]; high != high {
		high = v.all[n-1]
	}
	return low, high
}

// bounds recognises the identity between two bounds.
func (t *tables) bounds(v *values) func(field.Elem) field.Elem {
	low, high := v.limits()
	if low >= high {
		return nil
	}
	for i, x := range halves()[1 : len(v.all)-1] {
		if v.all[1+i] != max(low, min(x, high)) {
			return nil
		}
	}
	lo, hi := field.Number(low), field.Number(high)
	return func(x field.Elem) field.Elem { return t.fs.Clip(x, lo, hi) }
}

// edges recognises a function with few steps, which may be at an infinity.
func (t *tables) edges(v *values) (edges []edge, below float64, ok bool) {
	const most = 4
	xs, last := halves(), len(v.all)-1
	low, high := v.limits()
	at := func(i int) float64 {
		switch i {
		case 0:
			return low
		case last:
			return high
		}
		return v.all[i]
	}
	below = low
	for i := 1; i <= last; i++ {
		here, before := at(i), at(i-1)
		if here == before {
			continue
		}
		if len(edges) == most || here != here {
			return nil, 0, false
		}
		switch {
		case i < last && at(i+1) != here: // a value at a single number
			edges = append(edges, edge{xs[i], here, at(i + 1)})
			i++
		case t.cuts[xs[i-1]] && !t.cuts[xs[i]]:
			edges = append(edges, edge{xs[i-1], before, here})
		default:
			edges = append(edges, edge{xs[i], here, here})
		}
	}
	return edges, below, true
}
