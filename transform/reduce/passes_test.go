package reduce_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zinc-compiler/zinc/frontend"
	"github.com/zinc-compiler/zinc/frontend/mil/unbuild"
	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/transform/reduce"
)

// program builds the program of a MIL text.
func program(t testing.TB, text string) *ir.Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.mil")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := frontend.Open(path, frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m.Program
}

// has is the predicate that holds of texts with all of the words.
func has(words ...string) reduce.Interesting {
	return func(_ context.Context, c *reduce.Candidate) (bool, error) {
		for _, w := range words {
			if !strings.Contains(string(c.Text().MIL), w) {
				return false, nil
			}
		}
		return true, nil
	}
}

// lines returns the statements of a text, without types and layout.
func lines(text []byte) []string {
	var out []string
	for _, l := range strings.Split(string(text), "\n") {
		if l = strings.TrimSpace(l); strings.HasSuffix(l, ";") || strings.HasPrefix(l, "func") {
			out = append(out, l)
		}
	}
	return out
}

const branches = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8]> x, tensor<int32, [1]> n) {
            tensor<int32, []> k = squeeze(x = n);
            bool b = greater(x = k, y = int32(0));
            tensor<fp16, [1, 8]> y = cond(pred = b)
                () {
                    tensor<fp16, [1, 8]> p = relu(x = x);
                    tensor<fp16, [1, 8]> p2 = sigmoid(x = p);
                } -> (p2)
                () {
                    tensor<fp16, [1, 8]> q = tanh(x = x);
                } -> (q);
            tensor<fp16, [1, 8]> z = exp(x = y);
        } -> (z);
}`

const stateful = `program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 8]> x, state<tensor<fp16, [1, 8]>> s) {
            tensor<fp16, [1, 8]> r = read_state(input = s);
            tensor<fp16, [1, 8]> a = add(x = r, y = x);
            tensor<fp16, [1, 8]> u = coreml_update_state(state = s, value = a);
            tensor<fp16, [1, 8]> z = sigmoid(x = u);
        } -> (z);
}`

const several = `program(1.3)
{
    func first<ios18>(tensor<fp16, [1, 8]> x) {
            tensor<fp16, [1, 8]> a = relu(x = x);
        } -> (a);
    func second<ios18>(tensor<fp16, [1, ?]> x) [FlexibleShapeInformation = tuple<tuple<string, dict<string, ` +
	`tensor<int32, [?]>>>, tuple<string, dict<string, list<tensor<int32, [2]>, ?>>>>((("DefaultShapes", {{"x", [1,` +
	` 6]}}), ("RangeDims", {{"x", [[1, 1], [2, 9]]}})))] {
            tensor<fp16, [1, ?]> a = sigmoid(x = x);
        } -> (a);
}`

const shapes = `program(1.3)
[buildInfo = dict<string, string>({{"coremlc-version", "1"}})]
{
    func main<ios18>(tensor<fp16, [1, 64, 16]> x, tensor<fp16, [1, 64, 16]> w) {
            tensor<fp16, [1, 64, 16]> a = add(x = x, y = w)[name = string("a")];
            tensor<fp16, [1, 64, 4, 4]> b = reshape(x = a, shape = tensor<int32, [4]>([1, 64, 4, 4]))[name = ` +
	`string("b")];
            tensor<fp16, [1, 4, 4, 64]> c = transpose(x = b, perm = tensor<int32, [4]>([0, 2, 3, 1]))[name = ` +
	`string("c")];
            tensor<fp16, [1, 4, 4, 64]> d = mul(x = c, y = tensor<fp16, [64]>([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ` +
	`12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, ` +
	`39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, ` +
	`64]))[name = string("d")];
            tensor<fp16, [1, 4, 4, 64]> e = softmax(x = d, axis = int32(3))[name = string("e")];
        } -> (e);
}`

// TestPasses runs single passes, and all of them, on small programs.
func TestPasses(t *testing.T) {
	for _, c := range []struct {
		name, text string
		passes     []string
		words      []string
		want       []string // statements
	}{
		{name: "branch", text: branches, words: []string{"tanh("}, want: []string{
			"func main<ios18>(tensor<fp16, [1, 1]> x) {",
			"tensor<fp16, [1, 1]> q = tanh(x = x);",
			"} -> (q);"}},
		{name: "inner statement", text: branches, words: []string{"cond(", "sigmoid("}},
		{name: "inline", text: branches, passes: []string{"inline"}, words: []string{"relu("}, want: []string{
			"func main<ios18>(tensor<fp16, [1, 8]> x, tensor<int32, [1]> n) {",
			"tensor<fp16, [1, 8]> p = relu(x = x);",
			"tensor<fp16, [1, 8]> p2 = sigmoid(x = p);",
			"tensor<fp16, [1, 8]> z = exp(x = p2);",
			"} -> (z);"}},
		{name: "states", text: stateful, passes: []string{"states"}, words: []string{"add("}, want: []string{
			"func main<ios18>(tensor<fp16, [1, 8]> x, tensor<fp16, [1, 8]> r) {",
			"tensor<fp16, [1, 8]> a = add(x = r, y = x);",
			"tensor<fp16, [1, 8]> z = sigmoid(x = a);",
			"} -> (z);"}},
		{name: "a state that matters", text: stateful, words: []string{"coreml_update_state("}},
		{name: "functions", text: several, words: []string{"sigmoid("}, want: []string{
			"func second<ios18>(tensor<fp16, [1, 1]> x) {",
			"tensor<fp16, [1, 1]> a = sigmoid(x = x);",
			"} -> (a);"}},
		{name: "default shapes", text: several, passes: []string{"shapes"}, words: []string{"relu("}, want: []string{
			"func first<ios18>(tensor<fp16, [1, 8]> x) {",
			"tensor<fp16, [1, 8]> a = relu(x = x);",
			"} -> (a);",
			"func second<ios18>(tensor<fp16, [1, 6]> x) {",
			"tensor<fp16, [1, 6]> a = sigmoid(x = x);",
			"} -> (a);"}},
		{name: "a flexible shape that matters", text: several, words: []string{"RangeDims"}},
		{name: "far apart", text: shapes, words: []string{"add(", "softmax("}, want: []string{
			"func main<ios18>(tensor<fp16, [1, 1, 1]> x, tensor<fp16, [1, 1, 1, 1]> d) {",
			"tensor<fp16, [1, 1, 1]> a = add(x = x, y = x);",
			"tensor<fp16, [1, 1, 1, 1]> e = softmax(x = d);",
			"} -> (e, a);"}},
		{name: "through a reshape", text: shapes, passes: []string{"dims", "metadata"},
			words: []string{"add(", "reshape(", "transpose(", "mul(", "softmax("}, want: []string{
				"func main<ios18>(tensor<fp16, [1, 1, 1]> x, tensor<fp16, [1, 1, 1]> w) {",
				"tensor<fp16, [1, 1, 1]> a = add(x = x, y = w);",
				"tensor<fp16, [1, 1, 1, 1]> b = reshape(x = a, shape = tensor<int32, [4]>([1, 1, 1, 1]));",
				"tensor<fp16, [1, 1, 1, 1]> c = transpose(x = b, perm = tensor<int32, [4]>([0, 2, 3, 1]));",
				"tensor<fp16, [1, 1, 1, 1]> d = mul(x = c, y = tensor<fp16, [1]>([0x1p+0]));",
				"tensor<fp16, [1, 1, 1, 1]> e = softmax(x = d, axis = int32(3));",
				"} -> (e);"}},
		{name: "zeros", text: shapes, words: []string{"mul("}, want: []string{
			"func main<ios18>(tensor<fp16, [1, 1, 1, 1]> c) {",
			"tensor<fp16, [1, 1, 1, 1]> d = mul(x = c, y = tensor<fp16, [1]>([0x1p+0]));",
			"} -> (d);"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := program(t, c.text)
			before, err := unbuild.Program(p, "w.bin")
			if err != nil {
				t.Fatal(err)
			}
			ask := has(c.words...)
			r, err := reduce.Run(t.Context(), p, reduce.Options{Interesting: ask, Passes: c.passes, Jobs: 3})
			if err != nil {
				t.Fatal(err)
			}
			after, err := unbuild.Program(p, "w.bin")
			if err != nil || string(after.MIL) != string(before.MIL) {
				t.Error("the program given was changed")
			}
			got, err := unbuild.Program(r.Program, "w.bin")
			if err != nil {
				t.Fatal(err)
			}
			if err := ir.Verify(r.Program); err != nil {
				t.Error(err)
			}
			for _, w := range c.words {
				if !strings.Contains(string(got.MIL), w) {
					t.Errorf("%s is gone", w)
				}
			}
			if c.want != nil && !slices.Equal(lines(got.MIL), c.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(lines(got.MIL), "\n"), strings.Join(c.want, "\n"))
			}
			if c.want == nil {
				if r.Statements > r.Before {
					t.Errorf("%d statements, %d before", r.Statements, r.Before)
				}
				t.Logf("%d of %d\n%s", r.Statements, r.Before, got.MIL)
			}
			program(t, string(got.MIL)) // opens again
		})
	}
}

// TestManyStates holds that states go many at a time: one of 512 matters.
func TestManyStates(t *testing.T) {
	const n = 512
	var params, body strings.Builder
	for i := range n {
		fmt.Fprintf(&params, ", state<tensor<fp16, [1, 8]>> k%d", i)
		fmt.Fprintf(&body, "tensor<fp16, [1, 8]> r%[1]d = read_state(input = k%[1]d);\n"+
			"tensor<fp16, [1, 8]> v%[1]d = add(x = r%[1]d, y = x);\n"+
			"write_state(data = v%[1]d, input = k%[1]d);\n", i)
	}
	p := program(t, fmt.Sprintf("program(1.3)\n{\nfunc main<ios18>(tensor<fp16, [1, 8]> x%s) {\n%s} -> (v7);\n}",
		&params, &body))
	r, err := reduce.Run(t.Context(), p, reduce.Options{
		Interesting: has("read_state(input = k300)"), Passes: []string{"states"}, Jobs: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Program.Funcs[0].Body.Params); n != 513 {
		t.Errorf("%d parameters are left, want x, a state and what was read of the others", n)
	}
	if r.Runs > 40 {
		t.Errorf("%d runs", r.Runs)
	}
}

// TestDeterministic runs a reduction with different numbers of jobs, whose
// predicate answers at different speeds, and under every budget.
func TestDeterministic(t *testing.T) {
	p := program(t, shapes)
	run := func(jobs, max int) (string, *reduce.Result) {
		n := atomic.Int64{}
		r, err := reduce.Run(t.Context(), p, reduce.Options{Jobs: jobs, MaxRuns: max,
			Interesting: func(ctx context.Context, c *reduce.Candidate) (bool, error) {
				time.Sleep(time.Duration(n.Add(1)%3) * 100 * time.Microsecond)
				return has("transpose(", "softmax(")(ctx, c)
			}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := unbuild.Program(r.Program, "w.bin")
		if err != nil {
			t.Fatal(err)
		}
		return string(text.MIL), r
	}
	want, all := run(1, 0)
	if all.Stopped != reduce.Done || all.Cached == 0 {
		t.Errorf("stopped %q, %d cached", all.Stopped, all.Cached)
	}
	for _, jobs := range []int{2, 7} {
		got, r := run(jobs, 0)
		if got != want || r.Runs != all.Runs || !slices.Equal(r.Steps, all.Steps) {
			t.Errorf("%d jobs: %d runs, one job %d; same text: %v", jobs, r.Runs, all.Runs, got == want)
		}
	}
	for max := 1; max < all.Runs; max += 5 {
		one, r1 := run(1, max)
		six, r6 := run(6, max)
		if one != six || r1.Runs > max || r6.Runs > max || r1.Stopped != reduce.MaxRuns ||
			r6.Stopped != reduce.MaxRuns {
			t.Errorf("%d runs: one job %d (%q), six %d (%q), same text: %v", max, r1.Runs, r1.Stopped, r6.Runs,
				r6.Stopped, one == six)
		}
	}
}

// TestTriedOnce counts how often the predicate sees a program.
func TestTriedOnce(t *testing.T) {
	seen := map[string]int{}
	_, err := reduce.Run(t.Context(), program(t, shapes), reduce.Options{Jobs: 1, Interesting: func(ctx context.Context,
		c *reduce.Candidate) (bool, error) {
		if err := ir.Verify(c.Program()); err != nil {
			t.Errorf("a candidate is not valid: %v", err)
		}
		seen[string(c.Text().MIL)]++
		return has("transpose(")(ctx, c)
	}})
	if err != nil {
		t.Fatal(err)
	}
	for text, n := range seen {
		if n > 1 {
			t.Errorf("tried %d times:\n%s", n, text)
		}
	}
}

// TestFiles checks what a candidate's path holds and that nothing stays behind.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	_, err := reduce.Run(t.Context(), program(t, shapes), reduce.Options{Jobs: 2, TempDir: dir,
		Interesting: func(_ context.Context, c *reduce.Candidate) (bool, error) {
			path, err := c.Path()
			if err != nil {
				return false, err
			}
			m, err := frontend.Open(path, frontend.Options{})
			if err != nil {
				return false, err
			}
			defer m.Close()
			text, err := unbuild.Program(m.Program, "weights/weight.bin")
			if err != nil {
				return false, err
			}
			if string(text.MIL) != string(c.Text().MIL) {
				t.Errorf("the file holds another text:\n%s\n%s", text.MIL, c.Text().MIL)
			}
			return strings.Contains(string(text.MIL), "softmax("), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if es, err := os.ReadDir(dir); err != nil || len(es) > 0 {
		t.Errorf("left behind: %v, %v", es, err)
	}
}

// TestEnds covers the ways in which a reduction ends early.
func TestEnds(t *testing.T) {
	p := program(t, shapes)
	if r, err := reduce.Run(t.Context(), p, reduce.Options{Interesting: has("nothing")}); r != nil ||
		!errors.Is(err, reduce.ErrNotInteresting) {
		t.Errorf("not interesting: %v, %v", r, err)
	}
	broken := errors.New("broken")
	fails := func(after int) reduce.Interesting {
		n := 0
		return func(context.Context, *reduce.Candidate) (bool, error) {
			if n++; n > after {
				return false, broken
			}
			return true, nil
		}
	}
	if r, err := reduce.Run(t.Context(), p, reduce.Options{Jobs: 1, Interesting: fails(0)}); r != nil ||
		!errors.Is(err, broken) {
		t.Errorf("an error at once: %v, %v", r, err)
	}
	if r, err := reduce.Run(t.Context(), p, reduce.Options{Jobs: 1, Interesting: fails(2)}); r == nil ||
		r.Statements >= r.Before || !errors.Is(err, broken) {
		t.Errorf("an error later: %+v, %v", r, err)
	}
	if _, err := reduce.Run(t.Context(), p, reduce.Options{Interesting: func(context.Context, *reduce.Candidate) (bool,
		error) {
		panic("two")
	}}); err == nil || !strings.Contains(err.Error(), "panicked: two") {
		t.Errorf("a panic: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	r, err := reduce.Run(ctx, p, reduce.Options{Jobs: 1, Interesting: func(context.Context, *reduce.Candidate) (bool,
		error) {
		if n++; n == 4 {
			cancel()
		}
		return true, nil
	}})
	if err != nil || r.Stopped != reduce.Interrupted || r.Statements >= r.Before {
		t.Errorf("interrupted: %+v, %v", r, err)
	}
	// Candidates without a softmax hang until their time is over.
	// The clock advances only while all of them wait.
	synctest.Test(t, func(t *testing.T) {
		r, err := reduce.Run(t.Context(), p, reduce.Options{Jobs: 4, Timeout: time.Second, Passes: []string{"tail",
			"head"}, Interesting: func(ctx context.Context, c *reduce.Candidate) (bool, error) {
			yes, err := has("softmax(")(ctx, c)
			if !yes {
				<-ctx.Done()
				return true, nil
			}
			return yes, err
		}})
		if err != nil || r.TimedOut == 0 || r.Statements != 2 {
			t.Errorf("timeouts: %+v, %v", r, err)
		}
	})
	if _, err := reduce.Run(t.Context(), p, reduce.Options{
		Passes:      []string{"none"},
		Interesting: has("add"),
	}); err == nil || !strings.Contains(err.Error(), "halves") {
		t.Errorf("unknown pass: %v", err)
	}
}
