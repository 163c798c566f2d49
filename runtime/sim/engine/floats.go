package engine

import (
	"encoding/binary"
	"math"

	"github.com/zinc-compiler/zinc/lower/td"
	"github.com/zinc-compiler/zinc/numerics/vector"
	"github.com/zinc-compiler/zinc/runtime/sim/engine/port"
)

// stale is the pattern, a NaN, that the simulator leaves in L2 where the content is undefined.
const stale = 0x7fff

// floats is the arithmetic of the engine: numbers in fp32, results as patterns of fp16, memory of bytes.
type floats struct {
	Numerics
	l2   []byte
	used int64 // no byte of L2 from here on was written
}

func (n *floats) window(mem Memory, stream string, bar int, first, size int64, write bool) (place, error) {
	buf, err := mem.Window(bar, first, size, write)
	if err != nil {
		return place{}, &Fault{Stream: stream, Address: first, Msg: "window refused", Err: err}
	}
	if int64(len(buf)) < size {
		return place{}, badAt(stream, first, "the window of register %d has %d bytes, want %d", bar, len(buf), size)
	}
	return place{buf: buf[:size:size]}, nil
}

func (n *floats) onchip(first, size int64) place {
	n.used = max(n.used, first+size)
	return place{buf: n.l2[first : first+size : first+size]}
}

func (n *floats) values(mac bool) *[65536]float32 { return n.table(mac) }

func (n *floats) readFP16(dst []float32, p place, from, step int, mac bool) {
	if step == 2 {
		n.readAll(dst, p.buf[from:], mac)
		return
	}
	table := n.table(mac)
	for i := range dst {
		dst[i] = table[binary.LittleEndian.Uint16(p.buf[from+i*step:])]
	}
}

func (n *floats) transpose(dst []float32, ld int, src []float32, cols int) {
	vector.Matrix{Data: src, Rows: cols, Cols: len(src) / cols, RowStep: 1, ColStep: cols}.Copy(dst, ld)
}

func (n *floats) spoil(at, size int64) {
	n.used = max(n.used, at+size)
	b := n.l2[at : at+size&^1]
	if len(b) == 0 {
		return
	}
	binary.LittleEndian.PutUint16(b, stale)
	for done := 2; done < len(b); done *= 2 {
		copy(b[done:], b[:done])
	}
}

func (n *floats) clamp(v []float32) { clamp(v) }

func clamp(v []float32) {
	for i, f := range v {
		if f < 0 {
			v[i] = 0
		}
	}
}

func (n *floats) multiply(c []float32, w, b matrix[float32]) {
	n.Numerics.multiply(c, vector.Matrix(w), vector.Matrix(b))
}

func (n *floats) post(t *td.Task, l *lut, multi bool) poster[float32, uint16] {
	return newPost(t, n.Numerics, l, multi)
}

func (n *floats) elementwise(t *td.Task) rows[float32] { return newElementwise(t, n.Numerics) }

func (n *floats) final(t *td.Task) finish[float32, uint16] { return newFinal(t, n.Numerics) }

func (n *floats) fold(mode td.Pool, fin finish[float32, uint16]) folder[float32, uint16] {
	return &fold{mode: mode, fin: fin.(*final)}
}

func (n *floats) channels(dst, src []float32, plane, count int, maximum bool) {
	var sums [channelPiece]float64
	acc := sums[:len(dst)]
	for k := range acc {
		acc[k] = float64(src[k])
	}
	for s := 1; s < count; s++ {
		next := src[s*plane:][:len(dst)]
		if maximum {
			for k, f := range next {
				acc[k] = max(acc[k], float64(f))
			}
		} else {
			for k, f := range next {
				acc[k] += float64(f)
			}
		}
	}
	for k, f := range acc {
		dst[k] = float32(f)
	}
}

// leastVector is the number of columns from which rows are read by kernels.
const leastVector = 8

