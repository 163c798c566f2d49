package dump

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/zinc-compiler/zinc/frontend/blobfile"
)

// blobFileJSON is the JSON form of a weight file.
type blobFileJSON struct {
	Bytes uint64     `json:"bytes"`
	Count uint32     `json:"count"` // as stated in the header
	Blobs []blobJSON `json:"blobs"`
}

type blobJSON struct {
	Record   uint64 `json:"record"` // offset of the metadata record
	Type     string `json:"type"`
	Elements uint64 `json:"elements"`
	Offset   uint64 `json:"offset"` // of the data
	Bytes    int    `json:"bytes"`
}

// weightFile prints the records of a weight file, up to the first fault.
func (c *printer) weightFile(path string, _ []byte) (err error) {
	f, err := blobfile.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	blobs, fault := f.List()
	out := blobFileJSON{Bytes: f.Size(), Count: f.Count(), Blobs: []blobJSON{}}
	for _, b := range blobs {
		out.Blobs = append(out.Blobs, blobJSON{
			Record:   b.Record,
			Type:     b.Type.String(),
			Elements: b.Len(),
			Offset:   b.Offset,
			Bytes:    len(b.Data),
		})
	}
	if c.JSON {
		return c.whole("weights", out, fault)
	}
	fmt.Fprintf(c.out, "weight file, %d bytes, header says %d blobs\n", out.Bytes, out.Count)
	tw := tabwriter.NewWriter(c.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "blob\trecord at\ttype\telements\tdata at\tbytes")
	for i, b := range out.Blobs {
		fmt.Fprintf(tw, "%d\t%d\t%s\t%d\t%d\t%d\n", i, b.Record, b.Type, b.Elements, b.Offset, b.Bytes)
	}
	return errors.Join(tw.Flush(), fault)
}
