package ir

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
	"github.com/zinc-compiler/zinc/numerics"
)

// TestRegistryListsEveryOperation compares the declared rows with the list.
func TestRegistryListsEveryOperation(t *testing.T) {
	files, err := filepath.Glob("ops_*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of operations: %v", err)
	}
	declared := 0
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		declared += len(regexp.MustCompile(`(?m)^\tOp\w+ += newOp\(`).FindAll(src, -1))
	}
	if declared != len(Operations) || len(byName) != len(Operations) {
		t.Errorf("%d operations are declared, %d listed under %d names", declared, len(Operations), len(byName))
	}
}

// conversions are operations whose result has another type than the operand, which a Curve cannot describe.
var conversions = []*Operation{OpCast, OpQuantize, OpDequantize}

// TestOperationsMeetTheirClass checks each row against the requirements of its class.
func TestOperationsMeetTheirClass(t *testing.T) {
	for _, o := range Operations {
		if o.Class == 0 || o.Class >= numClasses || len(o.Forms()) == 0 || o.Forms()[0].Doc == "" {
			t.Errorf("%s has class %d, %d forms, doc %q", o.Name, o.Class, len(o.Forms()), o.Doc)
			continue
		}
		live := 0
		for _, p := range o.Forms()[0].Params {
			if !p.Const && !p.Optional {
				live++
			}
		}
		switch hasCurve := o.Curve != nil || o.Modes != nil; {
		case o.Class == Pointwise && live == 1 && !hasCurve && !slices.Contains(conversions, o):
			t.Errorf("%s has no curve", o.Name)
		case hasCurve && (o.Class != Pointwise || live != 1):
			t.Errorf("%s has a curve, class %s and %d operands", o.Name, o.Class, live)
		}
		if o.Class == Movement && o.Picks == nil {
			t.Errorf("%s moves elements of no argument", o.Name)
		}
		for _, f := range o.Forms() {
			for _, p := range o.Picks {
				if f.ParamIndex(p) < 0 {
					t.Errorf("%s of %q picks elements of %s, which is not a parameter", o.Name, f.Since, p)
				}
			}
			if f.Infer == nil {
				t.Errorf("%s of %q has no shape rule", o.Name, f.Since)
			}
			if (o.Class == Control) != (f.Blocks > 0) || (o.Class == StateAccess) != (f.Effect == Reads ||
				f.Effect == Writes) || (o.Class == Randomness) != (f.Effect == Random) {
				t.Errorf("%s of %q is of class %s with %d blocks and effect %d", o.Name, f.Since, o.Class, f.Blocks,
					f.Effect)
			}
		}
		if o.Class == Compressed && o.Forms()[0].Fold == nil {
			t.Errorf("%s is compressed and does not fold", o.Name)
		}
	}
}

// curves returns every function of the registry under a name.
func curves() map[string]*Curve {
	m := map[string]*Curve{}
	for _, o := range Operations {
		if o.Curve != nil {
			m[o.Name] = o.Curve
		}
		for mode, c := range o.Modes {
			m[o.Name+" "+mode] = c
		}
	}
	return m
}

// TestCurvesAreMonotoneBetweenExtrema samples each function between its extrema, and
// outside its domain.
func TestCurvesAreMonotoneBetweenExtrema(t *testing.T) {
	for name, c := range curves() {
		if c.Extrema == nil {
			continue
		}
		for _, a := range [][]float64{{0.5, 2}, {-1.5, 0.75}} {
			if a = a[:len(c.Params)]; c.Shift {
				a = []float64{0}
			}
			extrema := c.Extrema(a)
			up, down := false, false
			last, lastX := math.NaN(), 0.0
			for i := range 8001 {
				x := float64(i-4000) / 512
				y := c.F(x, a)
				if c.Domain != nil && (x < c.Domain[0] || x > c.Domain[1]) {
					if y == y {
						t.Errorf("%s of %g is %g outside its domain", name, x, y)
					}
					continue
				}
				if slices.ContainsFunc(extrema, func(p float64) bool { return lastX <= p && p <= x }) {
					up, down, last = false, false, math.NaN()
				}
				slack := 1e-12*math.Abs(y) + 1e-14 // tolerance for rounding
				up, down = up || y > last+slack, down || y < last-slack
				if up && down {
					t.Errorf("%s%v changes direction before %g, not at one of its extrema %v", name, a, x, extrema)
					break
				}
				last, lastX = y, x
			}
		}
	}
}

// TestErrorBoundsIncludeTables checks that the error bounds of operations with a lookup table include the table.
func TestErrorBoundsIncludeTables(t *testing.T) {
	for _, o := range Operations {
		if o.Curve != nil && o.Curve.Table != "" && o.Error != numerics.Table && o.Error != numerics.Rounded {
			t.Errorf("%s has a table and the error %d", o.Name, o.Error)
		}
		if c := o.Curve; c != nil && c.Table == "" && (c.Relative || c.ZeroTail) {
			t.Errorf("%s has facts about a table and no table", o.Name)
		}
	}
}

// TestParameterConstantsMatchRegistry compares the constants of params.go with the
// parameters of all forms.
func TestParameterConstantsMatchRegistry(t *testing.T) {
	src, err := os.ReadFile("params.go")
	if err != nil {
		t.Fatal(err)
	}
	declared, used := map[ParamName]bool{}, map[ParamName]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\tParam\w+ +ParamName += "(\w+)"$`).FindAllSubmatch(src, -1) {
		declared[ParamName(m[1])] = true
	}
	for _, o := range Operations {
		for _, f := range o.Forms() {
			for _, p := range f.Params {
				used[p.Name] = true
				if !declared[p.Name] {
					t.Errorf("%s of %s has no constant", p.Name, o.Name)
				}
			}
		}
	}
	for n := range declared {
		if !used[n] {
			t.Errorf("no operation has the parameter %s", n)
		}
	}
}

// TestNativesMatchPublishedTable compares the registry with the published table, column by column.
func TestNativesMatchPublishedTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(shareddir.Find(t), "spec", "native-ops.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[*Operation]bool{}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || cells[0] == "op" {
			continue
		}
		rows++
		o := Named(cells[0])
		if o == nil {
			for _, c := range cells[2:6] {
				if c == Native.String() {
					t.Errorf("the registry lacks %s, which the hardware runs", cells[0])
				}
			}
			continue
		}
		listed[o] = true
		for col, gen := range []int{0, 1, 2, 2} { // h13, h14, h15, h16 with h17
			if got := o.Native[gen].String(); got != cells[2+col] {
				t.Errorf("%s, column %d: %q, want %q", o.Name, col, got, cells[2+col])
			}
		}
	}
	if rows == 0 {
		t.Error("the table has no rows")
	}
	for _, o := range Operations {
		if o.Native[0] != Unlisted && !listed[o] {
			t.Errorf("%s has a verdict, but no row in the table", o.Name)
		}
	}
}

// TestNativesListOperationsOnce: a second row would override the first.
func TestNativesListOperationsOnce(t *testing.T) {
	seen := map[*Operation]bool{}
	for _, n := range natives {
		for _, o := range n.ops {
			if seen[o] {
				t.Errorf("%s is listed twice", o.Name)
			}
			seen[o] = true
			if never := o.Gate == Never; never && n.on[0] != None {
				t.Errorf("%s is in no generation by its gate, and %s by the table", o.Name, n.on[0])
			}
		}
	}
}
