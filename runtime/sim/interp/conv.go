package interp

import "github.com/zinc-compiler/zinc/ir"

var _ = add(map[*ir.Operation]kernel{
	ir.OpConv:          func(c *call) []Tensor { return conv(c, c.convWeights) },
	ir.OpConvQuantized: func(c *call) []Tensor { return conv(c, c.dequantized) },
	ir.OpConvTranspose: convTranspose,
})

// colElems is the size that one block of unfolded columns may have: 16 MB.
const colElems = 4 << 20

// convWeights returns the weights and one bias per channel.
func (c *call) convWeights(w Tensor) (weights, bias []float32) {
	return c.macFloats(w), c.vector(ir.ParamBias, int(w.Type.Shape[0]), 0)
}

// dequantized is convWeights for integers v that represent v*quant_scale + quant_bias, where both are scalars or one
// number per output channel. The definition does not say whether its formula applies to the bias; the bias has the same
// quantised type as the weights, so it does here.
func (c *call) dequantized(w Tensor) (weights, bias []float32) {
	cout := int(w.Type.Shape[0])
	if c.string(ir.ParamQuantizationType, "") != "linear" {
		c.fail("argument quantization_type is %q: only \"linear\" is defined, no argument holds a table",
			c.string(ir.ParamQuantizationType, ""))
	}
	if n := c.int(ir.ParamNBits, 8); n < 1 || n > 8 {
		c.fail("argument nbits is %d, outside [1, 8]", n)
	}
	factor := func(name ir.ParamName) []float32 {
		t := c.numeric(name)
		if n := t.Elems(); c.err == nil && n != 1 && n != cout {
			c.fail("argument %s has %d elements, needs 1 or %d", name, n, cout)
		}
		return c.floats(t)
	}
	scale, shift := factor(ir.ParamQuantScale), factor(ir.ParamQuantBias)
	weights = c.floats(w)
	if t, ok := c.opt(ir.ParamBias); ok {
		if bias = c.floats(t); c.err == nil && len(bias) != cout {
			c.fail("argument bias has %d elements, needs %d", len(bias), cout)
		}
	}
	if c.err != nil {
		return nil, nil
	}
	for _, vs := range [][]float32{weights, bias} {
		each := max(1, len(vs)/max(1, cout))
		for i, v := range vs {
			ch := i / each
			vs[i] = float32(v*scale[ch%len(scale)]) + shift[ch%len(shift)]
		}
	}
	return weights, bias
}

// conv slides weight [C_out, C_in/groups, k...] over x [N, C_in, d...]; read returns the numbers of the weights and the
// bias.
func conv(c *call, read func(w Tensor) (weights, bias []float32)) []Tensor {
	x, wt := c.numeric(ir.ParamX), c.numeric(ir.ParamWeight)
	groups := c.int(ir.ParamGroups, 1)
	if c.err != nil {
		return nil
	}
	xs, ws := x.Type.Shape, wt.Type.Shape
	if len(ws) != len(xs) || len(xs) < 3 {
		return c.fail("x has shape %s and weight has shape %s: both need one to three spatial dimensions",
			ir.ShapeString(xs), ir.ShapeString(ws))
	}
	if groups < 1 || xs[1]%groups != 0 || ws[0]%groups != 0 || ws[1] != xs[1]/groups {
		return c.fail("weight of shape %s does not match %d channels of x in %d groups", ir.ShapeString(ws), xs[1],
			groups)
	}
	w := c.newWindow(x, ws[2:], false)
	if c.err != nil {
		return nil
	}
	j := convJob{w: w, n: int(xs[0]), groups: int(groups), cin: int(ws[1]), cout: int(ws[0] / groups)}
	shape := w.shape(j.n, int(ws[0]))
	if ir.TensorOf(ir.FP32, shape...).Bytes() < 0 || int64(j.cin)*int64(w.kernelElem) > 1<<32 {
		return c.fail("the result of shape %s is too large", ir.ShapeString(shape))
	}
	wf, bias := read(wt)
	xf, out := c.macFloats(x), c.buffer(prod(shape))
	if c.err == nil && c.fixed {
		addBias(out, bias, w.outElems()) // the first terms
		bias = nil
	}
	j.run(c, xf, wf, out)
	if c.err != nil {
		return nil
	}
	addBias(out, bias, w.outElems())
	// One tap of one channel is an elementwise product: the engine lets it keep the full range. Two channels
	// accumulate, as two taps do.
	if w.kernelElem*j.cin == 1 {
		return results(c.outFloats(0, shape, out))
	}
	return results(c.outMAC(0, shape, out))
}