func (n *floats) load(run *run, t *tile, mac bool, out []float32) error {
	table := n.table(mac)
	step, dense := int(t.size()*t.inter), !t.isUint8 && !t.swap && t.inter == 1
	if _, cols := t.stored(); cols < leastVector {
		dense = false
	}
	err := t.eachRow(run, false, func(k, dk, cols int, at int64) {
		src := t.buf[at:]
		switch {
		case dense:
			n.readAll(out[k:][:cols], src[:2*cols], mac)
		case t.isUint8:
			for q := range cols {
				out[k+q*dk] = float32(src[q*step])
			}
		default:
			for q := range cols {
				out[k+q*dk] = table[binary.LittleEndian.Uint16(src[q*step:])]
			}
		}
	})
	if t.throughCopy(n.Numerics) {
		for i, f := range out {
			if f >= copyEnd {
				out[i] = float32(math.Inf(1))
			} else if f <= -copyEnd {
				out[i] = float32(math.Inf(-1))
			}
		}
	}
	return err
}

// copyEnd is the magnitude from which a number becomes infinite in rows that start late. This is measured, on slices of
// the last axis. That the late start causes a copy in fixed point, with a factor of 16, is modelled.
const copyEnd = 4096

// throughCopy reports whether rows are read through the copy that ends at copyEnd. No number of one byte reaches that
// limit. Later engines have no such copy, as was measured on the M5.
func (l *layout) throughCopy(n Numerics) bool {
	return l.offset != 0 && !l.isUint8 && n != IEEE && n != ANEFixed
}

func (n *floats) store(run *run, t *tile, vals []uint16) error {
	step, dense := int(t.size()*t.inter), !t.isUint8 && !t.swap && t.inter == 1
	// Rows that share bytes are written in order, so that the last one prevails.
	return t.eachRow(run, !t.disjoint(), func(k, dk, cols int, at int64) {
		dst := t.buf[at:]
		if dense {
			port.Store(dst, vals[k:][:cols])
			return
		}
		for q := range cols {
			if v := vals[k+q*dk]; t.isUint8 {
				dst[q*step] = toByte(v)
			} else {
				binary.LittleEndian.PutUint16(dst[q*step:], v)
			}
		}
	})
}

// toByte rounds an fp16 pattern to the nearest number from 0 to 255 (modelled: recorded
// results of this type are 0 or 1).
func toByte(h uint16) byte {
	f := port.Widen(h)
	switch {
	case f != f || f <= 0:
		return 0
	case f >= 255:
		return 255
	}
	return byte(math.RoundToEven(float64(f)))
}

func (n *floats) copyRows(dst, t *tile) {
	_, cols := t.stored()
	t.rows(func(g, d, p, h int, at int64) {
		to := dst.buf[dst.at(g, d, p, h):]
		from := t.buf[at:]
		if t.throughCopy(n.Numerics) {
			for q := range cols {
				v := binary.LittleEndian.Uint16(from[q*int(t.inter)*2:])
				if w := port.Widen(v); w >= copyEnd || w <= -copyEnd {
					v = v&0x8000 | 0x7c00
				}
				binary.LittleEndian.PutUint16(to[q*int(dst.inter)*2:], v)
			}
			return
		}
		if t.inter == 1 && dst.inter == 1 {
			size := int(t.size()) * cols
			copy(to[:size], from[:size])
			return
		}
		size := int(t.size())
		for q := range cols {
			copy(to[q*int(dst.inter)*size:][:size], from[q*int(t.inter)*size:])
		}
	})
}

// post is the arithmetic between accumulator and result.
type post struct {
	add, scale float32
	clamp      bool
	lut        *lut
	num        Numerics
	finish     port.Finish // but for the bias
	// results contains the result of every pattern, if there is no bias and all numbers are patterns of fp16.
	results *[1 << 16]uint16
}

// manyResults is the number of results of a task from which it is faster to compute them once for each pattern of fp16.
const manyResults = 1 << 18

