// Package field computes in the prime field of 2^61-1 elements.
//
// Two programs that compute the same sums of products in different orders, at
// different places or in different pieces give equal elements for any inputs.
// Two programs that do not give different elements for nearly all inputs, so one
// run on random elements decides (Schwartz, 1980; Zippel, 1979). Every finite
// number of fp16 and fp32 is a fraction whose denominator is a power of two, and so
// an element.
//
// Functions that are no polynomials are functions of their arguments with a random
// key: equal arguments give equal results, and different ones give equal results
// with a probability of about 2^-61. They keep the laws that programs are rewritten
// by: a maximum may be taken in any order and in parts, a minimum is the negative
// maximum of negatives, comparisons of both sides add up to one.
//
// Sums of many products can be replaced by a random bilinear form (Form), which takes less
// time and is equal wherever the same vectors are multiplied.
//
// In: elements, patterns of fp16, numbers. Out: elements below P.
package field
