// Print prints what package sample returns.
package main

import (
	"fmt"

	"github.com/zinc-compiler/zinc/internal/test/mutants/testdata/sample"
)

func main() {
	defer func() {
		if v := recover(); v != nil {
			fmt.Println("panic")
		}
	}()
	for i := -1; i < 4; i++ {
		fmt.Print(sample.Clamp(i), " ")
	}
	fmt.Print(sample.Next(sample.First), sample.Next(sample.Second), " ")
	c, f := sample.Mix(9, 13, 1.5)
	fmt.Print(c, " ", f)
	for n := 3; n < 7; n++ {
		fmt.Print(" ", sample.Check(n) == nil)
	}
	fmt.Println(sample.Max(1, 2))
}
