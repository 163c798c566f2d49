package neuralnetwork_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mlmodel"
	"github.com/zinc-compiler/zinc/internal/npy"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

// evaluator returns a Python that has NumPy.
func evaluator(t *testing.T) string {
	t.Helper()
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(p, "-c", "import numpy").Run() == nil {
			return p
		}
	}
	t.Skip("no python3 with numpy, which evaluates the networks")
	return ""
}

// written is a model in a file with its inputs beside it.
type written struct {
	path, dir string
	inputs    map[string]interp.Tensor
}

func write(t *testing.T, s sample) written {
	t.Helper()
	dir := t.TempDir()
	w := written{filepath.Join(dir, "m.mlmodel"), filepath.Join(dir, "arrays"), map[string]interp.Tensor{}}
	if err := os.WriteFile(w.path, s.model, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, shape := range s.inputs {
		w.inputs[name] = input(t, w.dir, name, shape)
	}
	return w
}

// input writes the array of an input, and returns it. A lone number is an index.
func input(t *testing.T, dir, name string, shape []int64) interp.Tensor {
	t.Helper()
	typ := ir.TensorOf(ir.FP32, shape...)
	vs := noise(int(typ.Elems()), 0, 2)
	if typ.Elems() == 1 {
		vs[0] = 1
	}
	x, err := npy.FromFloats("f4", shape, vs)
	if err != nil {
		t.Fatal(err)
	}
	file, err := npy.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".npy"), file, 0o666); err != nil {
		t.Fatal(err)
	}
	return interp.Tensor{Type: typ, Data: x.Data}
}

// TestLayersComputeWhatNumPyComputes opens networks of every kind of layer and runs their programs in fp32. The outputs
// must equal the outputs of an evaluator that shares no code with the reader and computes in float64.
func TestLayersComputeWhatNumPyComputes(t *testing.T) {
	python := evaluator(t)
	all := samples()
	files := make([]written, len(all))
	args := []string{"testdata/evaluate.py"}
	for i, s := range all {
		files[i] = write(t, s)
		args = append(args, files[i].path, files[i].dir)
	}
	if out, err := exec.Command(python, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, s := range all {
		t.Run(s.name, func(t *testing.T) {
			m, err := frontend.Open(files[i].path, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			f := m.Program.Funcs[0]
			got, err := interp.Run(t.Context(), f, files[i].inputs, interp.Options{Numerics: numerics.IEEE})
			if err != nil {
				t.Fatal(err)
			}
			const rounding = 64 * 0x1p-24 // of sums of up to 108 products and of functions
			if worst, _ := distance(t, got["y"], files[i].dir, 0); worst > rounding {
				t.Errorf("an element of %s is off by %g of the largest, want %g", got["y"].Type, worst, rounding)
			}
		})
	}
}

// distance returns how far an output is from the evaluator's: the worst element relative to the largest, and the root
// mean squares relative to each other.
func distance(t *testing.T, got interp.Tensor, dir string, i int) (worst, mean float64) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.out.npy", i)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := npy.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if int64(want.Elems()) != got.Type.Elems() {
		t.Fatalf("the output is %s, want the shape %v", got.Type, want.Shape)
	}
	var scale, all, off float64
	for i := range want.Elems() {
		g, w := got.Const().Float(int64(i)), float64At(want, i)
		if math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if d := math.Abs(g - w); !(d <= worst) {
			worst = d
		}
		scale, all, off = max(scale, math.Abs(w)), all+w*w, off+(g-w)*(g-w)
	}
	if worst == 0 {
		return 0, 0
	}
	return worst / scale, math.Sqrt(off / all)
}

func float64At(a npy.Array, i int) float64 {
	c := ir.Const{Type: ir.TensorOf(ir.FP64, int64(a.Elems())), Data: a.Data}
	return c.Float(int64(i))
}

