package build

import (
	"errors"
	"fmt"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/ir"
)

// fileError reports a weight file that cannot be opened.
type fileError struct {
	rel string
	err error
}

// Error returns the file system's message.
func (e *fileError) Error() string { return e.err.Error() }

// Unwrap returns the error of the file.
func (e *fileError) Unwrap() error { return e.err }

// unread is the diagnostic about a weight file that cannot be opened, and the number of constants in the file.
type unread struct {
	about     *diag.Diagnostic
	constants int
	pointer   bool // the file is what git-lfs writes instead
}

// unreadFile reports a weight file once, at the first constant in it, and counts the others.
func (b *builder) unreadFile(e *fileError, at diag.Span, op, name string) {
	u := b.unread[e.rel]
	if u == nil {
		lost := (*blobfile.MissingError)(nil)
		u = &unread{
			about:   b.list.Errorf(at, codeBlob, op, "%s: %v", name, e),
			pointer: errors.As(e, &lost) && lost.Pointer,
		}
		if b.unread == nil {
			b.unread = map[string]*unread{}
		}
		b.unread[e.rel] = u
	}
	u.constants++
}

// countUnread adds to each diagnostic about a weight file how many constants need it.
func (b *builder) countUnread() {
	for rel, u := range b.unread {
		if u.constants > 1 {
			u.about.Message += fmt.Sprintf("; %d constants are in the file", u.constants)
		}
		if u.pointer {
			u.about.Hint = "fetch the file with git lfs pull"
		}
		if u.about.Hint == "" {
			u.about.Code = CodeUnread
			u.about.Hint = "set the folder of the weights to the one that contains " + rel +
				" itself; a link out of the folder is read only if links are followed"
		}
	}
}

// blob returns the constant of type t that r names in a weight file. Its bytes
// are the file's.
func (b *builder) blob(r *mil.BlobRef, t ir.Type) (*ir.Const, error) {
	if b.blobs == nil {
		return nil, fmt.Errorf("%s is in a weight file, and the model was opened without its folder", r.Path)
	}
	if t.Kind != ir.Tensor || t.DType == ir.String {
		return nil, fmt.Errorf("a weight file contains tensors of numbers, not %s", t)
	}
	if !t.Static() {
		return nil, fmt.Errorf("a constant in a weight file must have a known shape, got %s", t)
	}
	rel, err := blobfile.Resolve(r.Path)
	if err != nil {
		return nil, err
	}
	file, err := b.blobs.Open(r.Path)
	if lost := (*blobfile.MissingError)(nil); b.opts.Assume && errors.As(err, &lost) {
		return b.missing(lost, r, t)
	}
	if err != nil {
		return nil, &fileError{rel, err}
	}
	blob, err := file.Blob(r.Offset)
	if err != nil {
		return nil, err
	}
	where := fmt.Sprintf("%s has %d, bytes %#x to %#x", rel, len(blob.Data), blob.Offset, blob.Offset+
		uint64(len(blob.Data)))
	// Booleans are stored as bytes.
	if elem := blob.Type.String(); elem != t.DType.String() && !(t.DType == ir.Bool && blob.Type == blobfile.Uint8) {
		return nil, fmt.Errorf("the text says %s, the record at byte %#x of %s says %s", t.DType, r.Offset, rel, elem)
	}
	switch n := t.Bytes(); {
	case n < 0:
		return nil, fmt.Errorf("%s has more bytes than can be counted, %s", t, where)
	case n != int64(len(blob.Data)):
		return nil, fmt.Errorf("%s needs %d bytes, %s", t, n, where)
	}
	where = fmt.Sprintf("%s@%d", rel, r.Offset)
	return &ir.Const{Type: t, Data: blob.Data, Blob: where, Stored: true}, nil
}
