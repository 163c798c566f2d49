package build

import (
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
)

// arguments binds the arguments of a statement to the parameters of op's row. If op has no row, it only resolves the
// names in them.
func (b *builder) arguments(s *mil.Stmt, op *operation) {
	for i := range s.Args {
		b.argument(&s.Args[i], op, false)
	}
	for i := range s.Attrs {
		if a := &s.Attrs[i]; a.Name != "name" {
			b.argument(a, op, true)
		}
	}
}

func (b *builder) argument(a *mil.Arg, op *operation, attr bool) {
	values := []mil.Value{a.Value}
	if t, ok := a.Value.(*mil.Tuple); ok && t.Type == nil {
		values = t.Elems
	}
	if op.Op == nil {
		b.namesIn(values, op.src.Op)
		return
	}
	i := op.Def.ParamIndex(ir.ParamName(a.Name))
	switch {
	case i < 0 && attr:
		// Attributes are annotations; one that is not a parameter has no effect.
		b.list.Warningf(b.argSpan(a), codeArg, op.src.Op, "ignoring unknown attribute %s", a.Name)
		return
	case i < 0:
		b.unknownArg(a, op)
		b.namesIn(values, op.src.Op)
		return
	case op.given[i] != nil:
		op.fault = true
		b.list.Errorf(b.argSpan(a), codeArg, op.src.Op, "duplicate argument %s", a.Name).
			Note(b.argSpan(op.given[i]), "%s is first set", a.Name)
		return
	}
	op.given[i] = a
	p := &op.Def.Params[i]
	if len(values) != 1 && !p.Variadic {
		op.fault = true
		b.list.Errorf(b.argSpan(a), codeArg, op.src.Op, "%s: want one value, got a tuple of %d", a.Name, len(values))
		b.namesIn(values, op.src.Op)
		return
	}
	op.Args[i] = make([]*ir.Value, 0, len(values))
	op.from[i] = make([]*symbol, 0, len(values))
	for _, v := range values {
		sym := b.operand(v, p, op)
		if sym.broken {
			op.fault = true
		}
		if sym.value != nil {
			op.Args[i] = append(op.Args[i], sym.value)
			op.from[i] = append(op.from[i], sym)
		}
	}
}

// unknownArg reports an argument that the row does not have.
func (b *builder) unknownArg(a *mil.Arg, op *operation) {
	op.fault = true
	d := b.list.Errorf(b.argSpan(a), codeArg, op.src.Op, "unknown argument %s", a.Name)
	if near := ir.NearestParam(op.Def, a.Name); near != "" {
		d.WithHint("did you mean %s?", near)
		return
	}
	for _, f := range ir.Forms(op.Def.Name) {
		if f.ParamIndex(ir.ParamName(a.Name)) >= 0 {
			d.WithHint("the form of %s from %s on has it, but lacks other arguments of this statement", f.Name,
				orFirst(f.Since))
			return
		}
	}
}

// orFirst names the operation set of a row.
func orFirst(since string) string {
	if since == "" {
		return "ios15"
	}
	return since
}

// namesIn resolves the names in values, only to report unknown ones.
func (b *builder) namesIn(values []mil.Value, op string) {
	for _, v := range values {
		switch v := v.(type) {
		case *mil.Ref:
			b.lookup(v, op)
		case *mil.Tuple:
			b.namesIn(v.Elems, op)
		case *mil.List:
			b.namesIn(v.Elems, op)
		}
	}
}

// operand returns the value that an argument denotes. A literal becomes a constant named after the statement and the
// parameter.
func (b *builder) operand(v mil.Value, p *ir.Param, op *operation) *symbol {
	out := &symbol{pos: v.Pos(), broken: true}
	if r, ok := v.(*mil.Ref); ok {
		truth, is := truths[r.Name]
		if !is || b.scope[r.Name] != nil || !p.Types.Has(ir.Bool) {
			return b.lookup(r, op.src.Op)
		}
		b.inPlace(out, ir.ConstBool(truth), p, op)
		return out
	}
	t, ok := b.operandType(v, p, op)
	if !ok {
		return out
	}
	c := b.constValue(op.src.Op, string(p.Name), v, t, nil)
	if c == nil {
		return out
	}
	b.inPlace(out, c, p, op)
	return out
}

// truths are the words that are booleans if no value has that name; in the syntax tree every bare word is a name.
var truths = map[string]bool{"true": true, "false": false}

// inPlace converts the constant c, written instead of a name.
func (b *builder) inPlace(out *symbol, c *ir.Const, p *ir.Param, op *operation) {
	name := op.src.Op
	if len(op.src.Results) > 0 {
		name = op.src.Results[0].Name
	}
	out.broken = false
	out.value = &ir.Value{Type: c.Type, Const: c, Pos: b.pos(out.pos)}
	b.invent(out.value, name+"."+string(p.Name))
}

// operandType returns the type of a literal written as an argument: its own, or else the one of its kind that the
// parameter accepts.
func (b *builder) operandType(v mil.Value, p *ir.Param, op *operation) (ir.Type, bool) {
	if own := mil.TypeOf(v); own != nil {
		return b.valueType(own)
	}
	l, ok := v.(*mil.Literal)
	if !ok {
		b.list.Errorf(b.src.ValueSpan(v), codeArg, op.src.Op, "%s must be a name or a literal", p.Name)
		return ir.Type{}, false
	}
	var among []ir.DType
	switch {
	case l.IsString() && l.Len() > 0:
		among = []ir.DType{ir.String}
	case l.IsBool() && l.Len() > 0:
		among = []ir.DType{ir.Bool}
	case l.IsNumeric():
		if l.IsInt() {
			among = append(among, ir.Int32)
		}
		if x := op.Arg(ir.ParamX); x != nil && x.Type.DType.IsFloat() {
			among = append(among, x.Type.DType)
		}
		among = append(among, ir.FP32, ir.FP16)
	}
	for _, d := range among {
		if p.Types.Has(d) {
			t := ir.Scalar(d)
			if shape, even := l.Shape(); even {
				for range shape {
					t.Shape = append(t.Shape, ir.Unknown)
				}
			}
			return t, true
		}
	}
	b.list.Errorf(b.src.ValueSpan(v), codeType, op.src.Op,
		"%s must be one of %s; write the literal's type in front of it", p.Name, p.Types)
	return ir.Type{}, false
}
