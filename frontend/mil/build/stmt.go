package build

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// stmt appends one statement to a block and declares its results, even if it has errors.
func (b *builder) stmt(s *mil.Stmt, out *ir.Block) {
	if s.Op == "const" {
		b.constant(s)
		return
	}
	types, known := b.declared(s)
	op := b.operation(s, types, known)
	symbols := make([]*symbol, len(s.Results))
	for i := range s.Results {
		p := &s.Results[i]
		v := &ir.Value{Type: types[i], Pos: b.pos(p.Pos)}
		if op != nil {
			v.Def = op.Op
			if op.types != nil {
				v.Type = op.types[i]
			}
		}
		symbols[i] = &symbol{value: v}
		// The results of these operations are constants, which are missing after an error.
		if op == nil || op.types == nil {
			symbols[i].broken = !known || isCompressed(s.Op)
		}
		b.define(p, symbols[i])
		if op != nil {
			op.Results = append(op.Results, v)
		}
	}
	if op == nil {
		return
	}
	if op.Is(ir.OpClassify) && !op.fault && !b.opts.Classes {
		b.list.Warningf(b.src.OpSpan(s), codeOp, s.Op, "classify is left to the application: a pair has no port for "+
			"texts and dictionaries; it gives %s, the probabilities of the classes", op.Arg(ir.ParamProbabilities).Name)
	}
	out.Ops = append(out.Ops, op.Op)
}

// withoutClasses removes classify from a function: the class is left out of its outputs, and the dictionary of
// probabilities is the tensor of them wherever it is read. It stays where a statement reads the class.
func withoutClasses(f *ir.Func) {
	instead, given := map[*ir.Value]*ir.Value{}, map[*ir.Value]bool{} // a class has none instead
	f.Body.Ops = slices.DeleteFunc(f.Body.Ops, func(op *ir.Op) bool {
		if !op.Is(ir.OpClassify) || len(op.Results) != 2 {
			return false
		}
		read := false
		ir.Walk(f, func(o *ir.Op) { read = read || o.Takes(op.Results[0]) })
		if read {
			return false
		}
		from := op.Arg(ir.ParamProbabilities)
		if w := instead[from]; w != nil {
			from = w // of another classify
		}
		instead[op.Results[0]], instead[op.Results[1]] = nil, from
		given[from] = true
		return true
	})
	if len(instead) == 0 {
		return
	}
	ir.Walk(f, func(op *ir.Op) {
		for _, args := range op.Args {
			for i, v := range args {
				if w := instead[v]; w != nil {
					args[i] = w
				}
			}
		}
	})
	var outs []*ir.Value
	for _, v := range f.Body.Outputs {
		w, replaced := instead[v]
		if !replaced {
			w = v
		}
		if w != nil && !(given[w] && slices.Contains(outs, w)) {
			outs = append(outs, w)
		}
	}
	f.Body.Outputs = outs
}

// isCompressed reports whether an operation's results are allowed where a constant is required.
func isCompressed(name string) bool {
	o := ir.Named(name)
	return o != nil && o.Class == ir.Compressed
}

// declared converts the types of a statement's results.
func (b *builder) declared(s *mil.Stmt) (types []ir.Type, ok bool) {
	ok = true
	types = make([]ir.Type, len(s.Results))
	for i := range s.Results {
		if t := s.Results[i].Type; s.Op == ir.OpClassify.Name && t != nil && t.Kind == mil.DictType {
			ok = false // withoutClasses leaves it out; until then it has the type of the probabilities
			continue
		}
		t, sound := b.valueType(s.Results[i].Type)
		types[i] = t
		ok = ok && sound
	}
	return types, ok
}

