package exact

import (
	"cmp"
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

// Valuation assigns to the constants of programs the numbers that they were rounded from, and to the lookup tables the
// functions that they approximate.
type Valuation struct {
	fs *field.Functions
	// exact has, by the magnitude of a rounded number, the element of the number before rounding. A subtraction may add
	// the negative of a number, which is the negative of its element.
	exact       map[float64]field.Elem
	curves      map[string]curve                       // by name
	thresholds  map[float64]bool                       // numbers that comparisons compare with
	mu          sync.Mutex                             // of made and seen, and of what they are made of
	made        map[string]func(field.Elem) field.Elem // functions of operations, by name and parameters
	seen        map[[128]byte]func(v []field.Elem)
	unsupported []string
}

// curve returns the value of a function of one number at fp16Numbers()[i].
type curve func(i int) float64

func sampled(f func(x float64) float64) curve {
	return func(i int) float64 { return f(fp16Numbers()[i]) }
}

// lazily returns the curve of a function, whose values are computed together when the first is needed.
func lazily(f func(x float64) float64) curve {
	all := sync.OnceValue(func() []float64 {
		ys := slices.Clone(fp16Numbers())
		for i, x := range ys {
			ys[i] = f(x)
		}
		return ys
	})
	return func(i int) float64 { return all()[i] }
}

// standard are functions for which the compiler builds tables when it lowers operations with other names.
var standard = map[string]curve{
	"exp2":       lazily(math.Exp2),
	"log2":       lazily(math.Log2),
	"sqrt":       lazily(math.Sqrt),
	"reciprocal": lazily(func(x float64) float64 { return 1 / x }),
	"rsqrt":      lazily(func(x float64) float64 { return 1 / math.Sqrt(x) }),
	"trunc":      lazily(math.Trunc),
	"fraction":   lazily(func(x float64) float64 { return x - math.Trunc(x) }),
}

// fixed has the curves of the operation registry that have no parameters.
var fixed sync.Map

// curveOf returns the function that an operation defines.
func curveOf(k *ir.Curve, params []float64) curve {
	f := func(x float64) float64 { return k.F(x, params) }
	if len(k.Params) > 0 && !k.Shift {
		return sampled(f)
	}
	c, ok := fixed.Load(k)
	if !ok {
		c, _ = fixed.LoadOrStore(k, lazily(f))
	}
	return c.(curve)
}

// NewValuation collects the numbers that the operations of programs imply and the functions that they call.
func NewValuation(fs *field.Functions, programs ...*ir.Func) *Valuation {
	t := &Valuation{
		fs:         fs,
		exact:      map[float64]field.Elem{},
		curves:     maps.Clone(standard),
		thresholds: map[float64]bool{0: true, 0.5: true, -0.5: true},
		made:       map[string]func(field.Elem) field.Elem{},
		seen:       map[[128]byte]func(v []field.Elem){},
	}
	for _, f := range programs {
		t.implied(f)
		t.compared(f)
	}
	for _, f := range programs {
		t.collect(f)
	}
	return t
}

// defined are the functions with a definition; the others are random.
var defined = []string{"reciprocal", "sqrt", "rsqrt", "trunc", "fraction", "silu"}

// named returns the function with a name over the field.
func (t *Valuation) named(f *field.Functions, name string) func(field.Elem) field.Elem {
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
func (c *call) curve(k *ir.Curve) []Tensor {
	if k.Table == "" {
		return nil
	}
	f, ok := c.valuation.operation(c, k)
	if !ok {
		return nil
	}
	return c.pointwise(func(a []field.Elem) field.Elem { return f(a[0]) }, ir.ParamX)
}

// operation returns the function of an operation over the field.
func (t *Valuation) operation(c *call, k *ir.Curve) (func(field.Elem) field.Elem, bool) {
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
func (t *Valuation) function(k *ir.Curve, params []float64) func(field.Elem) field.Elem {
	switch k.Table {
	case "exp":
		power, scale := t.named(t.fs, "exp2"), t.Scalar(log2E)
		return func(x field.Elem) field.Elem { return power(field.Mul(x, scale)) }
	case "log":
		log, scale := t.named(t.fs, "log2"), t.Scalar(ln2)
		return func(x field.Elem) field.Elem { return field.Mul(scale, log(x)) }
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	name := k.Table
	if len(params) > 0 && !k.Shift {
		name = fmt.Sprint(name, params)
	}
	f := t.made[name]
	if f == nil {
		c := curveOf(k, params)
		if f = t.piecewise(func(i int) float64 { return numerics.FP16(c(i)) }); f == nil {
			f = t.named(t.fs, t.register(name, c))
		}
		t.made[name] = f
	}
	return f
}

// comparison returns the function that is low below a number, at the number at, and high above it.
func (t *Valuation) comparison(n float64, low, at, high field.Elem) func(field.Elem) field.Elem {
	t.mu.Lock()
	defer t.mu.Unlock()
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

// register adds a function that tables may compute, and returns its name, or the name of another function that no
// table can be told apart from.
func (t *Valuation) register(name string, c curve) string {
	same := name
	for n, known := range t.curves {
		if (same == name || n < same) && distance(c, known, fewNumbers, sameTable) < sameTable &&
			distance(c, known, 1, sameTable) < sameTable && sameDomain(c, known) {
			same = n
		}
	}
	if same == name {
		t.curves[name] = c
	}
	return same
}

// sameDomain reports whether two functions are defined on the same finite numbers.
func sameDomain(a, b curve) bool {
	for i := 1; i < len(fp16Numbers())-1; i++ {
		if y, z := a(i), b(i); (y == y) != (z == z) {
			return false
		}
	}
	return true
}

// compared records the numbers that a program compares with.
func (t *Valuation) compared(f *ir.Func) {
	for _, op := range f.Body.Ops {
		for _, name := range []ir.ParamName{ir.ParamX, ir.ParamY} {
			if v := op.Arg(name); v.IsConst() && v.Type.Elems() == 1 && v.Type.DType.IsFloat() {
				t.thresholds[v.Const.Float(0)] = true
			}
		}
	}
}

// collect records the functions of a program, before tables are looked at.
func (t *Valuation) collect(f *ir.Func) {
	for _, op := range f.Body.Ops {
		if k := ir.CurveOf(op); k != nil && k.Table != "" {
			t.operation(&call{Evaluator: &Evaluator{Functions: t.fs, valuation: t}, op: op}, k)
		}
	}
}

// edge is a point where a step function changes: its values there and above it.
type edge struct{ at, value, above float64 }

// steps is a step function; below is its value under the first edge.
func (t *Valuation) steps(f *field.Functions, x field.Elem, edges []edge, below float64) field.Elem {
	y, left, boolean := field.Number(below), below, below == 0 || below == 1
	for _, e := range edges {
		boolean = boolean && (e.value == 0 || e.value == 1) && (e.above == 0 || e.above == 1)
		lo, hi := f.Signs(f.Sub(x, field.Number(e.at)))
		y = field.Add(y, field.Mul(field.Number(e.value-left), field.Sub(1, lo)))
		y = field.Add(y, field.Mul(field.Number(e.above-e.value), hi))
		left = e.above
	}
	if boolean {
		f.MarkBoolean(y)
	}
	return y
}

// Table returns a function that applies, to each element of a row, the function that a table computes.
func (t *Valuation) Table(table *engine.Table) func(v []field.Elem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.seen[table.Bytes]; f != nil {
		return f
	}
	f := t.recognise(table)
	t.seen[table.Bytes] = f
	return f
}

// fp16Numbers returns the numbers of fp16 and both infinities, ascending, with one zero.
var fp16Numbers = sync.OnceValue(func() []float64 {
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

// Unsupported lists the tables that match none of the functions.
func (t *Valuation) Unsupported() []string { return t.unsupported }

func (t *Valuation) recognise(table *engine.Table) func(v []field.Elem) {
	c := sampled(func(x float64) float64 { return float64(table.Eval(float32(x))) })
	if f := t.piecewise(c); f != nil {
		return rows(f)
	}
	least := map[string]float64{}
	for n, known := range t.curves {
		least[n] = distance(c, known, fewNumbers, math.Inf(1))
	}
	order := slices.SortedFunc(maps.Keys(least), func(a, b string) int {
		return cmp.Or(cmp.Compare(least[a], least[b]), cmp.Compare(a, b))
	})
	best, name := math.Inf(1), ""
	for _, n := range order {
		if least[n] > best {
			break
		}
		if e := distance(c, t.curves[n], 1, best); e < best || e == best && n < name {
			best, name = e, n
		}
	}
	if best > nearTable && !nearSteep(c, t.curves[name]) {
		t.unsupported = append(t.unsupported, fmt.Sprintf("a table computes none of the functions of the program; "+
			"nearest is %s, which it misses by %.3g", strings.TrimSpace(name), best))
		name = fmt.Sprintf("%x", table.Bytes)
	}
	if slices.Contains(defined, name) {
		return rows(t.named(t.fs, name))
	}
	n := t.fs.Name("table " + name)
	return func(v []field.Elem) { t.fs.HashRow(n, v) }
}

// rows makes a function one of the elements of a row.
func rows(f func(field.Elem) field.Elem) func(v []field.Elem) {
	return func(v []field.Elem) {
		for i, x := range v {
			v[i] = f(x)
		}
	}
}

// nearTable is how far a table may be from the function that it approximates, relative for numbers above 1.
const nearTable = 1.0 / 32

// steepBy is how far from x a function is looked at to see how steep it is.
const steepBy = 0.25

// nearSteep reports whether a table is near a function relative to the largest of its values at x and on both sides of
// it. A table has few points, and so a steep function differs by more than its value where that is small.
func nearSteep(table, function curve) bool {
	xs := fp16Numbers()
	size := func(x float64) float64 {
		i, _ := slices.BinarySearch(xs, x)
		if y := math.Abs(function(min(i, len(xs)-1))); y <= 65504 {
			return y
		}
		return 0
	}
	for i := 1; i < len(xs)-1; i++ {
		y, v := function(i), table(i)
		if far := math.Abs(v - y); y != y || v != v || math.Abs(y) > 65504 || far <= nearTable*max(1, math.Abs(y)) {
			continue
		} else if far > nearTable*max(size(xs[i]-steepBy), size(xs[i]+steepBy)) {
			return false
		}
	}
	return true
}

// sameTable is how near two functions are that count as one, such as the two forms of gelu.
const sameTable = 1.0 / 512

// fewNumbers is a step between numbers that tell most functions apart. The distance at them is at most that at all.
const fewNumbers = 499

// distance returns how far a table is from a function at every step-th number, or some distance over most if it is
// farther than that.
func distance(table, function curve, step int, most float64) float64 {
	far := 0.0
	for i := 1; i < len(fp16Numbers())-1; i += step {
		y := function(i)
		if y != y || math.Abs(y) > 65504 {
			continue
		}
		if v := table(i); v == v {
			far = max(far, math.Abs(v-y)/max(1, math.Abs(y)))
		}
		if far > most {
			break
		}
	}
	return far
}

// piecewise returns the function that is the identity between two bounds or has few steps, nil for others.
func (t *Valuation) piecewise(c curve) func(field.Elem) field.Elem {
	// At the infinities, functions have their values at the last finite numbers if they have none there.
	last := len(fp16Numbers()) - 1
	low, high := c(0), c(last)
	if low != low {
		low = c(1)
	}
	if high != high {
		high = c(last - 1)
	}
	at := func(i int) float64 {
		switch i {
		case 0:
			return low
		case last:
			return high
		}
		return c(i)
	}
	if bounded(at) {
		lo, hi := field.Number(low), field.Number(high)
		return func(x field.Elem) field.Elem { return t.fs.Clip(x, lo, hi) }
	}
	edges, ok := t.edges(at)
	if !ok {
		return nil
	}
	zero, _ := slices.BinarySearch(fp16Numbers(), 0)
	one, _ := slices.BinarySearch(fp16Numbers(), 1)
	base, rise := field.Number(c(zero)), field.Sub(field.Number(c(one)), field.Number(c(zero)))
	return func(x field.Elem) field.Elem {
		if t.fs.IsBoolean(x) {
			return field.Add(base, field.Mul(rise, x))
		}
		return t.steps(t.fs, x, edges, low)
	}
}

// bounded reports whether a function is the identity between two bounds, its values at the infinities.
func bounded(at curve) bool {
	xs := fp16Numbers()
	last := len(xs) - 1
	low, high := at(0), at(last)
	if low >= high {
		return false
	}
	for i := 1; i < last; i++ {
		if at(i) != max(low, min(xs[i], high)) {
			return false
		}
	}
	return true
}

// edges recognises a function with few steps, which may be at an infinity.
func (t *Valuation) edges(at curve) (edges []edge, ok bool) {
	const most = 4
	xs := fp16Numbers()
	before := at(0)
	for i := 1; i < len(xs); i++ {
		here := at(i)
		if here == before {
			continue
		}
		if len(edges) == most || here != here {
			return nil, false
		}
		e := edge{xs[i], here, here}
		if i+1 < len(xs) && at(i+1) != here { // a value at a single number
			i++
			e.above = at(i)
		} else if t.thresholds[xs[i-1]] && !t.thresholds[xs[i]] {
			e = edge{xs[i-1], before, here}
		}
		edges, before = append(edges, e), e.above
	}
	return edges, true
}