func newPost(t *td.Task, num Numerics, l *lut, multi bool) *post {
	p := &post{
		add:   port.Widen(uint16(t.Get(td.AccBias))),
		scale: port.Widen(uint16(t.Get(td.PostScale))),
		clamp: t.Get(td.Nonlinear) == uint32(td.NonlinReLU),
		num:   num,
	}
	p.finish = port.Finish{Add: p.add, Scale: p.scale, Limit: float32(math.Inf(1)), Floor: port.NoFloor}
	if multi && num != ANEFixed { // of several taps or channels: 32768 and more becomes infinity
		p.finish.Limit = saturation
	}
	if p.clamp {
		p.finish.Floor = 0
	}
	if t.Get(td.Nonlinear) == uint32(td.NonlinTable) {
		p.lut = l
	}
	if p.lut != nil && t.Get(td.NEOp) == opPass && outShape(t).count() >= manyResults {
		results := new([1 << 16]uint16)
		v := *num.table(false)
		p.row(results[:], v[:], 0)
		p.results = results
	}
	return p
}

// saturation is the least magnitude that rounds to 32768.
const saturation = portEnd - 8

func (p *post) row(out []uint16, acc []float32, bias float32) {
	if p.results != nil {
		p.num.outAll(out, acc)
		for i, h := range out[:len(acc)] {
			out[i] = p.results[h]
		}
		return
	}
	if p.num == IEEE {
		for i, a := range acc {
			acc[i] = float32(float32(a+bias)+p.add) * p.scale
		}
		if p.clamp {
			clamp(acc)
		}
	} else {
		f := p.finish
		f.Bias = bias
		f.Row(acc, acc)
	}
	if p.lut != nil {
		p.lut.row(acc)
	}
	p.num.outAll(out, acc)
}

// elementwise is the arithmetic of one element before any reduction.
type elementwise struct {
	op          td.PlanarOp
	neg1, neg2  bool
	scale, bias float32
	abs, square bool
	relu        bool
	num         Numerics
}

// planarConstants returns the factor and the addend of elementwise work. A version has them as fp16 or as fp32 numbers;
// the fields that it does not have are zero.
func planarConstants(t *td.Task) (scale, bias float32) {
	return port.Widen(uint16(t.Get(td.PEScale))) + math.Float32frombits(t.Get(td.PEScale32)),
		port.Widen(uint16(t.Get(td.PEBias))) + math.Float32frombits(t.Get(td.PEBias32))
}

func newElementwise(t *td.Task, num Numerics) *elementwise {
	scale, bias := planarConstants(t)
	return &elementwise{
		op:     td.PlanarOp(t.Get(td.PEOp)),
		neg1:   t.On(td.PENeg1),
		neg2:   t.On(td.PENeg2),
		scale:  scale,
		bias:   bias,
		abs:    t.Get(td.PECond) != 0,
		square: t.On(td.PESquare),
		relu:   t.On(td.PERelu),
		num:    num,
	}
}

// row computes len(v) elements, at least one; ops are slices, of length one if the operand has a single value for the
// row. The first may be v if it is as long.
func (e *elementwise) row(v []float32, ops [3][]float32, n int) {
	a := ops[0]
	switch {
	case len(a) == 1:
		for i := range v {
			v[i] = a[0]
		}
	case &v[0] != &a[0]:
		copy(v, a)
	}
	if e.neg1 {
		for i := range v {
			v[i] = -v[i]
		}
	}
	if n > 1 {
		sign := float32(1)
		if e.neg2 {
			sign = -1
		}
		e.combine(v, ops[1], e.op, sign)
	}
	if n > 2 {
		e.combine(v, ops[2], td.PEMultiply, 1)
	}
	if e.scale != 1 || e.bias != 0 {
		for i, f := range v {
			v[i] = float32(f*e.scale) + e.bias
		}
	}
	e.num.fixAll(v)
	if e.abs {
		for i, f := range v {
			v[i] = math.Float32frombits(math.Float32bits(f) &^ (1 << 31))
		}
	}
	if e.square {
		for i, f := range v {
			v[i] = f * f
		}
	}
	if e.relu {
		clamp(v)
	}
}

