package regularfile

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// Stdin is the path of standard input.
const Stdin = "-"

// maxStdin is the limit of bytes of standard input.
const maxStdin int64 = 2 << 30

// An Input reads files by their paths, and standard input by the path Stdin. For a nil Input, Stdin is the name of a
// file.
type Input struct {
	read func() ([]byte, error)
}

// NewInput returns an Input that reads standard input from r: once, however often it is read, since a command may open
// its model several times.
func NewInput(r io.Reader) *Input {
	return &Input{read: sync.OnceValues(func() ([]byte, error) {
		b, err := io.ReadAll(io.LimitReader(r, maxStdin+1))
		switch {
		case err != nil:
			return nil, err
		case len(b) == 0:
			return nil, errors.New("standard input is empty")
		case int64(len(b)) > maxStdin:
			return nil, fmt.Errorf("standard input exceeds the limit of %d bytes", maxStdin)
		}
		return b, nil
	})}
}

// IsStdin reports whether path is standard input.
func (in *Input) IsStdin(path string) bool { return in != nil && path == Stdin }

// Read returns the bytes of standard input, or of the regular file at path as the function Read does.
func (in *Input) Read(path string) ([]byte, error) { return in.ReadUpTo(path, math.MaxInt64) }

// ReadUpTo is Read for at most limit bytes.
func (in *Input) ReadUpTo(path string, limit int64) ([]byte, error) {
	if !in.IsStdin(path) {
		return ReadUpTo(path, limit)
	}
	b, err := in.read()
	if err == nil && int64(len(b)) > limit {
		return nil, tooLong("standard input", int64(len(b)), limit)
	}
	return b, err
}
