package cli

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// FuzzShape reads any --shape: a shape that is accepted is read again from its own text.
func FuzzShape(f *testing.F) {
	for _, s := range []string{"x=1x3x224x224", "x=", "=1", "x=1x", "a=b=2", "x=9223372036854775808", "x=-1",
		"x=0x10", "x=1x2..16:2", "x=2..3x4..5", "x=5..4", "x=1..9:0", "x=7..9223372036854775807:72057594037927936"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shapes, err := parseShapes([]string{s})
		if err != nil {
			return
		}
		var texts []string
		for _, set := range shapes {
			for name, shape := range set {
				dims := make([]string, len(shape))
				for i, d := range shape {
					if d < 0 {
						t.Errorf("%q has the dimension %d", s, d)
					}
					dims[i] = fmt.Sprint(d)
				}
				texts = append(texts, name+"="+strings.Join(dims, "x"))
			}
		}
		again, err := parseShapes(texts)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(shapes) {
			t.Errorf("%q is %v, and then %v, %v", s, shapes, again, err)
		}
	})
}

// FuzzRange reads any --range: one that is accepted is not empty and has no NaN.
func FuzzRange(f *testing.F) {
	for _, s := range []string{"x=-1:1", "x=type", "x=1:0", "x=nan:1", "x=-inf:inf", "x=1e999:2", "x", "=0:1",
		"x=0:1:2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ranges, err := parseLintRanges([]string{s})
		if err != nil {
			return
		}
		for _, r := range ranges {
			if !r.all && (!(r.lo <= r.hi) || math.IsInf(r.lo, 0) || math.IsInf(r.hi, 0)) {
				t.Errorf("%q has the range %v to %v", s, r.lo, r.hi)
			}
		}
	})
}
