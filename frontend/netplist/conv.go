package netplist

import (
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
)

// maxTap bounds an extent of a kernel, a step and a padding.
const maxTap = 1 << 16

func (u *unitReader) conv(in []*tensor) *ir.Value {
	x := in[0].v
	if u.deep {
		u.d.fail("Type", "zinc reads only convolutions of networks without depth", x.Type.String(),
			"set InputDepth 1 for every input")
		return nil
	}
	if !u.d.need("OutputChannels", "set the channels of the result") || !u.p.need("KernelHeight",
		"set the extent") || !u.p.need("KernelWidth", "set the extent") {
		return nil
	}
	u.p.word("Type", "zinc does not read other kinds of convolutions: convert the original model to MIL", "Conv")
	tap := func(k string) int64 { return u.p.integer(k, 1, 1, maxTap) }
	u.p.word2("KernelDepth", 1, "zinc reads only convolutions without depth")
	u.p.word("KernelMode", "zinc reads only dense coefficients: expand them", "Dense")
	if u.p.truth("KernelGroupReuse") {
		u.p.fail("KernelGroupReuse", "must be false", "true",
			"zinc does not read coefficients shared by groups: repeat them for each group")
	}
	pad := make([]int64, 4)
	for i, k := range []string{"PadTop", "PadBot", "PadLeft", "PadRight"} {
		pad[i] = u.p.integer(k, 0, 0, maxTap)
	}
	step := u.step()
	out := u.d.integer("OutputChannels", 1, 1, maxDim)
	kh, kw := tap("KernelHeight"), tap("KernelWidth")
	if u.r.err != nil {
		return nil
	}
	w := u.coefficients(u.p, "Kernel", out, x.Type.Shape[1], kh, kw)
	if u.r.err != nil {
		return nil
	}
	return u.add(u.d, ir.OpConv, arg{ir.ParamX, x}, arg{ir.ParamWeight, w}, arg{ir.ParamStrides, []int64{step, step}},
		arg{ir.ParamPadType, "custom"}, arg{ir.ParamPad, pad}, arg{ir.ParamDilations, []int64{1, 1}},
		arg{ir.ParamGroups, int64(1)})
}

// step returns the step along both axes; recorded descriptions have only equal ones.
func (u *unitReader) step() int64 {
	var steps []int64
	for i, v := range u.p.list("Step") {
		steps = append(steps, u.p.asInteger(fmt.Sprintf("Step[%d]", i), v, 1, maxTap))
	}
	switch {
	case len(steps) == 0:
		return 1
	case len(steps) != 2:
		u.p.fail("Step", "must have two steps", shown(u.p.m["Step"]), "")
	case steps[0] != steps[1]:
		u.p.fail("Step", "the recorded descriptions do not show which axis is named first, so both steps must be equal",
			fmt.Sprint(steps), "make them equal")
	}
	return steps[0]
}

// goc reads a gain and an offset: scalars or, in BiasScaleGroupData, one number per channel.
func (u *unitReader) goc(in []*tensor) *ir.Value {
	scale := u.p.fp16("ScaleScalar", fp16One)
	bias := u.p.fp16("BiasScalar", 0)
	g := u.p.sub("BiasScaleGroupData")
	if u.r.err != nil {
		return nil
	}
	x := in[0].v
	for _, k := range []struct {
		prefix string
		into   **ir.Const
	}{{"Scale", &scale}, {"Bias", &bias}} {
		if _, ok := g.m[k.prefix+"Count"]; !ok {
			continue
		}
		if _, both := u.p.m[k.prefix+"Scalar"]; both {
			u.p.fail(k.prefix+"Scalar", "must not be set together with "+g.path+k.prefix+"Count",
				shown(u.p.m[k.prefix+"Scalar"]), "delete one")
			return nil
		}
		c := u.channels(g, k.prefix, x)
		if c == nil {
			return nil
		}
		*k.into = c
	}
	g.done()
	if u.r.err != nil {
		return nil
	}
	if v := u.foldBias(in[0], scale, bias); v != nil {
		return v
	}
	v := x
	if !isFP16(scale, fp16One) {
		v = u.add(u.d, ir.OpMul, arg{ir.ParamX, v}, arg{ir.ParamY, scale})
	}
	if u.r.err == nil && (!isFP16(bias, 0) || v == x) {
		v = u.add(u.d, ir.OpAdd, arg{ir.ParamX, v}, arg{ir.ParamY, bias})
	}
	return v
}

// channels returns the numbers of a GOC unit, one per channel.
func (u *unitReader) channels(g *dict, prefix string, x *ir.Value) *ir.Const {
	a := u.axis(axisChannel)
	c := x.Type.Shape[a]
	if n := g.integer(prefix+"Count", 0, 0, maxDim); n != c && u.r.err == nil {
		g.fail(prefix+"Count", fmt.Sprintf("the unit reads %d channels, and needs a number for each", c), fmt.Sprint(n),
			"correct the count")
	}
	if u.r.err != nil {
		return nil
	}
	shape := slices.Repeat([]int64{1}, x.Type.Rank())
	shape[a] = c
	return u.coefficients(g, prefix, shape...)
}

// isFP16 reports whether c is a scalar with these bits.
func isFP16(c *ir.Const, bits uint16) bool {
	return c.Type.Rank() == 0 && c.Data[0] == byte(bits) && c.Data[1] == byte(bits>>8)
}

// foldBias moves the bias of a GOC unit into the convolution before it, if nothing else reads that: descriptions have
// no other way to state a convolution's bias.
func (u *unitReader) foldBias(in *tensor, scale, bias *ir.Const) *ir.Value {
	op := in.v.Def
	if op == nil || !op.Is(ir.OpConv) || op.Arg(ir.ParamBias) != nil || in.unit == "" || u.uses[in.unit] != 1 ||
		!isFP16(scale, fp16One) || bias.Type.Rank() == 0 {
		return nil
	}
	b := *bias
	b.Type = ir.TensorOf(ir.FP16, slices.Max(bias.Type.Shape))
	op.SetArg(ir.ParamBias, u.constant(u.d.unit, ir.ParamBias, &b))
	return in.v
}
