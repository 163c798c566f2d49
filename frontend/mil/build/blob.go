package build

import (
	"fmt"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
)

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
	blob, err := b.blobs.Blob(r.Path, r.Offset)
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
	return &ir.Const{Type: t, Data: blob.Data, Blob: fmt.Sprintf("%s@%d", rel, r.Offset)}, nil
}
