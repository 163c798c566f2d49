package unbuild

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
)

// Limits of what is in the text: longer constants are statements of their
// own, still longer ones blobs of the weight file.
const (
	MaxInline  = 16  // elements of a constant in the place of an argument
	maxLiteral = 256 // elements of a constant in the text
	maxOperand = 9   // elements of an operand that unpacks a constant in the text, as coremltools writes it
)

// blobTypes are the element types that a weight file holds. Truth values are
// kept as bytes.
var blobTypes = map[ir.DType]blobfile.ElemType{
	ir.FP16: blobfile.Float16, ir.FP32: blobfile.Float32, ir.BF16: blobfile.BFloat16,
	ir.FP8E4M3: blobfile.Float8E4M3, ir.FP8E5M2: blobfile.Float8E5M2,
	ir.Int4: blobfile.Int4, ir.Int8: blobfile.Int8, ir.Int16: blobfile.Int16, ir.Int32: blobfile.Int32,
	ir.UInt1: blobfile.Uint1, ir.UInt2: blobfile.Uint2, ir.UInt3: blobfile.Uint3, ir.UInt4: blobfile.Uint4,
	ir.UInt6: blobfile.Uint6,
	ir.UInt8: blobfile.Uint8, ir.UInt16: blobfile.Uint16, ir.UInt32: blobfile.Uint32,
	ir.Bool: blobfile.Uint8,
}

// A Text is a program as MIL text, with the constants that it refers to.
type Text struct {
	MIL []byte
	// Statements counts the statements of all functions and blocks, and one for every constant, also where a constant
	// is an argument: as many as the texts of compiled models have, which give each constant a statement.
	Statements int
	// Blobs are the constants of the weight file, one after the other as a
	// blobfile.Writer places them; none means that there is no weight file.
	Blobs []*ir.Const
}

// Program writes a program as MIL text whose large constants are in the weight
// file of the given path, relative to the text's folder. Names that MIL text
// cannot hold are spelled with underscores.
func Program(p *ir.Program, weights string) (*Text, error) {
	w := &texter{
		weights: blobfile.ModelPath + path.Clean(weights),
		next:    blobfile.HeaderSize,
		at:      map[*ir.Const]uint64{},
		old:     p.Version == "1.0",
		out:     &Text{},
	}
	tree := &mil.Program{Version: p.Version}
	tree.Version = cmp.Or(tree.Version, "1.3")
	if len(p.BuildInfo) > 0 {
		tree.Attrs = []mil.Arg{{Name: "buildInfo", Value: w.buildInfo(p.BuildInfo)}}
	}
	for _, f := range p.Funcs {
		tree.Funcs = append(tree.Funcs, w.function(f))
	}
	if w.err != nil {
		return nil, w.err
	}
	var b bytes.Buffer
	if err := mil.Print(&b, tree); err != nil {
		return nil, err
	}
	w.out.MIL = b.Bytes()
	return w.out, nil
}

// texter makes the syntax tree of one program.
type texter struct {
	weights string
	next    uint64 // offset of the next blob's record
	at      map[*ir.Const]uint64
	old     bool // scalars as tensors of no dimension
	out     *Text
	err     error

	fn    *ir.Func
	names map[*ir.Value]string
	taken map[string]bool
	made  map[*ir.Value]bool // constants that have a statement in scope
	seen  map[*ir.Value]bool // constants that count as a statement
}

func (w *texter) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *texter) buildInfo(kvs []ir.KeyValue) mil.Value {
	str := w.scalar("string")
	d := &mil.Dict{}
	d.Type = &mil.Type{Kind: mil.DictType, Args: []*mil.Type{str, str}}
	for _, kv := range kvs {
		d.Entries = append(d.Entries, mil.Entry{
			Key: mil.StringLiteral(nil, nil, []string{kv.Key}), Value: mil.StringLiteral(str, nil, []string{kv.Value}),
		})
	}
	return d
}

func (w *texter) function(f *ir.Func) *mil.Func {
	w.fn, w.names, w.taken, w.made = f, map[*ir.Value]string{}, map[string]bool{}, map[*ir.Value]bool{}
	w.seen = map[*ir.Value]bool{}
	out := &mil.Func{Name: f.Name, Opset: f.Opset}
	// Inputs and outputs have a name outside the text: theirs come first.
	for _, v := range f.Body.Params {
		w.name(v)
	}
	for _, v := range f.Body.Outputs {
		w.name(v)
	}
	out.Params = w.params(f.Body.Params)
	if a := Flexible(&f.Flex, func() *mil.Type { return w.scalar("string") }); a != nil {
		out.Attrs = append(out.Attrs, *a)
	}
	out.Body = w.block(f.Body)
	return out
}

