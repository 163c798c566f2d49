package align

import (
	"math/rand/v2"
	"testing"
)

// length is the length of a longest common subsequence, by the table.
func length(a, b []int32) int {
	row := make([]int, len(b)+1)
	for i := range a {
		before := 0
		for j := range b {
			was := row[j+1]
			if a[i] == b[j] {
				row[j+1] = before + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			before = was
		}
	}
	return row[len(b)]
}

// check fails unless the pairs are a common subsequence.
func check(t *testing.T, a, b []int32, pairs [][2]int32) {
	t.Helper()
	i, j := int32(-1), int32(-1)
	for _, p := range pairs {
		if p[0] <= i || p[1] <= j || a[p[0]] != b[p[1]] {
			t.Fatalf("%v after %d, %d in\n%v\n%v", p, i, j, a, b)
		}
		i, j = p[0], p[1]
	}
}

func random(r *rand.Rand, n, letters int) []int32 {
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(r.IntN(letters))
	}
	return s
}

func TestCommonSubsequencesAreTheLongest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a, b := random(r, r.IntN(30), 1+r.IntN(6)), random(r, r.IntN(30), 1+r.IntN(6))
		pairs, whole := Common(a, b, 1<<20)
		check(t, a, b, pairs)
		if want := length(a, b); len(pairs) != want || !whole {
			t.Fatalf("%d pairs, whole %t, want %d of\n%v\n%v", len(pairs), whole, want, a, b)
		}
	}
}

// TestInsertionsInLongSequencesAreFound removes and inserts a few elements of a long sequence.
func TestInsertionsInLongSequencesAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	a := random(r, 200_000, 20)
	b := append([]int32{99, 98}, a[:1000]...)
	b = append(b, a[1010:150_000]...)
	b = append(b, 97)
	b = append(b, a[150_000:]...)
	pairs, whole := Common(a, b, 1<<26)
	check(t, a, b, pairs)
	if len(pairs) != len(a)-10 || !whole {
		t.Errorf("%d pairs, whole %t, want %d", len(pairs), whole, len(a)-10)
	}
}

// TestWorkIsBounded aligns sequences that have little in common: what is left after the bound has no pairs.
func TestWorkIsBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	a, b := random(r, 500_000, 1000), random(r, 500_000, 1000)
	a[0], b[0], a[len(a)-1], b[len(b)-1] = 7, 7, 8, 8
	pairs, whole := Common(a, b, 1<<20)
	check(t, a, b, pairs)
	if whole || len(pairs) < 2 {
		t.Errorf("%d pairs, whole %t, want 2 or more and not whole", len(pairs), whole)
	}
}
