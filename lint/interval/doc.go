// Package interval is arithmetic on ranges of numbers, with infinities and NaN.
//
// In: intervals, element types, constants. Out: intervals that contain every result of the operation on numbers of
// the operands.
//
// Invariants: bounds are never NaN; whether NaN is possible is a flag. Slack widens a range by what fp32 arithmetic may
// round, Round by what storing as an element type does.
package interval
