package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// longModel writes a model of n activations in a row, every third of which differs
// where odd says so.
func longModel(t *testing.T, n int, odd bool) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("program(1.3)\n{\n func main<ios18>(tensor<fp16, [1, 16, 16]> x0) {\n")
	for i := range n {
		op := "tanh"
		if odd && i%3 == 0 {
			op = "sigmoid"
		}
		fmt.Fprintf(&b, "  tensor<fp16, [1, 16, 16]> x%d = %s(x = x%d)[name = string(\"x%d\")];\n", i+1, op, i, i+1)
	}
	fmt.Fprintf(&b, " } -> (x%d);\n}\n", n)
	path := filepath.Join(t.TempDir(), "model.mil")
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMemoryGrowsLinearly compares models of one length and of four times that, with and without debug databases: the
// allocated memory must grow with the length and not with its square.
func TestMemoryGrowsLinearly(t *testing.T) {
	const short, factor = 60, 4
	for _, c := range []struct {
		name string
		side func(*testing.T, *Side) *Side
	}{
		{"models", func(_ *testing.T, s *Side) *Side { return s }},
		{"pairs", bare},
	} {
		t.Run(c.name, func(t *testing.T) {
			took := func(n int) (bytes uint64) {
				a, b := c.side(t, open(t, longModel(t, n, false), "h13")),
					c.side(t, open(t, longModel(t, n, true), "h13"))
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				r := compared(t, a, b, Options{})
				runtime.ReadMemStats(&after)
				if r.Same {
					t.Fatal("the models are called the same")
				}
				return after.TotalAlloc - before.TotalAlloc
			}
			one, four := took(short), took(factor*short)
			if four > 3*factor*one/2 {
				t.Errorf("%d bytes for %d statements, %d bytes for %d", one, short, four, factor*short)
			}
			t.Logf("%d bytes, %d bytes: factor %.1f", one, four, float64(four)/float64(one))
		})
	}
}
