package diag

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// Pos is a byte offset into a File, plus one; the zero value is no position.
type Pos uint32

// NoPos is the position of something that is not in a text.
const NoPos Pos = 0

// MaxSource is the largest text, in bytes, that a Pos and an int can address.
const MaxSource = min(1<<32-2, math.MaxInt-1)

// PosAt returns the position of byte offset off.
func PosAt(off int) Pos { return Pos(off + 1) }

// IsValid reports whether p is a position in a text.
func (p Pos) IsValid() bool { return p != NoPos }

// Offset returns the byte offset of p, or -1 for NoPos.
func (p Pos) Offset() int { return int(p) - 1 }

// A File is one source text. Its fields must not change once a position in it
// has been expanded.
type File struct {
	Name string // as diagnostics print it
	Src  string // the whole text

	once  sync.Once
	lines []uint32 // byte offset of the start of every line
}

// NewFile returns a File of the given name and text.
func NewFile(name, src string) *File { return &File{Name: name, Src: src} }

// A Position is an expanded Pos. Lines and columns count from 1, columns are in
// bytes; a Line of 0 means that only the file is known.
type Position struct {
	Filename string
	Offset   int // in bytes, from 0
	Line     int
	Column   int
}

// String returns file:line:col, or only file if the line is not known.
func (p Position) String() string {
	if p.Line == 0 {
		return p.Filename
	}
	return p.Filename + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// Position expands p. It is safe for concurrent use.
func (f *File) Position(p Pos) Position {
	if f == nil {
		return Position{}
	}
	if !p.IsValid() || p.Offset() > len(f.Src) {
		return Position{Filename: f.Name}
	}
	f.once.Do(f.index)
	off := p.Offset()
	i := sort.Search(len(f.lines), func(i int) bool { return int(f.lines[i]) > off }) - 1
	return Position{Filename: f.Name, Offset: off, Line: i + 1, Column: off - int(f.lines[i]) + 1}
}

// At returns the position of a line and a column, both from 1, or NoPos if the text has no such place.
func (f *File) At(line, column int) Pos {
	f.once.Do(f.index)
	if line < 1 || line > len(f.lines) || column < 1 {
		return NoPos
	}
	off := int(f.lines[line-1]) + column - 1
	if off > len(f.Src) {
		return NoPos
	}
	return PosAt(off)
}

func (f *File) index() {
	lines := make([]uint32, 1, 1+strings.Count(f.Src, "\n"))
	for off := 0; ; {
		n := strings.IndexByte(f.Src[off:], '\n')
		if n < 0 {
			break
		}
		off += n + 1
		lines = append(lines, uint32(off))
	}
	f.lines = lines
}

// line returns the text of the line with byte offset off, without its line end, and
// the offset of its start.
func (f *File) line(off int) (text string, start int) {
	start = strings.LastIndexByte(f.Src[:off], '\n') + 1
	text = f.Src[start:]
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		text = text[:n]
	}
	return strings.TrimSuffix(text, "\r"), start
}

// A Span is the range of bytes in a File from Start up to, but not including, End. A
// Span whose Start is NoPos means the whole file; the zero Span means nothing.
type Span struct {
	File       *File
	Start, End Pos
}

// IsValid reports whether s is a range in a text.
func (s Span) IsValid() bool { return s.File != nil && s.Start.IsValid() }

// Position expands the start of s.
func (s Span) Position() Position { return s.File.Position(s.Start) }

// String returns the start of s as file:line:col.
func (s Span) String() string { return s.Position().String() }
