package ir

import (
	"errors"
	"fmt"
	"math"
)

// maxDim bounds a dimension, as MIL's int32 shapes do; it also keeps the
// arithmetic of the shape rules inside 64 bits.
const maxDim = math.MaxInt32

// ErrExtent is what InferOp's errors are (errors.Is) about a result with a dimension that is larger than any.
var ErrExtent = errors.New("ir: a dimension is too large")

// maxRank bounds the rank of a tensor in a rule. MIL's own limit is 5 for most operations, but chains of reshape and
// transpose slightly exceed it.
const maxRank = 16

// InferOp checks an operation's arguments against its row (missing arguments,
// element classes, type variables, constness) and returns the types of its results by the row's
// rule. Errors are *RuleError.
func InferOp(op *Op) ([]Type, error) {
	if err := checkArgs(op); err != nil {
		return nil, err
	}
	if op.Def.Infer == nil {
		return nil, Rulef("", "%s has no shape rule", op.Def.Name)
	}
	ts, err := op.Def.Infer(op)
	if err != nil {
		return nil, err
	}
	for i, t := range ts {
		if err := checkExtent(t); err != nil {
			err.Msg = fmt.Sprintf("result %d: %s", i, err.Msg)
			return nil, err
		}
	}
	return ts, nil
}

func checkArgs(op *Op) error {
	d := op.Def
	if len(op.Args) != len(d.Params) {
		return Rulef("", "%s has %d argument lists, want %d", d.Name, len(d.Params), len(op.Args))
	}
	if len(op.Blocks) != d.Blocks {
		return Rulef("", "%s has %d blocks, want %d", d.Name, d.Blocks, len(op.Blocks))
	}
	var letters [8]struct {
		letter string
		param  ParamName
		t      DType
	}
	used := 0
	for i := range d.Params {
		p := &d.Params[i]
		args := op.Args[i]
		if len(args) == 0 {
			if !p.Optional {
				return Rulef(p.Name, "argument %s is missing", p.Name)
			}
			continue
		}
		if len(args) > 1 && !p.Variadic {
			return Rulef(p.Name, "%s takes one value, has %d", p.Name, len(args))
		}
		for _, v := range args {
			if err := checkArg(op, p, v); err != nil {
				return err
			}
			if p.Same == "" {
				continue
			}
			found := false
			for _, l := range letters[:used] {
				if l.letter != p.Same {
					continue
				}
				found = true
				if l.t != v.Type.DType {
					return Rulef(p.Name, "%s is %s, %s is %s; they must have the same element type", p.Name,
						v.Type.DType, l.param, l.t).and(l.param)
				}
			}
			if !found && used < len(letters) {
				letters[used].letter, letters[used].param, letters[used].t = p.Same, p.Name, v.Type.DType
				used++
			}
		}
	}
	return nil
}

func checkArg(op *Op, p *Param, v *Value) error {
	switch {
	case v == nil:
		return Rulef(p.Name, "argument %s is empty", p.Name)
	case p.Kind != AnyKind && v.Type.Kind != p.Kind:
		return Rulef(p.Name, "%s is %s, must be a %s", p.Name, v.Type, p.Kind)
	case !p.Types.Has(v.Type.DType):
		return Rulef(p.Name, "%s is %s, must be one of %s", p.Name, v.Type.DType, p.Types)
	case p.Const && !v.IsConst() && !fromConstexpr(op, v):
		return Rulef(p.Name, "%s must be known at compile time, but %s is computed", p.Name, v.Name)
	}
	if err := checkExtent(v.Type); err != nil {
		return Rulef(p.Name, "%s: %s", p.Name, err.Msg)
	}
	if c := v.Const; c != nil {
		if !c.Type.Equal(v.Type) {
			return Rulef(p.Name, "%s is %s, but its constant is %s", p.Name, v.Type, c.Type)
		}
		if c.Type.DType == String {
			if int64(len(c.Strings)) != constStrings(c.Type) {
				return Rulef(p.Name, "%s is %s, but has %d strings", p.Name, c.Type, len(c.Strings))
			}
		} else if c.Type.Kind == Tensor && c.Type.Bytes() != int64(len(c.Data)) {
			return Rulef(p.Name, "%s is %s, which needs %d bytes, but has %d", p.Name, c.Type, c.Type.Bytes(),
				len(c.Data))
		}
	}
	if p.ranks != [2]int{} {
		return rankIn(op, p.Name, p.ranks[0], p.ranks[1])
	}
	if p.among != nil {
		_, err := needOneOf(op, p.Name, p.among...)
		return err
	}
	return nil
}

// constStrings returns the number of strings in a constant of type t, a tensor or a list of scalars.
func constStrings(t Type) int64 {
	if t.Kind == List {
		return t.Len
	}
	return t.Elems()
}

// fromConstexpr reports whether a computed value may be used where a constant is required: it comes from a
// constexpr operation, directly or through others. This is allowed only for weights; numbers that a shape rule
// reads must be literal.
func fromConstexpr(op *Op, v *Value) bool {
	if v.Def == nil || !IsConstexpr(v.Def) {
		return false
	}
	return v.Type.DType.IsFloat() || IsConstexpr(op)
}

// IsConstexpr reports whether the operation belongs to the constexpr family:
// its results are constants in compressed form.
func IsConstexpr(op *Op) bool { return op.Def.Class == Compressed }

func checkExtent(t Type) *RuleError {
	if t.Rank() > maxRank {
		return Rulef("", "rank %d exceeds the limit of %d", t.Rank(), maxRank)
	}
	for i, d := range t.Shape {
		if d > maxDim || d < Unknown {
			err := Rulef("", "dimension %d is %d, want 0 to %d", i, d, int64(maxDim))
			err.cause = ErrExtent
			return err
		}
	}
	return nil
}
