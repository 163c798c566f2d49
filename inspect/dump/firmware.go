package dump

import (
	"fmt"

	"github.com/zinc-compiler/zinc/emit/afpp"
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/lower/td"
)

// firmwareParts are the parts of a firmware container.
var firmwareParts []filePart

func init() { // functions of the table print the state
	firmwareParts = []filePart{
		{name: PartHeaders, print: (*fileDump).firmwareHeaders, raw: (*fileDump).rawFirmwareHeaders, always: true},
		{name: PartTasks, print: (*fileDump).imageTasks, raw: (*fileDump).rawImages, always: true},
		{name: PartFields, print: (*fileDump).imageTasks, raw: (*fileDump).rawImages, always: false},
		{name: PartTask, print: (*fileDump).imageDetail, raw: (*fileDump).rawImageChosen, always: false},
		{name: PartConstants, print: (*fileDump).firmwareConstants, raw: rawSection(afpp.KindKernel, PartConstants),
			always: false},
		{name: PartRelocs, print: (*fileDump).firmwareSlots, raw: rawSection(afpp.KindText, PartRelocs), always: false},
		{name: PartRecords, print: (*fileDump).firmwareRecords, raw: rawSection(afpp.KindText, PartRecords),
			always: true},
	}
}

// firmware prints a firmware container.
func (c *printer) firmware(path string, b []byte) error {
	return c.dump(path, b, "firmware", "a firmware container", firmwareParts, func(d *fileDump) bool {
		p, faults := afpp.Scan(b)
		for _, e := range faults {
			d.fault(e)
		}
		if d.firm = p; p == nil {
			return false
		}
		for i, g := range p.Programs {
			d.firmwareTasks(i, g)
		}
		return true
	})
}

// firmwareTasks lists the tasks of a program: its images completed by the records.
func (d *fileDump) firmwareTasks(i int, g *afpp.Program) {
	owner := make([]string, len(g.Text.Images))
	for k := range owner {
		owner[k] = fmt.Sprintf("of program %d", i)
	}
	for _, p := range g.Procedures {
		for _, o := range g.Operations[p.FirstOperation : p.FirstOperation+p.Operations] {
			for k := uint64(o.FirstTask); k < uint64(o.FirstTask)+uint64(o.Tasks) && k < uint64(len(owner)); k++ {
				if owner[k] = p.Name; len(d.firm.Programs) > 1 {
					owner[k] = fmt.Sprintf("%d/%s", i, p.Name)
				}
			}
		}
	}
	var records []td.Record
	for k := range g.Text.Records {
		if r := g.Text.Records[k]; r.Task < len(g.Text.Images) {
			records = append(records, r)
		}
	}
	joined, joinErr := td.Join(g.Text.Images, records)
	at := int64(0)
	if sections, err := g.Sections(); err == nil && len(sections) >= int(afpp.KindText) {
		s := &sections[afpp.KindText-1]
		at = s.At + td.StreamHeader + int64(s.Count)*td.RecordSize
	}
	for k, m := range g.Text.Images {
		x := imageTask{procedure: owner[k], image: m, at: at + int64(k)*td.ImageSize}
		if joinErr == nil {
			x.task = joined[k]
		} else if x.task, x.err = td.DecodeV10(m); x.err != nil {
			d.fault(fmt.Errorf("byte %#x: program %d: image %d: %w", x.at, i, k, x.err))
		}
		d.imageSet = append(d.imageSet, x)
	}
	if joinErr != nil && len(d.faults) == 0 {
		d.fault(fmt.Errorf("program %d: images and records differ: %w", i, joinErr))
	}
}

func (d *fileDump) firmwareHeaders() {
	n, err := afpp.Describe(d.firm)
	if err != nil {
		d.fail(err)
		return
	}
	d.show(n)
}

func (d *fileDump) firmwareConstants() {
	n := node.List(PartConstants)
	for i, g := range d.firm.Programs {
		n.Add(node.Row("", "program {program}: {bytes:#x} bytes of coefficients, the first {head}\n", i, len(g.Kernel),
			headBytes(g.Kernel)))
	}
	d.show(n)
}

func (d *fileDump) firmwareRecords() {
	d.firmwareRecordsOf(PartRecords, func(*td.Record) bool { return true }, func(i int, g *afpp.Program) {
		afpp.DumpRecords(&d.out, i, g) // which keeps its error
		if len(g.Text.Other) > 0 {
			d.printf("images of descriptor version %d, which has no field table; their words:\n", g.Generic.Image)
			d.words("images", "", 0, g.Text.Other)
		}
	})
}

// firmwareSlots prints the records that name a buffer.
func (d *fileDump) firmwareSlots() {
	d.firmwareRecordsOf(PartRelocs, hasSlot, func(i int, g *afpp.Program) {
		d.printf("program %d: relocation slots\n", i)
		d.recordList(node.Text(""), g.Text.Records, hasSlot)
	})
}

// firmwareRecordsOf prints the wanted records of each program, in text with a function.
func (d *fileDump) firmwareRecordsOf(part string, wanted func(r *td.Record) bool,
	text func(i int, g *afpp.Program)) {
	defer d.open(part, '[')()
	for i, g := range d.firm.Programs {
		if d.j == nil {
			d.part()
			text(i, g)
			continue
		}
		d.recordList(node.Object("", node.Value("program", i)), g.Text.Records, wanted)
	}
}

func (d *fileDump) rawFirmwareHeaders() {
	d.words(PartHeaders, "package", 0, d.span(0, afpp.HeaderSize))
	for i, g := range d.firm.Programs {
		const n = afpp.HeaderSize + afpp.NumKinds*afpp.SectionHeaderSize
		d.words(PartHeaders, fmt.Sprintf("program %d", i), g.At(), d.span(g.At(), n))
	}
}

// rawSection returns a function that prints the words of a section of every program.
func rawSection(k afpp.Kind, part string) func(d *fileDump) {
	return func(d *fileDump) {
		for i, g := range d.firm.Programs {
			list, err := g.Sections()
			if err != nil {
				d.fail(err)
			}
			if len(list) >= int(k) {
				s := &list[k-1]
				d.words(part, fmt.Sprintf("section %s of program %d", k, i), s.At, d.span(s.At, int64(s.Present)))
			}
		}
	}
}