// constant builds a const statement, which defines a value and is not an operation.
func (b *builder) constant(s *mil.Stmt) {
	types, ok := b.declared(s)
	var val *mil.Arg
	for _, list := range [...][]mil.Arg{s.Args, s.Attrs} {
		for i := range list {
			switch a := &list[i]; {
			case a.Name == "name":
			case a.Name != "val":
				ok = false
				b.list.Errorf(b.src.NameSpan(a.Pos, a.Name), codeArg, s.Op,
					"unknown argument %s; a constant has only val and name", a.Name)
			case val != nil:
				ok = false
				b.list.Errorf(b.argSpan(a), codeArg, s.Op, "duplicate argument val").
					Note(b.argSpan(val), "val is first set")
			default:
				val = a
			}
		}
	}
	switch {
	case len(s.Results) != 1:
		ok = false
		b.list.Errorf(b.src.OpSpan(s), codeArg, s.Op, "a constant has one result, got %d", len(s.Results))
	case val == nil:
		ok = false
		b.list.Errorf(b.src.OpSpan(s), codeArg, s.Op, "%s: missing attribute val",
			s.Results[0].Name)
	}
	for i := range s.Results {
		p := &s.Results[i]
		v := &ir.Value{Type: types[i], Pos: b.pos(p.Pos)}
		if ok {
			v.Const = b.constValue(s.Op, p.Name, val.Value, types[i], p.Type)
			if ok = v.Const != nil; ok {
				v.Type = v.Const.Type
			}
		}
		b.define(p, &symbol{value: v, broken: !ok})
	}
}

// constValue converts the value of a constant with the name and the declared type t; of is the declaration. After an
// error, which it reports, it returns nil.
func (b *builder) constValue(op, name string, v mil.Value, t ir.Type, of *mil.Type) *ir.Const {
	if own := mil.TypeOf(v); own != nil {
		vt, ok := b.valueType(own)
		if !ok {
			return nil
		}
		if of != nil && !vt.Fits(t) {
			b.list.Errorf(b.src.ValueSpan(v), codeType, op, "%s is declared %s, but its value is %s", name, t, vt).
				Note(b.src.Span(of.Pos, of.End), "the type of %s is declared", name)
			return nil
		}
		t = refine(vt, t)
	}
	var c *ir.Const
	var err error
	code := codeConst
	switch v := v.(type) {
	case *mil.Literal:
		c, err = literal(v, t)
	case *mil.BlobRef:
		code = codeBlob
		c, err = b.blob(v, t)
	default:
		err = fmt.Errorf("the value of a constant must be a literal or a BLOBFILE")
	}
	if file := (*fileError)(nil); errors.As(err, &file) {
		b.unreadFile(file, b.src.ValueSpan(v), op, name)
		return nil
	}
	if err != nil {
		b.list.Errorf(b.src.ValueSpan(v), code, op, "%s: %v", name, err)
		return nil
	}
	if l, ok := v.(*mil.Literal); ok {
		if tok, i := beyondRange(l, c); tok != "" {
			d := c.Type.DType
			b.list.Warningf(b.src.ValueSpan(v), codeConst, op,
				"%s: element %d is %s, which becomes %g; the largest %s is %g", name, i, tok, c.Float(i), d, largest(d))
		}
	}
	return c
}

// An operation is an ir.Op that is being built.
type operation struct {
	*ir.Op
	src   *mil.Stmt
	given []*mil.Arg // the argument of each parameter, nil where absent
	from  [][]*symbol
	types []ir.Type // of the results; nil when they could not be inferred
	fault bool      // an error was reported, or an argument is broken
}

// operation builds the operation of a statement and infers the types of its results. It returns nil
// for an unknown operation. Without declared types the inferred ones are used.
func (b *builder) operation(s *mil.Stmt, declared []ir.Type, known bool) *operation {
	def := b.row(s)
	if def == nil {
		// Report unknown names in its arguments and blocks too.
		b.arguments(s, &operation{src: s})
		for _, blk := range s.Blocks {
			b.block(blk)
		}
		return nil
	}
	op := &operation{
		Op:    ir.NewOp(def),
		src:   s,
		given: make([]*mil.Arg, len(def.Params)),
		from:  make([][]*symbol, len(def.Params)),
	}
	op.Name = s.NameAttr()
	op.Pos = b.pos(s.OpPos)
	b.arguments(s, op)
	errorsBefore := b.list.Errors()
	for _, blk := range s.Blocks {
		op.Blocks = append(op.Blocks, b.block(blk))
	}
	op.fault = op.fault || b.list.Errors() != errorsBefore
	for i := range def.Params {
		// A missing argument is reported in addition to other errors.
		if p := &def.Params[i]; !p.Optional && op.given[i] == nil {
			op.fault = true
			b.list.Errorf(b.src.OpSpan(s), codeArg, s.Op, "missing argument %s", p.Name)
		}
	}
	if op.fault {
		return op
	}
	types, err := ir.InferOp(op.Op)
	if err != nil {
		b.ruleError(op, err)
		return op
	}
	if !known && len(types) == len(declared) {
		declared = types
	}
	op.types = b.results(op, types, declared)
	return op
}

