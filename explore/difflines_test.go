package explore

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// sides rebuilds both lists from the rows.
func sides(t testing.TB, rows []diffRow) (a, b []string) {
	for _, r := range rows {
		if r.Op != "+" {
			a = append(a, r.Text)
			if r.A != len(a) {
				t.Errorf("row %q is numbered %d on the left, want %d", r.Text, r.A, len(a))
			}
		}
		if r.Op != "-" {
			b = append(b, r.Text)
			if r.B != len(b) {
				t.Errorf("row %q is numbered %d on the right, want %d", r.Text, r.B, len(b))
			}
		}
	}
	return a, b
}

func TestDiffLines(t *testing.T) {
	for _, x := range []struct{ a, b, want string }{
		{"", "", ""},
		{"a", "", "-a"},
		{"", "a", "+a"},
		{"a b c", "a b c", "=a =b =c"},
		{"a b c", "a x c", "=a -b +x =c"},
		{"a b c d", "a c b d", "=a -b =c +b =d"},
		{"a a b a a", "a b a", "=a -a =b -a =a"},
		{"x x x", "x x", "=x =x -x"},
		{"k x x m", "k x m", "=k =x -x =m"},
	} {
		var got []string
		rows := diffLines(strings.Fields(x.a), strings.Fields(x.b))
		sides(t, rows)
		for _, r := range rows {
			got = append(got, r.Op+r.Text)
		}
		if s := strings.Join(got, " "); s != x.want {
			t.Errorf("%q, %q: %s, want %s", x.a, x.b, s, x.want)
		}
	}
}

func TestDiffLinesRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		make := func() []string {
			s := []string{}
			for range r.IntN(30) {
				s = append(s, string(rune('a'+r.IntN(1+r.IntN(20)))))
			}
			return s
		}
		a, b := make(), make()
		ga, gb := sides(t, diffLines(a, b))
		if !slices.Equal(ga, a) || !slices.Equal(gb, b) {
			t.Fatalf("%v, %v come back as %v, %v", a, b, ga, gb)
		}
	}
	// Long stretches that share nothing take no table.
	long := func(c string) []string { return slices.Repeat([]string{c, c + c}, 50_000) }
	ga, gb := sides(t, diffLines(long("x"), long("y")))
	if len(ga) != 100_000 || len(gb) != 100_000 {
		t.Error(len(ga), len(gb))
	}
}

func FuzzDiffLines(f *testing.F) {
	f.Add("a\nb", "b\nc")
	f.Add("a\na\na", "a\na")
	f.Fuzz(func(t *testing.T, x, y string) {
		a, b := strings.Split(x, "\n"), strings.Split(y, "\n")
		ga, gb := sides(t, diffLines(a, b))
		if !slices.Equal(ga, a) || !slices.Equal(gb, b) {
			t.Errorf("%q, %q", a, b)
		}
	})
}