// TestPublicNetworks does the same for the networks in the folder of ZINC_NETWORKS, which are not part of the
// repository. Their rounding grows from layer to layer; a layer that is read wrongly is off by more than 1 %.
func TestPublicNetworks(t *testing.T) {
	dir := os.Getenv("ZINC_NETWORKS")
	if dir == "" {
		t.Skip("ZINC_NETWORKS names no folder with networks")
	}
	python := evaluator(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.mlmodel"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no networks in %s: %v", dir, err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			m, err := frontend.Open(f, frontend.Options{})
			if err != nil {
				if !strings.Contains(err.Error(), "layer ") {
					t.Error(err)
				}
				t.Skip(err)
			}
			defer m.Close()
			if err := ir.Verify(m.Program); err != nil {
				t.Error(err)
			}
			fn := m.Program.Funcs[0]
			arrays := t.TempDir()
			inputs := map[string]interp.Tensor{}
			for _, v := range fn.Body.Params {
				inputs[v.Name] = input(t, arrays, v.Name, v.Type.Shape)
			}
			if out, err := exec.Command(python, "testdata/evaluate.py", f, arrays).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			got, err := interp.Run(t.Context(), fn, inputs, interp.Options{Numerics: numerics.IEEE})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range fn.Body.Outputs {
				const rounding = 0x1p-14
				worst, mean := distance(t, got[v.Name], arrays, i)
				if t.Logf("%s: worst element %.2g, root mean square %.2g", v.Name, worst, mean); mean > rounding {
					t.Errorf("%s is off by %g, want %g", v.Name, mean, rounding)
				}
			}
		})
	}
}

