// Package interval is arithmetic on ranges of numbers, with infinities and NaN.
//
// In: intervals, element types, constants. Out: intervals that contain every result of the operation on numbers of
// the operands.
//
// Invariants: bounds are never NaN; whether NaN is possible is a flag. Slack widens a range by the rounding of fp32
// arithmetic, and Round rounds it to an element type.
package interval
