package cli

import (
	"context"
	"io"
	"os"
	"runtime"

	"github.com/zinc-compiler/zinc/compile"
	"github.com/zinc-compiler/zinc/compile/pair"
	"github.com/zinc-compiler/zinc/emit/e5"
	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/internal/atomicfile"
)

// fileJSON is a file that a command wrote.
type fileJSON struct {
	Path  string `json:"path"`  // of the file
	Bytes int64  `json:"bytes"` // size
}

// writeFiles writes files, all of them or none, and on a terminal says what was written.
func (e *env) writeFiles(ctx context.Context, files ...atomicfile.File) error {
	if err := atomicfile.Write(ctx, files...); err != nil || !isTerminal(e.err) {
		return err
	}
	list, err := written(files)
	for _, f := range list {
		e.note("wrote %s, %d bytes", f.Path, f.Bytes)
	}
	return err
}

// written returns the sizes of files that were written.
func written(files []atomicfile.File) ([]fileJSON, error) {
	list := []fileJSON{}
	for _, f := range files {
		info, err := os.Stat(f.Path)
		if err != nil {
			return nil, err
		}
		list = append(list, fileJSON{f.Path, info.Size()})
	}
	return list, nil
}

// save writes files, all of them or none and with dryRun none, and returns their sizes.
func save(ctx context.Context, dryRun bool, files []atomicfile.File) ([]fileJSON, error) {
	if !dryRun {
		if err := atomicfile.Write(ctx, files...); err != nil {
			return nil, err
		}
		return written(files)
	}
	list := []fileJSON{}
	for _, f := range files {
		n, err := sizeOf(f)
		if err != nil {
			return nil, err
		}
		list = append(list, fileJSON{f.Path, int64(n)})
	}
	return list, nil
}

// replaces returns an error if one of the files that what names would replace a file of the model at from, whose text
// is at text. Where the model's files cannot be listed, only the text is looked at.
func (c *compileFlags) replaces(e *env, from, text, what string, files ...atomicfile.File) error {
	if e.stdin.IsStdin(from) {
		return nil
	}
	own, err := pair.Files(from, c.weights)
	if err != nil {
		own = []pair.File{{Path: text}}
	}
	for _, f := range files {
		for _, g := range own {
			if sameFile(f.Path, g.Path) {
				return usagef("%s would replace a file of the model, %s; choose another output", what, g.Path)
			}
		}
	}
	return nil
}

// outFile is the container of a compilation, which goes straight to a temporary file beside its path, and whose bytes
// are then the mapped file.
type outFile struct {
	path   string
	staged *atomicfile.Staged
	unmap  func() error
}

// store is a compile.Sink.Container.
func (o *outFile) store(_ int64, write func(w io.Writer) error) ([]byte, error) {
	var err error
	if o.staged, err = atomicfile.Stage(o.path); err != nil {
		return nil, err
	}
	if err = write(o.staged); err == nil {
		err = o.staged.Flush() // which would say the same again
	}
	if err != nil {
		return nil, err
	}
	data, unmap, err := blobfile.Map(o.staged.Name())
	o.unmap = unmap
	return data, err
}

// close unmaps the bytes, and removes the temporary file unless it was written.
func (o *outFile) close() {
	if o == nil {
		return
	}
	if o.unmap != nil {
		o.unmap() // only read from
	}
	if o.staged != nil {
		o.staged.Close() // its contents are not wanted
	}
}

// storing returns the file of the container of a compilation: nil if it is kept in memory, as on systems that cannot
// rename a mapped file.
func (c *compileCommand) storing(path string) *outFile {
	if c.dryRun || path == stdoutName || runtime.GOOS == "windows" {
		return nil
	}
	return &outFile{path: path}
}

// pairSink is c.sink with the container in a file, unless o is nil.
func (c *compileCommand) pairSink(o *outFile) func(r *compile.Result) compile.Sink {
	return func(r *compile.Result) compile.Sink {
		s := c.sink(r)
		switch {
		case o != nil:
			s.Container = o.store
		case c.dryRun && !c.prove:
			s.Container = nil // nobody reads it
		}
		return s
	}
}

// files are the files of a compiled pair whose container went to o, which is nil if it is elsewhere.
func (o *outFile) files(r *compile.Result, to pair.Paths) []atomicfile.File {
	container := atomicfile.File{
		Path:  to.Container,
		Write: func(w io.Writer) error { _, err := r.HWX.WriteTo(w); return err },
	}
	if o != nil {
		container = atomicfile.File{Path: o.path, Staged: o.staged}
	}
	return []atomicfile.File{container, {
		Path:  to.Descriptor,
		Write: func(w io.Writer) error { return e5.Write(w, r.E5) },
	}}
}
