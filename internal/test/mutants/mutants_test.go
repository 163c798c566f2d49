package mutants_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zinc-compiler/zinc/internal/test/mutants"
)

var update = flag.Bool("update", false, "write the goldens")

// TestEveryMutantOfASampleChangesItsOutput builds all mutants of a package into one program and runs it once for each
// mutant and once for none.
func TestEveryMutantOfASampleChangesItsOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	const root = "../../.."
	s, err := mutants.Load(root, "./internal/test/mutants/testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[*mutants.Site]int{}
	for i, site := range s.Sites {
		numbers[site] = i + 1
	}
	dir := t.TempDir()
	overlay, err := s.Overlay(dir, numbers)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "print")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", program, "./internal/test/mutants/testdata/print")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := func(n int) string {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), fmt.Sprint("ZINC_MUTANT=", n))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("mutant %d: %v", n, err)
		}
		return string(out)
	}
	original := run(0)
	var b strings.Builder
	fmt.Fprint(&b, original)
	for i, site := range s.Sites {
		out := run(i + 1)
		if out == original {
			t.Errorf("%v: the output stays the same", site)
		}
		fmt.Fprintf(&b, "%v\n\t%s", site, out)
	}
	const golden = "testdata/sample.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the mutants are not those of %s (-update writes it):\n%s", golden, b.String())
	}
}

// TestWrittenMutantsReplaceWhatTheyName builds mutants of expressions and of statements that are written out, and
// refuses text that is neither or that the file does not have once.
func TestWrittenMutantsReplaceWhatTheyName(t *testing.T) {
	const root, file = "../../..", "internal/test/mutants/testdata/sample/sample.go"
	list := []mutants.Named{
		{File: file, Old: "n > 3 && n != 5", New: "n > 4"},
		{File: file, Old: "if i < 0 || len(table) <= i { return -1 }", New: "i = 1"},
		{File: file, Old: "c ^= 1", New: ""},
	}
	s, err := mutants.LoadNamed(root, list)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[*mutants.Site]int{}
	for i, site := range s.Sites {
		numbers[site] = i + 1
	}
	dir := t.TempDir()
	overlay, err := s.Overlay(dir, numbers)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "print")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", program, "./internal/test/mutants/testdata/print")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	outputs := map[string]bool{}
	for n := range len(list) + 1 {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), fmt.Sprint("ZINC_MUTANT=", n))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("mutant %d: %v", n, err)
		}
		outputs[string(out)] = true
	}
	if len(outputs) != len(list)+1 {
		t.Errorf("%d mutants and the original have %d outputs", len(list), len(outputs))
	}
	for _, n := range []mutants.Named{
		{File: file, Old: "no such text", New: "x"}, {File: file, Old: "return", New: "x"},
		{File: file, Old: "a<<3", New: ""},
		{File: file, Old: "Kind = iota", New: "Kind = 7"},
	} {
		if _, err := mutants.LoadNamed(root, []mutants.Named{n}); err == nil {
			t.Errorf("%q is replaced by %q", n.Old, n.New)
		}
	}
}

// TestChoiceDoesNotDependOnOtherPlaces chooses twice from a package: a smaller choice is part of a larger one, and
// another seed chooses otherwise.
func TestChoiceDoesNotDependOnOtherPlaces(t *testing.T) {
	s, err := mutants.Load("../../..", "./internal/test/mutants/testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	few, more, other := s.Choose(5, 1), s.Choose(9, 1), s.Choose(5, 2)
	chosen := map[*mutants.Site]bool{}
	for _, site := range more {
		chosen[site] = true
	}
	for _, site := range few {
		if !chosen[site] {
			t.Errorf("%v is chosen first but not among more", site)
		}
	}
	if fmt.Sprint(few) == fmt.Sprint(other) {
		t.Error("another seed chooses the same places")
	}
}