func (w *texter) params(vs []*ir.Value) []mil.Param {
	var out []mil.Param
	for _, v := range vs {
		out = append(out, mil.Param{Name: w.name(v), Type: w.typ(v.Type)})
	}
	return out
}

// name returns the name of a value in the text.
func (w *texter) name(v *ir.Value) string {
	if n, ok := w.names[v]; ok {
		return n
	}
	stem := Identifier(v.Name)
	n := stem
	for i := 1; w.taken[n]; i++ {
		n = stem + "_" + strconv.Itoa(i)
	}
	w.names[v], w.taken[n] = n, true
	return n
}

// Identifier spells a name with letters, digits, "_" and "." alone.
func Identifier(s string) string {
	n := strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '.' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z':
			return r
		}
		return '_'
	}, s)
	if n == "" || n[0] == '.' || n[0] >= '0' && n[0] <= '9' {
		n = "v" + n
	}
	return n
}

func (w *texter) block(b *ir.Block) *mil.Block {
	out := &mil.Block{}
	var scope []*ir.Value
	w.stmts(b, out, &scope)
	for _, v := range b.Outputs {
		if v.Const != nil {
			w.constant(v, out, &scope)
		}
		out.Outputs = append(out.Outputs, mil.Ref{Name: w.name(v)})
	}
	for _, v := range scope {
		delete(w.made, v)
	}
	return out
}

func (w *texter) stmts(b *ir.Block, out *mil.Block, scope *[]*ir.Value) {
	for _, op := range b.Ops {
		s := &mil.Stmt{Op: op.Def.Name, Results: w.params(op.Results)}
		// A text has the probabilities by class, which the program has as a tensor, with the type that coremltools
		// writes.
		if op.Is(ir.OpClassify) {
			key := w.scalar(op.Results[0].Type.DType.String())
			s.Results[1].Type = &mil.Type{Kind: mil.DictType, Args: []*mil.Type{key, w.scalar(ir.FP64.String())}}
		}
		var given []ir.ParamName
		for i, vs := range op.Args {
			if vs == nil {
				continue
			}
			given = append(given, op.Def.Params[i].Name)
			var vals []mil.Value
			for _, v := range vs {
				if ir.IsConstexpr(op) && v.Const != nil {
					vals = append(vals, w.constValue(v, maxOperand)) // in place, as coremltools does
					w.count(v)
				} else {
					vals = append(vals, w.operand(v, out, scope))
				}
			}
			arg := mil.Arg{Name: string(op.Def.Params[i].Name)}
			if len(vals) == 1 && !op.Def.Params[i].Variadic {
				arg.Value = vals[0]
			} else {
				arg.Value = &mil.Tuple{Elems: vals}
			}
			s.Args = append(s.Args, arg)
		}
		if ir.LookupArgs(op.Def.Name, w.fn.Opset, given) != op.Def {
			s.OpOpset = op.Def.Since
			s.OpOpset = cmp.Or(s.OpOpset, "ios15")
			if ir.LookupArgs(op.Def.Name, s.OpOpset, given) != op.Def {
				w.fail("%s: the text would choose another form of the operation than the program has", op.Def.Name)
			}
		}
		if op.Name != "" {
			s.Attrs = append(s.Attrs, mil.Arg{
				Name:  "name",
				Value: mil.StringLiteral(w.scalar("string"), nil, []string{op.Name}),
			})
		}
		if ir.IsConstexpr(op) && op.Def.Since == "ios16" { // whose operands are attributes
			s.Attrs, s.Args = append(s.Args, s.Attrs...), nil
			slices.SortFunc(s.Attrs, func(a, b mil.Arg) int { return strings.Compare(a.Name, b.Name) })
		}
		for _, inner := range op.Blocks {
			blk := w.block(inner)
			blk.Params = w.params(inner.Params)
			s.Blocks = append(s.Blocks, blk)
		}
		out.Stmts = append(out.Stmts, s)
		w.out.Statements++
	}
}

// operand returns an argument: a name, or a small constant in its place.
func (w *texter) operand(v *ir.Value, out *mil.Block, scope *[]*ir.Value) mil.Value {
	if v.Const == nil {
		return &mil.Ref{Name: w.name(v)}
	}
	w.count(v)
	if !w.made[v] && v.Const.Elems() <= MaxInline {
		if l := w.literal(v.Const); l != nil {
			return l
		}
	}
	w.constant(v, out, scope)
	return &mil.Ref{Name: w.name(v)}
}

// constant writes the const statement of a value that has none in scope.
func (w *texter) constant(v *ir.Value, out *mil.Block, scope *[]*ir.Value) {
	if w.made[v] {
		return
	}
	w.made[v] = true
	w.count(v)
	*scope = append(*scope, v)
	val := w.constValue(v, maxLiteral)
	out.Stmts = append(out.Stmts, &mil.Stmt{
		Op: "const", Results: w.params([]*ir.Value{v}), Attrs: []mil.Arg{{Name: "val", Value: val}},
	})
}

