package reported

import (
	"fmt"

	"github.com/zinc-compiler/zinc/ir"
)

// kernel returns the height and width of a kernel; of one dimension, the height is 1.
func kernel(sides []int64) (high, wide int64) {
	switch n := len(sides); n {
	case 0:
		return 1, 1
	case 1:
		return 1, sides[0]
	default:
		return sides[n-2], sides[n-1]
	}
}

func kernelWidth(_ *search, op *ir.Op) string {
	c, err := ir.ConvAttrs(op)
	if err != nil {
		return ""
	}
	for _, n := range c.Strides {
		if n != 1 {
			return "" // the report is about steps of 1
		}
	}
	if high, wide := kernel(c.Kernel); wide > 16 || high > 31 || wide == 16 && high == 1 {
		return fmt.Sprintf("a kernel of %d rows and %d columns", high, wide)
	}
	return ""
}

func kernel16(_ *search, op *ir.Op) string {
	c, err := ir.ConvAttrs(op)
	if err != nil {
		return ""
	}
	if high, wide := kernel(c.Kernel); high == 16 && wide == 16 && c.Groups == 1 {
		return "a kernel of 16 rows and 16 columns"
	}
	return ""
}

func convStride(_ *search, op *ir.Op) string {
	c, err := ir.ConvAttrs(op)
	if err != nil {
		return ""
	}
	for _, n := range c.Strides {
		if n == 5 || n == 7 {
			return fmt.Sprintf("strides %s", ir.ShapeString(c.Strides))
		}
	}
	return ""
}

func transposedStride(_ *search, op *ir.Op) string {
	ns, ok := ir.ArgInts(op, ir.ParamStrides)
	for _, n := range ns {
		if ok && n >= 16 {
			return fmt.Sprintf("strides %s", ir.ShapeString(ns))
		}
	}
	return ""
}

// transposedWindow returns what strides and padding of a transposed convolution give, and its output_shape; ok is false
// if it has none.
func transposedWindow(op *ir.Op) (c ir.Conv, given, want []int64, pads []int64, ok bool) {
	if op.Arg(ir.ParamOutputShape) == nil {
		return c, nil, nil, nil, false
	}
	want, ok = ir.ArgInts(op, ir.ParamOutputShape)
	c, err := ir.ConvAttrs(op)
	if err != nil || !ok || len(want) != c.Spatial+2 {
		return c, nil, nil, nil, false
	}
	if kind, _ := ir.ArgString(op, ir.ParamPadType); kind == "custom" {
		pads, _ = ir.ArgInts(op, ir.ParamPad)
	}
	for i := range c.Spatial {
		n := (c.In[i]-1)*c.Strides[i] + (c.Kernel[i]-1)*c.Dilations[i] + 1
		if len(pads) == 2*c.Spatial {
			n -= pads[2*i] + pads[2*i+1]
		}
		given = append(given, n)
	}
	return c, given, want[2:], pads, true
}

func transposedShape(_ *search, op *ir.Op) string {
	c, given, want, _, ok := transposedWindow(op)
	if kind, _ := ir.ArgString(op, ir.ParamPadType); !ok || kind == "same" || kind == "same_lower" {
		return ""
	}
	for i, n := range want {
		if c.In[i] > 0 && (n < given[i] || n >= given[i]+c.Strides[i]) { // less than a stride more is output padding
			return fmt.Sprintf("output_shape %s, strides and padding give %s", ir.ShapeString(want),
				ir.ShapeString(given))
		}
	}
	return ""
}

func transposedPadding(s *search, op *ir.Op) string {
	_, _, _, pads, ok := transposedWindow(op)
	if !ok || !s.fp16(op.Results[0]) {
		return ""
	}
	for i := 0; i+1 < len(pads); i += 2 {
		if pads[i] != pads[i+1] {
			return fmt.Sprintf("padding %s", ir.ShapeString(pads))
		}
	}
	return ""
}

func maxPoolWidth(_ *search, op *ir.Op) string {
	p, err := ir.PoolAttrs(op)
	if err != nil {
		return ""
	}
	if _, wide := kernel(p.Kernel); wide > 8 && wide != 32 {
		return fmt.Sprintf("a window of %d columns", wide)
	}
	return ""
}

func averagePoolWidth(_ *search, op *ir.Op) string {
	p, err := ir.PoolAttrs(op)
	if err != nil {
		return ""
	}
	if _, wide := kernel(p.Kernel); wide > 13 {
		return fmt.Sprintf("a window of %d columns", wide)
	}
	return ""
}

func batchNormRank5(s *search, op *ir.Op) string {
	if t := op.Arg(ir.ParamX).Type; t.Rank() == 5 && s.fp16(op.Results[0]) {
		return "x is " + t.String()
	}
	return ""
}
