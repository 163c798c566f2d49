package dump

import "github.com/zinc-compiler/zinc/lower/td"

// recordJSON is the JSON form of one record.
type recordJSON struct {
	Procedure string `json:"procedure,omitempty"` // of a container
	Program   *int   `json:"program,omitempty"`   // of a firmware container
	Task      int    `json:"task"`
	Group     string `json:"group"`
	Register  uint64 `json:"register"`
	Slot      uint32 `json:"slot"`           // key, 0 of a value
	Name      string `json:"name,omitempty"` // of the slot
	Resolved  bool   `json:"resolved"`
	Operand   uint64 `json:"operand"`
	Bar       *int   `json:"bar"` // null for none
	Offset    uint32 `json:"offset"`
}

func recordOf(procedure string, r *td.Record) recordJSON {
	x := recordJSON{
		Procedure: procedure,
		Task:      r.Task,
		Group:     td.Groups[r.Group].Name,
		Register:  r.Register,
		Slot:      uint32(r.Slot),
		Resolved:  r.Resolved,
		Operand:   r.Operand,
		Offset:    r.Offset,
	}
	if r.Slot != 0 {
		x.Name = r.Slot.String()
	}
	if r.Bar != td.NoBar {
		x.Bar = &r.Bar
	}
	return x
}

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

// streamJSON is the JSON format of a record stream's headers.
type streamJSON struct {
	Version    int `json:"version"`
	RecordSize int `json:"record_size"`
	Records    int `json:"records"`
}

func (d *fileDump) streamHeaders() error {
	if d.j != nil {
		d.j.Put(PartHeaders, streamJSON{td.RecordVersion, td.RecordSize, len(d.stream)})
		return d.j.Err
	}
	d.part()
	d.printf("record stream version %d, %d records of %d bytes\n", td.RecordVersion, len(d.stream), td.RecordSize)
	return nil
}

func (d *fileDump) rawStreamHeader() error {
	return d.words(PartHeaders, "", 0, d.span(0, td.StreamHeader))
}

func (d *fileDump) rawStream() error {
	if d.printed {
		return nil
	}
	d.printed = true
	return d.words(PartRecords, "", td.StreamHeader, d.span(td.StreamHeader, int64(len(d.b))))
}

func (d *fileDump) streamRecords() error {
	if d.j == nil {
		d.part()
		return td.PrintRecords(d.out, d.stream)
	}
	return d.recordList(PartRecords, d.stream, func(*td.Record) bool { return true })
}

// openRecords prints the records that name a buffer: the relocations of a stream.
func (d *fileDump) openRecords() error {
	slots := func(r *td.Record) bool { return r.Slot != 0 }
	if d.j != nil {
		return d.recordList(PartRelocs, d.stream, slots)
	}
	d.part()
	n := 0
	for i := range d.stream {
		if slots(&d.stream[i]) {
			n++
		}
	}
	d.printf("relocation slots: %d of %d records\n", n, len(d.stream))
	return td.PrintRecordLines(d.out, d.stream, slots)
}

func (d *fileDump) recordList(part string, rs []td.Record, wanted func(r *td.Record) bool) error {
	d.j.Open(part, '[')
	defer d.j.Close()
	for i := range rs {
		if wanted(&rs[i]) {
			d.j.Put("", recordOf("", &rs[i]))
		}
	}
	return d.j.Err
}
