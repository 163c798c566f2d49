package verify

import (
	"context"

	"github.com/zinc-compiler/zinc/analysis/prove"
	"github.com/zinc-compiler/zinc/compile"
)

// Prove proves that the bytes of a compilation compute the program that was lowered, with package prove.
func Prove(ctx context.Context, r *compile.Result, o prove.Options) (*prove.Result, error) {
	m, err := Open(r)
	if err != nil {
		return nil, err
	}
	return prove.Pair(ctx, m, Provable(r), o)
}

// Provable returns the functions that a compilation must compute.
func Provable(r *compile.Result) []prove.Function {
	var fs []prove.Function
	for _, f := range r.Functions {
		p := prove.Function{Name: f.Name, Program: f.Placed, Source: f.Reference}
		for i, n := range f.States {
			p.States = append(p.States, prove.State{Name: n, Result: f.StateResults[i]})
		}
		fs = append(fs, p)
	}
	return fs
}