// row looks up the operation of a statement and checks that its operation set has it.
func (b *builder) row(s *mil.Stmt) *ir.OpDef {
	opset := b.fn.Opset
	if s.OpOpset != "" {
		opset = s.OpOpset
	}
	forms := ir.Forms(s.Op)
	if len(forms) == 0 {
		d := b.list.Errorf(b.src.OpSpan(s), codeOp, "", "unknown operation %s", s.Op)
		if near := ir.Nearest(s.Op); near != "" {
			d.WithHint("did you mean %s?", near)
		}
		return nil
	}
	var names []ir.ParamName
	for _, a := range s.Args {
		names = append(names, ir.ParamName(a.Name))
	}
	for _, a := range s.Attrs {
		if a.Name != "name" {
			names = append(names, ir.ParamName(a.Name))
		}
	}
	def := ir.LookupArgs(s.Op, opset, names)
	if n := ir.OpsetNumber(opset); n > 0 && ir.OpsetNumber(def.Since) > n {
		at := b.src.OpSpan(s)
		d := b.list.Errorf(at, codeOp, s.Op, "this form needs operation set %s, but the statement has %s", def.Since,
			opset)
		if s.OpOpset == "" {
			d.Note(b.src.NameSpan(b.fn.OpsetPos, opset), "%s is the operation set of function %s", opset, b.fn.Name)
		}
		d.WithHint("write %s<%s>(...) or raise the function's operation set", s.Op, def.Since)
	}
	return def
}

// results checks the declared types of the results against the inferred ones and returns their combination.
func (b *builder) results(op *operation, inferred, declared []ir.Type) []ir.Type {
	s := op.src
	if len(inferred) != len(declared) {
		op.fault = true
		b.list.Errorf(b.src.OpSpan(s), codeType, s.Op, "the operation returns %s, but the statement names %d",
			diag.Count(len(inferred), "result", "results"), len(declared))
		return nil
	}
	out := make([]ir.Type, len(inferred))
	for i, t := range inferred {
		p := &s.Results[i]
		if !t.Fits(declared[i]) {
			op.fault = true
			d := b.list.Errorf(b.src.Span(p.Type.Pos, p.Type.End), codeType, s.Op,
				"%s is declared %s, but the operation returns %s", p.Name, declared[i], t)
			b.operandNotes(d, op)
			continue
		}
		out[i] = refine(t, declared[i])
	}
	if op.fault {
		return nil
	}
	return out
}

// maxNotes bounds the operands that a message about a result names.
const maxNotes = 3

// operandNotes returns notes with the types of an operation's computed operands.
func (b *builder) operandNotes(d *diag.Diagnostic, op *operation) {
	n := 0
	for _, list := range op.from {
		for _, s := range list {
			if s.name == "" || s.value.IsConst() {
				continue
			}
			if n++; n > maxNotes {
				return
			}
			d.Note(b.src.NameSpan(s.pos, s.name), "%s, %s, is declared", s.name, s.value.Type)
		}
	}
}

// ruleError reports a rule that the operation breaks, at the argument to blame.
func (b *builder) ruleError(op *operation, err error) {
	op.fault = true
	var rule *ir.RuleError
	if !errors.As(err, &rule) {
		rule = &ir.RuleError{Msg: err.Error()}
	}
	at := b.src.OpSpan(op.src)
	if a := op.argument(rule.Param); a != nil {
		at = b.argSpan(a)
	}
	d := b.list.Errorf(at, codeType, op.src.Op, "%s", rule.Msg)
	seen := map[*symbol]bool{}
	for _, param := range [...]ir.ParamName{rule.Param, rule.Other} {
		i := op.Def.ParamIndex(param)
		if i < 0 {
			continue
		}
		for _, s := range op.from[i] {
			if s.name == "" || seen[s] || len(seen) == maxNotes {
				continue
			}
			seen[s] = true
			d.Note(b.src.NameSpan(s.pos, s.name), "%s is declared", s.name)
		}
	}
}

// argument returns the statement's argument for a parameter, or nil.
func (op *operation) argument(param ir.ParamName) *mil.Arg {
	if i := op.Def.ParamIndex(param); i >= 0 {
		return op.given[i]
	}
	return nil
}

// argSpan returns the range of NAME = VALUE.
func (b *builder) argSpan(a *mil.Arg) diag.Span { return b.src.Span(a.Pos, a.Value.End()) }