// addBias adds one number per channel to planes of n elements.
func addBias(out, bias []float32, n int) {
	if n == 0 || len(bias) == 0 {
		return
	}
	for i := range len(out) / n {
		b := bias[i%len(bias)]
		row := out[i*n : (i+1)*n]
		for k := range row {
			row[k] += b
		}
	}
}

// convJob is a convolution without its data. cin and cout are the channels of one group.
type convJob struct {
	w         window
	n, groups int
	cin, cout int
}

func (j convJob) run(c *call, xs, ws, out []float32) {
	if c.err != nil || len(out) == 0 {
		return
	}
	w := j.w
	in, pos, k := w.inElems(), w.outElems(), j.cin*w.kernelElem
	if j.cin == 1 && j.cout <= 2 && j.groups > 1 && !c.staged && !c.fixed {
		j.depthwise(c, xs, ws, out)
		return
	}
	direct := w.kernelElem == 1 && w.in == w.out && w.lead == [3]int{} && w.stride == [3]int{1, 1, 1}
	block := max(64, colElems/max(1, k))
	var col, part []float32
	if !direct {
		col = c.buffer(k * min(block, pos))
		if pos > block {
			part = c.buffer(j.cout * block)
		}
	}
	if c.err != nil {
		return
	}
	for ng := range j.n * j.groups {
		g := ng % j.groups
		img := xs[ng*j.cin*in : (ng+1)*j.cin*in]
		wg := matrix{data: ws[g*j.cout*k : (g+1)*j.cout*k], rows: j.cout, cols: k}
		res := out[ng*j.cout*pos : (ng+1)*j.cout*pos]
		if direct {
			c.gemm(wg, matrix{data: img, rows: k, cols: pos}, res)
			continue
		}
		for lo := 0; lo < pos; lo += block {
			n := min(block, pos-lo)
			j.unfold(c, img, lo, n, col[:k*n])
			b := matrix{data: col[:k*n], rows: k, cols: n}
			if n == pos {
				c.gemm(wg, b, res)
				continue
			}
			p := part[:j.cout*n]
			for r := range j.cout {
				copy(p[r*n:(r+1)*n], res[r*pos+lo:])
			}
			c.gemm(wg, b, p)
			for r := range j.cout {
				copy(res[r*pos+lo:], p[r*n:(r+1)*n])
			}
		}
		if c.err != nil {
			return
		}
	}
}

// unfold writes the columns of n output positions from lo on: one row per tap of an input channel, with zeros where a
// tap is in the padding.
func (j convJob) unfold(c *call, img []float32, lo, n int, col []float32) {
	w := j.w
	in := w.inElems()
	c.parallel(j.cin*w.kernelElem, 1+16384/n, func(from, to int) {
		for r := from; r < to; r++ {
			ch, tap := r/w.kernelElem, r%w.kernelElem
			t := [3]int{tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]}
			plane, row := img[ch*in:(ch+1)*in], col[r*n:(r+1)*n]
			p := w.at(lo)
			for i := 0; i < n; {
				// One run along the last dimension at a time.
				run := min(n-i, w.out[2]-p[2])
				d := p[0]*w.stride[0] - w.lead[0] + t[0]*w.dilation[0]
				h := p[1]*w.stride[1] - w.lead[1] + t[1]*w.dilation[1]
				if d < 0 || d >= w.in[0] || h < 0 || h >= w.in[1] {
					clear(row[i : i+run])
				} else {
					line := plane[(d*w.in[1]+h)*w.in[2]:][:w.in[2]]
					x := p[2]*w.stride[2] - w.lead[2] + t[2]*w.dilation[2]
					for q := range run {
						if x >= 0 && x < len(line) {
							row[i+q] = line[x]
						} else {
							row[i+q] = 0
						}
						x += w.stride[2]
					}
				}
				i += run
				p[2] = 0
				if p[1]++; p[1] == w.out[1] {
					p[1] = 0
					p[0]++
				}
			}
		}
	})
}

