package ir

import (
	"errors"
	"fmt"
	"strconv"
)

// PosString returns a position as file:line:col, "" for none.
func (p *Program) PosString(at Pos) string {
	if !at.IsValid() {
		return ""
	}
	file := "?"
	if at.File >= 0 && int(at.File) < len(p.Files) {
		file = p.Files[at.File]
	}
	return file + ":" + strconv.Itoa(int(at.Line)) + ":" + strconv.Itoa(int(at.Col))
}

// maxVerifyErrors is the maximum number of errors that Verify collects.
const maxVerifyErrors = 100

type verifier struct {
	p     *Program
	f     *Func
	errs  []error
	names map[string]*Value
	scope map[*Value]bool // values defined so far and visible here
	ops   map[*Op]bool
}

// Verify checks the invariants in the package documentation and returns all violations, joined,
// each with its position; nil if there are none.
func Verify(p *Program) error {
	v := &verifier{p: p}
	seen := map[string]bool{}
	for _, f := range p.Funcs {
		v.f = f
		if seen[f.Name] {
			v.errorf(f.Pos, "function %s is defined twice", f.Name)
		}
		seen[f.Name] = true
		if f.Body == nil {
			v.errorf(f.Pos, "function %s has no body", f.Name)
			continue
		}
		v.names, v.scope, v.ops = map[string]*Value{}, map[*Value]bool{}, map[*Op]bool{}
		v.block(f.Body, 0)
	}
	return errors.Join(v.errs...)
}

func (v *verifier) errorf(at Pos, format string, args ...any) {
	if len(v.errs) >= maxVerifyErrors {
		return
	}
	msg := fmt.Sprintf(format, args...)
	if s := v.p.PosString(at); s != "" {
		msg = s + ": " + msg
	}
	v.errs = append(v.errs, fmt.Errorf("%s (function %s)", msg, v.f.Name))
}

func (v *verifier) define(x *Value, def *Op) {
	if x == nil {
		v.errorf(v.f.Pos, "a defined value is nil")
		return
	}
	if x.Def != def {
		v.errorf(x.Pos, "%s: its Def is not the operation that lists it as a result", x.Name)
	}
	if x.Const != nil {
		v.errorf(x.Pos, "%s is computed but also has a constant", x.Name)
	}
	v.name(x)
	v.scope[x] = true
}

func (v *verifier) name(x *Value) {
	if x.Name == "" {
		v.errorf(x.Pos, "a value has no name")
	} else if other := v.names[x.Name]; other != nil && other != x {
		v.errorf(x.Pos, "%s is defined twice", x.Name)
	}
	v.names[x.Name] = x
}

// use checks a value that is read.
func (v *verifier) use(x *Value, at Pos, what string) {
	switch {
	case x == nil:
		v.errorf(at, "%s is nil", what)
	case x.Const != nil:
		if x.Def != nil {
			v.errorf(at, "%s: constant %s has a defining operation", what, x.Name)
		}
		v.name(x)
	case !v.scope[x]:
		v.errorf(at, "%s: %s is used before it is defined, or outside its block", what, x.Name)
	}
}

// maxNesting bounds nested blocks.
const maxNesting = 32

func (v *verifier) block(b *Block, depth int) {
	if depth > maxNesting {
		v.errorf(v.f.Pos, "blocks are nested deeper than the limit of %d", maxNesting)
		return
	}
	var local []*Value
	for _, x := range b.Params {
		v.define(x, nil)
		local = append(local, x)
	}
	for _, op := range b.Ops {
		v.op(op, depth)
		local = append(local, op.Results...)
	}
	for i, x := range b.Outputs {
		v.use(x, v.f.Pos, "output "+strconv.Itoa(i))
	}
	for _, x := range local {
		delete(v.scope, x)
	}
}

func (v *verifier) op(op *Op, depth int) {
	if op == nil || op.Def == nil {
		v.errorf(v.f.Pos, "an operation has no Def")
		return
	}
	if v.ops[op] {
		v.errorf(op.Pos, "%s: the operation is listed twice", op.Def.Name)
	}
	v.ops[op] = true
	bad := false
	for i, a := range op.Args {
		for _, x := range a {
			what := op.Def.Name
			if i < len(op.Def.Params) {
				what += ": " + string(op.Def.Params[i].Name)
			}
			v.use(x, op.Pos, what)
			bad = bad || x == nil
		}
	}
	for _, b := range op.Blocks {
		v.block(b, depth+1)
	}
	for _, r := range op.Results {
		v.define(r, op)
		bad = bad || r == nil
	}
	if bad {
		return
	}
	ts, err := InferOp(op)
	if err != nil {
		v.errorf(op.Pos, "%s: %v", op.Def.Name, err)
		return
	}
	if len(ts) != len(op.Results) {
		v.errorf(op.Pos, "%s has %d results, but %d are named", op.Def.Name, len(ts), len(op.Results))
		return
	}
	for i, t := range ts {
		if !t.Fits(op.Results[i].Type) {
			at := op.Results[i].Pos
			if !at.IsValid() {
				at = op.Pos
			}
			v.errorf(at, "%s: %s is declared %s, but the operation returns %s", op.Def.Name, op.Results[i].Name,
				op.Results[i].Type, t)
		}
	}
}
