package neuralnetwork

import (
	"slices"

	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/ir"
)

// maxKernel bounds kernels, strides and padding: larger ones are no more than the largest tensor.
const maxKernel = 1 << 20

// pair returns a field of two numbers, for height and width, of low to maxKernel. Without any it returns otherwise.
func (l *layer) pair(m *mlmodel.Message, field string, low, otherwise int64) [2]int64 {
	vs := m.Ints(field)
	if len(vs) == 0 {
		return [2]int64{otherwise, otherwise}
	}
	if len(vs) != 2 || slices.Min(vs) < low || slices.Max(vs) > maxKernel {
		l.Stop(m.FieldErrorf(field, "%s: %s is %s; want two numbers of %d to %d, for height and width", l.what(), field,
			ir.ShapeString(vs), low, maxKernel))
	}
	return [2]int64(vs)
}

// edges returns the amounts at the start and the end of height and width, in the order that pad takes.
func (l *layer) edges(m *mlmodel.Message) [4]int64 {
	sizes := m.Messages("borderAmounts")
	if len(sizes) == 0 {
		return [4]int64{}
	}
	var out [4]int64
	if len(sizes) != 2 {
		l.Stop(m.Errorf("%s: amounts for %d axes; want 2, for height and width", l.what(), len(sizes)))
	}
	for i, s := range sizes {
		out[2*i], out[2*i+1] = s.Int("startEdgeSize"), s.Int("endEdgeSize")
	}
	if slices.Min(out[:]) < 0 || slices.Max(out[:]) > maxKernel {
		l.Stop(m.Errorf("%s: amounts %s; want 0 to %d", l.what(), ir.ShapeString(out[:]), maxKernel))
	}
	return out
}

// samePads are pad types by SamePadding.asymmetryMode: where the odd element is.
var samePads = []string{"same", "same_lower"}

// window returns the arguments of a kernel that is moved over height and width.
func (l *layer) window(stride [2]int64) []ir.Arg {
	args := []ir.Arg{arg(ir.ParamStrides, l.ints(stride[:]...))}
	switch {
	case l.Has("valid") == l.Has("same"):
		l.refuse("want valid or same padding")
	case l.Has("same"):
		return append(args, arg(ir.ParamPadType, l.Str(choice(l, l.Message.Message("same"), "asymmetryMode",
			samePads))))
	}
	return append(args, l.custom(l.edges(l.Message.Message("valid").Message("paddingAmounts")))...)
}

// custom returns the arguments of padding by amounts.
func (l *layer) custom(amounts [4]int64) []ir.Arg {
	if amounts == [4]int64{} {
		return []ir.Arg{arg(ir.ParamPadType, l.Str("valid"))}
	}
	return []ir.Arg{arg(ir.ParamPadType, l.Str("custom")), arg(ir.ParamPad, l.ints(amounts[:]...))}
}

// group returns the number of groups of channels.
func (l *layer) group() int64 { return max(l.Int("nGroups"), 1) }

func (l *layer) convolution() []tensor {
	t := l.image(0)
	kernel, stride := l.pair(l.Message, "kernelSize", 1, 3), l.pair(l.Message, "stride", 1, 1)
	dilation := l.pair(l.Message, "dilationFactor", 1, 1)
	out, groups, per := l.Int("outputChannels"), l.group(), l.Int("kernelChannels")
	if out < 1 || out%groups != 0 {
		l.reject("outputChannels", "%d output channels in %d groups; want a multiple of the groups", out, groups)
	}
	if l.Bool("isDeconvolution") {
		return l.deconvolution(t, kernel, stride, dilation)
	}
	if c := t.v.Type.Shape[1]; c >= 0 && c != per*groups {
		l.reject("kernelChannels", "its input has %d channels; the kernel has %d in %d groups", c, per, groups)
	}
	var weight *ir.Value
	if len(l.in) == 2 {
		weight = l.image(1).v
	} else {
		weight = l.matrix(l.Message, "weights", 0, out, per, kernel[0], kernel[1])
	}
	args := append(l.window(stride), arg(ir.ParamWeight, weight), arg(ir.ParamDilations, l.ints(dilation[:]...)),
		arg(ir.ParamGroups, l.integer(groups)))
	if l.Bool("hasBias") {
		args = append(args, arg(ir.ParamBias, l.vector(l.Message, "bias", out)))
	}
	return one(l.on(ir.OpConv, t.v, args...), t.five)
}

