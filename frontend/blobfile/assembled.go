package blobfile

import (
	"fmt"
	"io"
	"io/fs"
	"sort"
)

// assembled is the source of a file whose bytes are in several places.
type assembled struct {
	pieces [][]byte
	ends   []uint64 // offset after each piece
	closes func() error
}

// Assemble returns the weight file that write writes, without copying what it writes. closes releases the bytes.
func Assemble(name string, write func(w io.Writer) error, closes func() error) (*File, error) {
	a := &assembled{closes: closes}
	if err := write(a); err != nil {
		return nil, err
	}
	return newFile(name, a)
}

// Write keeps p, unlike other writers.
func (a *assembled) Write(p []byte) (int, error) {
	if len(p) > 0 {
		a.pieces, a.ends = append(a.pieces, p), append(a.ends, a.size()+uint64(len(p)))
	}
	return len(p), nil
}

func (a *assembled) size() uint64 {
	if len(a.ends) == 0 {
		return 0
	}
	return a.ends[len(a.ends)-1]
}

// from returns the bytes of one piece from off on.
func (a *assembled) from(off uint64) []byte {
	i := sort.Search(len(a.ends), func(i int) bool { return a.ends[i] > off })
	if i == len(a.ends) {
		return nil
	}
	return a.pieces[i][uint64(len(a.pieces[i]))-(a.ends[i]-off):]
}

func (a *assembled) bytes(off, n uint64) ([]byte, error) {
	if p := a.from(off); uint64(len(p)) >= n {
		return p[:n:n], nil
	}
	out := make([]byte, n)
	_, err := a.ReadAt(out, int64(off))
	return out, err
}

// ReadAt copies bytes from off on.
func (a *assembled) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		piece := a.from(uint64(off) + uint64(n))
		if piece == nil {
			return n, io.EOF
		}
		n += copy(p[n:], piece)
	}
	return n, nil
}

func (a *assembled) close() error {
	a.pieces, a.ends = nil, nil
	return a.closes()
}

// Add puts a file into the Set, which closes it, at a path that Resolve returned. info describes the file that its
// bytes are from.
func (s *Set) Add(rel string, f *File, info fs.FileInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[rel] = &opened{file: f, info: info}
}

// added returns the bytes of a file that was put into the Set, nil if there is none.
func (s *Set) added(rel string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.files[rel]
	if o == nil || o.file == nil {
		return nil, nil
	}
	a, ok := o.file.src.(*assembled)
	if !ok {
		return nil, nil
	}
	if a.size() == 0 {
		return nil, fmt.Errorf("%s: %w", o.file.name, fs.ErrClosed)
	}
	return io.NopCloser(io.NewSectionReader(a, 0, int64(a.size()))), nil
}
