package inject_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zinc-compiler/zinc/runtime/sim/stack/inject"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"drop", "drop@post"},
		{"drop@note:count=1", "drop@note:count=1"},
		{"delay:delay=2ms,p=0.25; crash@task:after=3", "delay@post:p=0.25,delay=2ms; crash@task:after=3"},
		{" stuck : every=2 ", "stuck@queue:every=2"},
		{"translation", "translation@access"},
	} {
		s, err := inject.Parse(c.in)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if s.String() != c.out {
			t.Errorf("%q is %q, want %q", c.in, s, c.out)
		}
		again, err := inject.Parse(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%q does not parse back: %v, %v", s, again, err)
		}
	}
	for in, want := range map[string]string{
		"":                  "unknown fault",
		"melt":              "unknown fault",
		"drop@queue":        "its sites are [post note]",
		"drop:x=1":          "unknown key",
		"drop:p=2":          "a probability above 0",
		"drop:count=-1":     "must be an integer",
		"delay:delay=0s":    "above 0",
		"drop;delay:p=nope": `byte 11, "p=nope"`,
	} {
		if _, err := inject.Parse(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// passages returns at which of n passages of a site a fault is injected.
func passages(i *inject.Injector, s inject.Site, n int) []int {
	var at []int
	for k := range n {
		if _, ok := i.At(s); ok {
			at = append(at, k)
		}
	}
	return at
}

func TestAt(t *testing.T) {
	var off *inject.Injector
	if got := passages(off, inject.Post, 10); got != nil {
		t.Errorf("a nil injector makes faults at %v", got)
	}
	s, err := inject.Parse("drop:after=2,every=3,count=2; delay@post:after=1,count=1,delay=1ms")
	if err != nil {
		t.Fatal(err)
	}
	i := inject.New(s, 1)
	var kinds string
	for range 12 {
		f, ok := i.At(inject.Post)
		switch {
		case !ok:
			kinds += "."
		case f.Kind == inject.Delay && f.Delay == time.Millisecond:
			kinds += "d"
		case f.Kind == inject.Drop:
			kinds += "x"
		}
	}
	if kinds != ".dx..x......" {
		t.Errorf("faults are %q", kinds)
	}
	if i.Made(inject.Drop) != 2 || i.Made(inject.Delay) != 1 || i.Made(inject.Crash) != 0 {
		t.Errorf("counts are %d, %d, %d", i.Made(inject.Drop), i.Made(inject.Delay), i.Made(inject.Crash))
	}
	if got := passages(i, inject.Note, 5); got != nil {
		t.Errorf("another site faults at %v", got)
	}
}

func TestSeeds(t *testing.T) {
	s, err := inject.Parse("corrupt:p=0.3")
	if err != nil {
		t.Fatal(err)
	}
	run := func(seed uint64) (at []int) { return passages(inject.New(s, seed), inject.Post, 200) }
	a, b, c := run(7), run(7), run(8)
	if len(a) < 30 || len(a) > 90 {
		t.Errorf("a chance of 0.3 hits %d of 200", len(a))
	}
	same := func(x, y []int) bool {
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if x[i] != y[i] {
				return false
			}
		}
		return true
	}
	if !same(a, b) {
		t.Error("one seed gives two sequences")
	}
	if same(a, c) {
		t.Error("two seeds give one sequence")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("drop@post:after=3,count=1; delay:delay=2ms,p=0.1")
	f.Fuzz(func(t *testing.T, in string) {
		s, err := inject.Parse(in)
		if err != nil {
			return
		}
		again, err := inject.Parse(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q is %q, which parses to %q, %v", in, s, again, err)
		}
	})
}
