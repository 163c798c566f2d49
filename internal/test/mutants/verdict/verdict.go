// Package verdict is the form in which program judge answers.
package verdict

// Start is the number in the line that is printed before the first program.
const Start = -1

// Line says what was found of a program.
type Line struct {
	Program int64  // number of the generated program, or Start
	Print   string // hash of the bytes and results
	Judge   string // which judge disagrees; "" if none does
	Finding string // what it found
	Reached []int  // mutants that the program reaches, with -trace
}
