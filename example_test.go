package zinc_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/zinc-compiler/zinc"
	"github.com/zinc-compiler/zinc/transform/patch"
)

// must ends an example at an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// largest returns the index of the largest value.
func largest(vs []float32) (best int) {
	for i, v := range vs {
		if v > vs[best] {
			best = i
		}
	}
	return best
}

// Compile a model, run it on an npy file, read the scores.
func Example() {
	ctx := context.Background()
	pair := must(zinc.Compile(ctx, "examples/digits/digits.mlmodelc", zinc.Options{}))
	fmt.Println(pair.Report.EngineOps, "operations on the engine in", pair.Report.Dispatches, "dispatch")

	model := must(pair.Open(ctx, zinc.RunOptions{}))
	defer model.Close()
	for _, f := range model.Functions() {
		for _, p := range f.Inputs {
			fmt.Println(f.Name, "takes", p.Name, p.Type, p.Shape)
		}
	}

	image := must(zinc.DecodeNPY(must(os.ReadFile("examples/digits/testdata/7.npy"))))
	out := must(model.Run(ctx, map[string]zinc.Tensor{"image": image}))
	fmt.Println("it is a", largest(must(zinc.Values[float32](out["probs"]))))
	// Output:
	// 8 operations on the engine in 1 dispatch
	// main takes image fp16 [1 1 28 28]
	// it is a 7
}

// Write a pair to files and open it from there, with the engine driven directly.
func ExampleOpen() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "zinc"))
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "digits.hwx")
	pair := must(zinc.Compile(ctx, "examples/digits/digits.mlmodelc", zinc.Options{}))
	if err := pair.Write(ctx, path); err != nil {
		log.Fatal(err)
	}

	model := must(zinc.Open(ctx, path, zinc.RunOptions{Direct: true}))
	defer model.Close()
	blank := make([]float32, 28*28)
	out := must(model.Run(ctx, map[string]zinc.Tensor{"image": zinc.Of(blank, 1, 1, 28, 28)}))
	fmt.Println(out["probs"].Shape)
	// Output: [1 10 1 1]
}

// What is wrong about a model's text has its place; what a function does not take has
// its name.
func ExampleModelError() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "zinc"))
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "wrong.mil")
	text := `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4]> x) {
        tensor<fp16, [1, 5]> y = relu(x = x)[name = string("y")];
    } -> (y);
}
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		log.Fatal(err)
	}
	_, err := zinc.Compile(ctx, path, zinc.Options{})
	var wrong *zinc.ModelError
	if errors.As(err, &wrong) {
		d := wrong.Diagnostics[0]
		fmt.Printf("line %d: %s\n", d.Line, d.Message)
	}

	pair := must(zinc.Compile(ctx, "examples/digits/digits.mlmodelc", zinc.Options{}))
	model := must(pair.Open(ctx, zinc.RunOptions{Direct: true}))
	defer model.Close()
	_, err = model.Run(ctx, map[string]zinc.Tensor{"image": zinc.Of([]float32{1, 2, 3})})
	var value *zinc.ValueError
	if errors.As(err, &value) {
		fmt.Println(value.Kind, value.Name, "is wrong:", value.Err)
	}
	// Output:
	// line 4: y is declared tensor<fp16, [1, 5]>, but the operation returns tensor<fp16, [1, 4]>
	// input image is wrong: the shape is [3], want [1, 1, 28, 28]
}

// Put new values into a compiled pair: its tasks stay the same bytes.
func ExamplePair_Patch() {
	ctx := context.Background()
	pair := must(zinc.Compile(ctx, "examples/digits/digits.mlmodelc", zinc.Options{DebugDB: true}))
	bias := zinc.Tensor{Type: "f2", Shape: []int64{10}, Data: make([]byte, 2*10)}
	patched := must(pair.Patch(map[string]zinc.Tensor{"conv3_bias": bias}))
	fmt.Println("bytes of the container:", len(patched.Container) == len(pair.Container))

	_, err := pair.Patch(map[string]zinc.Tensor{"probs": bias})
	var no *patch.Refusal
	fmt.Println("refused:", errors.As(err, &no))
	fmt.Println(no.Reason)
	// Output:
	// bytes of the container: true
	// refused: true
	// it is the result of softmax, no constant
}

// A folder of compiled pairs makes the second compilation a read.
func ExampleOptions_cache() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "zinc"))
	defer os.RemoveAll(dir)
	o := zinc.Options{Cache: dir, CacheBytes: 64 << 20}
	for range 2 {
		pair := must(zinc.Compile(ctx, "examples/digits/digits.mlmodelc", o))
		fmt.Println("from the cache:", pair.Cached)
	}
	// Output:
	// from the cache: false
	// from the cache: true
}

// States keep from run to run what a run leaves in them.
func ExampleModel_State() {
	ctx := context.Background()
	pair := must(zinc.Compile(ctx, "testdata/total.mil", zinc.Options{}))
	model := must(pair.Open(ctx, zinc.RunOptions{}))
	defer model.Close()
	for range 3 {
		must(model.Run(ctx, map[string]zinc.Tensor{"x": zinc.Of([]float32{1, 2, 3, 4}, 1, 4)}))
	}
	total := must(model.State("main", "total"))
	fmt.Println(must(zinc.Values[float32](total)))
	// Output: [3 6 9 12]
}

// A state that is set replaces what earlier runs left in it.
func ExampleModel_SetState() {
	ctx := context.Background()
	pair := must(zinc.Compile(ctx, "testdata/total.mil", zinc.Options{}))
	model := must(pair.Open(ctx, zinc.RunOptions{}))
	defer model.Close()
	if err := model.SetState("main", "total", zinc.Of([]float32{10, 20, 30, 40}, 1, 4)); err != nil {
		log.Fatal(err)
	}
	must(model.Run(ctx, map[string]zinc.Tensor{"x": zinc.Of([]float32{1, 2, 3, 4}, 1, 4)}))
	fmt.Println(must(zinc.Values[float32](must(model.State("main", "total")))))
	// Output: [11 22 33 44]
}

// A pair is read by the name of either of its files.
func ExampleReadPair() {
	ctx := context.Background()
	dir := must(os.MkdirTemp("", "zinc"))
	defer os.RemoveAll(dir)
	container, descriptor := zinc.PairPaths(filepath.Join(dir, "total.hwx"))
	compiled := must(zinc.Compile(ctx, "testdata/total.mil", zinc.Options{}))
	for path, data := range map[string][]byte{container: compiled.Container, descriptor: compiled.Descriptor} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			log.Fatal(err)
		}
	}
	model := must(must(zinc.ReadPair(descriptor)).Open(ctx, zinc.RunOptions{}))
	defer model.Close()
	fmt.Println(filepath.Base(container), filepath.Base(descriptor))
	// Output: total.hwx total.e5
}

func ExampleScalar() {
	fmt.Println(must(zinc.Scalar[int32](zinc.Of([]int32{7}, 1))))
	_, err := zinc.Scalar[int32](zinc.Of([]int32{7, 8}))
	fmt.Println(err)
	// Output:
	// 7
	// zinc: want a scalar, got a tensor of shape [2] with 2 elements
}
