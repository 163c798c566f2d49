package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/layout/weights"
	"github.com/zinc-compiler/zinc/target"
)

// The forms that zinc writes, as target.Table.StreamForms calls them; a palette's ends in the bits of an index.
const (
	paletteForm = "palette"
	sparseForm  = "sparse"
	int8Form    = "int8"
)

// Layouts says of each form in which zinc writes weights that the model stores so, for targets that stream it, what
// tasks read.
var Layouts = map[string]string{
	paletteForm + "1": "indices and a codebook",
	paletteForm + "2": "indices and a codebook",
	paletteForm + "3": "indices and a codebook",
	paletteForm + "4": "indices and a codebook",
	paletteForm + "6": "indices and a codebook",
	paletteForm + "8": "indices and a codebook",
	sparseForm:        "masks and the values that are not zero",
	int8Form:          "bytes and scales",
}

// Writes reports whether zinc writes weights in a form (target.Table.StreamForms) as they are stored.
func Writes(form string) bool { return Layouts[form] != "" }

// Stream is what tasks read of a weight: its bytes, Values of them fp16 numbers that a mask places, and the
// coefficients that palettes or scales make of them (0 for another form).
type Stream struct {
	Form                    string // as in target.Table.StreamForms, "" for fp16 numbers
	Bytes, Expanded, Values int64
}

// packing is the form in which tasks of an operation read its weight.
type packing struct {
	Stream
	book   weights.Palette
	scales []uint16 // one, or one for each output
}

// packingOf returns the form in which tasks of an operation read its weight c, nil if they read fp16 numbers. why says,
// for a weight that has a form, what prevents it: the target, or the conditions that are published for weights that
// stream, which only a plain convolution meets.
func packingOf(t *target.Table, op *ir.Op, c *ir.Const) (p *packing, why string) {
	if c == nil || c.Packing == nil || c.Type.DType != ir.FP16 {
		return nil, ""
	}
	p = new(packing)
	switch k := c.Packing; {
	case k.Zeros > 0:
		p.Form = sparseForm
	case k.Scales != nil:
		p.Form = int8Form
	default:
		p.book = weights.NewPalette(k.Codebook)
		p.Form = fmt.Sprintf("%s%d", paletteForm, p.book.Bits())
	}
	if !t.Streams(p.Form) {
		return nil, fmt.Sprintf("%s does not stream %s", t.Name, p.Form)
	}
	if op.Is(ir.OpConv) {
		if why = plainConv(t, op); why != "" {
			return nil, why
		}
	}
	u := usesOf(op, c)
	if k := c.Packing; k.Scales != nil {
		if p.scales = constHalves(&ir.Const{Data: k.Scales}); len(p.scales) > 1 && k.Axis != u.axis {
			return nil, fmt.Sprintf("its scales are along dimension %d, and the outputs of %q along dimension %d",
				k.Axis, op.Results[0].Name, u.axis)
		}
	}
	p.measure(c, &u)
	if n := 2 * c.Elems(); p.Bytes >= n {
		return nil, fmt.Sprintf("as %s with what each core needs of it, it takes no less than its %d bytes", p.Form, n)
	}
	return p, ""
}

// uses is how an operation uses the constant that it multiplies with.
type uses struct {
	kernels int64 // matrices, each with its own codebooks
	outputs int64 // of a matrix, or of a group
	all     int64
	axis    int // of the constant, along which they are
}

func usesOf(op *ir.Op, c *ir.Const) uses {
	s := c.Type.Shape
	u := uses{kernels: 1, outputs: s[0], all: s[0]}
	switch {
	case op.Is(ir.OpMatMul):
		r := len(s)
		a, err := ir.MatMulAttrs(op)
		first := op.Arg(ir.ParamX).IsConst()
		u.axis = r - 1
		if err == nil && (first && !a.TransposeX || !first && a.TransposeY) {
			u.axis = r - 2
		}
		u.kernels, u.outputs = c.Elems()/(s[r-1]*s[r-2]), s[u.axis]
		u.all = u.kernels * u.outputs
	case op.Is(ir.OpConv):
		if a, err := ir.ConvAttrs(op); err == nil && a.Groups < s[0] {
			u.outputs = s[0] / a.Groups
		}
	}
	return u
}

// measure sets the sizes, without padding but for the codebooks, since each core has a copy of them.
func (p *packing) measure(c *ir.Const, u *uses) {
	n := c.Elems()
	switch p.Form {
	case sparseForm:
		slots := n
		if u.outputs <= weights.MaxCores { // a core has one output, beside an empty slot
			slots *= 2
		}
		p.Values, p.Expanded = n-c.Packing.Zeros, n
		p.Bytes = 2*p.Values + (slots+7)/8
	case int8Form:
		p.Bytes, p.Expanded = n+elemBytes*u.all, n
	default:
		copies := u.kernels * int64(weights.ActiveCores(int(u.outputs)))
		p.Bytes = (n*int64(p.book.Bits())+7)/8 + copies*align(elemBytes*int64(len(p.book)), 64)
		p.Expanded = n
	}
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
	if g, err := geometry(op); err == nil && g.wide(t) {
		return fmt.Sprintf("%q has a kernel of %d columns, of which no stored form but fp16 is known", name, g.kw)
	}
	if g, err := geometry(op); err == nil && paired(t, &g) && g.groups == int64(op.Arg(ir.ParamWeight).Type.Shape[0]) {
		return fmt.Sprintf("%q computes two columns at a time, for which no order of indices is known", name)
	}
	return ""
}

// Packed returns what the tasks of an operation on the engine read of a constant operand in a compressed form, or the
// zero Stream if they read fp16 numbers; why then says what prevents it, if it has a form.
func Packed(t *target.Table, op *ir.Op, v *ir.Value) (s Stream, why string) {
	if !multiplies(op, v) {
		if v.Const != nil && v.Const.Packing != nil {
			why = fmt.Sprintf("%s %q does not multiply with it in the way of a kernel", op.Def.Name, op.Results[0].Name)
		}
		return Stream{}, why
	}
	p, why := packingOf(t, op, v.Const)
	if p == nil {
		return Stream{}, why
	}
	return p.Stream, ""
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

// store sets the form in which the tasks of the operation read the kernel, whose values c has.
func (b *builder) store(k *weights.Kernel, c *ir.Const) *weights.Kernel {
	p, _ := packingOf(b.t, b.op, c)
	if p == nil {
		return k
	}
	k.Book, k.Sparse, k.Scales = p.book, p.Form == sparseForm, p.scales
	if len(p.scales) == 1 {
		k.Scales = slices.Repeat(p.scales, k.Out)
	}
	return k
}

// kernelMemory is the number of bytes of a kernel that one core may read for a task with a number of result pixels: of
// coefficients that are resident, or that stream.
func (b *builder) kernelMemory(k *weights.Kernel, pixels int) int64 {
	switch {
	case k.Streams() && !b.t.RoundsByMemory:
		return b.t.KernelStream / b.t.Cores
	case pixels > b.t.StreamPixels:
		return b.t.KernelBytes
	}
	return math.MaxInt64
}
