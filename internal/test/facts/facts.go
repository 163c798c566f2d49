// Package facts reads the scripts that show what the published chapters state: commands, and checks of what they print.
//
// A fact is a comment of a script, with lines that say more about it:
//
//	# fact: Table 29.1: a task is RUNNABLE, SUSPENDED, WAITING, SEMWAIT or BLOCKED
//	# test: runtime/sim/stack TestTasksOfTheDeviceChangeTheirStates
//	# differs: 29, pools
//	# mutant: runtime/sim/stack/firmware/process.go: "WAITING" => "SLEEPING"
//	stdout 'idle task: WAITING'
//
// The first words are its place in the chapter. A line "test" names a test that proves it; so does a test whose own
// comment names the table, listing or figure. A line "differs" has the first two words of the row of deviations.md that
// says how zinc differs. A line "mutant" is a change of the source in which the fact is false: the file from the root
// of the module, a part of its text that is an expression, a statement or several of them, and what replaces it. The
// lines that follow check what the last command printed: they fail under each of the mutants.
//
// Input: the folder of the scripts. Output: the facts in the order of the chapters, and for each a script of its own.
package facts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// Dir is the folder of the scripts, from the root of the module. TestFacts of cmd/zinc/cli runs them.
const Dir = "cmd/zinc/cli/testdata/facts"

// Chapters are the chapters that have scripts.
var Chapters = []int{2, 23, 27, 29, 30}

// Fact is a statement of a chapter.
type Fact struct {
	Chapter int
	Place   string // a section, table, listing or figure
	What    string
	Command string // that shows it
	Tests   []string
	Differs []string // subjects of rows of deviations.md
	Mutants []Mutant
	Line    string // place in the script, for errors

	script   *script
	from, to int // lines of the script, from 0
}

// Mutant is a change of the source in which a fact is false.
type Mutant struct {
	File     string
	Old, New string
}

// script is the text of a chapter's script.
type script struct {
	lines   []string
	archive *txtar.Archive // the files that it has
}

var (
	factLine    = regexp.MustCompile(`^# (fact|test|differs|mutant): (.+)$`)
	commandLine = regexp.MustCompile(`^(?:status \d+|exec) (.+)$`)
	checkLine   = regexp.MustCompile(`^(?:! )?(?:stdout|stderr|grep|cmp|same|exists) `)
	outputLine  = regexp.MustCompile(`^(?:! )?(?:stdout|stderr) `)
	mutantLine  = regexp.MustCompile(`^(\S+\.go): (.+?) =>(?: (.*))?$`)
)

// Read reads the facts of all scripts of a folder, in the order of the chapters.
func Read(dir string) ([]*Fact, error) {
	var facts []*Fact
	for _, chapter := range Chapters {
		name := fmt.Sprintf("chapter%02d.txtar", chapter)
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		a := txtar.Parse(b)
		s := &script{lines: strings.Split(strings.TrimSuffix(string(a.Comment), "\n"), "\n"), archive: a}
		of, err := s.facts(chapter, name)
		if err != nil {
			return nil, err
		}
		facts = append(facts, of...)
	}
	return facts, nil
}

func (s *script) facts(chapter int, name string) ([]*Fact, error) {
	var facts []*Fact
	command := ""
	var at *Fact
	for i, line := range s.lines {
		place := fmt.Sprintf("%s:%d", name, i+1)
		if m := commandLine.FindStringSubmatch(line); m != nil {
			command = m[1]
		}
		if at != nil && at.Command == "" && checkLine.MatchString(line) {
			at.Command = command
		}
		m := factLine.FindStringSubmatch(line)
		switch {
		case m == nil:
		case m[1] == "fact":
			where, what, ok := strings.Cut(m[2], ": ")
			if !ok {
				return nil, fmt.Errorf("%s: want a place in the chapter, a colon and a statement", place)
			}
			at = &Fact{Chapter: chapter, Place: where, What: what, Line: place, script: s, from: i}
			facts = append(facts, at)
		case at == nil || at.Command != "":
			return nil, fmt.Errorf("%s: want this line after a fact and before its checks", place)
		case m[1] == "test":
			at.Tests = append(at.Tests, m[2])
		case m[1] == "mutant":
			f := mutantLine.FindStringSubmatch(m[2])
			if f == nil {
				return nil, fmt.Errorf("%s: want a Go file, a colon, a part of its text, => and its replacement", place)
			}
			at.Mutants = append(at.Mutants, Mutant{File: f[1], Old: f[2], New: f[3]})
		default:
			at.Differs = append(at.Differs, m[2])
		}
		if at != nil {
			at.to = i + 1
		}
	}
	return facts, nil
}

// made are the words of a line that name a file which it writes.
var made = regexp.MustCompile(`(?:-o|--debug-db|--trace|--output \S+=|^serve|^foreign|^cp \S+) ?([^\s=]+)`)

// Script returns a script of the fact alone: its own lines, the command that they are about, and what writes the files
// that these read.
func (f *Fact) Script() []byte {
	keep := map[int]bool{}
	var need func(i int)
	need = func(i int) {
		if keep[i] {
			return
		}
		keep[i] = true
		for _, word := range f.script.words(f.script.lines[i]) {
			for k := i - 1; k >= 0; k-- {
				if slices.Contains(products(f.script.lines[k]), word) {
					need(k)
					break
				}
			}
		}
	}
	command := false // the first check is about a command of the fact
	for i := f.from; i < f.to; i++ {
		line := f.script.lines[i]
		if outputLine.MatchString(line) && !command {
			for k := i - 1; k >= 0; k-- {
				if commandLine.MatchString(f.script.lines[k]) {
					need(k)
					break
				}
			}
		}
		command = command || commandLine.MatchString(line)
		need(i)
	}
	var b strings.Builder
	for i, line := range f.script.lines {
		if keep[i] {
			b.WriteString(line + "\n")
		}
	}
	return txtar.Format(&txtar.Archive{Comment: []byte(b.String()), Files: f.script.archive.Files})
}

// words returns the names of files in a line, without the ending of a pair, and those in the descriptions of loads that
// it names.
func (s *script) words(line string) []string {
	if strings.HasPrefix(line, "#") || outputLine.MatchString(line) {
		return nil
	}
	split := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" =,\"[]", r) })
	}
	var out []string
	for _, w := range split(line) {
		out = append(out, stem(w))
		for _, f := range s.archive.Files {
			if f.Name == w && strings.HasSuffix(w, ".json") {
				out = append(out, split(string(f.Data))...)
			}
		}
	}
	return out
}

// products returns the names of the files that a line writes, without the ending of a pair.
func products(line string) []string {
	var out []string
	for _, m := range made.FindAllStringSubmatch(line, -1) {
		out = append(out, stem(m[1]))
	}
	return out
}

func stem(name string) string {
	if s, ok := strings.CutSuffix(name, ".e5"); ok {
		return s + ".hwx"
	}
	return name
}
