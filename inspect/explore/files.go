package explore

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
)

// A container holds the model's weights, so pairs are kept in temporary files for requests that show their bytes or run
// them.

// spilled is a temporary file.
type spilled struct {
	f    *os.File
	size int64
}

// pairFiles are the files of a pair.
type pairFiles struct{ container, descriptor spilled }

// spill writes a pair to files in the server's folder.
func (s *Server) spill(r *compile.Result) (*pairFiles, error) {
	p := &pairFiles{}
	for _, x := range []struct {
		to    *spilled
		write func(w io.Writer) error
	}{
		{&p.container, func(w io.Writer) error { _, err := r.HWX.WriteTo(w); return err }},
		{&p.descriptor, func(w io.Writer) error { return e5.Write(w, r.E5) }},
	} {
		f, err := os.CreateTemp(s.folder, "pair-*")
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		x.to.f = f
		b := bufio.NewWriterSize(f, 1<<20)
		if err = x.write(b); err == nil {
			err = b.Flush()
		}
		if err == nil {
			x.to.size, err = f.Seek(0, io.SeekCurrent)
		}
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

// window reads at most n bytes from off on.
func (s *spilled) window(off, n int64) ([]byte, error) {
	if off < 0 || off > s.size {
		return nil, nil
	}
	b := make([]byte, min(n, s.size-off))
	_, err := s.f.ReadAt(b, off)
	if err == io.EOF {
		err = nil
	}
	return b, err
}

// read reads the pair back.
func (f *pairFiles) read() (p pair.Pair, err error) {
	if p.Container, err = f.container.window(0, f.container.size); err != nil {
		return p, err
	}
	p.Descriptor, err = f.descriptor.window(0, f.descriptor.size)
	return p, err
}

func (p *pairFiles) close() (err error) {
	for _, s := range []*spilled{&p.container, &p.descriptor} {
		if s.f != nil {
			err = errors.Join(err, s.f.Close(), os.Remove(s.f.Name()))
			s.f = nil
		}
	}
	return err
}
