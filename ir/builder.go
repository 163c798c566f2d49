package ir

import (
	"fmt"
	"slices"
)

// Arg is an argument of an operation. Several of one name are the elements of a parameter that accepts a tuple; one
// without a value is omitted.
type Arg struct {
	Param ParamName
	Value *Value
}

// NewOpOf returns an operation of an opset with inferred results, which name names by the operation.
func NewOpOf(o *Operation, opset string, pos Pos, name func(stem string) string, args ...Arg) (*Op, error) {
	names := make([]ParamName, len(args))
	for i, a := range args {
		names[i] = a.Param
	}
	def := LookupArgs(o.Name, opset, names)
	if def == nil {
		return nil, fmt.Errorf("opset %s lacks it", opset)
	}
	op := NewOp(def)
	op.Pos = pos
	for _, a := range args {
		i := def.ParamIndex(a.Param)
		switch {
		case i < 0:
			return nil, fmt.Errorf("it has no parameter %q in opset %s", a.Param, opset)
		case a.Value != nil:
			op.Args[i] = append(op.Args[i], a.Value)
		}
	}
	return op, op.InferResults(name)
}

// InferResults gives an operation new results, which follow from its arguments and which name names by the operation.
func (op *Op) InferResults(name func(stem string) string) error {
	types, err := InferOp(op)
	op.Results = nil
	for _, t := range types {
		op.Results = append(op.Results, &Value{Name: name(op.Def.Name), Type: t, Def: op, Pos: op.Pos})
	}
	return err
}

// A Builder writes operations in the place of others. An error ends the writing where it occurs, by a panic that Write
// recovers, so that code that uses a builder reads like the expression that it writes.
type Builder struct {
	Make  func(o *Operation, args ...Arg) (*Op, error) // returns an operation
	Const func(c *Const) *Value                        // returns a constant
	Ops   []*Op                                        // that were written
}

// stopped is why the writing ended.
type stopped struct{ error }

// Write calls f, which writes, and returns the error that ended it.
func (b *Builder) Write(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stopped:
			err = r.error
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// Stop ends the writing with an error; it does not return.
func (b *Builder) Stop(err error) *Value { panic(stopped{err}) }

// Fail is Stop with the text of an error.
func (b *Builder) Fail(format string, args ...any) *Value { return b.Stop(fmt.Errorf(format, args...)) }

// Do writes an operation and returns its first result.
func (b *Builder) Do(o *Operation, args ...Arg) *Value { return b.All(o, args...)[0] }

// All writes an operation and returns its results.
func (b *Builder) All(o *Operation, args ...Arg) []*Value {
	op, err := b.Make(o, args...)
	if err != nil {
		b.Stop(err)
	}
	b.Ops = append(b.Ops, op)
	return op.Results
}

// Ints returns a constant vector of integers.
func (b *Builder) Ints(vs ...int64) *Value { return b.Const(ConstInts(Int32, vs...)) }

// Int returns an integer.
func (b *Builder) Int(v int64) *Value { return b.Const(ConstInt(Int32, v)) }

// Bool returns a boolean.
func (b *Builder) Bool(v bool) *Value { return b.Const(ConstBool(v)) }

// Str returns a string.
func (b *Builder) Str(s string) *Value { return b.Const(ConstString(s)) }

// Num returns a number of an element type.
func (b *Builder) Num(t DType, v float64) *Value { return b.Const(ConstFloat(t, v)) }

// Reshape changes the shape of x.
func (b *Builder) Reshape(x *Value, shape ...int64) *Value {
	if slices.Equal(x.Type.Shape, shape) {
		return x
	}
	return b.Do(OpReshape, Arg{ParamX, x}, Arg{ParamShape, b.Ints(shape...)})
}

// Transpose permutes the dimensions of x.
func (b *Builder) Transpose(x *Value, perm ...int64) *Value {
	if slices.IsSorted(perm) {
		return x
	}
	return b.Do(OpTranspose, Arg{ParamX, x}, Arg{ParamPerm, b.Ints(perm...)})
}

// Slice reads the elements from lo up to hi along an axis.
func (b *Builder) Slice(x *Value, axis int, lo, hi int64) *Value {
	begin, size := make([]int64, x.Type.Rank()), slices.Clone(x.Type.Shape)
	begin[axis], size[axis] = lo, hi-lo
	return b.Do(OpSliceBySize, Arg{ParamX, x}, Arg{ParamBegin, b.Ints(begin...)}, Arg{ParamSize, b.Ints(size...)})
}

// Concat joins values along an axis.
func (b *Builder) Concat(axis int, vs ...*Value) *Value {
	if len(vs) == 1 {
		return vs[0]
	}
	args := []Arg{{ParamAxis, b.Int(int64(axis))}, {ParamInterleave, b.Bool(false)}}
	for _, v := range vs {
		args = append(args, Arg{ParamValues, v})
	}
	return b.Do(OpConcat, args...)
}

// MatMul multiplies matrices; y is transposed if ty is set.
func (b *Builder) MatMul(x, y *Value, ty bool) *Value {
	return b.Do(OpMatMul, Arg{ParamX, x}, Arg{ParamY, y}, Arg{ParamTransposeX, b.Bool(false)},
		Arg{ParamTransposeY, b.Bool(ty)})
}

// Pad writes zeros before and after the last dimensions of x.
func (b *Builder) Pad(x *Value, amounts []int64) *Value {
	if !slices.ContainsFunc(amounts, func(n int64) bool { return n != 0 }) {
		return x
	}
	return b.Do(OpPad, Arg{ParamX, x}, Arg{ParamPad, b.Ints(amounts...)}, Arg{ParamMode, b.Str("constant")},
		Arg{ParamConstantVal, b.Num(x.Type.DType, 0)})
}

// Binary writes an operation on x and y.
func (b *Builder) Binary(o *Operation, x, y *Value) *Value {
	return b.Do(o, Arg{ParamX, x}, Arg{ParamY, y})
}

// Cast converts x to another element type.
func (b *Builder) Cast(x *Value, to DType) *Value {
	return b.Do(OpCast, Arg{ParamX, x}, Arg{ParamDType, b.Str(to.String())})
}
