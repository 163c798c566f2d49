package coreml

import (
	"context"
	"strings"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/passes"
)

// operator returns a kind without its opset.
func operator(kind string) string {
	if i := strings.LastIndexByte(kind, '.'); i >= 0 {
		return kind[i+1:]
	}
	return kind
}

// resolve returns the function with the shapes of its flexible inputs. A function whose shapes are all known is the
// program's own; any other is a copy.
func resolve(ctx context.Context, p *ir.Program, o Options) (*ir.Func, error) {
	f, err := p.Entry(o.Func)
	if err != nil {
		return nil, err
	}
	if len(o.Shapes) == 0 && known(f.Body) {
		return f, nil
	}
	one := *p
	one.Funcs = []*ir.Func{ir.CloneFunc(f, f.Name)}
	s, err := passes.Run(ctx, &one, passes.Options{Func: f.Name, Shapes: o.Shapes, Until: "resolve-shapes"})
	if err != nil {
		return nil, err
	}
	infer(s.Func.Body)
	return s.Func, nil
}

// known reports whether the types of a block's values are all known.
func known(b *ir.Block) bool {
	for _, v := range b.Params {
		if !v.Type.Static() {
			return false
		}
	}
	for _, op := range b.Ops {
		for _, r := range op.Results {
			if !r.Type.Static() {
				return false
			}
		}
		for _, n := range op.Blocks {
			if !known(n) {
				return false
			}
		}
	}
	return true
}

// maxIndices are the most elements of a tensor that infer computes: shapes and indices are small.
const maxIndices = 64

// infer follows shapes that a program computes: small results of operations on constants become constants, and what
// their readers return is inferred again. A dimension that stays unknown is left.
func infer(b *ir.Block) {
	for _, op := range b.Ops {
		if len(op.Blocks) > 0 {
			continue // its blocks keep what the text declares
		}
		if ts, err := ir.InferOp(op); err == nil {
			for i, t := range ts {
				if v := op.Results[i]; t.Kind == v.Type.Kind && t.Static() && t.Fits(v.Type) {
					v.Type = t
				}
			}
		}
		if len(op.Results) != 1 {
			continue
		}
		r := op.Results[0]
		if n := r.Type.Elems(); n < 0 || n > maxIndices || r.Type.DType == ir.String {
			continue
		}
		if cs, err := ir.FoldOp(op); err == nil && len(cs) == 1 && cs[0] != nil {
			r.Const = cs[0]
		}
	}
}
