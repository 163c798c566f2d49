package e5rt_test

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/compile/cost"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// TestCompilationContainsBundleAndImage checks that the result of a compilation contains two of the three forms of a
// program, the bundle and the program image. (The firmware container is made at load, by package loader; the tests of
// package stack find it.)
// Table 2.2.
func TestCompilationContainsBundleAndImage(t *testing.T) {
	ctx := context.Background()
	c := got[*e5rt.Compiler](t)(newRuntime(t, e5rt.Options{}).NewCompiler(e5rt.CompilerConfig{Compile: compileModel}))
	sizes := map[string]int{}
	for _, model := range []string{"testdata/tiny.mil", "testdata/tinywide.mil"} {
		pair := got[*e5rt.ProgramLibrary](t)(c.Compile(ctx, model)).Machine().Pair()

		// The bundle is a flat buffer whose graph is a cast in, the engine inference, and a cast out.
		bundle := got[*e5.Program](t)(e5.Read(pair.Descriptor))
		var ops []e5.OpType
		for _, b := range bundle.Functions[0].Blocks {
			for _, op := range b.Operations {
				ops = append(ops, op.Type)
			}
		}
		if want := []e5.OpType{e5.Cast, e5.AneInference, e5.Cast}; !slices.Equal(ops, want) {
			t.Errorf("%s: the chain is %v, want %v", model, ops, want)
		}
		sizes[model] = len(pair.Descriptor)

		// The program image: its magic, a text section of register writes, constants.
		if m := binary.LittleEndian.Uint32(pair.Container); m != 0xbeefface {
			t.Errorf("%s: the magic is %#x, want 0xbeefface", model, m)
		}
		f := got[*hwx.File](t)(hwx.Read(pair.Container))
		var text, weights bool
		for _, s := range f.Segments() {
			for _, sec := range s.Sections {
				text = text || strings.HasPrefix(s.Name.String(), "__TEXT") && sec.Size > 0
			}
		}
		weights = len(f.ConstantBytes()) > 0
		if !text || !weights {
			t.Errorf("%s: text %t, weights %t; want both", model, text, weights)
		}
	}
	// The descriptor's size does not grow with the tensor.
	if a, b := sizes["testdata/tiny.mil"], sizes["testdata/tinywide.mil"]; a != b {
		t.Errorf("the bundle takes %d bytes, of the wider tensor %d", a, b)
	}
}

// TestStagesTakeVirtualTimeOnlyWhenTheyRun checks that every inference takes the time of its binding and of its inputs
// and outputs, which the chapter measured as about 25 us for a small graph, and of its return, that it grows with the
// tensors, and that encoding takes none.
// Table 2.3.
func TestStagesTakeVirtualTimeOnlyWhenTheyRun(t *testing.T) {
	took := map[string]time.Duration{}
	for _, model := range []string{"accumulator", "tiny", "tinywide"} {
		d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/"+model+".mil")
		second, _, _ := d.operation(t)
		for i := range 3 {
			before := d.rt.Now()
			check(t, d.stream.EncodeOperation(d.op))
			check(t, d.stream.EncodeOperation(second))
			if d.rt.Now() != before {
				t.Errorf("%s: encoding took time", model)
			}
			check(t, d.stream.ExecuteSync(context.Background()))
			each := (d.rt.Now() - before) / 2
			if i > 0 && each != took[model] {
				t.Errorf("%s: dispatch %d took %v of virtual time, the one before it %v", model, i, each, took[model])
			}
			took[model] = each
			check(t, d.stream.Reset())
		}
	}
	small := took["accumulator"] - time.Duration(cost.Return.Fixed())
	if small < 25*time.Microsecond || small > 26*time.Microsecond {
		t.Errorf("binding and copies take %v, the chapter measured about 25 us", small)
	}
	if took["accumulator"] >= took["tiny"] || took["tiny"] >= took["tinywide"] {
		t.Errorf("the times do not grow with the tensors: %v", took)
	}
}

// TestCompilePhaseLoadsAProgram checks that the one-time calls turn a network into a loaded program.
// Listing 2.1.
func TestCompilePhaseLoadsAProgram(t *testing.T) {
	ctx := context.Background()
	eng := &fakeEngine{}
	rt := newRuntime(t, e5rt.Options{Engine: eng})
	s := &shelf{}
	compiler := got[*e5rt.Compiler](t)(rt.NewCompiler(s.config()))

	library, err := compiler.Compile(ctx, "testdata/tiny.mil")
	check(t, err)
	function, err := library.RetainProgramFunction("main")
	check(t, err)
	if eng.opened != 0 {
		t.Error("the program became resident before it was loaded")
	}
	check(t, function.LoadForExecution(ctx))

	if eng.opened != 1 {
		t.Errorf("loading made the program resident %d times", eng.opened)
	}
	if names := library.FunctionNames(); !slices.Equal(names, []string{"main"}) {
		t.Errorf("the library has functions %q", names)
	}
	if s.compiled != 1 {
		t.Errorf("%d lowerings", s.compiled)
	}
	check(t, function.Release())
	if eng.closed != 1 {
		t.Errorf("releasing let the program go %d times", eng.closed)
	}
}

// TestDispatchPhaseRunsTheProgram checks that the calls of one request encode and run the loaded program, with the
// results of the machine on tensors.
// Listing 2.2.
func TestDispatchPhaseRunsTheProgram(t *testing.T) {
	d := newBed(t, newRuntime(t, e5rt.Options{}), "testdata/tiny.mil")
	stream, op := d.stream, d.op
	x := make([]float32, 8*8*8)
	for request := range 3 {
		for i := range x {
			x[i] = float32((i*7+request*5)%13-6) / 4
		}
		check(t, setFloats(d.views["x"], x...))

		check(t, stream.EncodeOperation(op))
		check(t, stream.ExecuteSync(context.Background()))

		if got, want := d.views["y"].Tensor(), reference(t, d.lib, d.views["x"].Tensor()); !got.Equal(want) {
			t.Errorf("request %d gives %v, want %v", request, got.Floats32(), want.Floats32())
		}
		check(t, stream.Reset())
	}
}
