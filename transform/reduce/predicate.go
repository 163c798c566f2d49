package reduce

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zinc-compiler/zinc/analysis/verify"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/internal/memlimit"
	"github.com/zinc-compiler/zinc/ir"
)

// A Builtin is a predicate that needs no command.
type Builtin struct {
	Name string
	Arg  string // the argument after "=", "" for none
	Doc  string
	make func(arg string, o verify.Options) Interesting
}

// Builtins are the predicates that ParseBuiltin knows.
var Builtins = []Builtin{
	{Name: "verify", Doc: "zinc verify fails as it does on MODEL: outputs beyond their tolerance, an error, a " +
		"fault of zinc, or a panic", make: sameFailure},
	{Name: "outputs-differ", Doc: "the model compiles and runs, and an output of the simulator is beyond its tolerance",
		make: outputsDiffer},
	{Name: "compile-error", Arg: "TEXT", Doc: "compiling fails, or panics, with a message that contains TEXT " +
		"(which should name no line: those of candidates differ)", make: compileError},
}

// ParseBuiltin returns the built-in predicate that s names, nil when it names
// none. o says how candidates are compiled and run.
func ParseBuiltin(s string, o verify.Options) (Interesting, error) {
	name, arg, has := strings.Cut(s, "=")
	for _, b := range Builtins {
		switch {
		case b.Name != name:
			continue
		case b.Arg == "" && has:
			return nil, fmt.Errorf("predicate %s takes no argument, got %q", name, arg)
		case b.Arg != "" && arg == "":
			return nil, fmt.Errorf("predicate %s needs an argument: %s=%s", name, name, b.Arg)
		}
		return b.make(arg, o), nil
	}
	return nil, nil
}

// options returns the compiler's options for a candidate: shapes are given for
// the open inputs that it still has.
func options(o compile.Options, p *ir.Program) compile.Options {
	given := o.Shapes
	o.Shapes = nil
	for _, set := range given {
		set = maps.Clone(set)
		maps.DeleteFunc(set, func(name string, _ []int64) bool {
			return !slices.ContainsFunc(p.Funcs, func(f *ir.Func) bool {
				return slices.ContainsFunc(f.Body.Params, func(v *ir.Value) bool {
					return v.Name == name && !v.Type.Static()
				})
			})
		})
		o.Shapes = append(o.Shapes, set)
	}
	return o
}

// panicked is a panic of zinc, caught.
type panicked struct{ value any }

func (p *panicked) Error() string { return fmt.Sprintf("internal error: %v", p.value) }

// caught runs f and makes an error of a panic.
func caught(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v}
		}
	}()
	return f()
}

// Bytes of memory for an element while verify runs: of each value that is written, and of the values of the statement
// at which it is.
const (
	writtenBytes   = 16
	statementBytes = 48
)

// need estimates the memory in bytes that the values of a program take in verify.
func need(p *ir.Program) (n int64) {
	const most = 1 << 40 // elements, in sums
	elems := func(v *ir.Value) int64 {
		if k := v.Type.Elems(); k >= 0 && k < most {
			return k
		}
		return most
	}
	widest := int64(0)
	for _, f := range p.Funcs {
		own := int64(0)
		for _, v := range f.Body.Params {
			own += elems(v)
		}
		ir.Walk(f, func(op *ir.Op) {
			at := int64(0)
			for _, v := range op.Results {
				at += elems(v)
			}
			own = min(own+at, most)
			op.Operands(func(_ *ir.Param, v *ir.Value) { at += elems(v) })
			widest = max(widest, min(at, most))
		})
		n = max(n, own)
	}
	return writtenBytes*n + statementBytes*widest
}

// verified verifies a candidate, beside others if there is memory for all of them.
func verified(ctx context.Context, c *Candidate, o verify.Options) (r *verify.Result, err error) {
	giveBack, err := memlimit.Share(ctx, need(c.prog))
	if err != nil {
		return nil, err
	}
	defer giveBack()
	err = caught(func() (err error) {
		p := c.Program()
		o.Compile = options(o.Compile, p)
		r, err = verify.Run(ctx, p, o)
		return err
	})
	return r, err
}

// failure names the way in which a verification ended, "" when it passed.
func failure(r *verify.Result, err error) string {
	var p *panicked
	var f *verify.FaultError
	switch {
	case errors.As(err, &p):
		return "panic"
	case errors.As(err, &f):
		return "fault: " + f.Stage
	case errors.As(err, new(*memlimit.Error)):
		return "memory"
	case err != nil:
		return "error"
	case r.Verdict == verify.Fail:
		return "outputs"
	}
	return ""
}

// sameFailure holds the candidates to the failure of the program that is
// reduced, which is the first to be tried and tried alone; asked about the result
// in a reduction of its own, it still does.
func sameFailure(_ string, o verify.Options) Interesting {
	want := ""
	return func(ctx context.Context, c *Candidate) (bool, error) {
		got := failure(verified(ctx, c, o))
		if c.Number == 1 && want == "" {
			want = got
		}
		return got != "" && got == want, nil
	}
}

func outputsDiffer(_ string, o verify.Options) Interesting {
	return func(ctx context.Context, c *Candidate) (bool, error) {
		r, err := verified(ctx, c, o)
		return err == nil && r.Verdict == verify.Fail, nil
	}
}

func compileError(text string, o verify.Options) Interesting {
	return func(ctx context.Context, c *Candidate) (bool, error) {
		err := caught(func() error {
			p := c.Program()
			_, err := compile.All(ctx, p, options(o.Compile, p))
			return err
		})
		return err != nil && strings.Contains(err.Error(), text), nil
	}
}