// depthwise is the direct loop for one input channel per group.
func (j convJob) depthwise(c *call, xs, ws, out []float32) {
	w := j.w
	in, pos := w.inElems(), w.outElems()
	c.parallel(j.n*j.groups*j.cout, 1+16384/max(1, pos*w.kernelElem), func(lo, hi int) {
		for r := lo; r < hi; r++ {
			if c.r.ctx.Err() != nil {
				return
			}
			plane := xs[r/j.cout*in : (r/j.cout+1)*in]
			co := r % (j.groups * j.cout)
			taps := ws[co*w.kernelElem : (co+1)*w.kernelElem]
			for o := range pos {
				p := w.at(o)
				s := float32(0)
				for a := range w.kernel[0] {
					d := p[0]*w.stride[0] - w.lead[0] + a*w.dilation[0]
					if d < 0 || d >= w.in[0] {
						continue
					}
					for b := range w.kernel[1] {
						h := p[1]*w.stride[1] - w.lead[1] + b*w.dilation[1]
						if h < 0 || h >= w.in[1] {
							continue
						}
						for e := range w.kernel[2] {
							x := p[2]*w.stride[2] - w.lead[2] + e*w.dilation[2]
							if x < 0 || x >= w.in[2] {
								continue
							}
							v := plane[(d*w.in[1]+h)*w.in[2]+x] * taps[(a*w.kernel[1]+b)*w.kernel[2]+e]
							if c.ane && v != v {
								v = 0
							}
							if s += float32(v); c.ane && s != s {
								s = 0
							}
						}
					}
				}
				out[r*pos+o] = s
			}
		}
	})
}

// convTranspose scatters x [N, C_in, d...] through weight
// [C_in, C_out/groups, k...] and cuts the full result.
func convTranspose(c *call) []Tensor {
	x, wt := c.numeric(ir.ParamX), c.numeric(ir.ParamWeight)
	groups := c.int(ir.ParamGroups, 1)
	if c.err != nil {
		return nil
	}
	xs, ws := x.Type.Shape, wt.Type.Shape
	n := len(xs) - 2
	if len(ws) != len(xs) || n < 1 || n > 3 {
		return c.fail("x has shape %s and weight has shape %s: both need one to three spatial dimensions",
			ir.ShapeString(xs), ir.ShapeString(ws))
	}
	if groups < 1 || ws[0] != xs[1] || xs[1]%groups != 0 {
		return c.fail("weight of shape %s does not match %d channels of x in %d groups", ir.ShapeString(ws), xs[1],
			groups)
	}
	w := c.transposeWindow(x, ws[2:])
	if c.err != nil {
		return nil
	}
	cout := int(ws[1] * groups)
	shape := w.shape(int(xs[0]), cout)
	if ir.TensorOf(ir.FP32, shape...).Bytes() < 0 || ir.TensorOf(ir.FP32, ws[1], int64(w.kernelElem),
		int64(w.inElems())).Bytes() < 0 {
		return c.fail("the result of shape %s is too large", ir.ShapeString(shape))
	}
	bias := c.vector(ir.ParamBias, cout, 0)
	xf, wf, out := c.macFloats(x), c.macFloats(wt), c.buffer(prod(shape))
	scatterColumns(c, w, int(xs[0]), int(groups), int(xs[1]/groups), int(ws[1]), xf, wf, out)
	if c.err != nil {
		return nil
	}
	addBias(out, bias, w.outElems())
	return results(c.outMAC(0, shape, out))
}

