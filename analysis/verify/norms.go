package verify

import (
	"math"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// lines calls f for every group of elements that differ only along the axes, with their indices.
func lines(shape []int64, axes []int, f func(at []int)) {
	over := make([]bool, len(shape))
	for _, a := range axes {
		over[a] = true
	}
	offsets := func(want bool) []int {
		out, step := []int{0}, 1
		for i := len(shape) - 1; i >= 0; i-- {
			if over[i] == want {
				next := make([]int, 0, len(out)*int(shape[i]))
				for k := range int(shape[i]) {
					for _, o := range out {
						next = append(next, o+k*step)
					}
				}
				out = next
			}
			step *= int(shape[i])
		}
		return out
	}
	inner := offsets(true)
	at := make([]int, len(inner))
	for _, o := range offsets(false) {
		for i, k := range inner {
			at[i] = o + k
		}
		f(at)
	}
}

// softmax is the rule of exp(x - max) / sum. The engine rounds the difference to fp16, takes the power and perhaps the
// reciprocal of the sum from tables, and rounds the power and the reciprocal.
func softmax(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	x := s.operand(ir.ParamX)
	axis, err := ir.AxisAttr(s.op, ir.ParamAxis, x.t.Type.Rank())
	if err != nil {
		return enclosuresOf(ts, true), nil
	}
	table, eng, elems := s.relative(), s.onEngine(), ts[0].Elems()
	n := lane{v: x.numbers(), r: x.radius(), y: ts[0].View32(), lo: s.memory.floats(elems), hi: s.memory.floats(elems),
		table: table, eng: eng, sum: s.sum + s.constants}
	n.size, n.step = int(x.t.Type.Shape[axis]), int(product64(x.t.Type.Shape[axis+1:]))
	n.least, n.greatest = make([]float64, n.size), make([]float64, n.size)
	for at := 0; at < len(n.v); at += n.size * n.step {
		for i := range n.step {
			n.enclose(at + i)
		}
	}
	return []*enclosure{{t: ts[0], lo: n.lo, hi: n.hi}}, nil
}

// lane is the numbers of a softmax.
type lane struct {
	v, r            []float32 // the operand and its radius, nil for none
	y               []float32 // the result without errors
	lo, hi          []float32 // its enclosure
	least, greatest []float64 // of each exponential of a lane
	size, step      int       // elements of a lane, and how far they are apart
	table, eng, sum float64   // relative error of the tables, 1 on the engine, and error of sums
}

// enclose encloses the elements of one lane, from the first.
func (n *lane) enclose(first int) {
	end := first + n.size*n.step
	largest, share, slack := n.v[first], float32(0), 0.0
	for i := first; i < end; i += n.step { // by comparisons, which cost less than max
		if v := n.v[i]; v > largest {
			largest = v
		}
		if y := n.y[i]; y > share {
			share = y
		}
		if n.r != nil {
			slack = max(slack, float64(n.r[i]))
		}
	}
	floor := n.eng * (0x1p-14*n.table + 2*tiny)
	above, below := 1+n.table+n.eng*halfUnit, 1-n.table-n.eng*halfUnit
	// The largest result is exp(0). Results in proportion to it err by a few roundings to fp32.
	above, below = above*(1+fuzz), below*(1-fuzz)
	most, whole := float64(largest), 1/float64(share)
	low, high, k := 0.0, 0.0, 0
	for i := first; i < end; i += n.step {
		d := float64(n.v[i]) - most
		e := slack + n.eng*(tiny-1.01*halfUnit*d)
		if n.r != nil {
			e += float64(n.r[i])
		}
		if d < -math.MaxFloat64 && (n.r == nil || n.r[i] == 0) { // masked
			e = 0
		}
		p := float64(n.y[i]) * whole
		if !(n.y[i] > 0x1p-100) { // too small for proportions, or NaN
			p = numerics.Exp64(d)
		}
		s := e * e / 2 // a small e has a series, whose rest is at most a third of e*e*e
		shrinks, grows := 1-e+s-e*s*(1.0/3), 1+e+s+e*s/2
		if !(e < 1.0/64) {
			grows = numerics.Exp64(e)
			shrinks = 1 / grows
		}
		greatest, least := p*grows*above+floor, p*shrinks*below-floor
		if !(least > 0) {
			least = 0
		}
		n.greatest[k], n.least[k] = greatest, least
		low, high = low+least, high+greatest
		k++
	}
	part := n.sum + n.eng*(2*halfUnit+n.table) + float64(n.size)*0x1p-23
	// Where one exponential hardly changes a sum, products with these replace quotients. Each errs by a unit of fp64.
	inLow, inHigh, small := (1+0x1p-50)/low, (1-0x1p-50)/high, 0x1p-16*low
	up1, down1 := 1+part, max(0, 1-part)
	k = 0
	for i := first; i < end; i += n.step {
		greatest, least := n.greatest[k], n.least[k]
		k++
		if y := n.y[i]; y-y != 0 {
			n.lo[i], n.hi[i] = y, y
			continue
		}
		if greatest-least < small {
			// The sums lie between low and high.
			n.hi[i] = up(greatest*inLow*up1 + n.eng*tiny)
			n.lo[i] = down(least * inHigh * down1)
			continue
		}
		others := low - least + greatest
		if !(others > 0) {
			others = math.SmallestNonzeroFloat64
		}
		n.hi[i] = up(greatest/others*up1 + n.eng*tiny)
		if least != 0 {
			n.lo[i] = down(least / (high - greatest + least) * down1)
		}
	}
}

// layerNorm is the rule of (x - mean) / sqrt(variance + epsilon) * gamma + beta. The engine rounds the mean, the
// reciprocal deviation, the quotient and its product with gamma to fp16.
func layerNorm(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	x := s.operand(ir.ParamX)
	axes, err := ir.LayerNormAxes(s.op)
	if err != nil {
		return enclosuresOf(ts, true), nil
	}
	epsilon, ok := ir.ArgFloat(s.op, ir.ParamEpsilon)
	if !ok {
		return enclosuresOf(ts, true), nil
	}
	n := norm{part: s.sum + s.constants, epsilon: epsilon, eng: s.onEngine(), constants: s.constants}
	for _, p := range []struct {
		name ir.ParamName
		to   *[]float32
	}{{ir.ParamGamma, &n.gamma}, {ir.ParamBeta, &n.beta}} {
		if a := s.operand(p.name); a != nil {
			if !a.exact() {
				return enclosuresOf(ts, true), nil
			}
			*p.to = a.numbers()
		}
	}
	n.v, n.r = x.numbers(), x.radius()
	radius := make([]float64, len(n.v))
	lines(x.t.Type.Shape, axes, func(at []int) { n.line(at, radius) })
	return []*enclosure{around(ts[0], func(i int, y float64) float64 { return radius[i] + fuzz*math.Abs(y) })}, nil
}

// norm is the numbers of a normalisation.
type norm struct {
	v, r        []float32 // the operand and its radius
	gamma, beta []float32 // nil for none
	part        float64   // error of sums
	constants   float64
	epsilon     float64
	eng         float64
}

// line computes the errors of the elements of one group.
func (n *norm) line(at []int, radius []float64) {
	count := float64(len(at))
	mean, magnitude, err, spread := 0.0, 0.0, 0.0, 0.0
	rad := func(i int) float64 {
		if n.r == nil {
			return 0
		}
		return float64(n.r[i])
	}
	for _, i := range at {
		mean += float64(n.v[i]) / count
		magnitude += (abs(n.v[i]) + rad(i)) / count
		err += rad(i) / count
		spread += rad(i) * rad(i) / count
	}
	part := n.part + n.eng*halfUnit + count*0x1p-40
	off := err + part*magnitude + n.eng*(halfUnit*math.Abs(mean)+tiny) + 0x1p-22*magnitude
	variance := 0.0
	for _, i := range at {
		d := float64(n.v[i]) - mean
		variance += d * d / count
	}
	// By the triangle inequality the deviation changes by at most the root of the mean of squared errors. The rounding
	// of the mean adds its square to the variance.
	root, shake := math.Sqrt(variance), math.Sqrt(spread)
	eps := n.eng * (halfUnit*n.epsilon + tiny)
	small, large := max(0, root-shake), root+shake
	low := math.Sqrt(max(0, small*small*(1-part-n.eng*halfUnit)+n.epsilon-eps)) * (1 - n.eng*halfUnit - 0x1p-22)
	high := math.Sqrt((large*large+off*off)*(1+part+n.eng*halfUnit)+n.epsilon+eps) * (1 + n.eng*halfUnit + 0x1p-22)
	exact := math.Sqrt(variance + n.epsilon)
	for k, i := range at {
		d := math.Abs(float64(n.v[i]) - mean)
		z := d / exact
		e := d*max(1/low-1/exact, 1/exact-1/high) + (rad(i)+off+n.eng*halfUnit*d)/low + n.eng*(halfUnit*z+tiny)
		if n.gamma != nil {
			g := abs(n.gamma[k])
			e = e*g + (n.eng*halfUnit+n.constants)*(z*g) + n.eng*tiny
		}
		if n.beta != nil {
			e += n.constants * abs(n.beta[k])
		}
		if e != e {
			e = math.Inf(1)
		}
		radius[i] = e
	}
}

// batchNorm is the rule of gamma (x - mean) / sqrt(variance + epsilon) + beta. Passes write it as a factor and an
// addend, both rounded to fp16, or fold them into weights.
func batchNorm(s *statement, ts []interp.Tensor) ([]*enclosure, error) {
	part := 3 * halfUnit
	x := s.op.Arg(ir.ParamX)
	with := map[*ir.Value]interp.Tensor{x: s.errorBound(s.of(x), part)}
	change := func(p ir.ParamName, f func(y float64) float64) {
		v := s.op.Arg(p)
		if v == nil {
			return
		}
		with[v] = s.memory.mapped(s.of(v).t, func(_ int, y float32) float32 { return up(f(float64(y))) })
	}
	change(ir.ParamMean, func(y float64) float64 { return -part * math.Abs(y) })
	change(ir.ParamGamma, math.Abs)
	change(ir.ParamBeta, func(y float64) float64 { return part * math.Abs(y) })
	rs, err := s.wide(s.op, with)
	if err != nil {
		return nil, err
	}
	r := rs[0].View32()
	return []*enclosure{around(ts[0], func(i int, _ float64) float64 { return float64(r[i]) })}, nil
}