// deconvolution writes a transposed convolution. Padding crops its full result, (in-1)*stride + kernel, and so does an
// output shape, half of what is too much at the start. An output shape above the full result adds rows and columns at
// the end, which have the bias alone.
func (l *layer) deconvolution(t tensor, kernel, stride, dilation [2]int64) []tensor {
	out, groups, per := l.Int("outputChannels"), l.group(), l.Int("kernelChannels")
	if len(l.in) != 1 {
		l.refuse("a transposed convolution with weights from the network")
	}
	if dilation != [2]int64{1, 1} {
		l.reject("dilationFactor", "a transposed convolution with dilation %s; the format ignores it in one place and "+
			"uses it in another", ir.ShapeString(dilation[:]))
	}
	if c := t.v.Type.Shape[1]; c >= 0 && c != per || per%groups != 0 {
		l.reject("kernelChannels", "its input has %d channels, the kernel %d in %d groups", c, per, groups)
	}
	var crop, more [4]int64
	want := l.Ints("outputShape")
	if l.Has("valid") == l.Has("same") {
		l.refuse("want valid or same padding")
	}
	switch {
	case len(want) == 0 && l.Has("valid"):
		crop = l.edges(l.Message.Message("valid").Message("paddingAmounts"))
	default:
		size := l.pair(l.Message, "outputShape", 1, 0)
		for i := range 2 {
			in := l.size(t.v, 2+i)
			if len(want) == 0 {
				size[i] = in * stride[i]
			}
			extra := (in-1)*stride[i] + kernel[i] - size[i]
			if extra < 0 {
				more[2*i+1] = -extra
				continue
			}
			crop[2*i], crop[2*i+1] = extra/2, extra-extra/2
			if choice(l, l.Message.Message("same"), "asymmetryMode", samePads) != samePads[0] {
				crop[2*i], crop[2*i+1] = crop[2*i+1], crop[2*i]
			}
		}
	}
	args := append(l.custom(crop), arg(ir.ParamStrides, l.ints(stride[:]...)), arg(ir.ParamGroups, l.integer(groups)),
		arg(ir.ParamWeight, l.matrix(l.Message, "weights", 1, per, out/groups, kernel[0], kernel[1])))
	biased, later := l.Bool("hasBias"), more != [4]int64{}
	if biased && !later {
		args = append(args, arg(ir.ParamBias, l.vector(l.Message, "bias", out)))
	}
	v := l.on(ir.OpConvTranspose, t.v, args...)
	if later {
		if v = l.Pad(v, append(make([]int64, 4), more[:]...)); biased {
			v = l.Binary(ir.OpAdd, v, l.vector(l.Message, "bias", out, 1, 1))
		}
	}
	return one(v, t.five)
}

// pools are the values of PoolingLayerParams.type: within a window, and over the whole image.
var pools = [][2]*ir.Operation{
	{ir.OpMaxPool, ir.OpReduceMax}, {ir.OpAvgPool, ir.OpReduceMean}, {ir.OpL2Pool, ir.OpReduceL2Norm},
}

func (l *layer) pooling() []tensor {
	t := l.image(0)
	o := choice(l, l.Message, "type", pools)
	if l.Bool("globalPooling") {
		return one(l.over(o[1], t.v, 2, 3), t.five)
	}
	kernel, stride := l.pair(l.Message, "kernelSize", 1, 3), l.pair(l.Message, "stride", 1, 1)
	var args []ir.Arg
	if l.Has("includeLastPixel") {
		args = append(l.custom(l.lastPixel(t.v, o[0], kernel, stride)), arg(ir.ParamStrides, l.ints(stride[:]...)))
	} else {
		args = l.window(stride)
	}
	args = append(args, arg(ir.ParamKernelSizes, l.ints(kernel[:]...)))
	if o[0] == ir.OpAvgPool {
		args = append(args, arg(ir.ParamExcludePaddingFromAverage, l.flag(l.Bool("avgPoolExcludePadding"))))
	}
	return one(l.on(o[0], t.v, args...), t.five)
}

