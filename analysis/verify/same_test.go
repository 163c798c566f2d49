package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/numerics"
	"github.com/zinc-compiler/zinc/passes"
	"github.com/zinc-compiler/zinc/target"
)

// inBranch computes its output in a branch that data choose.
const inBranch = `program(1.3) {
    func main<ios18>(tensor<fp16, [4]> x, tensor<fp16, [1]> p) {
        tensor<fp16, [6]> q = pad(x = x, pad = [1, 1], mode = "reflect");
        tensor<bool, [1]> g = less(x = p, y = fp16(100.0));
        bool c = squeeze(x = g);
        tensor<fp16, [6]> y = cond(pred = c) () {
            tensor<fp16, [6]> a = acos(x = q);
            tensor<fp16, [6]> v = mul(x = a, y = fp16(2.0));
        } -> (v) () {
            tensor<fp16, [6]> w = mul(x = q, y = q);
        } -> (w);
        tensor<fp16, [6]> z = atan(x = y);
    } -> (z);
}
`

// TestChangesOnTheCPUAreNotTheSameCode changes what an operation on the CPU computes as a wrong pass would.
func TestChangesOnTheCPUAreNotTheSameCode(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		want           Verdict
	}{
		{"nothing", "fp16(2.0)", "fp16(2.0)", Pass},
		{"a number in a branch", "fp16(2.0)", "fp16(0.5)", CannotTell},
		{"a string", "reflect", "replicate", Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := func(text string) *compile.Result {
				path := filepath.Join(t.TempDir(), "model.mil")
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				r, err := compile.All(t.Context(), openedModel(t, path),
					compile.Options{Target: target.H13, Place: passes.PlaceAuto})
				if err != nil {
					t.Fatal(err)
				}
				return r
			}
			r := of(strings.Replace(inBranch, c.old, c.new, 1))
			r.Functions[0].Reference = of(inBranch).Functions[0].Reference
			m, err := Open(r)
			if err != nil {
				t.Fatal(err)
			}
			res, err := Check(t.Context(), r, m, nil, Options{Seed: 1, Numerics: numerics.ANE})
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict != c.want {
				t.Errorf("want %s: %+v", c.want, res.Outputs)
			}
		})
	}
}
