package reported

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// layers returns a program of n layers, each with several of the patterns that rules look at.
func layers(n int) string {
	var b strings.Builder
	b.WriteString("program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 8, 64]> x) {\n" +
		"        int32 ax = const()[name = string(\"ax\"), val = int32(-1)];\n" +
		"        fp16 ep = const()[name = string(\"ep\"), val = fp16(0x1p-10)];\n" +
		"        bool f = const()[name = string(\"f\"), val = bool(false)];\n" +
		"        bool t = const()[name = string(\"t\"), val = bool(true)];\n")
	v := "x"
	for i := range n {
		op := func(name, typ, expr string) string {
			y := fmt.Sprint(name, i)
			fmt.Fprintf(&b, "        tensor<fp16, %s> %s = %s[name = string(\"%s\")];\n", typ, y, expr, y)
			return y
		}
		s := op("s", "[1, 8, 8]", fmt.Sprintf("matmul(transpose_x = f, transpose_y = t, x = %s, y = %s)", v, v))
		p := op("p", "[1, 8, 8]", fmt.Sprintf("softmax(axis = ax, x = %s)", s))
		o := op("o", "[1, 8, 64]", fmt.Sprintf("matmul(transpose_x = f, transpose_y = f, x = %s, y = %s)", p, v))
		g := op("g", "[1, 8, 64]", fmt.Sprintf("softplus(x = %s)", o))
		l := op("l", "[1, 8, 64]", fmt.Sprintf("log(epsilon = ep, x = %s)", g))
		v = op("v", "[1, 8, 64]", fmt.Sprintf("add(x = %s, y = %s)", l, v))
	}
	fmt.Fprintf(&b, "    } -> (%s);\n}\n", v)
	return b.String()
}

// TestFindingTakesWorkLinearInTheProgram counts allocations, which every step of the rules makes in proportion.
func TestFindingTakesWorkLinearInTheProgram(t *testing.T) {
	allocations := func(n int) float64 {
		path := filepath.Join(t.TempDir(), "model.mil")
		if err := os.WriteFile(path, []byte(layers(n)), 0o666); err != nil {
			t.Fatal(err)
		}
		p := open(t, path).Program
		return testing.AllocsPerRun(1, func() { Find(p, Options{Records: true}) })
	}
	small, large := allocations(200), allocations(2000)
	t.Logf("%.0f allocations for 200 layers, %.0f for 2000", small, large)
	if large > 15*small {
		t.Errorf("ten times as many layers take %.1f times the allocations, want about ten", large/small)
	}
}
