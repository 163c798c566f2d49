// Package sha256x2 computes the SHA-256 of two sequences of bytes at the same time in one goroutine.
//
// A processor with instructions for SHA-256 starts one of them before the last one is finished, but within one sum each
// needs the result of the last. So it adds to two sums in little more time than to one. Elsewhere a pair of sums takes
// the time of two.
//
// Input: the bytes, in parts of any length. Output: the same sums as crypto/sha256.
//
// Invariants: a Digest is used by one goroutine at a time.
package sha256x2

//go:generate go run -C ../../numerics/vector/internal/asm ./sha256x2