// transposeWindow is newWindow for a transposed convolution: lead is the number of elements cut from the front of the
// full result.
func (c *call) transposeWindow(x Tensor, kernel []int64) window {
	n := len(kernel)
	var w window
	strides, dilations := c.intsN(ir.ParamStrides, n, 1), c.intsN(ir.ParamDilations, n, 1)
	kind := c.choice(ir.ParamPadType, "valid", "valid", "same", "same_lower", "custom")
	pad := make([]int64, 2*n)
	if kind == "custom" {
		pad = c.intsN(ir.ParamPad, 2*n, 0)
	}
	want, given := c.ints(ir.ParamOutputShape)
	if c.err != nil {
		return w
	}
	if given && len(want) != n+2 && len(want) != n {
		c.fail("argument output_shape has %d elements, needs %d", len(want), n+2)
		return w
	}
	w.rank, w.in, w.kernelElem = n, spatial(x.Type.Shape[2:]), 1
	w.kernel, w.out, w.stride, w.dilation = spatial(kernel), [3]int{1, 1, 1}, spatial(strides), spatial(dilations)
	for i := range n {
		d := 3 - n + i
		if kernel[i] < 1 || strides[i] < 1 || dilations[i] < 1 || pad[2*i] < 0 || pad[2*i+1] < 0 ||
			max(kernel[i], strides[i], dilations[i], pad[2*i], pad[2*i+1]) >= maxDim || w.in[d] < 1 {
			c.fail("kernel %d, stride %d, dilation %d, padding %d and %d of spatial dimension %d (size %d) are out "+
				"of range",
				kernel[i], strides[i], dilations[i], pad[2*i], pad[2*i+1], i, w.in[d])
			return w
		}
		full := (w.in[d]-1)*w.stride[d] + (w.kernel[d]-1)*w.dilation[d] + 1
		w.out[d], w.lead[d] = full-int(pad[2*i]+pad[2*i+1]), int(pad[2*i])
		if kind == "same" || kind == "same_lower" {
			w.out[d] = w.in[d] * w.stride[d]
			if given {
				w.out[d] = int(want[len(want)-n+i])
			}
			cut := max(0, full-w.out[d])
			w.lead[d] = cut / 2
			if kind == "same_lower" {
				w.lead[d] = cut - cut/2
			}
		} else if given {
			w.out[d] = int(want[len(want)-n+i])
		}
		if w.out[d] < 1 || w.out[d] >= maxDim {
			c.fail("spatial dimension %d of the result comes out as %d", i, w.out[d])
			return w
		}
		w.kernelElem *= w.kernel[d]
	}
	return w
}

// scatterColumns computes the columns W^T x and adds each to the positions it reaches.
func scatterColumns(c *call, w window, n, groups, cin, cout int, xs, ws, out []float32) {
	in, pos, k := w.inElems(), w.outElems(), cout*w.kernelElem
	col := c.buffer(k * in)
	for ng := range n * groups {
		if c.err != nil {
			return
		}
		g := ng % groups
		clear(col)
		c.gemm(matrix{data: ws[g*cin*k : (g+1)*cin*k], rows: cin, cols: k, t: true},
			matrix{data: xs[ng*cin*in : (ng+1)*cin*in], rows: cin, cols: in}, col)
		c.parallel(cout, 1+16384/max(1, w.kernelElem*in), func(lo, hi int) {
			for co := lo; co < hi; co++ {
				plane := out[(ng*cout+co)*pos : (ng*cout+co+1)*pos]
				for tap := range w.kernelElem {
					t := [3]int{tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1], tap % w.kernel[2]}
					row := col[(co*w.kernelElem+tap)*in:][:in]
					for i, v := range row {
						d := i/(w.in[1]*w.in[2])*w.stride[0] + t[0]*w.dilation[0] - w.lead[0]
						h := i/w.in[2]%w.in[1]*w.stride[1] + t[1]*w.dilation[1] - w.lead[1]
						x := i%w.in[2]*w.stride[2] + t[2]*w.dilation[2] - w.lead[2]
						if d >= 0 && d < w.out[0] && h >= 0 && h < w.out[1] && x >= 0 && x < w.out[2] {
							plane[(d*w.out[1]+h)*w.out[2]+x] += v
						}
					}
				}
			}
		})
	}
}
