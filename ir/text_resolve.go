package ir

import (
	"encoding/hex"
	"math"
	"strconv"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/lexer"
)

// resolver converts the syntax tree of the text form to a program.
type resolver struct {
	data  []byte
	scope map[string]*Value // of the function
}

// stop is the panic value for the first error.
type stop struct{ err error }

func fail(at lexer.Position, format string, args ...any) {
	panic(stop{participle.Errorf(at, format, args...)})
}

func (r *resolver) program(t *textProgram) (p *Program, err error) {
	defer func() {
		if x := recover(); x != nil {
			s, ok := x.(stop)
			if !ok {
				panic(x)
			}
			p, err = nil, s.err
		}
	}()
	p = &Program{Version: t.Version, Files: t.Files}
	for _, kv := range t.Build {
		p.BuildInfo = append(p.BuildInfo, KeyValue(kv))
	}
	for _, f := range t.Funcs {
		if p.Func(f.Name) != nil {
			fail(f.Pos, "function %s is defined twice", f.Name)
		}
		p.Funcs = append(p.Funcs, r.fn(f))
	}
	return p, nil
}

func (r *resolver) fn(t *textFunc) *Func {
	r.scope = map[string]*Value{}
	f := &Func{Name: t.Name, Opset: t.Opset, Pos: loc(t.Pos, t.Loc)}
	for _, x := range t.Flex {
		r.flex(&f.Flex, x)
	}
	for _, c := range t.Consts {
		r.constant(c)
	}
	f.Body = r.block(t.Params, t.Body)
	return f
}

func (r *resolver) flex(f *Flexible, t *textFlex) {
	switch {
	case t.Default != nil:
		if f.Default == nil {
			f.Default = map[string][]int64{}
		}
		f.Default[t.Default.Name] = ints(t.Pos, t.Default.Dims.V)
	case t.Range != nil:
		v := ints(t.Pos, t.Range.Dims.V)
		if len(v)%2 != 0 {
			fail(t.Pos, "a range has %d numbers, want two bounds for each dimension", len(v))
		}
		if f.Ranges == nil {
			f.Ranges = map[string][][2]int64{}
		}
		rs := make([][2]int64, len(v)/2)
		for i := range rs {
			rs[i] = [2]int64{v[2*i], v[2*i+1]}
		}
		f.Ranges[t.Range.Name] = rs
	default:
		m := map[string][]int64{}
		for _, s := range t.Enum {
			m[s.Name] = ints(t.Pos, s.Dims.V)
		}
		f.Enums = append(f.Enums, m)
	}
}

func ints(at lexer.Position, ss []string) []int64 {
	out := make([]int64, len(ss))
	for i, s := range ss {
		out[i] = integer(at, s)
	}
	return out
}

func integer(at lexer.Position, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		fail(at, "%q is not an integer", s)
	}
	return n
}

func loc(at lexer.Position, t *textLoc) Pos {
	if t == nil {
		return Pos{}
	}
	var v [3]int32
	for i, s := range []string{t.File, t.Line, t.Col} {
		n := integer(at, s)
		if n < 0 || n > math.MaxInt32 {
			fail(at, "position %d is out of range", n)
		}
		v[i] = int32(n)
	}
	return Pos{File: v[0], Line: v[1], Col: v[2]}
}

func dims(at lexer.Position, ss []string) []int64 {
	if len(ss) > maxRank {
		fail(at, "rank %d exceeds the limit of %d", len(ss), maxRank)
	}
	var out []int64
	for _, s := range ss {
		out = append(out, dim(at, s))
	}
	return out
}

func dim(at lexer.Position, s string) int64 {
	if s == "?" {
		return Unknown
	}
	n := integer(at, s)
	if n < 0 || n > maxDim {
		fail(at, "dimension %d is outside 0 to %d", n, int64(maxDim))
	}
	return n
}

