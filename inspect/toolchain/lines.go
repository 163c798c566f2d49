package toolchain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// Bounds of a line: one of more than lineBytes is its first headBytes bytes, the number
// and digest of all, and its last tailBytes bytes. What that gives is no longer than
// lineBytes, so that a line that was cut is not cut again.
const (
	lineBytes = 1 << 16 // an operation of thousands of operands
	headBytes = lineBytes - tailBytes - 128
	tailBytes = 256
)

// inlineBytes bounds a constant that Lines leaves in its line as it was printed. A
// larger one becomes what Elided gives.
const inlineBytes = 256

// hexMark opens the bytes of a constant in the text of a program; a quote ends them.
const hexMark = `= hex "`

// Elided represents a large constant in a line: its size and a part of the digest of its
// bytes written in hexadecimal.
func Elided(data []byte) string {
	h := sha256.New()
	enc := hex.NewEncoder(h)
	enc.Write(data)
	return elided(2*int64(len(data)), h.Sum(nil))
}

// Eliding returns Elided that computes the digest of a slice once.
func Eliding() func(data []byte) string {
	type whole struct {
		first *byte
		size  int
	}
	known := map[whole]string{}
	return func(data []byte) string {
		if len(data) == 0 {
			return Elided(data)
		}
		k := whole{&data[0], len(data)}
		s, ok := known[k]
		if !ok {
			s = Elided(data)
			known[k] = s
		}
		return s
	}
}

func elided(digits int64, sum []byte) string {
	return fmt.Sprintf("hex (%d bytes, sha256 %x)", digits/2, sum[:8])
}

// Lines is a writer that hands on what is written to it line by line, in memory that
// does not depend on how long the lines are. Of the text of a program, the bytes of
// large constants are replaced as Elided says.
type Lines struct {
	// Line is called with each line, without its end; the error ends the writing. The
	// slice is valid until Line returns.
	Line func(line []byte) error

	state lineState
	head  []byte
	tail  []byte // of a long line, its last bytes
	sum   hash.Hash
	size  int64 // of the line, in state digits of the constant
}

type lineState uint8

const (
	whole  lineState = iota // head is the line so far
	digits                  // in the bytes of a constant, head is what is before them
	long                    // head and tail are the ends of the line
)

// Write takes text in pieces of any size. Errors are as in Line.
func (l *Lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.add(p)
			break
		}
		l.add(p[:i])
		if err := l.end(); err != nil {
			return n - len(p), err
		}
		p = p[i+1:]
	}
	return n, nil
}

// Flush hands on a last line that has no end.
func (l *Lines) Flush() error {
	if l.state == whole && len(l.head) == 0 {
		return nil
	}
	return l.end()
}

func (l *Lines) add(p []byte) {
	for len(p) > 0 {
		switch l.state {
		case whole:
			n := min(len(p), lineBytes-len(l.head))
			l.head, p = append(l.head, p[:n]...), p[n:]
			if len(p) > 0 {
				l.overflow()
			}
		case digits:
			n := bytes.IndexByte(p, '"')
			if n < 0 {
				n = len(p)
			}
			l.sum.Write(p[:n])
			l.size += int64(n)
			if p = p[n:]; len(p) > 0 {
				l.head = append(l.head, elided(l.size, l.sum.Sum(nil))...)
				l.state, p = whole, p[1:]
			}
		case long:
			l.sum.Write(p)
			l.size += int64(len(p))
			l.tail = append(l.tail, p[max(0, len(p)-tailBytes):]...)
			if over := len(l.tail) - tailBytes; over > 0 {
				l.tail = append(l.tail[:0], l.tail[over:]...)
			}
			return
		}
	}
}

// overflow changes the state of a line that is longer than what is kept.
func (l *Lines) overflow() {
	l.sum = sha256.New()
	if i := bytes.Index(l.head, []byte(hexMark)); i >= 0 && bytes.IndexByte(l.head[i+len(hexMark):], '"') < 0 {
		data := l.head[i+len(hexMark):]
		l.sum.Write(data)
		l.state, l.size, l.head = digits, int64(len(data)), l.head[:i+len("= ")]
		return
	}
	l.sum.Write(l.head)
	l.state, l.size = long, int64(len(l.head))
	l.tail = append(l.tail[:0], l.head[headBytes:]...)
	l.head = l.head[:headBytes]
}

func (l *Lines) end() error {
	line := l.head
	switch l.state {
	case whole:
		line = elide(line)
	case digits:
		line = append(line, elided(l.size, l.sum.Sum(nil))+" without an end"...)
	case long:
		line = fmt.Appendf(line, " ... (%d bytes, sha256 %x) ... ", l.size, l.sum.Sum(nil)[:8])
		line = append(line, l.tail...)
	}
	err := l.Line(line)
	l.state, l.head, l.tail, l.sum, l.size = whole, line[:0], l.tail[:0], nil, 0
	return err
}

// elide replaces a constant of more than inlineBytes in a line that is kept whole.
func elide(line []byte) []byte {
	i := bytes.Index(line, []byte(hexMark))
	if i < 0 {
		return line
	}
	data := line[i+len(hexMark):]
	n := bytes.IndexByte(data, '"')
	if n < 2*inlineBytes {
		return line
	}
	sum := sha256.Sum256(data[:n])
	rest := string(data[n+1:])
	return append(append(line[:i+len("= ")], elided(int64(n), sum[:])...), rest...)
}