// lastPixel returns the padding with which windows reach the last element: their number is rounded up, and one that
// begins in the padding at the end is left out.
func (l *layer) lastPixel(x *ir.Value, o *ir.Operation, kernel, stride [2]int64) [4]int64 {
	pad := l.pair(l.Message.Message("includeLastPixel"), "paddingAmounts", 0, 0)
	var out [4]int64
	for i := range 2 {
		in := l.size(x, 2+i)
		n := (in+2*pad[i]-kernel[i]+stride[i]-1)/stride[i] + 1
		if (pad[0] > 0 || pad[1] > 0) && (n-1)*stride[i] >= in+pad[i] {
			n--
		}
		end := max(0, (n-1)*stride[i]+kernel[i]-in-pad[i])
		if end > pad[i] && o == ir.OpAvgPool && !l.Bool("avgPoolExcludePadding") {
			l.reject("includeLastPixel",
				"the last window of an average extends %d elements beyond the padding, and the "+
					"format does not say whether they count", end-pad[i])
		}
		out[2*i], out[2*i+1] = pad[i], end
	}
	return out
}

func (l *layer) crop() []tensor {
	t := l.image(0)
	var from, to [2]int64 // to counts from the end, or is a size
	if len(l.in) == 2 {
		from = l.pair(l.Message, "offset", 0, 0)
		as := l.image(1).v
		size := []int64{0, 0, l.size(as, 2), l.size(as, 3)}
		v := l.on(ir.OpSliceBySize, t.v, arg(ir.ParamBegin, l.ints(0, 0, from[0], from[1])),
			arg(ir.ParamSize, l.ints(append([]int64{-1, -1}, size[2:]...)...)))
		return one(v, t.five)
	}
	e := l.edges(l.Message.Message("cropAmounts"))
	from, to = [2]int64{e[0], e[2]}, [2]int64{e[1], e[3]}
	v := t.v
	for i := range 2 {
		v = l.part(v, 2+i, from[i], -to[i], 1)
	}
	return one(v, t.five)
}

// part returns the elements along an axis from lo up to hi, a stride apart. Both count from the end if they are
// negative, and an hi of 0 is the end.
func (l *layer) part(v *ir.Value, axis int, lo, hi, stride int64) *ir.Value {
	if lo == 0 && hi == 0 && stride == 1 {
		return v
	}
	rank := v.Type.Rank()
	begin, end, step := make([]int64, rank), make([]int64, rank), slices.Repeat([]int64{1}, rank)
	begin[axis], end[axis], step[axis] = lo, hi, stride
	whole := make([]bool, rank)
	for i := range whole {
		whole[i] = i != axis || hi == 0
	}
	return l.on(ir.OpSliceByIndex, v, arg(ir.ParamBegin, l.ints(begin...)), arg(ir.ParamEnd, l.ints(end...)),
		arg(ir.ParamStride, l.ints(step...)), arg(ir.ParamEndMask, l.flags(whole)))
}

// flags returns a constant of truth values.
func (l *layer) flags(vs []bool) *ir.Value {
	c := &ir.Const{Type: ir.TensorOf(ir.Bool, int64(len(vs))), Data: make([]byte, len(vs))}
	for i, v := range vs {
		if v {
			c.Data[i] = 1
		}
	}
	return l.Const(c)
}

// paddings are the kinds of padding.
var paddings = map[string]string{"constant": "constant", "reflection": "reflect", "replication": "replicate"}

func (l *layer) padding() []tensor {
	t := l.image(0)
	e := l.edges(l.Message.Message("paddingAmounts"))
	kind := "constant"
	for _, k := range []string{"constant", "reflection", "replication"} {
		if l.Has(k) {
			kind = k
		}
	}
	return one(l.pad(t.v, paddings[kind], l.Message.Message("constant").Float("value"),
		append(make([]int64, 4), e[:]...)), t.five)
}

