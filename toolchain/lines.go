package toolchain

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
)

// Bounds of a line that Lines keeps: a longer one is its first headBytes bytes, the
// number and digest of all, and its last tailBytes bytes. A constant of a program is one
// line with all its bytes, and the digest tells two apart.
const (
	headBytes = 512
	tailBytes = 192
)

// Lines is a writer that hands on what is written to it line by line, in memory that
// does not depend on how long the lines are.
type Lines struct {
	// Line is called with each line, without its end; the error ends the writing. The
	// slice is valid until Line returns.
	Line func(line []byte) error

	head  []byte
	tail  []byte // of a long line, its last bytes
	whole hash.Hash
	size  int64
}

// Write takes text in pieces of any size. Errors are those of Line.
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
	if l.size == 0 {
		return nil
	}
	return l.end()
}

func (l *Lines) add(p []byte) {
	l.size += int64(len(p))
	if l.whole == nil && len(l.head)+len(p) <= headBytes+tailBytes {
		l.head = append(l.head, p...)
		return
	}
	if l.whole == nil {
		l.whole = sha256.New()
		l.whole.Write(l.head)
		l.tail = append(l.tail, l.head[min(headBytes, len(l.head)):]...)
		if short := headBytes - len(l.head); short > 0 {
			l.whole.Write(p[:short])
			l.head, p = append(l.head, p[:short]...), p[short:]
		}
		l.head = l.head[:headBytes]
	}
	l.whole.Write(p)
	if len(p) >= tailBytes {
		l.tail = append(l.tail[:0], p[len(p)-tailBytes:]...)
		return
	}
	l.tail = append(l.tail, p...)
	if over := len(l.tail) - tailBytes; over > 0 {
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
}

func (l *Lines) end() error {
	line := l.head
	if l.whole != nil {
		line = fmt.Appendf(line, " ... (%d bytes, sha256 %x) ... ", l.size, l.whole.Sum(nil)[:8])
		line = append(line, l.tail...)
	}
	err := l.Line(line)
	l.head, l.tail, l.whole, l.size = l.head[:0], l.tail[:0], nil, 0
	return err
}
