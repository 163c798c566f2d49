// Package testform says how much of a test to run. There are three forms:
//
//   - short, with go test -short: seconds a package, for use between edits;
//   - usual, with go test: minutes in all, before a change lands;
//   - long, with go test and ZINC_TESTS=long: everything, at night.
//
// A test that goes through a table in the long form takes a sample of it in the others, the same one every time.
package testform

import (
	"iter"
	"os"
	"testing"
)

// Env is the environment variable that chooses the long form.
const Env = "ZINC_TESTS"

// Long reports whether the long form was asked for. It yields to -short.
func Long() bool { return os.Getenv(Env) == "long" && !testing.Short() }

// Of returns what belongs to the form that runs.
func Of[T any](short, usual, long T) T {
	switch {
	case testing.Short():
		return short
	case Long():
		return long
	}
	return usual
}

// stride is a prime, so that indexes which it steps through modulo a smaller number are all different, and a table in
// which something alternates is sampled on all sides.
const stride = 7919

// Sample returns indexes below n: at most short or usual of them, spread over the table, or all in the long form.
func Sample(n, short, usual int) iter.Seq[int] {
	most := min(n, Of(short, usual, n))
	return func(yield func(int) bool) {
		for i := range most {
			at := i
			if most < n && n%stride != 0 {
				at = i * stride % n
			}
			if !yield(at) {
				return
			}
		}
	}
}
