package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/examples/digits"
	"github.com/zinc-compiler/zinc/internal/npy"
)

func scoresFile(t *testing.T, scores ...float32) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scores.npy")
	a, err := npy.FromFloats("f2", []int64{1, int64(len(scores)), 1, 1}, scores)
	if err != nil {
		t.Fatal(err)
	}
	file, err := npy.Encode(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestShowPrintsImageAndProbabilities(t *testing.T) {
	nan := float32(math.NaN())
	seven := filepath.Join("..", "testdata", "7.npy")
	for _, c := range []struct {
		name   string
		scores []float32
		want   []string
	}{
		{"winner", []float32{0, 0, 0, 0, 0, 0, 0, 0.75, 0.25, 0}, []string{
			"7  0.7500  " + strings.Repeat("#", 30) + strings.Repeat(".", 10) + "  <--\n",
			"8  0.2500  " + strings.Repeat("#", 10) + strings.Repeat(".", 30) + "\n",
			"This is a 7.",
		}},
		{"outside the range", []float32{-3, 0, 0, 0, 0, 0, 0, 0, 0, 9}, []string{
			"0  -3.0000  " + strings.Repeat(".", 40) + "\n",
			"9  9.0000  " + strings.Repeat("#", 40) + "  <--\n",
		}},
		{"first among equals", make([]float32, 10), []string{"This is a 0."}},
		{"not a number", []float32{nan, 0, 0.5, nan, 0, 0, 0, 0, 0, 0}, []string{"0     NaN", "This is a 2."}},
		{"no number", []float32{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan}, []string{"no score is a number"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if err := run(&out, seven, scoresFile(t, c.scores...)); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
			lines := strings.Split(out.String(), "\n")
			for _, l := range lines[:digits.Side+2] {
				if len(l) != 2*digits.Side+2 {
					t.Errorf("image line is %d characters: %q", len(l), l)
				}
			}
		})
	}
}

// TestShadesAreClipped prints one pixel of each shade, and one beyond either end.
func TestShadesAreClipped(t *testing.T) {
	image := make([]float32, digits.Side*digits.Side)
	row := image[digits.Side:]
	for i := range shades {
		row[i] = float32(i) / float32(len(shades)-1)
	}
	row[10], row[11] = 2, -2
	var out strings.Builder
	printImage(&out, image)
	lines := strings.Split(out.String(), "\n")
	want := "|  ..::--==++**##%%@@@@" + strings.Repeat(" ", 2*digits.Side-22) + "|"
	if lines[2] != want {
		t.Errorf("the second row of pixels is\n%s, want\n%s", lines[2], want)
	}
	if blank := "|" + strings.Repeat(" ", 2*digits.Side) + "|"; lines[1] != blank || lines[3] != blank {
		t.Errorf("rows without ink are\n%s\n%s", lines[1], lines[3])
	}
}

func TestShowRefusesWrongArrays(t *testing.T) {
	image := filepath.Join("..", "testdata", "7.npy")
	scores := scoresFile(t, make([]float32, 10)...)
	for _, c := range []struct{ name, image, scores, want string }{
		{name: "scores of the wrong length", image: image, scores: scoresFile(t, 1, 2),
			want: "holds 2 numbers, want 10"},
		{name: "scores for an image", image: scores, scores: scores, want: "holds 10 numbers, want 784"},
		{name: "no file", image: image, scores: filepath.Join(t.TempDir(), "none.npy"), want: "none.npy"},
		{name: "not an npy file", image: image, scores: "main.go", want: "main.go: npy"},
	} {
		var out strings.Builder
		err := run(&out, c.image, c.scores)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if out.Len() > 0 {
			t.Errorf("%s: printed %q before failing", c.name, &out)
		}
	}
}
