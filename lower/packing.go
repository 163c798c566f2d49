package lower

import (
	"fmt"
	"math"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/target"
)

// paletteForm is the form of a palette as target.Table.StreamForms calls it.
func paletteForm(entries weights.Palette) string { return fmt.Sprintf("palette%d", entries.Bits()) }

// Writes reports whether zinc writes weights in a form (target.Table.StreamForms) as they are stored, for targets that
// stream it.
func Writes(form string) bool { return strings.HasPrefix(form, "palette") }

// packing returns the palette with which tasks of an operation read its weight c, nil if they read fp16 numbers. why
// says, for a weight that has a palette, what prevents it: the target, or the conditions that are published for weights
// that stream, which are those of a plain convolution.
func packing(t *target.Table, op *ir.Op, c *ir.Const) (book weights.Palette, why string) {
	if c == nil || c.Packing == nil || c.Type.DType != ir.FP16 {
		return nil, ""
	}
	book = weights.NewPalette(c.Packing.Codebook)
	if form := paletteForm(book); !t.Streams(form) {
		return nil, fmt.Sprintf("%s does not stream %s", t.Name, form)
	}
	if op.Is(ir.OpConv) {
		if why = plainConv(t, op); why != "" {
			return nil, why
		}
	}
	if n := 2 * c.Elems(); indexBytes(book, op, c) >= n {
		return nil, fmt.Sprintf("indices and a codebook for each core take no less than its %d bytes", n)
	}
	return book, ""
}

// indexBytes is the size of the coefficients of an operation as indices, with a codebook for each core that has any.
func indexBytes(book weights.Palette, op *ir.Op, c *ir.Const) int64 {
	s := c.Type.Shape
	kernels, outputs := int64(1), s[0]
	switch {
	case op.Is(ir.OpMatMul):
		r := len(s)
		a, err := ir.MatMulAttrs(op)
		first := op.Arg(ir.ParamX).IsConst()
		outputs = s[r-1]
		if err == nil && (first && !a.TransposeX || !first && a.TransposeY) {
			outputs = s[r-2]
		}
		kernels = c.Elems() / (s[r-1] * s[r-2])
	case op.Is(ir.OpConv):
		if a, err := ir.ConvAttrs(op); err == nil && a.Groups < s[0] {
			outputs = s[0] / a.Groups
		}
	}
	copies := kernels * int64(weights.ActiveCores(int(outputs)))
	return (c.Elems()*int64(book.Bits())+7)/8 + copies*align(elemBytes*int64(len(book)), 64)
}

// plainConv returns why the weight of a convolution does not stream, "" if it does.
func plainConv(t *target.Table, op *ir.Op) string {
	a, err := ir.ConvAttrs(op)
	if err != nil {
		return err.Error()
	}
	name := op.Results[0].Name
	for i, s := range a.Strides {
		switch d := a.Dilations[i]; {
		case s > 1:
			return fmt.Sprintf("the stride of %q is %d, and weights stream with a stride of 1", name, s)
		case d > 1:
			return fmt.Sprintf("the dilation of %q is %d, and weights stream without one", name, d)
		}
	}
	if g, err := geometry(op); err == nil && paired(t, &g) && g.groups == int64(op.Arg(ir.ParamWeight).Type.Shape[0]) {
		return fmt.Sprintf("%q computes two columns at a time, for which no order of indices is known", name)
	}
	return ""
}

// Packed returns the bytes that the tasks of an operation on the engine read of a constant operand as indices of a
// palette, codebooks included, or 0 if they read fp16 numbers; why then says what prevents it, if it has a palette.
func Packed(t *target.Table, op *ir.Op, v *ir.Value) (bytes int64, why string) {
	if !multiplies(op, v) {
		if v.Const != nil && v.Const.Packing != nil {
			why = fmt.Sprintf("%s %q does not multiply with it in the way of a kernel", op.Def.Name, op.Results[0].Name)
		}
		return 0, why
	}
	book, why := packing(t, op, v.Const)
	if book == nil {
		return 0, why
	}
	return indexBytes(book, op, v.Const), ""
}

// multiplies reports whether v is what an operation multiplies its other operand with, in tasks with coefficients.
func multiplies(op *ir.Op, v *ir.Value) bool {
	switch {
	case op.Is(ir.OpConv, ir.OpLinear):
		return op.Arg(ir.ParamWeight) == v
	case op.Is(ir.OpMatMul):
		return !isDynamicMatMul(op) && (op.Arg(ir.ParamX) == v || op.Arg(ir.ParamY) == v)
	}
	return false
}

// palette returns the palette with which the tasks of the operation read its weight c, nil if they read fp16 numbers.
func (b *builder) palette(c *ir.Const) weights.Palette {
	book, _ := packing(b.t, b.op, c)
	return book
}

// kernelMemory is the number of bytes of a kernel that one core may read for a task with a number of result pixels: of
// coefficients that are resident, or that stream.
func (b *builder) kernelMemory(k *weights.Kernel, pixels int) int64 {
	switch {
	case k.Book != nil:
		return b.t.KernelStream / b.t.Cores
	case pixels > b.t.StreamPixels:
		return b.t.KernelBytes
	}
	return math.MaxInt64
}
