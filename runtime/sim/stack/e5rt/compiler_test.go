package e5rt_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// shelf is a cache of one pair that counts.
type shelf struct {
	kept             *pair.Pair
	compiled, looked int
	err              error
}

func (s *shelf) config() e5rt.CompilerConfig {
	return e5rt.CompilerConfig{
		Compile: func(ctx context.Context, path string) (pair.Pair, error) {
			s.compiled++
			if s.err != nil {
				return pair.Pair{}, s.err
			}
			p, err := compileModel(ctx, path)
			s.kept = &p
			return p, err
		},
		Cached: func(context.Context, string) (pair.Pair, bool) {
			s.looked++
			if s.kept == nil {
				return pair.Pair{}, false
			}
			return *s.kept, true
		},
	}
}

// TestCompilerTakesWhatTheCacheHas also checks that the cache is asked once for a model, whether or not the program
// asks first if a compilation is required.
func TestCompilerTakesWhatTheCacheHas(t *testing.T) {
	const model = "testdata/tiny.mil"
	ctx := t.Context()
	s := &shelf{}
	c := got[*e5rt.Compiler](t)(newRuntime(t, e5rt.Options{}).NewCompiler(s.config()))
	for i, want := range []struct {
		ask, required    bool
		compiled, looked int
	}{
		{ask: true, required: true, compiled: 1, looked: 1},
		{ask: true, compiled: 1, looked: 2},
		{compiled: 1, looked: 3},
		{ask: true, compiled: 1, looked: 4},
	} {
		if want.ask {
			if r := got[bool](t)(c.IsNewCompileRequired(ctx, model)); r != want.required {
				t.Errorf("step %d: a compilation is required: %t", i, r)
			}
		}
		l := got[*e5rt.ProgramLibrary](t)(c.Compile(ctx, model))
		if n := l.FunctionNames(); len(n) != 1 || s.compiled != want.compiled || s.looked != want.looked {
			t.Errorf("step %d: functions %q, %d compilations, %d looks; want %d and %d", i, n, s.compiled, s.looked,
				want.compiled, want.looked)
		}
	}
}

// TestCompilerReplacesACachedPairThatDoesNotOpen also checks that the error of a compilation is passed on and that the
// next call compiles again.
func TestCompilerReplacesACachedPairThatDoesNotOpen(t *testing.T) {
	const model = "testdata/tiny.mil"
	ctx := t.Context()
	s := &shelf{kept: &pair.Pair{Container: []byte("no container"), Descriptor: []byte("none")}}
	c := got[*e5rt.Compiler](t)(newRuntime(t, e5rt.Options{}).NewCompiler(s.config()))
	if !got[bool](t)(c.IsNewCompileRequired(ctx, model)) {
		t.Error("a pair that does not open is taken for a compiled model")
	}
	s.err = errors.New("the compiler is away")
	if _, err := c.Compile(ctx, model); !errors.Is(err, s.err) {
		t.Errorf("error %v, want that of the compiler", err)
	}
	s.err = nil
	if _, err := c.Compile(ctx, model); err != nil || s.compiled != 2 {
		t.Errorf("error %v after %d compilations", err, s.compiled)
	}
}
