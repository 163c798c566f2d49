// Show prints a digit image as text, and the ten scores that a model gave it:
//
//	go run ./examples/digits/show IMAGE.npy SCORES.npy
//
// The image is an npy file of 28 by 28 numbers, 0 for paper and 1 for ink; the
// scores are an npy file of ten numbers.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/zinc-compiler/zinc/examples/digits"
	"github.com/zinc-compiler/zinc/internal/npy"
)

// shades are the characters for a pixel, from paper to full ink.
const shades = " .:-=+*#%@"

// barWidth is the length in characters of the bar for a score of 1.
const barWidth = 40

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: show IMAGE.npy SCORES.npy")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "show:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, imagePath, scoresPath string) error {
	image, err := load(imagePath, digits.Side*digits.Side)
	if err != nil {
		return err
	}
	scores, err := load(scoresPath, digits.Classes)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	printImage(w, image)
	printScores(w, scores)
	return w.Flush()
}

// load reads an npy file of count numbers, whatever its shape.
func load(path string, count int) ([]float32, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	a, err := npy.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	values, err := a.Floats()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(values) != count {
		return nil, fmt.Errorf("%s: shape %v holds %d numbers, want %d", path, a.Shape, len(values), count)
	}
	return values, nil
}

// printImage prints a row of pixels a line, each pixel twice, because a
// character is about half as wide as it is high.
func printImage(w io.Writer, image []float32) {
	edge := "+" + strings.Repeat("-", 2*digits.Side) + "+"
	fmt.Fprintln(w, edge)
	for y := range digits.Side {
		var line strings.Builder
		for _, v := range image[y*digits.Side:][:digits.Side] {
			c := shades[index(v, len(shades)-1)]
			line.WriteByte(c)
			line.WriteByte(c)
		}
		fmt.Fprintf(w, "|%s|\n", line.String())
	}
	fmt.Fprintln(w, edge)
}

// printScores prints a score a line and marks the winner, the first among
// equals. A score that is not a number never wins.
func printScores(w io.Writer, scores []float32) {
	best := -1
	for i, s := range scores {
		if s == s && (best < 0 || s > scores[best]) {
			best = i
		}
	}
	for i, s := range scores {
		mark := ""
		if i == best {
			mark = "  <--"
		}
		n := index(s, barWidth)
		fmt.Fprintf(w, "%d  %6.4f  %s%s%s\n", i, s, strings.Repeat("#", n), strings.Repeat(".", barWidth-n), mark)
	}
	if best < 0 {
		fmt.Fprintln(w, "no score is a number")
		return
	}
	fmt.Fprintf(w, "This is a %d.\n", best)
}

// index maps v in [0, 1] to [0, top], the nearest; what is outside goes to
// the end it is beyond, and what is not a number to 0.
func index(v float32, top int) int {
	if !(v > 0) {
		return 0
	}
	return int(min(v, 1)*float32(top) + 0.5)
}
