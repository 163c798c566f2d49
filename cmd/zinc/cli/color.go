package cli

import (
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Escape sequences of colors. No information is only in the color: the text is the same without it.
const (
	styleBold   = "\x1b[1m"
	styleRed    = "\x1b[31m"
	styleGreen  = "\x1b[32m"
	styleYellow = "\x1b[33m"
	styleBlue   = "\x1b[94m"
	styleOff    = "\x1b[0m"
)

// tint is a part of a line and its style.
type tint struct {
	part  *regexp.Regexp
	style string
}

// Tints of the lines that people read on a terminal. Of two at one place, the first has it.
var (
	answerTints = []tint{
		{regexp.MustCompile(`^.*exceeded:`), styleRed},
		{regexp.MustCompile(`^\S[^:,]*$`), styleBold}, // titles
		{regexp.MustCompile(`^[0-9.]+ (ns|us|ms|s) a call`), styleBold},
		{regexp.MustCompile(`\bsave [0-9.]+ (ns|us|ms|s)\b`), styleGreen},
		{regexp.MustCompile(`\b(hardware-cannot|zinc-cannot-yet|not-worth-it)\b`), styleRed},
		{regexp.MustCompile(`\b(CPU|cpu)\b`), styleYellow},
	}
	diffTints = []tint{
		{regexp.MustCompile(`\b(removed|slower)\b|\(\+[^)]*%\)`), styleRed},
		{regexp.MustCompile(`\b(added|faster)\b|\(-[^)]*%\)`), styleGreen},
		{regexp.MustCompile(`^[a-z]+: .* changed\b`), styleBold},
		{regexp.MustCompile(`\b0x[0-9a-f]+\b`), styleBlue},
		{regexp.MustCompile(`->`), styleYellow},
	}
	lintTints = []tint{
		{regexp.MustCompile(`\bshown( alone)?: [a-z0-9-]+`), styleRed},
		{regexp.MustCompile(`\bpossible: [a-z0-9-]+`), styleYellow},
		{regexp.MustCompile(`^\S.*, function .* target .*`), styleBold},
		{regexp.MustCompile(`^  instead: .*`), styleGreen},
		{regexp.MustCompile(`^\s*\| .*`), styleBlue},
	}
	verifyTints = []tint{
		{regexp.MustCompile(`^pass\b|\bpass$`), styleGreen},
		{regexp.MustCompile(`^fail\b|\bfail$|\bthe pair is wrong\b`), styleRed},
		{regexp.MustCompile(`^cannot tell\b|\bcannot tell$|\bnot concluded\b`), styleYellow},
		{regexp.MustCompile(`: the bytes are proved:`), styleGreen},
		{regexp.MustCompile(`^output  .*`), styleBold},
	}
	errorTints = []tint{
		{regexp.MustCompile(`\berror:|\bexceeded:|\binternal error\b`), styleRed},
		{regexp.MustCompile(`\bwarning:`), styleYellow},
		{regexp.MustCompile(`\b(note|hint):`), styleBlue},
		{regexp.MustCompile(`^\s*\^~*$`), styleGreen},
		{regexp.MustCompile(`^zinc:`), styleBold},
	}
)

// tinted returns lines with the styles of their parts.
func tinted(text string, tints []tint) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, end := strings.TrimSuffix(line, "\n"), line[len(strings.TrimSuffix(line, "\n")):]
		tintLine(&b, body, tints)
		b.WriteString(end)
	}
	return b.String()
}

func tintLine(b *strings.Builder, line string, tints []tint) {
	styles := make([]string, len(line))
	for _, t := range tints {
		for _, m := range t.part.FindAllStringIndex(line, -1) {
			if !slices.ContainsFunc(styles[m[0]:m[1]], func(s string) bool { return s != "" }) {
				for i := m[0]; i < m[1]; i++ {
					styles[i] = t.style
				}
			}
		}
	}
	on := ""
	for i := range len(line) {
		if styles[i] != on {
			if on != "" {
				b.WriteString(styleOff)
			}
			on = styles[i]
			b.WriteString(on)
		}
		b.WriteByte(line[i])
	}
	if on != "" {
		b.WriteString(styleOff)
	}
}

// printText writes the text that write produces to standard output, with colors where they are wanted.
func (e *env) printText(tints []tint, write func(w io.Writer) error) error {
	if !e.colors(e.terminal) {
		return write(e.out)
	}
	var b strings.Builder
	err := write(&b)
	_, e2 := io.WriteString(e.out, tinted(b.String(), tints))
	return errors.Join(err, e2)
}

// silent returns an environment without standard error, for work whose messages are printed elsewhere.
func (e *env) silent() *env {
	silent := *e
	silent.err = io.Discard
	return &silent
}

// complain writes a message to standard error, with colors where they are wanted.
func (e *env) complain(text string) {
	if e.colors(isTerminal(e.err)) {
		text = tinted(text, errorTints)
	}
	io.WriteString(e.err, text)
}

// colors reports whether text gets colors: as --color says, or with auto on a terminal unless NO_COLOR is set.
func (e *env) colors(terminal bool) bool {
	switch e.color {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