func (r *resolver) typ(t *textType) Type {
	kind, tensor := Tensor, t.Tensor
	switch {
	case t.List != nil:
		kind, tensor = List, t.List
	case t.State != nil:
		kind, tensor = State, t.State
	}
	d, ok := ParseDType(tensor.DType)
	if !ok {
		fail(t.Pos, "unknown element type %s", tensor.DType)
	}
	out := Type{Kind: kind, DType: d, Shape: dims(t.Pos, tensor.Dims)}
	if kind == List {
		out.Len = dim(t.Pos, t.Len)
	}
	return out
}

func (r *resolver) define(t *textDef, def *Op) *Value {
	if r.scope[t.Name] != nil {
		fail(t.Pos, "%%%s is defined twice", t.Name)
	}
	v := &Value{Name: t.Name, Type: r.typ(t.Type), Def: def, Pos: loc(t.Pos, t.Loc)}
	r.scope[t.Name] = v
	return v
}

func (r *resolver) use(t *textRef) *Value {
	v := r.scope[t.Name]
	if v == nil {
		fail(t.Pos, "%%%s is not defined", t.Name)
	}
	return v
}

func (r *resolver) uses(ts []*textRef) []*Value {
	out := make([]*Value, len(ts))
	for i, t := range ts {
		out[i] = r.use(t)
	}
	return out
}

func (r *resolver) constant(t *textConst) {
	v := r.define(t.Def, nil)
	if t.Loc != nil {
		v.Pos = loc(t.Pos, t.Loc)
	}
	ct := v.Type
	c := &Const{Type: ct, Blob: t.From}
	v.Const = c
	if ct.DType == String {
		if t.List == nil || int64(len(t.List.V)) != constStrings(ct) {
			fail(t.Pos, "%s needs %d strings", ct, constStrings(ct))
		}
		c.Strings = t.List.V
		return
	}
	want := ct.Bytes()
	if want < 0 || ct.Kind != Tensor {
		fail(t.Pos, "a constant cannot have type %s", ct)
	}
	switch {
	case t.Blob != nil:
		at, n := integer(t.Pos, t.Blob.At), integer(t.Pos, t.Blob.Size)
		if size := int64(len(r.data)); at < 0 || n < 0 || at > size || n > size-at {
			fail(t.Pos, "blob(%d, %d) is outside the data section of %d bytes", at, n, size)
		}
		c.Data = r.data[at : at+n : at+n]
	case t.Hex != nil:
		b, err := hex.DecodeString(*t.Hex)
		if err != nil {
			fail(t.Pos, "invalid hexadecimal bytes: %v", err)
		}
		c.Data = b
	default:
		if int64(len(t.List.V)) != ct.Elems() || ct.DType.Bits() < 8 {
			fail(t.Pos, "%s has %d elements, got %d", ct, ct.Elems(), len(t.List.V))
		}
		for _, s := range t.List.V {
			c.Data = appendNumber(t.Pos, c.Data, ct.DType, s)
		}
	}
	if int64(len(c.Data)) != want {
		fail(t.Pos, "constant of type %s needs %d bytes, has %d", ct, want, len(c.Data))
	}
	if t.Pack != nil {
		r.packing(t, c)
	}
}

