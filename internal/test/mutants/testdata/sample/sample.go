// Package sample has something of every kind that is mutated.
package sample

import "fmt"

// Kind is a named type.
type Kind uint8

// Kinds.
const (
	First Kind = iota + 1 // no constant declaration is mutated
	Second
)

var table = []int{10, 20, 30}

// Clamp returns an element of the table.
func Clamp(i int) int {
	if i < 0 || len(table) <= i {
		return -1
	}
	return table[i]
}

// Next returns another kind.
func Next(k Kind) Kind {
	switch k {
	case First:
		k = Second
	}
	return k
}

// Mix does arithmetic on operands
// in two lines.
func Mix(a, b uint32, f float64) (uint32, float64) {
	c := a<<3 |
		b&7
	c ^= 1
	return c - a%5, f*2 + 0.5
}

// Check returns an error, whose text is not mutated.
func Check(n int) error {
	if !(n > 3 && n != 5) {
		return fmt.Errorf("%d of %d", n, 3)
	}
	return nil
}

// Max is generic: it stays as it is.
func Max[T int | uint](a, b T) T {
	if a > b {
		return a
	}
	return b
}