// TestFaultsNameTheLayer reads networks that cannot be read: the error has the place in the file, the layer and why.
func TestFaultsNameTheLayer(t *testing.T) {
	conv := func(parts ...[]byte) []byte { return msg(100, append(parts, num(1, 2), num(2, 4))...) }
	for _, c := range []struct {
		sample
		want string
	}{
		{one("custom", cube, 1, msg(500, text(10, "MyLayer"))),
			`neuralNetwork.layers[0]: layer "the layer" of kind custom: custom layers have code of their own, ` +
				`which is not ` +
				`in the file (class "MyLayer")`},
		{one("unread", cube, 1, msg(1065)),
			`layer "the layer" of kind getShape: zinc does not read layers of this kind`},
		{one("unknown", cube, 1, msg(9999)), "neuralNetwork.layers[0]: want one of the"},
		{one("channels", cube, 1, msg(100, num(1, 2), num(2, 3), msg(51), weights(90, 54))),
			"convolution.kernelChannels: layer \"the layer\" of kind convolution: its input has 4 channels; the " +
				"kernel has 3"},
		{one("padding", cube, 1, conv(weights(90, 72))), "want valid or same padding"},
		{one("short", cube, 1, conv(msg(51), weights(90, 71))), "the weights [2, 4, 3, 3] need 288 bytes, got 284"},
		{one("long", cube, 1, conv(msg(51), weights(90, 73))), "need 288 bytes, got 292"},
		{one("missing", cube, 1, conv(msg(51))), "weights is missing"},
		{one("bits", cube, 1, conv(msg(51), indexed(90, 72, 9, table(1)))), "weights of 9 bits; want 1 to 8"},
		{one("table", cube, 1, conv(msg(51), indexed(90, 72, 4, table(3)))), "has 8 values, want 16"},
		{one("dynamic", cube, 1, msg(140, num(1, 168), num(2, 1), num(22, 1))), "zinc does not quantize inputs"},
		{one("dilated", cube, 1, conv(msg(51), num(60, 1), nums(40, 2, 2))),
			"a transposed convolution with dilation [2, 2]"},
		{one("average", cube, 1, msg(120, num(1, 1), nums(10, 3, 2), nums(20, 2, 2), msg(32, nums(10, 0, 0)))),
			"the last window of an average extends 1 elements beyond the padding"},
		{one("rank", []int64{3, 4}, 1, msg(175)), `input "x" has 2 dimensions`},
		{chain("name", cube, layer("s", []string{"z"}, []string{"y"}, msg(175))),
			`its input "z" is not an input of the`},
		{chain("output", cube, layer("s", []string{"x"}, []string{"z"}, msg(175))),
			`output "y" of the model is not an`},
		{image("scale", 20, 3, msg(2, msg(10, flt(20, 1)))), "channelScale is 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := frontend.Open(write(t, c.sample).path, frontend.Options{})
			fault := (*mlmodel.Error)(nil)
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestClassifierKeepsItsLabels opens a classifier, whose program returns the probabilities, and converts it.
func TestClassifierKeepsItsLabels(t *testing.T) {
	description := join(array(1, "x", 4), msg(10, text(1, "probs"), msg(3, msg(6, msg(2)))),
		msg(10, text(1, "label"), msg(3, msg(3))), text(11, "label"), text(12, "probs"))
	s := sample{"classifier", join(num(1, 1), bin(2, description), msg(403,
		layer("s", []string{"x"}, []string{"probs"}, msg(175)), msg(100, text(1, "a"), text(1, "b"), text(1, "c"),
			text(1, "d")))), map[string][]int64{"x": {4}}}
	path := write(t, s).path
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	out := m.Program.Funcs[0].Body.Outputs
	if len(out) != 1 || out[0].Name != "probs_probabilities" || out[0].Type.String() != "tensor<fp32, [4]>" {
		t.Errorf("the outputs are %v", out)
	}
	src, err := frontend.OpenSource(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	f := src.Spec.Metadata.Functions[0]
	text := src.Spec.Program.File.Src
	if f.Predicted != "label" || f.Probabilities != "probs" || !strings.Contains(text,
		"label, dict<tensor<string, []>, tensor<fp64, []>> probs = classify(") ||
		!strings.Contains(text, `["a", "b", "c", "d"]`) {
		t.Errorf("described as %+v:\n%s", f, text)
	}
	if _, err := mlmodel.Encode(src.Spec); err != nil {
		t.Error(err)
	}
}

// TestFlexibleShapesAreKept opens a network on images of two sizes, once with layers that work on any size and once
// with one that needs to know it.
func TestFlexibleShapesAreKept(t *testing.T) {
	size := func(w, h int64) []byte { return msg(1, num(1, w), num(2, h)) }
	in := msg(1, text(1, "x"), msg(3, msg(4, num(1, 6), num(2, 6), num(3, 20), msg(21, size(6, 6), size(8, 10)))))
	conv := layer("c", []string{"x"}, []string{"h"}, msg(100, num(1, 2), num(2, 3), msg(51), weights(90, 54)))
	for _, c := range []struct {
		name    string
		last    []byte
		shape   string
		warning string
	}{
		{"any size", msg(130, msg(10)), "tensor<fp32, [2, ?, ?]>", ""},
		{name: "a known size", last: msg(301), shape: "tensor<fp32, [72]>",
			warning: `layer "l" of kind flatten: the layer needs shapes that are known`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sample{c.name, network(join(in, array(10, "y")), conv, layer("l", []string{"h"}, []string{"y"},
				c.last)), nil}
			m, err := frontend.Open(write(t, s).path, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			f := m.Program.Funcs[0]
			if got := f.Body.Outputs[0].Type.String(); got != c.shape {
				t.Errorf("the output is %s, want %s", got, c.shape)
			}
			if kept := len(f.Flex.Enums) == 2; kept != (c.warning == "") {
				t.Errorf("the shapes are %+v", f.Flex)
			}
			var warnings strings.Builder
			if err := m.Warnings.WriteText(&warnings); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(warnings.String(), c.warning) {
				t.Errorf("the warnings are %q, want %q", &warnings, c.warning)
			}
		})
	}
}
