package cli

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
)

// Escape sequences of colors. No information is only in the color: the text is the same without it. Blue and yellow
// differ for every common form of color vision.
const (
	styleBold      = "\x1b[1m"
	styleUnderline = "\x1b[4m"
	styleRed       = "\x1b[31m"
	styleGreen     = "\x1b[32m"
	styleYellow    = "\x1b[33m"
	styleBlue      = "\x1b[94m"
	styleOff       = "\x1b[0m"
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
	dumpTints = []tint{
		{regexp.MustCompile(`^[0-9a-f]{8,}\b`), styleBlue},
		{regexp.MustCompile(`^[0-9a-f]{8,}  .*`), styleOff}, // words
		{regexp.MustCompile(`"([^"\\]|\\.)*"`), styleYellow},
		{regexp.MustCompile(`\b0x[0-9a-f]+\b`), styleBlue},
		{regexp.MustCompile(`\b(modelled|unknown|not known|not decoded)\b`), styleUnderline},
		{regexp.MustCompile(`^[^ *].*`), styleBold}, // begins a part or an entry
	}
	errorTints = []tint{
		{regexp.MustCompile(`\berror:|\bexceeded:|\binternal error\b`), styleRed},
		{regexp.MustCompile(`\bwarning:`), styleYellow},
		{regexp.MustCompile(`\b(note|hint):`), styleBlue},
		{regexp.MustCompile(`^\s*\^~*$`), styleGreen},
		{regexp.MustCompile(`^zinc:`), styleBold},
	}
)

// longestTinted is the length limit for lines with colors; a long literal has none.
const longestTinted = 4096

// painter is a writer that gives the parts of lines their styles.
type painter struct {
	w     io.Writer
	tints []tint
	line  []byte // without an end so far
	long  bool   // the line is longer than longestTinted and is written unchanged
}

// Write implements io.Writer.
func (p *painter) Write(b []byte) (int, error) {
	for piece := range bytes.Lines(b) {
		p.line = append(p.line, piece...)
		if piece[len(piece)-1] == '\n' || len(p.line) > longestTinted {
			if err := p.Close(); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

// Close writes what there is of the last line.
func (p *painter) Close() error {
	line, end := bytes.CutSuffix(p.line, []byte("\n"))
	var b strings.Builder
	if p.long || len(line) > longestTinted {
		b.Write(line)
		p.long = !end
	} else {
		tintLine(&b, string(line), p.tints)
	}
	if end {
		b.WriteByte('\n')
	}
	p.line = p.line[:0]
	_, err := io.WriteString(p.w, b.String())
	return err
}

func tintLine(b *strings.Builder, line string, tints []tint) {
	styles := make([]string, len(line)+1)
	for _, t := range tints {
		for _, m := range t.part.FindAllStringIndex(line, -1) {
			for i := m[0]; i < m[1]; i++ {
				styles[i] = cmp.Or(styles[i], t.style)
			}
		}
	}
	on := ""
	for i, style := range styles {
		if style != on && on != "" {
			b.WriteString(styleOff)
		}
		if style != on {
			b.WriteString(style)
		}
		on = style
		b.WriteString(line[i:min(i+1, len(line))])
	}
}

// painted is w with colors where they are wanted on a terminal. The function that it returns ends the text.
func (e *env) painted(w io.Writer, terminal bool, tints []tint) (io.Writer, func() error) {
	if !e.colors(terminal) {
		return w, func() error { return nil }
	}
	p := &painter{w: w, tints: tints}
	return p, p.Close
}

// printText writes the text that write produces to standard output, with colors where they are wanted.
func (e *env) printText(tints []tint, write func(w io.Writer) error) error {
	w, end := e.painted(e.out, e.terminal, tints)
	return errors.Join(write(w), end())
}

// silent returns an environment without standard error, for work whose messages are printed elsewhere.
func (e *env) silent() *env {
	silent := *e
	silent.err = io.Discard
	return &silent
}

// complain writes a message to standard error, with colors where they are wanted.
func (e *env) complain(text string) {
	w, end := e.painted(e.err, isTerminal(e.err), errorTints)
	io.WriteString(w, text)
	end() // there is nowhere to report an error of standard error
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
