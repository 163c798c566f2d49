package weights

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/shareddir"
)

func words(head, knots, tail string) []string {
	return strings.Fields(head + " " + knots + " " + tail)
}

var recordedTables = map[string][]string{
	"exp": words("ce40 4c00 0000 7c00",
		"3c00 3c16 3c2d 3c45 3c5d 3c75 3c8e 3ca8 3cc2 3cdc 3cf8 3d14 3d30 3d4d 3d6b 3d89 3da8 3dc8 3de8 3e09 3e2b 3e4e 3e71 3e95 3eba 3ee0 3f06 3f2e 3f56 3f7f 3fa9 3fd4 4000",
		"0000 0000 0000 0000 0005 000a"),
	"reciprocal": words("0000 7c00 7c00 0000",
		"4000 3fc2 3f88 3f50 3f1c 3eeb 3ebd 3e90 3e66 3e3e 3e18 3df4 3dd1 3db0 3d91 3d72 3d55 3d39 3d1f 3d05 3cec 3cd5 3cbe 3ca8 3c92 3c7e 3c6a 3c57 3c44 3c32 3c21 3c10 3c00",
		"0000 0000 0000 0000 0006 0067"),
	"gelu": words("c466 7c00 0000 7c00",
		"0000 8e8a 9230 9757 9bf0 a011 a3bf a6ec a9bf ac75 ae67 b03d b11e b184 b104 aecf 922d 3098 357e 389f 3ab8 3c78 3d9a 3eb9 3fd2 4072 40f8 417c 41fe 427f 4300 4380 4400",
		"0000 0000 3c00 0000 0002 0001"),
}

func goldenSigmoid(t *testing.T) *Table {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(shareddir.Find(t), "golden", "apple-h13", "sigmoid.hwx"))
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(b, []byte{0xf8, 0xc8, 0x29, 0x48, 0, 0, 0, 0x3c})
	if i < 0 {
		t.Fatal("sigmoid.hwx holds no table")
	}
	tab, err := ParseTable(b[i:])
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

// TestGeneratedAgainstRecorded lists, word for word, where the rule gives what
// was recorded and where it does not.
func TestGeneratedAgainstRecorded(t *testing.T) {
	diff := func(a, b *Table) (d []int) {
		for i := range a {
			if a[i] != b[i] {
				d = append(d, i)
			}
		}
		return d
	}
	for _, name := range []string{"exp", "reciprocal"} {
		a, err := Activate(name)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(&a.Table, recordedTable(name)); d != nil {
			t.Errorf("%s: words %v differ from the recorded table", name, d)
		}
	}
	a, err := Activate("sigmoid")
	if err != nil {
		t.Fatal(err)
	}
	g := goldenSigmoid(t)
	d := diff(&a.Table, g)
	t.Logf("sigmoid: words %v differ; generated %04x, recorded %04x", d, a.Table[:43], g[:43])
	for _, i := range d {
		if i >= wordKnots && i < wordKnots+Knots {
			t.Errorf("sigmoid: knot %d is %#04x, recorded %#04x", i-wordKnots, a.Table[i], g[i])
		}
	}
}

func TestActivations(t *testing.T) {
	params := map[string][]float64{
		"clip": {-1.5, 3}, "threshold": {0.5}, "minimum": {2}, "leaky_relu": {0.01}, "elu": {1},
		"sigmoid_hard": {0.2, 0.5}, "scaled_tanh": {1.7159, 2.0 / 3},
	}
	for _, n := range ActivationNames() {
		a, err := Activate(n, params[n]...)
		if err != nil {
			t.Fatal(err)
		}
		w := a.Worst()
		t.Logf("%-28s abs %.6f at %g, rel %.6f at %g, inputs %d, step %d", n, w.Abs, fromHalf(w.AbsAt), w.Rel, fromHalf(w.RelAt), w.Inputs, a.Table[wordStep])
		if math.IsNaN(w.Abs) {
			t.Errorf("%s is not a number somewhere", n)
		}
	}
	for n, tab := range map[string]*Table{"sigmoid": goldenSigmoid(t), "gelu": recordedTable("gelu")} {
		a, err := Activate(n)
		if err != nil {
			t.Fatal(err)
		}
		w := Worst(tab, a.F, 1, a.Low, a.High)
		t.Logf("recorded %-20s abs %.6f at %g", n, w.Abs, fromHalf(w.AbsAt))
	}
}
