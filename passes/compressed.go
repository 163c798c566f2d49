package passes

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
)

// Compressed is a constant that has a compressed form in the source and that folding made dense.
type Compressed struct {
	Name string // of the dense constant
	Pos  ir.Pos // of the operation that makes it dense
	// Values are the dense constant and the constants that passes derived from it.
	Values []*ir.Value
	// Form describes how it is stored, for people: "4-bit palette", "sparse blockwise int4". Nested forms are in the
	// order of unfolding.
	Form string
	// Stream is the form as target.Table.StreamForms calls it, with nested forms joined by "+"; "" if the constant is
	// not compressed in a way that the engine could support.
	Stream string
	Stored int64 // bytes of its parts in the source: values, tables, masks, scales
	Tables int64 // number of its codebooks

	inner bool // another compressed constant is derived from it
}

// forms maps each operation to the compressed form that it undoes: its name for people, and its name in the target
// tables.
var forms = map[*ir.Operation]func(op *ir.Op) (form, stream string){
	ir.OpConstexprAffineDequantize: func(op *ir.Op) (string, string) {
		return affine(op, op.Arg(ir.ParamQuantizedData).Type.DType)
	},
	ir.OpConstexprBlockwiseShiftScale: func(op *ir.Op) (string, string) {
		return blockwise(op, op.Arg(ir.ParamData), op.Arg(ir.ParamData).Type.Shape)
	},
	ir.OpConstexprSparseBlockwiseShiftScale: func(op *ir.Op) (string, string) {
		form, stream := blockwise(op, op.Arg(ir.ParamNonzeroData), op.Arg(ir.ParamDataMask).Type.Shape)
		return "sparse " + form, "sparse+" + stream
	},
	ir.OpConstexprLUTToDense: palette,
	ir.OpConstexprLUTToSparse: func(op *ir.Op) (string, string) {
		form, stream := palette(op)
		return "sparse " + form, "sparse+" + stream
	},
	ir.OpConstexprSparseToDense: func(*ir.Op) (string, string) { return "sparse", "sparse" },
	ir.OpConstexprCast: func(op *ir.Op) (string, string) {
		return "cast from " + op.Arg(ir.ParamSourceVal).Type.DType.String(), ""
	},
}

// blockwise distinguishes scales for each block from scales for each channel, which the affine form has too.
func blockwise(op *ir.Op, data *ir.Value, shape []int64) (form, stream string) {
	scale := op.Arg(ir.ParamScale).Type.Shape
	cut := 0 // dimensions cut into more than one block
	for i, d := range scale {
		if d > 1 {
			cut++
			if i < len(shape) && d != shape[i] {
				cut = len(scale) + 1 // blocks of several elements
			}
		}
	}
	if cut > 1 {
		return "blockwise " + data.Type.DType.String(), "blockwise"
	}
	return affine(op, data.Type.DType)
}

// affine returns the form of elements with one scale, or one per channel.
func affine(op *ir.Op, t ir.DType) (form, stream string) {
	form, stream = "affine "+t.String(), t.String()
	if !ir.Symmetric(op) {
		form, stream = "asymmetric "+form, "asymmetric-"+stream
	}
	return form, stream
}

// tables returns the number of codebooks that an operation looks weights up in, 0 for another operation.
func tables(op *ir.Op) int64 {
	lut := op.Arg(ir.ParamLUT)
	if lut == nil || op.Def.ParamIndex(ir.ParamShape) >= 0 || lut.Type.Rank() < 2 {
		return 0
	}
	n := int64(1)
	for _, d := range lut.Type.Shape[:lut.Type.Rank()-2] {
		n *= d
	}
	return n
}

// palette counts the bits of an index.
func palette(op *ir.Op) (form, stream string) {
	idx := op.Arg(ir.ParamIndices)
	if idx == nil {
		idx = op.Arg(ir.ParamIndicesNonzeroData)
	}
	n := idx.Type.DType.Bits()
	if op.Def.ParamIndex(ir.ParamShape) >= 0 {
		// The first form packs its indices into bytes; their width follows from its table.
		n = bits.Len64(uint64(op.Arg(ir.ParamLUT).Type.Elems())) - 1
	}
	if lut := op.Arg(ir.ParamLUT).Type; lut.Rank() > 1 && lut.Shape[lut.Rank()-1] > 1 {
		return fmt.Sprintf("%d-bit palette of vectors", n), fmt.Sprintf("vector-palette%d", n)
	} else if tables := lut.Elems() >> n; tables > 1 {
		return fmt.Sprintf("%d palettes of %d bits", tables, n), fmt.Sprintf("multi-palette%d", n)
	}
	return fmt.Sprintf("%d-bit palette", n), fmt.Sprintf("palette%d", n)
}

// noteCompressed records what op makes dense. Nested forms become part of the same record.
func (s *State) noteCompressed(op *ir.Op) {
	describe := forms[op.Def.Operation]
	if describe == nil || len(op.Results) == 0 {
		return
	}
	form, stream := describe(op)
	dense := op.Results[len(op.Results)-1]
	c := &Compressed{Name: dense.Name, Pos: op.Pos, Values: []*ir.Value{dense}, Form: form, Stream: stream,
		Tables: tables(op)}
	var seen []*Compressed
	op.Operands(func(_ *ir.Param, v *ir.Value) {
		if inner := s.compressedOf(v); inner != nil {
			if !slices.Contains(seen, inner) {
				seen = append(seen, inner)
				inner.inner = true
				c.Stored += inner.Stored
				c.Tables = max(c.Tables, inner.Tables)
			}
			return
		}
		// Shapes and axes are 32-bit integers, which compressed data never are.
		t := v.Type.DType
		attribute := t == ir.String || t.IsInt() && t.Bits() == 32
		if v.IsConst() && !attribute && !s.derived[v] {
			c.Stored += v.Type.Bytes()
		}
	})
	for _, inner := range seen {
		if c.Stream == "sparse" && strings.Contains(inner.Stream, "sparse") {
			c.Form = inner.Form // the mask of that form in full
		} else {
			c.Form = inner.Form + ", then " + c.Form
		}
		c.Stream = joinForms(inner.Stream, c.Stream)
	}
	if s.derived == nil {
		s.derived = map[*ir.Value]bool{}
	}
	for _, v := range op.Results {
		s.derived[v] = true // a mask computed on the way is not stored anywhere
	}
	s.Compressed = slices.DeleteFunc(append(s.Compressed, c), func(c *Compressed) bool { return c.inner })
}

// joinForms names a form nested in another, stating each part once.
func joinForms(a, b string) string {
	var parts []string
	for _, p := range strings.FieldsFunc(a+"+"+b, func(r rune) bool { return r == '+' }) {
		if !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "+")
}

func (s *State) compressedOf(v *ir.Value) *Compressed {
	for _, c := range s.Compressed {
		if slices.Contains(c.Values, v) {
			return c
		}
	}
	return nil
}

// derive records that a pass computed the constant to from the constant from.
func (s *State) derive(from, to *ir.Value) {
	if c := s.compressedOf(from); c != nil {
		c.Values = append(c.Values, to)
	}
}
