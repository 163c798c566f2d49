package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/inspect/check"
	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/lower"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// checkModel runs `zinc check --json` and returns its decoded output.
func checkModel(t *testing.T, path string, args ...string) check.Result {
	t.Helper()
	args = append([]string{"check", path, "--json"}, args...)
	s, out, errs := call(t, args...)
	if s != statusOK {
		t.Fatalf("zinc %s: status %d\n%s", strings.Join(args, " "), s, errs)
	}
	var r check.Result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// general are the rules that are not limits of a lowering rule.
var general = []string{
	target.RuleNever, target.RuleFamily, target.RuleNoCode, target.RuleBridge, target.RuleNoLowering,
	target.RuleConversion, target.RuleIdleMove, target.RuleCut, target.RuleOther,
}

// explained checks that every operation on the CPU has a rule, a value and a limit, that the rule is documented for its
// lowering rule, and that every dispatch after the first names what separates it from the previous one.
func explained(t *testing.T, r *check.Target) {
	t.Helper()
	held := map[string][]string{}
	for _, rule := range lower.Rules {
		held[rule.Name] = rule.Holds()
	}
	for _, o := range r.Ops {
		if (o.Unit == ir.CPU.String()) != (o.Refusal != nil) {
			t.Errorf("%s: %s %s is on unit %s with refusal %+v", r.Target, o.Op, o.Name, o.Unit, o.Refusal)
			continue
		}
		if o.Refusal == nil {
			continue
		}
		no := o.Refusal
		if _, ok := target.RuleOf(no.Rule); !ok || no.What == "" || no.Value == "" || no.Limit == "" ||
			o.Reason == "" || o.Line == 0 {
			t.Errorf("%s: line %d, %s %s: %q, %+v", r.Target, o.Line, o.Op, o.Name, o.Reason, no)
		}
		// What decompositions cover is documented in their own words, and any of their parts may be refused.
		decomposed := o.Rule == "" && len(passes.DecompositionsOf(ir.Named(o.Op))) > 0
		if !decomposed && !slices.Contains(general, no.Rule) && !slices.Contains(lower.TensorRules, no.Rule) &&
			!slices.Contains(held[o.Rule], no.Rule) {
			t.Errorf("%s: %s %s breaks %s, which rule %s is not documented to hold", r.Target, o.Op, o.Name, no.Rule,
				o.Rule)
		}
	}
	if len(r.DispatchList) != r.Dispatches {
		t.Errorf("%s: %d dispatches, %d described", r.Target, r.Dispatches, len(r.DispatchList))
	}
	for i, d := range r.DispatchList {
		if (d.Cause == "first") != (i == 0) || (d.Cause == "cpu") != (len(d.CutBy) > 0) {
			t.Errorf("%s: dispatch %d: %+v", r.Target, i, d)
		}
		for _, at := range d.CutBy {
			if r.Ops[at].Unit != ir.CPU.String() {
				t.Errorf("%s: dispatch %d is cut by %+v", r.Target, i, r.Ops[at])
			}
		}
	}
}

func count(r *check.Target, op, rule string) int {
	n := 0
	for _, o := range r.Ops {
		if o.Op == op && o.Refusal != nil && o.Refusal.Rule == rule {
			n++
		}
	}
	return n
}

// functions are the functions to check in models without a main.
var functions = map[string]string{"rb-multifunction-flexible": "second"}

// TestCheckExplainsEveryOperationOnTheCPU checks the explanations of the placement of real models.
func TestCheckExplainsEveryOperationOnTheCPU(t *testing.T) {
	shared := shareddir.Find(t)
	es, err := os.ReadDir(filepath.Join(shared, "corpus"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		dir := filepath.Join(shared, "corpus", e.Name())
		if _, err := os.Stat(filepath.Join(dir, "model.mil")); err != nil {
			continue
		}
		t.Run(e.Name(), func(t *testing.T) {
			args := []string{"--target", "h12,h13,h15"}
			if f := functions[e.Name()]; f != "" {
				args = append(args, "--func", f)
			}
			r := checkModel(t, shareddir.WithWeights(t, shared, dir), args...)
			for i := range r.Targets {
				explained(t, &r.Targets[i])
			}
			h12, h13 := &r.Targets[0], &r.Targets[1]
			switch {
			case e.Name() == "whisper-tiny-encoder":
				if h13.EngineMACsPercent != 100 || h13.CPUOps != 0 {
					t.Errorf("h13: %g %% of multiply-accumulates, %d operations on the CPU", h13.EngineMACsPercent,
						h13.CPUOps)
				}
				if count(h12, "softmax", target.RuleFamily) != 4 || count(h12, "layer_norm", target.RuleFamily) != 9 {
					t.Errorf("h12: %d softmax, %d layer_norm", count(h12, "softmax", target.RuleFamily),
						count(h12, "layer_norm", target.RuleFamily))
				}
			case e.Name() == "parakeet-eou-encoder-1280ms": // its masks are computed on the engine as well
				if h13.Dispatches != 1 || h13.CPUOps > 6 || h13.EngineMACsPercent != 100 {
					t.Errorf("h13: %d dispatches, %d operations on the CPU, %g %% of multiply-accumulates",
						h13.Dispatches, h13.CPUOps, h13.EngineMACsPercent)
				}
			case e.Name() == "parakeet-eou-decoder-lstm": // one step, which is written out
				if h13.EngineMACsPercent != 100 {
					t.Errorf("%g %% of multiply-accumulates on the engine", h13.EngineMACsPercent)
				}
			case strings.HasPrefix(e.Name(), "silero"):
				for _, o := range h13.Ops {
					if o.Op == "lstm" && (o.Refusal == nil || o.Refusal.Verdict == "") {
						t.Errorf("no reason for lstm on the %s", o.Unit)
					}
				}
			}
		})
	}
}

// detector has the structure of a one-stage detector: strided convolutions with silu, upsampling, a concatenated skip
// connection, and a choice of boxes at the end.
const detector = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4, 16, 16]> x) {
            tensor<int32, [2]> one = const()[name = string("one"), val = tensor<int32, [2]>([1, 1])];
            tensor<int32, [2]> two = const()[name = string("two"), val = tensor<int32, [2]>([2, 2])];
            tensor<fp16, [4, 4, 1, 1]> w = const()[name = string("w"), val = tensor<fp16, [4, 4, 1, 1]>([[[[1]], ` +
	`[[0]], [[0]], [[0]]], [[[0]], [[1]], [[0]], [[0]]], [[[0]], [[0]], [[1]], [[0]]], [[[0]], [[0]], [[0]], [[1]]]])];
            string pt = const()[name = string("pt"), val = string("valid")];
            bool no = const()[name = string("no"), val = bool(false)];
            tensor<fp16, [1, 4, 8, 8]> c1 = conv(x = x, weight = w, pad_type = pt, strides = two, dilations = one,` +
	` groups = int32(1))[name = string("c1")];
            tensor<fp16, [1, 4, 8, 8]> s1 = silu(x = c1)[name = string("s1")];
            tensor<fp16, [1, 4, 16, 16]> n = upsample_nearest_neighbor(x = s1, scale_factor_height = fp32(2.0), ` +
	`scale_factor_width = fp32(2.0))[name = string("n")];
            tensor<fp16, [1, 4, 16, 16]> u = cos(x = n)[name = string("u")];
            tensor<fp16, [1, 8, 16, 16]> j = concat(values = (u, x), axis = int32(1), interleave = no)[name = ` +
	`string("j")];
            tensor<fp16, [1, 8, 16, 16]> g = sigmoid(x = j)[name = string("g")];
            tensor<fp16, [1, 8, 256]> f = reshape(x = g, shape = tensor<int32, [3]>([1, 8, 256]))[name = string("f")];
            tensor<int32, [1, 8, 256]> best = argsort(x = f, axis = int32(1), ascending = no)[name = string("best")];
        } -> (f, best);
}
`

// TestCheckNamesWhatSplitsADetector checks that the output names what keeps a detector from running in one dispatch.
func TestCheckNamesWhatSplitsADetector(t *testing.T) {
	path := filepath.Join(t.TempDir(), "detector.mil")
	if err := os.WriteFile(path, []byte(detector), 0o666); err != nil {
		t.Fatal(err)
	}
	r := checkModel(t, path, "--target", "h13", "--place", "engine")
	h13 := &r.Targets[0]
	explained(t, h13)
	if h13.CPUOps != 2 || count(h13, "cos", target.RuleFamily) != 1 || count(h13, "argsort", target.RuleNoCode) != 1 {
		t.Errorf("on the CPU: %+v", h13.Ops)
	}
	if h13.Dispatches != 2 || h13.Ops[h13.DispatchList[1].CutBy[0]].Name != "u" {
		t.Errorf("%+v", h13.DispatchList)
	}
}
