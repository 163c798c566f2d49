package e5rt_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/zinc-compiler/zinc/compile/cache"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/runtime/sim/stack/e5rt"
)

// must ends an example at an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func try(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Listing 2.3: one buffer object, bound to the output that writes the state and to
// the input that reads it, keeps the state resident. A model that adds one counts the
// dispatches, with nothing sent by the host.
// Listing 2.3.
func Example_residentState() {
	ctx := context.Background()
	rt := must(e5rt.New(e5rt.Options{}))
	compiler := must(rt.NewCompiler(e5rt.CompilerConfig{Compile: compileModel}))
	library := must(compiler.Compile(ctx, "testdata/accumulator.mil"))
	function := must(library.RetainProgramFunction("main"))
	try(function.LoadForExecution(ctx))
	op := must(e5rt.CreatePrecompiledComputeOperationWithOptions(must(e5rt.CreateWithProgramFunction(function))))
	stream := must(rt.NewExecutionStream())

	const nbytes = 4 * 2
	stateBuf := must(rt.BufferObjectAlloc(nbytes, 0))

	// Bind it to both the output port that writes the new state ...
	outPort := must(op.RetainOutputPort("state_out"))
	try(outPort.BindBufferObject(stateBuf))

	// ... and the input port that reads it on the next step: the same buffer object.
	inPort := must(op.RetainInputPort("state_in"))
	try(inPort.BindBufferObject(stateBuf))

	state := must(stateBuf.View(outPort.TensorDescriptor()))
	for range 4 {
		try(stream.EncodeOperation(op))
		try(stream.ExecuteSync(ctx))
		fmt.Println(state.Tensor().Floats32()[0])
		try(stream.Reset())
	}
	// Output:
	// 1
	// 2
	// 3
	// 4
}

// Listing 2.3 with a step input: a cache of four slots stays in its buffer, and each
// step fills one by a masked update. The host sends only the new entry and a position vector.
// Listing 2.3.
func Example_residentCache() {
	ctx := context.Background()
	rt := must(e5rt.New(e5rt.Options{}))
	compiler := must(rt.NewCompiler(e5rt.CompilerConfig{Compile: compileModel}))
	library := must(compiler.Compile(ctx, "testdata/cache.mil"))
	function := must(library.RetainProgramFunction("main"))
	try(function.LoadForExecution(ctx))
	op := must(e5rt.CreatePrecompiledComputeOperationWithOptions(must(e5rt.CreateWithProgramFunction(function))))
	stream := must(rt.NewExecutionStream())

	bind := func(p *e5rt.IOPort, b *e5rt.BufferObject) e5rt.View {
		try(p.BindBufferObject(b))
		return must(b.View(p.TensorDescriptor()))
	}
	alloc := func(p *e5rt.IOPort) *e5rt.BufferObject {
		return must(rt.BufferObjectAlloc(p.TensorDescriptor().Size, e5rt.BufferTypeDefault))
	}
	entryPort, positionPort := must(op.RetainInputPort("entry")), must(op.RetainInputPort("position"))
	entry, position := bind(entryPort, alloc(entryPort)), bind(positionPort, alloc(positionPort))
	outPort := must(op.RetainOutputPort("cache_out"))
	cacheBuf := alloc(outPort)
	cache := bind(outPort, cacheBuf)
	bind(must(op.RetainInputPort("cache_in")), cacheBuf)

	for step := range 4 {
		token := float32(10 * (step + 1))
		try(setFloats(entry, token, token, token, token, token, token, token, token))
		here := make([]float32, 4)
		here[step] = 1
		try(setFloats(position, here...))

		try(stream.EncodeOperation(op))
		try(stream.ExecuteSync(ctx))
		try(stream.Reset())

		slots := cache.Tensor().Floats32()
		fmt.Println(slots[0], slots[8], slots[16], slots[24])
	}
	// Output:
	// 10 0 0 0
	// 10 20 0 0
	// 10 20 30 0
	// 10 20 30 40
}

// Listing 2.4: compile and load once, then dispatch per frame. The second process
// finds the program in the cache, and no lowering runs.
// Listing 2.4.
func Example_compileOnceDispatchMany() {
	ctx := context.Background()
	folder := must(os.MkdirTemp("", "e5rt"))
	defer os.RemoveAll(folder)

	store := cache.Store{Folder: folder}
	key := must(pair.NewKey(ctx, "testdata/tiny.mil", "", pair.Options{}, pair.HashFile))

	for process := range 2 {
		lowerings := 0
		rt := must(e5rt.New(e5rt.Options{}))
		compiler := must(rt.NewCompiler(e5rt.CompilerConfig{
			Compile: func(ctx context.Context, path string) (pair.Pair, error) {
				lowerings++
				p := must(compileModel(ctx, path))
				return p, store.Put(key, p)
			},
			Cached: func(context.Context, string) (pair.Pair, bool) {
				p, err := store.Get(key)
				return p, err == nil
			},
		}))
		required := must(compiler.IsNewCompileRequired(ctx, "testdata/tiny.mil"))

		// Once, out of the hot loop: compile and load. A cache hit skips the lowering.
		library := must(compiler.Compile(ctx, "testdata/tiny.mil"))
		function := must(library.RetainProgramFunction("main"))
		try(function.LoadForExecution(ctx))
		opOpts := must(e5rt.CreateWithProgramFunction(function))
		op := must(e5rt.CreatePrecompiledComputeOperationWithOptions(opOpts))
		inPort := must(op.RetainInputPort("x"))
		inBuf := must(rt.BufferObjectAlloc(inPort.TensorDescriptor().Size, 0))
		try(inPort.BindBufferObject(inBuf)) // bound once, refilled per frame
		outPort := must(op.RetainOutputPort("y"))
		outBuf := must(rt.BufferObjectAlloc(outPort.TensorDescriptor().Size, 0))
		try(outPort.BindBufferObject(outBuf))
		stream := must(rt.NewExecutionStream())

		x, y := must(inBuf.View(inPort.TensorDescriptor())), must(outBuf.View(outPort.TensorDescriptor()))
		pixels := make([]float32, 8*8*8)
		for frame := range 3 {
			// Inside the loop: write the next frame, then encode, execute, reset.
			for i := range pixels {
				pixels[i] = float32(frame)
			}
			try(setFloats(x, pixels...))
			try(op.PrepareOpForEncode())
			try(stream.EncodeOperation(op))
			try(stream.ExecuteSync(ctx))
			try(stream.Reset())
			fmt.Printf("process %d, frame %d: %.4g\n", process, frame, y.Tensor().Floats32()[:2])
		}
		fmt.Printf("process %d: compile required %t, lowerings %d\n", process, required, lowerings)
	}
	// Output:
	// process 0, frame 0: [0 1]
	// process 0, frame 1: [7.988 0.0332]
	// process 0, frame 2: [16.47 0.05078]
	// process 0: compile required true, lowerings 1
	// process 1, frame 0: [0 1]
	// process 1, frame 1: [7.988 0.0332]
	// process 1, frame 2: [16.47 0.05078]
	// process 1: compile required false, lowerings 0
}