// combine computes v = op(v, sign*b).
func (e *elementwise) combine(v, b []float32, op td.PlanarOp, sign float32) {
	if e.num != IEEE && op == td.PEAdd {
		port.Add(v, b, sign)
		return
	}
	if e.num != IEEE && op == td.PEMultiply {
		port.Multiply(v, b, sign)
		return
	}
	step := 1
	if len(b) == 1 {
		step = 0
	}
	j := 0
	switch op {
	case td.PEAdd:
		for i, f := range v {
			v[i] = f + float32(sign*b[j])
			j += step
		}
	case td.PEMultiply:
		for i, f := range v {
			v[i] = f * float32(sign*b[j])
			j += step
		}
	case td.PEMax:
		for i, f := range v {
			v[i] = max(f, float32(sign*b[j]))
			j += step
		}
	case td.PEMin:
		for i, f := range v {
			v[i] = min(f, float32(sign*b[j]))
			j += step
		}
	}
	e.num.fixAll(v)
}

// final is the arithmetic after a reduction, or after elementwise work.
type final struct {
	factor, epsilon float64
	nonlinear       td.PlanarFunction
	num             Numerics
}

func newFinal(t *td.Task, num Numerics) *final {
	return &final{
		factor:    float64(math.Float32frombits(t.Get(td.PEFinal))) * float64(port.Widen(uint16(t.Get(td.PEPreScale)))),
		epsilon:   float64(port.Widen(uint16(t.Get(td.PEEpsilon)))),
		nonlinear: td.PlanarFunction(t.Get(td.PENonlinear)),
		num:       num,
	}
}

// elements finishes elementwise work. The arithmetic that recorded tasks do after a reduction also applies here where
// it is not the identity (modelled: in every recorded elementwise task it is the identity).
func (f *final) elements(out []uint16, v []float32) {
	if !f.identity() {
		for k, y := range v {
			out[k] = f.value(f.readInf(float64(y)))
		}
		return
	}
	f.num.outAll(out, v)
}

func (f *final) identity() bool { return f.factor == 1 && f.epsilon == 0 && f.nonlinear == td.PENone }

// readInf returns a value as the arithmetic after elementwise work reads it: infinities are 2^16 there (inferred from
// log(+0), which is measured as -45440: ln 2 in fp16 times -2^16). It is unknown whether this also applies after a
// reduction.
func (f *final) readInf(v float64) float64 {
	if f.num != IEEE && math.IsInf(v, 0) {
		return math.Copysign(1<<16, v)
	}
	return v
}

func (f *final) value(v float64) uint16 {
	v = float64(v*f.factor) + f.epsilon
	if f.num != IEEE && math.IsNaN(v) {
		v = 0
	}
	if f.num != IEEE && v == 0 {
		v = 0 // drops the sign
	}
	switch f.nonlinear {
	case td.PEReciprocal:
		v = 1 / v
	case td.PERsqrt:
		v = 1 / math.Sqrt(v)
	}
	return f.num.out(float32(v))
}

// fold accumulates values in float64, in which sums of fp16 products are exact far beyond the extents that a task can
// have.
type fold struct {
	mode td.Pool
	fin  *final
	acc  float64
	n    int
}

func (f *fold) reset() {
	f.acc, f.n = 0, 0
	switch f.mode {
	case td.PoolMax:
		f.acc = math.Inf(-1)
	case td.PoolMin:
		f.acc = math.Inf(1)
	}
}

func (f *fold) add(v []float32) {
	if len(v) == 0 {
		return
	}
	acc, plain := f.acc, f.fin.num == IEEE // without NaN otherwise
	switch {
	case f.mode == td.PoolMax && !plain:
		acc = max(acc, float64(port.Max(v)))
	case f.mode == td.PoolMin && !plain:
		acc = min(acc, float64(port.Min(v)))
	case f.mode == td.PoolMax:
		for _, x := range v {
			acc = max(acc, float64(x))
		}
	case f.mode == td.PoolMin:
		for _, x := range v {
			acc = min(acc, float64(x))
		}
	default:
		for _, x := range v {
			acc += float64(x)
		}
	}
	f.acc = acc
	f.n += len(v)
}

func (f *fold) value() uint16 {
	if f.mode == td.PoolAverage && f.n > 0 {
		return f.fin.value(f.acc / float64(f.n))
	}
	return f.fin.value(f.acc)
}