func (l *layer) pad(v *ir.Value, mode string, value float64, amounts []int64) *ir.Value {
	return l.on(ir.OpPad, v, arg(ir.ParamPad, l.ints(amounts...)), arg(ir.ParamMode, l.Str(mode)),
		arg(ir.ParamConstantVal, l.num(value)))
}

func (l *layer) constantPad() []tensor {
	if l.Bool("padToGivenOutputSizeMode") {
		l.reject("padToGivenOutputSizeMode", "zinc does not read padding to a size")
	}
	v, amounts := l.full(0), l.Ints("padAmounts")
	if len(amounts) != 2*v.Type.Rank() {
		l.reject("padAmounts", "%d amounts for %s; want two for each dimension", len(amounts), v.Type)
	}
	return one(l.pad(v, "constant", l.Float("value"), amounts), false)
}

// Values of UpsampleLayerParams.mode and linearUpsampleMode.
const (
	upsampleNearest = iota
	upsampleBilinear
)

const upsampleDefault = 0

func (l *layer) upsample() []tensor {
	t := l.image(0)
	if factors := floats(l.Message, "fractionalScalingFactor"); len(factors) > 0 &&
		slices.ContainsFunc(factors, func(f float64) bool { return f != 0 }) {
		l.reject("fractionalScalingFactor", "factors that are fractions, which the format's own rule of shapes ignores")
	}
	f := l.pair(l.Message, "scalingFactor", 1, 1)
	scales := []ir.Arg{arg(ir.ParamScaleFactorHeight, l.integer(f[0])), arg(ir.ParamScaleFactorWidth, l.integer(f[1]))}
	align := choice(l, l.Message, "linearUpsampleMode", []bool{false, true, false})
	switch mode := l.Int("mode"); {
	case mode == upsampleNearest:
		return one(l.on(ir.OpUpsampleNearestNeighbor, t.v, scales...), t.five)
	case mode != upsampleBilinear:
		l.reject("mode", "unknown mode %d, want %d or %d", mode, upsampleNearest, upsampleBilinear)
	case l.Int("linearUpsampleMode") != upsampleDefault:
		return one(l.on(ir.OpUpsampleBilinear, t.v, append(scales, arg(ir.ParamAlignCorners, l.flag(align)))...),
			t.five)
	}
	return one(l.resized(t.v, l.size(t.v, 2)*f[0], l.size(t.v, 3)*f[1], "DEFAULT"), t.five)
}

// samplings are the values of SamplingMode.samplingMethod.
var samplings = []string{"STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "DEFAULT", "OFFSET_CORNERS"}

func (l *layer) resizeBilinear() []tensor {
	t := l.image(0)
	size := l.pair(l.Message, "targetSize", 1, 1)
	mode := choice(l, l.Message.Message("mode"), "samplingMethod", samplings)
	return one(l.resized(t.v, size[0], size[1], mode), t.five)
}

func (l *layer) resized(v *ir.Value, height, width int64, mode string) *ir.Value {
	return l.on(ir.OpResizeBilinear, v, arg(ir.ParamTargetSizeHeight, l.integer(height)),
		arg(ir.ParamTargetSizeWidth, l.integer(width)), arg(ir.ParamSamplingMode, l.Str(mode)))
}

// reorganizations are the values of ReorganizeDataLayerParams.mode, with the name of the block's size.
var reorganizations = []struct {
	op   *ir.Operation
	size ir.ParamName
}{
	{ir.OpSpaceToDepth, ir.ParamBlockSize}, {ir.OpDepthToSpace, ir.ParamBlockSize},
	{ir.OpPixelShuffle, ir.ParamUpscaleFactor},
}

func (l *layer) reorganizeData() []tensor {
	t, r := l.image(0), choice(l, l.Message, "mode", reorganizations)
	return one(l.on(r.op, t.v, arg(r.size, l.integer(l.Int("blockSize")))), t.five)
}
