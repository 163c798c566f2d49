package compare

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPairsAreEqualElements checks random lists.
func TestPairsAreEqualElements(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	list := func() []string {
		out := make([]string, r.IntN(12))
		for i := range out {
			out[i] = string(rune('a' + r.IntN(4)))
		}
		return out
	}
	for range 5000 {
		a, b := list(), list()
		to, from := sequence(a, b)
		for i, j := range to {
			if j >= 0 && (from[j] != i || a[i] != b[j]) {
				t.Fatalf("%q %q: %v %v", a, b, to, from)
			}
		}
	}
}

// TestListsFarApartArePairedByKey has lists that maxWork comparisons do not align whole.
func TestListsFarApartArePairedByKey(t *testing.T) {
	var a, b []string
	for i := range 20000 {
		a = append(a, strings.Repeat("x", i%7))
		b = append(b, strings.Repeat("x", i%5))
	}
	to, _ := sequence(a, b)
	n := 0
	for i, j := range to {
		if j >= 0 {
			n++
			if a[i] != b[j] {
				t.Fatalf("%d goes with %d", i, j)
			}
		}
	}
	if n < 10000 {
		t.Errorf("%d pairs", n)
	}
}

func TestMovedElementsArePaired(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want string
	}{
		{"abcdef", "abcdef", ""},
		{"abcdef", "acdefb", "b"},
		{"abcdef", "fabcde", "f"},
		{"abcdef", "abef", ""},
		{"abcdef", "defabcxy", "abc"},
		{"", "abc", ""},
	} {
		a, b := strings.Split(c.a, ""), strings.Split(c.b, "")
		to, _ := match(a, b)
		got := ""
		for _, i := range moved(to) {
			got += a[i]
		}
		if got != c.want {
			t.Errorf("%s -> %s: moved %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestGapsBetweenPairsAreFilled(t *testing.T) {
	a, b := strings.Split("aXbYc", ""), strings.Split("aPbQRc", "")
	to, from := sequence(a, b)
	fill(to, from, func(i, j int) bool { return true })
	if want := []int{0, 1, 2, 3, 5}; !slices.Equal(to, want) {
		t.Errorf("%v, want %v", to, want)
	}
	if from[4] != -1 {
		t.Errorf("R goes with %d", from[4])
	}
}
