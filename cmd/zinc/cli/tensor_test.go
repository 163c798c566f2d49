package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/ir"
	"github.com/zinc-compiler/zinc/pair"
	"github.com/zinc-compiler/zinc/runtime/sim/interp"
)

func TestSummarise(t *testing.T) {
	var b bytes.Buffer
	x, err := interp.FromFloats(ir.FP32, []float32{1, -2, 4, 0, 0, 0, 0, 0, 5}, 9)
	if err != nil {
		t.Fatal(err)
	}
	if err := summarise(&b, "y", x); err != nil {
		t.Fatal(err)
	}
	want := "y  tensor<fp32, [9]>  min -2 max 5 mean 0.888889  [1, -2, 4, 0, 0, 0, 0, 0, ...]\n"
	if b.String() != want {
		t.Errorf("%q, want %q", &b, want)
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		b    string
		want kind
	}{
		{"\xce\xfa\xef\xbe", kindContainer},
		{"\x93NUMPY\x01\x00", kindArray},
		{"\x01\x00\x00\x00\x02\x00\x00\x00", kindWeights},
		{"program(1.3)", kindText},
		{"ZTDR\x01\x00\x2c\x00", kindRecords},
		{"ZTDI\x0a\x00\xac\x03", kindImages},
		{"zinc tasks, descriptor 10, text 1", kindTasks},
		{"// a comment: été\r\nprogram", kindText},
		{strings.Repeat("é", 5000), kindText},
		{"x" + strings.Repeat("é", 5000), kindText},
		{"\x10\x00\x00\x00\x00\x00", kindOther},
		{"abc\x00", kindOther},
		{"\xff\xfe", kindOther},
	} {
		if got := kindOf([]byte(c.b)); got != c.want {
			t.Errorf("%.20q is kind %d, want %d", c.b, got, c.want)
		}
	}
}

func TestPairNames(t *testing.T) {
	for _, c := range []struct{ out, model, container, descriptor string }{
		{model: "a/b.mlmodelc", container: "b.hwx", descriptor: "b.e5"},
		{model: "a/b.mlmodelc/", container: "b.hwx", descriptor: "b.e5"},
		{model: "model.mil", container: "model.hwx", descriptor: "model.e5"},
		{out: "x/y.hwx", model: "m", container: "x/y.hwx", descriptor: "x/y.e5"},
		{out: "x/y", model: "m", container: "x/y", descriptor: "x/y.e5"},
		{out: "y.bin", model: "m", container: "y.bin", descriptor: "y.bin.e5"},
	} {
		at, err := pairPaths(c.out, c.model)
		if err != nil || at.Container != c.container || at.Descriptor != c.descriptor {
			t.Errorf("-o %q of %q: %+v, %v", c.out, c.model, at, err)
		}
		// What was written is found again.
		if again := pair.PathsOf(at.Container); again != at {
			t.Errorf("the pair of %q is %+v", at.Container, again)
		}
	}
}

// TestProgress shows that a stage prints its first and last line where there
// is no terminal.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	e := &env{err: &b}
	p := e.newProgress(true)
	for i := range 5 {
		p.step("pack", i+1, 5)
	}
	p.step("write", 1, 1)
	p.end()
	if got, want := strings.Split(strings.TrimSpace(b.String()), "\n"), []string{"zinc: pack: 1 of 5",
		"zinc: pack: 5 of 5", "zinc: write: 1 of 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	b.Reset()
	p = e.newProgress(false)
	p.step("pack", 1, 1)
	if b.Len() > 0 {
		t.Errorf("printed %q unasked", &b)
	}
}