// count counts a constant as a statement, once a function.
func (w *texter) count(v *ir.Value) {
	if !w.seen[v] {
		w.seen[v] = true
		w.out.Statements++
	}
}

// constValue returns the value of a constant, in the text if it has at most some elements.
func (w *texter) constValue(v *ir.Value, most int64) mil.Value {
	c := v.Const
	blob, ok := blobTypes[c.Type.DType]
	ok = ok && c.Type.Kind == ir.Tensor && c.Type.Static()
	if !ok || c.Elems() <= most {
		if l := w.literal(c); l != nil {
			return l
		}
	}
	if !ok {
		w.fail("constant %s of type %s: neither text nor a weight file holds its values", v.Name, c.Type)
		return mil.BoolLiteral(nil, nil, []bool{false})
	}
	ref := &mil.BlobRef{
		Path:       w.weights,
		Offset:     w.blob(c, blob),
		PathType:   w.scalar("string"),
		OffsetType: w.scalar("uint64"),
	}
	ref.Type = w.typ(c.Type)
	return ref
}

// blob returns the offset of a constant's record.
func (w *texter) blob(c *ir.Const, t blobfile.ElemType) uint64 {
	if at, ok := w.at[c]; ok {
		return at
	}
	at := w.next
	w.at[c] = at
	w.next = blobfile.Align(at + blobfile.RecordSize + uint64(len(c.Data)))
	w.out.Blobs = append(w.out.Blobs, c)
	return at
}

// literal returns a constant as text, nil when that would not give the same
// bytes again.
func (w *texter) literal(c *ir.Const) mil.Value {
	t := w.typ(c.Type)
	dims := c.Type.Shape
	if c.Type.Kind == ir.List {
		dims = append([]int64{c.Type.Len}, dims...)
	}
	var shape []int
	for _, d := range dims {
		if d < 0 {
			return nil
		}
		shape = append(shape, int(d))
	}
	d := c.Type.DType
	if c.Type.Kind == ir.List {
		flat := *c
		flat.Type = ir.TensorOf(d, dims...)
		c = &flat
	}
	switch {
	case c.Type.Kind == ir.State || d == ir.FP8E4M3 || d == ir.FP8E5M2:
		return nil
	case d == ir.String:
		return mil.StringLiteral(t, shape, c.Strings)
	case d == ir.Bool:
		vs := make([]bool, len(c.Data))
		for i := range vs {
			if c.Data[i] > 1 {
				return nil
			}
			vs[i] = c.Data[i] == 1
		}
		return mil.BoolLiteral(t, shape, vs)
	case d.IsFloat():
		vs := c.Floats()
		if slices.ContainsFunc(vs, math.IsNaN) { // which NaN it is would be lost
			return nil
		}
		return mil.FloatLiteral(t, shape, vs)
	case d.IsSigned():
		return mil.IntLiteral(t, shape, c.Ints())
	}
	vs := c.Ints()
	us := make([]uint64, len(vs))
	for i, v := range vs {
		us[i] = uint64(v)
	}
	return mil.UintLiteral(t, shape, us)
}

// scalar returns the type of one element in the text's dialect.
func (w *texter) scalar(elem string) *mil.Type {
	if w.old {
		return &mil.Type{Kind: mil.TensorType, Elem: elem}
	}
	return &mil.Type{Kind: mil.ScalarType, Elem: elem}
}

func (w *texter) typ(t ir.Type) *mil.Type {
	switch t.Kind {
	case ir.List:
		elem := t
		elem.Kind, elem.Len = ir.Tensor, 0
		return &mil.Type{Kind: mil.ListType, Args: []*mil.Type{w.typ(elem)}, Dims: []mil.Dim{dim(t.Len)}}
	case ir.State:
		elem := t
		elem.Kind = ir.Tensor
		return &mil.Type{Kind: mil.StateType, Args: []*mil.Type{w.typ(elem)}}
	}
	if len(t.Shape) == 0 {
		return w.scalar(t.DType.String())
	}
	out := &mil.Type{Kind: mil.TensorType, Elem: t.DType.String()}
	for _, d := range t.Shape {
		out.Dims = append(out.Dims, dim(d))
	}
	return out
}

func dim(n int64) mil.Dim {
	if n < 0 {
		return mil.Dim{Kind: mil.UnknownDim}
	}
	return mil.Dim{Kind: mil.FixedDim, Size: n}
}

// WriteWeights writes the weight file.
func (t *Text) WriteWeights(out io.Writer) error {
	w := blobfile.NewWriter(out, len(t.Blobs))
	for _, c := range t.Blobs {
		if _, err := w.Append(blobTypes[c.Type.DType], int(c.Elems()), c.Data); err != nil {
			return err
		}
	}
	return nil
}
