// Package vector contains the loops over numbers that take most of the time: sums of products, conversion between fp16
// and fp32, fp16 times a factor, and the transposition of fp16. On amd64 with AVX2, FMA and F16C the kernels are
// assembly, which internal/asm generates, and kernels of sums have a form for AVX-512; elsewhere they are Go.
//
// In: rows of fp32 numbers or packed fp16. Out: the same. Callers deal with the shapes of tensors and the special
// values of the engine, and choose the arithmetic.
//
// Invariants: every platform gives the same bits, NaN payloads apart. For sums that follows from two facts: each number
// of the result is summed on its own, in the order of the products, so that neither the width of a register nor the
// size of tiles matters; and where a kernel fuses a product with an addition, the product is exact in fp32 anyway. The
// significands of two fp16 numbers have 11 bits, their product at most 22 of the 24 that fp32 holds, and its exponent
// is within fp32's, subnormal numbers included. So rounding the product changes nothing.
//
// The simulated engine and the interpreter use these kernels and share nothing else
// that computes.
package vector

//go:generate sh -c "cd internal/asm && go run . -out ../../kernel_amd64.s -stubs ../../kernel_amd64.go -pkg vector"
