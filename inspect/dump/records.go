package dump

import (
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/lower/td"
)

// streamParts are the parts of a record stream.
var streamParts = []filePart{
	{name: PartHeaders, print: (*fileDump).streamHeaders, raw: (*fileDump).rawStreamHeader, always: false},
	{name: PartRelocs, print: (*fileDump).openRecords, raw: (*fileDump).rawStream, always: false},
	{name: PartRecords, print: (*fileDump).streamRecords, raw: (*fileDump).rawStream, always: true},
}

// records prints a stream of 44-byte records.
func (c *printer) records(path string, b []byte) error {
	return c.dump(path, b, "records", "a record stream", streamParts, func(d *fileDump) bool {
		rs, err := td.ScanRecords(b)
		d.fault(err)
		d.stream = rs
		return err == nil || rs != nil
	})
}

// streamHead is the line of a record stream.
func streamHead(records int) *node.Node {
	return node.Row(PartHeaders, "record stream version {version}, {+record_size}{records} records of {-size} bytes\n",
		td.RecordVersion, td.RecordSize, records, td.RecordSize)
}

func (d *fileDump) streamHeaders() { d.show(streamHead(len(d.stream))) }

func (d *fileDump) rawStreamHeader() {
	d.words(PartHeaders, "", 0, d.span(0, td.StreamHeader))
}

func (d *fileDump) rawStream() {
	if d.printed {
		return
	}
	d.printed = true
	d.words(PartRecords, "", td.StreamHeader, d.span(td.StreamHeader, int64(len(d.b))))
}

func (d *fileDump) streamRecords() {
	defer d.list(PartRecords)()
	d.recordStream(node.Text(""), d.stream)
}

// recordStream prints all records of a stream after its line; of has what each is of.
func (d *fileDump) recordStream(of *node.Node, rs []td.Record) {
	d.put(node.Text("").Add(streamHead(len(rs))))
	d.recordList(of, rs, func(*td.Record) bool { return true })
}

// hasSlot reports whether a record names a buffer.
func hasSlot(r *td.Record) bool { return r.Slot != 0 }

// openRecords prints the records that name a buffer: the relocations of a stream.
func (d *fileDump) openRecords() {
	defer d.list(PartRelocs)()
	if d.j == nil {
		n := 0
		for i := range d.stream {
			if hasSlot(&d.stream[i]) {
				n++
			}
		}
		d.printf("relocation slots: %d of %d records\n", n, len(d.stream))
	}
	d.recordList(node.Text(""), d.stream, hasSlot)
}

func (d *fileDump) recordList(of *node.Node, rs []td.Record, wanted func(r *td.Record) bool) {
	for i := range rs {
		if wanted(&rs[i]) {
			d.put(node.Object("", of, rs[i].Describe(i)))
		}
	}
}
