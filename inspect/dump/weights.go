package dump

import (
	"errors"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
	"github.com/zinc-compiler/zinc/internal/node"
)

// weightFile prints the records of a weight file, up to the first fault.
func (c *printer) weightFile(path string, _ []byte) (err error) {
	f, err := blobfile.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	blobs, fault := f.List()
	list := node.List("blobs", node.Text("blob\trecord at\ttype\telements\tdata at\tbytes\n"))
	for i, b := range blobs {
		list.Add(node.Row("", "{-blob}\t{record}\t{type}\t{elements}\t{offset}\t{bytes}\n", i, b.Record, b.Type,
			b.Len(), b.Offset, len(b.Data)))
	}
	n := node.Row("", "weight file, {bytes} bytes, header says {count} blobs\n", f.Size(), f.Count()).Add(list)
	if c.JSON {
		return c.whole("weights", n, fault)
	}
	return errors.Join(n.WriteText(c.out), fault)
}
