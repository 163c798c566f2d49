// Package active is what mutated sources call: each function does what the source did, unless its mutant is the active
// one.
//
// The environment variable ZINC_MUTANT has the number of the active mutant. Without it none is active. If it is -1,
// none is active and the package records which mutants are reached.
package active

import (
	"cmp"
	"os"
	"strconv"
	"sync/atomic"
)

// Max is the largest number of a mutant.
const Max = 1<<16 - 1

// tracing is the value of active while reached mutants are recorded.
const tracing = -1

// Mutants are numbered from 1, so that 0 is none.
var active = func() int {
	n, err := strconv.Atoi(os.Getenv("ZINC_MUTANT"))
	if err != nil || n < tracing || n > Max {
		return 0
	}
	return n
}()

var reached [Max + 1]atomic.Bool

// Reached returns the numbers of the mutants that were reached since the last call, in ascending order. There are none
// unless ZINC_MUTANT is -1.
func Reached() []int {
	var list []int
	for n := range reached {
		if reached[n].Swap(false) {
			list = append(list, n)
		}
	}
	return list
}

// is reports whether mutant n is active.
func is(n int) bool {
	if active == tracing {
		reached[n].Store(true)
		return false
	}
	return n == active
}

type (
	integer interface {
		~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
	}
	number interface {
		integer | ~float32 | ~float64
	}
)

// Keep reports whether a statement is done: the mutant leaves it out.
func Keep(n int) bool { return !is(n) }

// Value returns a; the mutant returns b.
func Value[T any](n int, a, b T) T {
	if is(n) {
		return b
	}
	return a
}

// Not returns a condition, which the mutant negates.
func Not(n int, b bool) bool { return b != is(n) }

// Up returns x, to which the mutant adds 1.
func Up[T number](n int, x T) T {
	if is(n) {
		return x + 1
	}
	return x
}

// Down returns x, from which the mutant subtracts 1.
func Down[T number](n int, x T) T {
	if is(n) {
		return x - 1
	}
	return x
}

// Less returns a < b; in the mutant a <= b.
func Less[T cmp.Ordered](n int, a, b T) bool { return a < b || is(n) && a == b }

// LessEqual returns a <= b; in the mutant a < b.
func LessEqual[T cmp.Ordered](n int, a, b T) bool {
	if is(n) {
		return a < b
	}
	return a <= b
}

// Add returns a + b; in the mutant a - b.
func Add[T number](n int, a, b T) T {
	if is(n) {
		return a - b
	}
	return a + b
}

// Sub returns a - b; in the mutant a + b.
func Sub[T number](n int, a, b T) T {
	if is(n) {
		return a + b
	}
	return a - b
}

// Mul returns a * b; in the mutant a + b.
func Mul[T number](n int, a, b T) T {
	if is(n) {
		return a + b
	}
	return a * b
}

// Quo returns a / b; in the mutant a * b.
func Quo[T number](n int, a, b T) T {
	if is(n) {
		return a * b
	}
	return a / b
}

// Rem returns a % b; in the mutant a / b.
func Rem[T integer](n int, a, b T) T {
	if is(n) {
		return a / b
	}
	return a % b
}

// And returns a & b; in the mutant a | b.
func And[T integer](n int, a, b T) T {
	if is(n) {
		return a | b
	}
	return a & b
}

// Or returns a | b; in the mutant a & b.
func Or[T integer](n int, a, b T) T {
	if is(n) {
		return a & b
	}
	return a | b
}

// Xor returns a ^ b; in the mutant a | b.
func Xor[T integer](n int, a, b T) T {
	if is(n) {
		return a | b
	}
	return a ^ b
}

// AndNot returns a &^ b; in the mutant a & b.
func AndNot[T integer](n int, a, b T) T {
	if is(n) {
		return a & b
	}
	return a &^ b
}

// Shl returns a << b; in the mutant a >> b.
func Shl[T, U integer](n int, a T, b U) T {
	if is(n) {
		return a >> b
	}
	return a << b
}

// Shr returns a >> b; in the mutant a << b.
func Shr[T, U integer](n int, a T, b U) T {
	if is(n) {
		return a << b
	}
	return a >> b
}

// Greater returns a > b; in the mutant a >= b.
func Greater[T cmp.Ordered](n int, a, b T) bool { return Less(n, b, a) }

// GreaterEqual returns a >= b; in the mutant a > b.
func GreaterEqual[T cmp.Ordered](n int, a, b T) bool { return LessEqual(n, b, a) }
