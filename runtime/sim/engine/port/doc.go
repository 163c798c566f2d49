// Package port moves rows of numbers through the ports of the simulated engine: it reads fp16 as the engine does, does
// the arithmetic between an accumulator and its result, and rounds results to fp16 as the engine writes them. On amd64
// with AVX2 and F16C the rows are assembly, which internal/asm generates; elsewhere they are Go.
//
// In: rows of packed fp16 or of fp32 numbers. Out: the same. The special values are as in the modes ane and ane-wide;
// plain IEEE arithmetic is the engine's own.
//
// Invariants: every platform gives the same bits. A number is read, computed and written on its own, with operations
// that IEEE 754 defines to the bit, and no NaN remains to have a payload.
package port

//go:generate sh -c "cd internal/asm && go run . -out ../../kernel_amd64.s -stubs ../../kernel_amd64.go -pkg port"