// packing gives a constant the packing that the text has.
func (r *resolver) packing(t *textConst, c *Const) {
	p := t.Pack
	bytesOf := func(text string) []byte {
		b, err := hex.DecodeString(text)
		if err != nil {
			fail(t.Pos, "invalid hexadecimal bytes: %v", err)
		}
		return b
	}
	size := max(c.Type.DType.Bits()/8, 1)
	switch {
	case p.Sparse:
		if c.PackedSparse(); c.Packing == nil {
			fail(t.Pos, "a sparse constant of type %s without zeros", c.Type)
		}
	case p.Axis != nil:
		scales, axis := bytesOf(p.Scales), integer(t.Pos, *p.Axis)
		n := len(scales) / size
		if !c.Type.DType.IsFloat() || n == 0 || n*size != len(scales) || n > 1 && (axis < 0 ||
			axis >= int64(c.Type.Rank()) || c.Type.Shape[axis] != int64(n)) || n == 1 && axis != 0 {
			fail(t.Pos, "%d bytes of scales along dimension %d of type %s", len(scales), axis, c.Type)
		}
		if c.Packing = (&Packing{Scales: scales, Axis: int(axis)}); !c.Packing.packs(c) {
			fail(t.Pos, "a value of the constant is not a byte times its scale")
		}
	default:
		b := bytesOf(*p.Book)
		if c.Packing = newPacking(c.Type.DType, b); c.Packing == nil {
			fail(t.Pos, "a codebook of %d bytes: want 2^n elements of %s, n from 1 to %d", len(b), c.Type.DType,
				maxIndexBits)
		}
		if !c.Packing.packs(c) {
			fail(t.Pos, "a value of the constant is not in its codebook")
		}
	}
}

// appendNumber appends a number that the type represents exactly.
func appendNumber(at lexer.Position, b []byte, t DType, s string) []byte {
	if !t.IsFloat() {
		n := integer(at, s)
		out := AppendInt(b, t, n)
		if c := (Const{Type: Scalar(t), Data: out[len(b):]}); c.Int(0) != n {
			fail(at, "%s does not fit %s", s, t)
		}
		return out
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || t == FP8E4M3 || t == FP8E5M2 {
		fail(at, "%q is not a number of type %s", s, t)
	}
	return AppendElem(b, t, v)
}

func (r *resolver) block(params []*textDef, t *textBody) *Block {
	b := &Block{}
	for _, p := range params {
		b.Params = append(b.Params, r.define(p, nil))
	}
	for _, o := range t.Ops {
		b.Ops = append(b.Ops, r.op(o))
	}
	b.Outputs = r.uses(t.Ret)
	return b
}

func (r *resolver) op(t *textOp) *Op {
	var d *OpDef
	for _, f := range Forms(t.Op) {
		if f.Since == t.Since {
			d = f
		}
	}
	if d == nil {
		hint := ""
		if n := Nearest(t.Op); n != "" && n != t.Op {
			hint = "; did you mean " + n + "?"
		}
		fail(t.Pos, "unknown operation %s<%s>%s", t.Op, t.Since, hint)
	}
	op := NewOp(d)
	op.Name, op.Pos = t.Name, loc(t.Pos, t.Loc)
	for _, a := range t.Args {
		i := d.ParamIndex(ParamName(a.Name))
		if i < 0 {
			fail(a.Pos, "%s has no parameter %s", t.Op, a.Name)
		}
		if len(op.Args[i]) > 0 {
			fail(a.Pos, "%s is set twice", a.Name)
		}
		if a.One != nil {
			op.Args[i] = []*Value{r.use(a.One)}
		} else {
			op.Args[i] = r.uses(a.Many)
		}
		if len(op.Args[i]) > 1 && !d.Params[i].Variadic {
			fail(a.Pos, "%s takes one value, has %d", a.Name, len(op.Args[i]))
		}
	}
	if t.Place != nil {
		u, ok := parseUnit(t.Place.Unit)
		if !ok {
			fail(t.Pos, "unknown unit %s", t.Place.Unit)
		}
		op.Place = Place{Unit: u, Rule: t.Place.Rule, Reason: t.Place.Reason}
	}
	if op.InPlace = t.InPlace; t.InPlace {
		if old, _ := op.Updates(); old == "" {
			fail(t.Pos, "%s changes no part of an operand, so it cannot be in place", t.Op)
		}
	}
	if len(t.Blocks) != d.Blocks {
		fail(t.Pos, "%s takes %d blocks, has %d", t.Op, d.Blocks, len(t.Blocks))
	}
	for _, b := range t.Blocks {
		op.Blocks = append(op.Blocks, r.block(b.Params, b.Body))
	}
	for _, x := range t.Results {
		op.Results = append(op.Results, r.define(x, op))
	}
	return op
}
