package lint

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/analysis/lint/interval"
)

// overflowing is a norm whose sum of squares overflows, with a product after it.
const overflowing = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 64, 1, 8]> x) {
            tensor<int32, [1]> ax = const()[name = string("ax"), val = tensor<int32, [1]>([1])];
            bool kd = const()[name = string("kd"), val = bool(true)];
            tensor<fp16, [1, 64, 1, 8]> q = square(x = x)[name = string("q")];
            tensor<fp16, [1, 1, 1, 8]> ss = reduce_sum(x = q, axes = ax, keep_dims = kd)[name = string("ss")];
            tensor<fp16, [1, 1, 1, 8]> r = rsqrt(x = ss, epsilon = fp16(0.01))[name = string("r")];
            tensor<fp16, [1, 64, 1, 8]> y = mul(x = x, y = r)[name = string("y")];
            tensor<fp16, [1, 64, 1, 8]> z = mul(x = y, y = fp16(60000))[name = string("z")];
        } -> (z);
}
`

// TestFindingsAfterAnotherAreJudgedAsIfItWereRepaired checks that an overflow does not turn the recorded values of what
// follows into zeros, and that the answer says what to repair first.
func TestFindingsAfterAnotherAreJudgedAsIfItWereRepaired(t *testing.T) {
	r := lintText(t, []byte(overflowing), map[string]Interval{"x": interval.Span(-200, 200)})
	f := r.Functions[0]
	if f.Unjudged != 0 || len(f.Roots) != 0 {
		t.Errorf("%d statements are not judged: %+v", f.Unjudged, f.Roots)
	}
	if len(f.Findings) != 2 {
		t.Fatalf("%d findings", len(f.Findings))
	}
	ss, z := f.Findings[0], f.Findings[1]
	if ss.Statement != "ss" || ss.State != Shown || ss.First != "" || ss.Taints != 3 {
		t.Errorf("%s is %s, after %q, before %d", ss.Statement, ss.State, ss.First, ss.Taints)
	}
	if z.Statement != "z" || z.State == Shown || z.First != "ss" || z.FirstLine != 7 {
		t.Errorf("%s is %s, after %q of line %d", z.Statement, z.State, z.First, z.FirstLine)
	}
	if z.Seen == nil || z.Seen[0] > -1000 || z.Seen[1] < 1000 {
		t.Errorf("recorded: %v", z.Seen)
	}
	if len(f.Groups) != 2 || f.Groups[0].Findings[0] != 0 {
		t.Errorf("groups %+v", f.Groups)
	}
	var b bytes.Buffer
	if err := r.Text(&b, TextOptions{Model: "m.mil"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first: repair ss (line 7)", "later: 3 statements are judged as if"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %s", want, b.String())
		}
	}
}

// TestLogarithmsOfSoftmaxGetTheRightForm checks the advice for log(softmax(x)), which is not an epsilon, also with
// operations between that keep the elements, and that other logarithms keep theirs.
func TestLogarithmsOfSoftmaxGetTheRightForm(t *testing.T) {
	for name, c := range map[string]struct {
		lines string
		right bool
	}{
		"softmax": {`T q = softmax(x = x, axis = 1)[name = string("q")];`, true},
		"softmax and a transpose": {`T p = softmax(x = x, axis = 1)[name = string("p")];
			T q = transpose(x = p, perm = tensor<int32, [4]>([0, 1, 2, 3]))[name = string("q")];`, true},
		"softmax and a slice": {`T p = softmax(x = x, axis = 1)[name = string("p")];
			T q = slice_by_size(x = p, begin = tensor<int32, [4]>([0, 0, 0, 0]),
				size = tensor<int32, [4]>([1, 64, 8, 8]))[name = string("q")];`, true},
		"relu": {`T q = relu(x = x)[name = string("q")];`, false},
	} {
		t.Run(name, func(t *testing.T) {
			text := `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 64, 8, 8]> x) {
            ` + strings.ReplaceAll(c.lines, "T ", "tensor<fp16, [1, 64, 8, 8]> ") + `
            tensor<fp16, [1, 64, 8, 8]> y = log(x = q, epsilon = fp16(0))[name = string("y")];
        } -> (y);
}
`
			f := lintText(t, []byte(text), map[string]Interval{"x": interval.Span(-30, 30)}).Functions[0]
			if len(f.Findings) != 1 || f.Findings[0].Rule != "log-of-zero" {
				t.Fatalf("findings %+v", f.Findings)
			}
			if got := strings.Contains(f.Findings[0].Instead, "log(reduce_sum(exp(d)))"); got != c.right {
				t.Errorf("instead: %s", f.Findings[0].Instead)
			}
		})
	}
}
