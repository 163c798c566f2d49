package dump

import (
	"bytes"
	"io"
	"regexp"
)

// Escape sequences of the colours. Blue and yellow differ for every common form of colour vision, and no information is
// only in the colour: the text is the same without it.
const (
	styleHead   = "\x1b[1m"  // a line that begins a part or an entry
	styleNumber = "\x1b[94m" // addresses and offsets
	styleText   = "\x1b[33m" // quoted text
	styleMark   = "\x1b[4m"  // what is not confirmed
	styleOff    = "\x1b[0m"
)

// painted matches the parts of a line that have a style, leftmost first.
var painted = regexp.MustCompile(`("(?:[^"\\]|\\.)*")|\b(0x[0-9a-f]+)\b|\b(modelled|unknown|not known|not decoded)\b`)

// paintedLine is the length limit for coloured lines; a long literal is not coloured.
const paintedLine = 4096

// Paint colours lines of text.
type Paint struct {
	w    io.Writer
	line []byte
	long bool // the line is longer than paintedLine and is written unchanged
}

// NewPaint returns a Paint that writes to w.
func NewPaint(w io.Writer) *Paint { return &Paint{w: w} }

// Close writes an incomplete last line.
func (p *Paint) Close() error {
	if len(p.line) == 0 {
		return nil
	}
	return p.flush("")
}

// Write implements io.Writer.
func (p *Paint) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		piece, after, ended := bytes.Cut(rest, []byte("\n"))
		p.line = append(p.line, piece...)
		end := ""
		if ended {
			end = "\n"
		}
		if ended || len(p.line) > paintedLine {
			if err := p.flush(end); err != nil {
				return 0, err
			}
		}
		rest = after
	}
	return len(b), nil
}

// flush writes the buffered line with end, or if end is empty the buffered part of a long line.
func (p *Paint) flush(end string) error {
	if p.long || len(p.line) > paintedLine {
		p.long = end == ""
		_, err := p.w.Write(append(p.line, end...))
		p.line = p.line[:0]
		return err
	}
	if n := offsetDigits(p.line); n > 0 {
		out := append(append(append([]byte(styleNumber), p.line[:n]...), styleOff...), p.line[n:]...)
		p.line = p.line[:0]
		_, err := p.w.Write(append(out, end...))
		return err
	}
	head := len(p.line) > 0 && p.line[0] != ' ' && p.line[0] != '*'
	base := ""
	if head {
		base = styleHead
	}
	out := append([]byte(nil), base...)
	last := 0
	for _, m := range painted.FindAllSubmatchIndex(p.line, -1) {
		style := styleText
		switch {
		case m[4] >= 0:
			style = styleNumber
		case m[6] >= 0:
			style = styleMark
		}
		out = append(append(append(out, p.line[last:m[0]]...), style...), p.line[m[0]:m[1]]...)
		out = append(append(out, styleOff...), base...)
		last = m[1]
	}
	out = append(out, p.line[last:]...)
	if head {
		out = append(out, styleOff...)
	}
	p.line = p.line[:0]
	_, err := p.w.Write(append(out, end...))
	return err
}

// offsetDigits returns the number of digits of the offset at the start of a line of words, 0 for other lines.
func offsetDigits(line []byte) int {
	const least = 8
	n := 0
	for n < len(line) && (line[n] >= '0' && line[n] <= '9' || line[n] >= 'a' && line[n] <= 'f') {
		n++
	}
	if n < least || !bytes.HasPrefix(line[n:], []byte("  ")) {
		return 0
	}
	return n
}
