package zinc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc"
	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/transform/patch"
)

const digits = "examples/digits/digits.mlmodelc"

func got[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func compiled(t testing.TB, path string) *zinc.Pair {
	t.Helper()
	return got[*zinc.Pair](t)(zinc.Compile(context.Background(), path, zinc.Options{}))
}

func opened(t testing.TB, p *zinc.Pair, o zinc.RunOptions) *zinc.Model {
	t.Helper()
	m := got[*zinc.Model](t)(p.Open(context.Background(), o))
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// The whole stack and the engine alone give the same bits, a container alone too.
func TestRunReturnsTheBitsOfTheCommand(t *testing.T) {
	ctx := context.Background()
	pair := compiled(t, digits)
	image := got[zinc.Tensor](t)(zinc.DecodeNPY(got[[]byte](t)(os.ReadFile("examples/digits/testdata/3.npy"))))
	in := map[string]zinc.Tensor{"image": image}
	want := got[map[string]zinc.Tensor](t)(opened(t, pair, zinc.RunOptions{}).Run(ctx, in))
	direct := got[map[string]zinc.Tensor](t)(opened(t, pair, zinc.RunOptions{Direct: true, Workers: 1}).Run(ctx, in))
	if !reflect.DeepEqual(direct, want) {
		t.Error("the engine alone gives other bits")
	}
	// Numbers past what the engine's products hold (docs/numerics.md).
	large := make([]float32, 28*28)
	for i := range large {
		large[i] = 40000
	}
	past := map[string]zinc.Tensor{"image": zinc.Of(large, 1, 1, 28, 28)}
	ieee := got[map[string]zinc.Tensor](t)(opened(t, pair, zinc.RunOptions{Direct: true, Numerics: "ieee"}).
		Run(ctx, past))
	ane := got[map[string]zinc.Tensor](t)(opened(t, pair, zinc.RunOptions{Direct: true, Numerics: "ane"}).
		Run(ctx, past))
	if reflect.DeepEqual(ieee, ane) {
		t.Error("both arithmetics give the same bits")
	}
	// Numbers of float32 are rounded to what the port takes.
	fs := got[[]float32](t)(zinc.Values[float32](image))
	in["image"] = zinc.Of(fs, image.Shape...)
	if out := got[map[string]zinc.Tensor](t)(opened(t, pair, zinc.RunOptions{Direct: true}).
		Run(ctx, in)); !reflect.DeepEqual(out, want) {
		t.Error("inputs of float32 give other bits")
	}

	path := filepath.Join(t.TempDir(), "alone.hwx")
	if err := (&zinc.Pair{Container: pair.Container}).Write(ctx, path); err != nil {
		t.Fatal(err)
	}
	m := got[*zinc.Model](t)(zinc.Open(ctx, path, zinc.RunOptions{}))
	defer m.Close()
	if f := m.Functions(); len(f) != 1 || len(f[0].Inputs) != 1 {
		t.Errorf("the container alone has functions %+v", f)
	}
}

func TestPairsAreWrittenAndRead(t *testing.T) {
	ctx := context.Background()
	pair := compiled(t, digits)
	dir := t.TempDir()
	path := filepath.Join(dir, "d.hwx")
	if err := pair.Write(ctx, path); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Join(dir, "d.e5")} {
		back := got[*zinc.Pair](t)(zinc.ReadPair(p))
		if !bytes.Equal(back.Container, pair.Container) || !bytes.Equal(back.Descriptor, pair.Descriptor) {
			t.Errorf("%s gives another pair", p)
		}
	}
	if err := os.Remove(filepath.Join(dir, "d.e5")); err != nil {
		t.Fatal(err)
	}
	if _, err := zinc.ReadPair(path); err == nil || !strings.Contains(err.Error(), "belongs beside") {
		t.Errorf("half a pair gives %v", err)
	}
}

func TestErrorsHaveTypes(t *testing.T) {
	ctx := context.Background()
	for want, o := range map[string]zinc.Options{
		"precision":   {Precision: "fp8"},
		"target":      {Target: "h99"},
		"no programs": {Target: "h12"},
		"function":    {Func: "none"},
	} {
		if _, err := zinc.Compile(ctx, digits, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", o, err, want)
		}
	}
	pair := compiled(t, digits)
	if _, err := pair.Open(ctx, zinc.RunOptions{Numerics: "exact"}); err == nil {
		t.Error("an unknown arithmetic is taken")
	}
	if _, err := (&zinc.Pair{
		Container:  []byte("no container"),
		Descriptor: pair.Descriptor,
	}).Open(ctx, zinc.RunOptions{}); err == nil {
		t.Error("a container that is none is opened")
	}
	m := opened(t, pair, zinc.RunOptions{Direct: true})
	for want, in := range map[string]map[string]zinc.Tensor{
		"missing": {},
		"input \"x\": unknown name; the inputs are image": {"x": zinc.Of([]float32{1})},
		"[784], want":                 {"image": zinc.Of(make([]float32, 784))},
		"want f2":                     {"image": zinc.Of(make([]int32, 784), 1, 1, 28, 28)},
		"needs 784 elements":          {"image": zinc.Of(make([]float32, 783), 1, 1, 28, 28)},
		"element type \"\"":           {"image": {}},
		"is not a valid tensor shape": {"image": {Type: "f4", Shape: []int64{-1}}},
	} {
		_, err := m.Run(ctx, in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error with %q", in, err, want)
		}
		if v := (*zinc.ValueError)(nil); !errors.As(err, &v) || v.Function != "main" || v.Kind != "input" ||
			v.Err == nil || strings.Contains(v.Err.Error(), "zinc:") {
			t.Errorf("%v: the error is %#v", in, err)
		}
	}
	_, err := m.RunFunction(ctx, "none", nil)
	if f := (*zinc.FunctionError)(nil); !errors.As(err, &f) || f.Name != "none" || !reflect.DeepEqual(f.Has,
		[]string{"main"}) {
		t.Errorf("a function that is not there gives %v", err)
	}
	if _, err := m.State("main", "none"); !errors.As(err, new(*zinc.ValueError)) {
		t.Errorf("a state that is not there gives %v", err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Run(ctx, nil); !errors.Is(err, zinc.ErrClosed) {
		t.Errorf("a closed model gives %v", err)
	}
}

// What is wrong about a text has its place, wherever the wrapping; other errors come from the file system.
func TestModelErrorsHavePositions(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "bad.mil")
	text := `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4]> x) {
        tensor<fp16, [1, 4]> y = relu(x = z)[name = string("y")];
        tensor<fp16, [1, 5]> w = relu(x = x)[name = string("w")];
    } -> (y);
}
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := zinc.Compile(ctx, path, zinc.Options{})
	m := (*zinc.ModelError)(nil)
	if !errors.As(fmt.Errorf("building: %w", err), &m) {
		t.Fatalf("the error is %#v", err)
	}
	if d := m.Diagnostics[0]; d.File != path || d.Line != 4 || d.Column == 0 || d.Message == "" || d.Code == "" {
		t.Errorf("the first of %d diagnostics is %+v", len(m.Diagnostics), d)
	}
	if !strings.Contains(err.Error(), "bad.mil:4:") {
		t.Errorf("the error is %v", err)
	}
	if _, err := zinc.Compile(ctx, path+"x", zinc.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a model that is not there: %v", err)
	}
	if _, err := zinc.Open(ctx, path+"x", zinc.RunOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pair that is not there: %v", err)
	}
	pair := got[*zinc.Pair](t)(zinc.Compile(ctx, digits, zinc.Options{DebugDB: true}))
	if _, err := pair.Patch(map[string]zinc.Tensor{"conv3_weight": zinc.Of([]float32{1})}); !errors.As(err,
		new(*patch.Refusal)) {
		t.Errorf("a patch of another shape: %v", err)
	}
	// Half a pair: the half that is there stands alone, the other one is missing.
	pairPath := filepath.Join(t.TempDir(), "half.hwx")
	if err := pair.Write(ctx, pairPath); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(pairPath); err != nil {
		t.Fatal(err)
	}
	if _, err := zinc.Open(ctx, pairPath, zinc.RunOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a container that is missing: %v", err)
	}
}

// endsAfter is a context that ends when it has been asked so often.
type endsAfter struct {
	context.Context
	left   atomic.Int64
	cancel context.CancelFunc
}

func (c *endsAfter) Err() error {
	if c.left.Add(-1) <= 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// Wherever a run is cut off, the model is as it was before it.
func TestCancelledContextsStopCalls(t *testing.T) {
	pair := compiled(t, "testdata/total.mil")
	in := map[string]zinc.Tensor{"x": zinc.Of([]float32{1, 2, 3, 4}, 1, 4)}
	for _, direct := range []bool{true, false} {
		m := opened(t, pair, zinc.RunOptions{Direct: direct})
		before := got[zinc.Tensor](t)(m.State("main", "total"))
		cut := 0
		for n := int64(1); ; n++ {
			inner, cancel := context.WithCancel(context.Background())
			ctx := &endsAfter{Context: inner, cancel: cancel}
			ctx.left.Store(n)
			_, err := m.Run(ctx, in)
			cancel()
			if err == nil {
				break
			}
			cut++
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("direct %v, asked %d times: %v", direct, n, err)
			}
			if now := got[zinc.Tensor](t)(m.State("main", "total")); !reflect.DeepEqual(now, before) {
				t.Fatalf("direct %v, asked %d times: the state is %v", direct, n, now)
			}
		}
		if cut == 0 {
			t.Errorf("direct %v: no run was cut off", direct)
		}
		if vs := got[[]float32](t)(zinc.Values[float32](got[zinc.Tensor](t)(m.State("main",
			"total")))); !reflect.DeepEqual(vs, []float32{1, 2, 3, 4}) {
			t.Errorf("direct %v: after one run the state is %v", direct, vs)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := zinc.Compile(ended, digits, zinc.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a compilation that was ended: %v", err)
	}
}

// A call that waits for its turn ends with its context; one that waits while the
// model is closed is told so, and so is a second model of the same pair not.
func TestClosedWhileUsed(t *testing.T) {
	pair := compiled(t, digits)
	m, other := opened(t, pair, zinc.RunOptions{}), opened(t, pair, zinc.RunOptions{})
	in := map[string]zinc.Tensor{"image": zinc.Of(make([]float32, 784), 1, 1, 28, 28)}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*time.Millisecond)
			defer cancel()
			if _, err := m.Run(ctx, in); err != nil && !errors.Is(err, zinc.ErrClosed) &&
				!errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			if _, err := other.Run(context.Background(), in); err != nil {
				t.Error(err)
			}
		})
		if i == 4 {
			wg.Go(func() {
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for _, err := range []error{func() error {
		_, err := m.State("main", "x")
		return err
	}(), m.SetState("main", "x", zinc.Tensor{})} {
		if !errors.Is(err, zinc.ErrClosed) {
			t.Errorf("a closed model gives %v", err)
		}
	}
}

func TestTensorsConvertValues(t *testing.T) {
	round(t, []bool{true, false}, "b1")
	round(t, []int8{-1, 2}, "i1")
	round(t, []int16{-1, 2}, "i2")
	round(t, []int32{-1, 2}, "i4")
	round(t, []int64{-1, 2}, "i8")
	round(t, []uint8{1, 255}, "u1")
	round(t, []uint16{1, 2}, "u2")
	round(t, []uint32{1, 2}, "u4")
	round(t, []uint64{1, 2}, "u8")
	round(t, []float32{1, -2.5}, "f4")
	round(t, []float64{1, -2.5}, "f8")
	if _, err := zinc.Values[int32](zinc.Of([]float32{1})); err == nil {
		t.Error("floats are read as integers")
	}
	if _, err := (zinc.Tensor{Type: "f4", Shape: []int64{2}, Data: make([]byte, 7)}).EncodeNPY(); err == nil {
		t.Error("data of another size is written")
	}
}

func round[T zinc.Element](t *testing.T, vs []T, typ string) {
	t.Helper()
	x := zinc.Of(vs, 2, 1)
	file := got[[]byte](t)(x.EncodeNPY())
	back := got[zinc.Tensor](t)(zinc.DecodeNPY(file))
	if x.Type != typ || !reflect.DeepEqual(back, x) || !reflect.DeepEqual(got[[]T](t)(zinc.Values[T](back)), vs) {
		t.Errorf("%v became %v", vs, back)
	}
}

// TestPatchedPairsComputeWithNewWeights patches a pair that was compiled and one that was read.
func TestPatchedPairsComputeWithNewWeights(t *testing.T) {
	ctx := context.Background()
	weights := map[string]zinc.Tensor{"conv3_weight": got[zinc.Tensor](t)(
		zinc.DecodeNPY(got[[]byte](t)(os.ReadFile("examples/patch/testdata/conv3_weight.npy"))))}
	if _, err := compiled(t, digits).Patch(weights); !errors.Is(err, zinc.ErrNoDebug) {
		t.Errorf("without a debug database: %v", err)
	}
	pair := got[*zinc.Pair](t)(zinc.Compile(ctx, digits, zinc.Options{DebugDB: true}))
	patched := got[*zinc.Pair](t)(pair.Patch(weights))
	path := filepath.Join(t.TempDir(), "d.hwx")
	if err := pair.Write(ctx, path); err != nil {
		t.Fatal(err)
	}
	read := got[*zinc.Pair](t)(zinc.ReadPair(path))
	if again := got[*zinc.Pair](t)(read.Patch(weights)); !bytes.Equal(again.Container, patched.Container) ||
		bytes.Equal(again.Container, pair.Container) {
		t.Error("the pair that was read is patched to another")
	}
	if err := os.Remove(strings.TrimSuffix(path, ".hwx") + ".zdb"); err != nil {
		t.Fatal(err)
	}
	if _, err := read.Patch(weights); !errors.Is(err, zinc.ErrNoDebug) {
		t.Errorf("without the file: %v", err)
	}
	weights["conv3_bias"] = zinc.Tensor{Type: "f2", Shape: []int64{10}, Data: make([]byte, 3)}
	if _, err := pair.Patch(weights); err == nil || !strings.Contains(err.Error(), "conv3_bias") {
		t.Errorf("half an element: %v", err)
	}
}

// Goroutines share a model; each gets its own answer.
func TestModelsRunConcurrently(t *testing.T) {
	m := opened(t, compiled(t, digits), zinc.RunOptions{})
	var wg sync.WaitGroup
	for d := range 4 {
		image := got[zinc.Tensor](t)(zinc.DecodeNPY(got[[]byte](t)(os.ReadFile(filepath.Join("examples/digits/testdata",
			string(rune('0'+d))+".npy")))))
		wg.Go(func() {
			out, err := m.Run(context.Background(), map[string]zinc.Tensor{"image": image})
			if err != nil {
				t.Error(err)
				return
			}
			vs, err := zinc.Values[float32](out["probs"])
			if err != nil || largest(vs) != d {
				t.Errorf("%d is told as %d, %v", d, largest(vs), err)
			}
		})
	}
	wg.Wait()
}

func TestStatesAreKeptReadAndSet(t *testing.T) {
	ctx := context.Background()
	m := opened(t, compiled(t, "testdata/total.mil"), zinc.RunOptions{})
	if err := m.SetState("main", "total", zinc.Of([]float32{10, 20, 30, 40}, 1, 4)); err != nil {
		t.Fatal(err)
	}
	out := got[map[string]zinc.Tensor](t)(m.Run(ctx, map[string]zinc.Tensor{"x": zinc.Of([]float32{1, 1, 1, 1}, 1, 4)}))
	if vs := got[[]float32](t)(zinc.Values[float32](out["y"])); !reflect.DeepEqual(vs, []float32{11, 21, 31, 41}) {
		t.Errorf("y is %v", vs)
	}
	if err := m.SetState("main", "total", zinc.Of([]float32{1})); err == nil {
		t.Error("a state of another shape is taken")
	}
	if _, err := m.State("main", "none"); err == nil {
		t.Error("a state that is not there is read")
	}
}

// An output that is bound to an input is read by the next run.
func TestOutputsAreKeptAsInputs(t *testing.T) {
	ctx := context.Background()
	p := compiled(t, "runtime/sim/stack/e5rt/testdata/cache.mil")
	m := opened(t, p, zinc.RunOptions{})
	if err := m.Keep("main", "cache_out", "cache_in"); err != nil {
		t.Fatal(err)
	}
	want := make([]float32, 4*8)
	for step := range 4 {
		entry, at := make([]float32, 8), make([]float32, 4)
		at[step] = 1
		for i := range entry {
			entry[i] = float32(8*step + i)
		}
		copy(want[8*step:], entry)
		out := got[map[string]zinc.Tensor](t)(m.Run(ctx, map[string]zinc.Tensor{
			"entry": zinc.Of(entry, 1, 1, 1, 8), "position": zinc.Of(at, 1, 1, 4, 1),
		}))
		if len(out) != 0 {
			t.Errorf("the run returns %v", out)
		}
		kept := got[zinc.Tensor](t)(m.Kept(ctx, "main", "cache_in"))
		if vs := got[[]float32](t)(zinc.Values[float32](kept)); !reflect.DeepEqual(vs, want) {
			t.Errorf("step %d: the cache is %v", step, vs)
		}
	}
	if err := m.Keep("main", "cache_out", "entry"); err == nil {
		t.Error("an output and an input of other types are bound")
	}
	if _, err := m.Kept(ctx, "main", "entry"); err == nil {
		t.Error("an input that is not bound has a value")
	}
	if err := opened(t, p, zinc.RunOptions{Direct: true}).Keep("main", "cache_out", "cache_in"); err == nil {
		t.Error("the engine alone keeps values")
	}
}

// Everything that can change a byte changes the key, and the name of the folder of
// the weights does not.
func TestKeysDependOnEverythingCompiled(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "m.mlmodelc"), os.DirFS(digits)); err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(dir, "m.mlmodelc")
	key := func(o zinc.Options) string {
		t.Helper()
		k, err := zinc.Key(ctx, model, o)
		if err != nil {
			t.Fatal(err)
		}
		return k.String()
	}
	plain := key(zinc.Options{})
	for name, o := range map[string]zinc.Options{
		"defaults": {Target: "h13", Precision: "declared", Shapes: []map[string][]int64{}}, "workers": {Workers: 3},
		"cache": {Cache: "x", CacheBytes: 1},
	} {
		if key(o) != plain {
			t.Errorf("%s changes the key", name)
		}
	}
	seen := map[string]string{plain: "the model"}
	for name, o := range map[string]zinc.Options{
		"target": {Target: "h14"}, "precision": {Precision: "fp16"}, "function": {Func: "main"},
		"section": {OneSection: true}, "full": {FullTD: true},
		"symbols":       {OperationSymbols: true},
		"shape":         {Shapes: []map[string][]int64{{"image": {1, 1, 28, 28}}}},
		"another shape": {Shapes: []map[string][]int64{{"image": {2, 1, 28, 28}}}},
		"weights":       {WeightsDir: model},
	} {
		k := key(o)
		if other, ok := seen[k]; ok {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[k] = name
	}
	weights := filepath.Join(model, "weights", "weight.bin")
	b := got[[]byte](t)(os.ReadFile(weights))
	b[len(b)-1]++
	if err := os.WriteFile(weights, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, ok := seen[key(zinc.Options{})]; ok {
		t.Error("a byte of the weights does not change the key")
	}
	list := filepath.Join(dir, "net.plist")
	if err := os.WriteFile(list, []byte("<plist/>"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := zinc.Key(ctx, list, zinc.Options{}); !errors.Is(err, zinc.ErrUnknownFiles) {
		t.Errorf("a network description has the key %v", err)
	}
}

// Every option of the compiler can be given, or changes no byte and none of what is
// returned.
func TestOptionsCoverTheCompilers(t *testing.T) {
	mine := reflect.TypeFor[zinc.Options]()
	other := map[string]string{
		"SplitKernel": "OneSection", "InputName": "the model's own", "Observe": "a callback", "Progress": "a callback",
		"PrintAfter": "printing", "PrintChanged": "printing",
		"VerifyEach": "checking", "Log": "printing", "Provenance": "DebugDB",
		"Memory": "a memory of the same answers", "Until": "no pair",
		"TextFirst": "of --emit=anec, which writes no pair",
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[compile.Options]()) {
		if _, ok := mine.FieldByName(f.Name); !ok && other[f.Name] == "" {
			t.Errorf("compile.Options.%s is no field of Options: can it change a byte?", f.Name)
		}
	}
}

// A broken entry is compiled again.
func TestBrokenCacheEntriesAreCompiledAgain(t *testing.T) {
	ctx := context.Background()
	o := zinc.Options{Cache: t.TempDir()}
	first := got[*zinc.Pair](t)(zinc.Compile(ctx, "testdata/total.mil", o))
	es, err := filepath.Glob(filepath.Join(o.Cache, "*"))
	if err != nil || len(es) != 1 {
		t.Fatalf("the cache holds %v, %v", es, err)
	}
	if err := os.Truncate(es[0], 100); err != nil {
		t.Fatal(err)
	}
	again := got[*zinc.Pair](t)(zinc.Compile(ctx, "testdata/total.mil", o))
	if again.Cached || !bytes.Equal(again.Container, first.Container) {
		t.Error("a broken entry was taken")
	}
	if third := got[*zinc.Pair](t)(zinc.Compile(ctx, "testdata/total.mil", o)); !third.Cached ||
		!bytes.Equal(third.Descriptor, first.Descriptor) {
		t.Error("the entry was not replaced")
	}
}
