package dump

import (
	"encoding/binary"
	"fmt"

	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/lower/td"
)

// chosenTasks calls visit for each task that Tasks names, and note for a procedure
// whose tasks are not decoded.
func (d *fileDump) chosenTasks(visit func(p hwx.Procedure, i int, t td.Placed) error) error {
	f := d.hwx.f
	list := f.Procedures()
	if note := noFields(f); note != "" {
		return fmt.Errorf("%s: %s: %s; %s prints their words", d.path, d.name(PartTask), note, d.name(PartTasks))
	}
	counts := make([]procedureTasks, len(list))
	for i, p := range list {
		counts[i] = procedureTasks{p.Name, p.Tasks}
	}
	chosen, err := d.chooseTasks(counts)
	if err != nil {
		return fmt.Errorf("%s: %w", d.path, err)
	}
	found := make([]bool, len(d.Tasks))
	for k, p := range list {
		if _, _, _, err := d.walk(p, func(i int, t td.Placed) error {
			show := chosen[k](i)
			for x := range d.Tasks {
				if d.Tasks[x].at(uint64(t.Off), 4*t.Words()) {
					show, found[x] = true, true
				}
			}
			if !show {
				return nil
			}
			return visit(p, i, t)
		}); err != nil {
			return err
		}
	}
	for x, r := range d.Tasks {
		if r.placed && !found[x] {
			return fmt.Errorf("%s: %s %s: no task is there; %s lists their places", d.path, d.name(PartTask), r.text,
				d.name(PartTasks))
		}
	}
	return nil
}

// containerTask prints the tasks that Tasks names.
func (d *fileDump) containerTask() error {
	if d.j != nil {
		d.j.Open("task", '[')
		defer d.j.Close()
	}
	return d.chosenTasks(func(p hwx.Procedure, i int, t td.Placed) error {
		return d.detail(p.Name, i, p.Tasks, t, d.hwx.textOff+int64(t.Off))
	})
}

// containerRecords prints the records that loading generates from the tasks; the container itself has none.
func (d *fileDump) containerRecords() error {
	f := d.hwx.f
	if d.j != nil {
		d.j.Open(PartRecords, '[')
		defer d.j.Close()
	}
	if note := noFields(f); note != "" {
		return d.notePart("records: " + note)
	}
	for _, p := range f.Procedures() {
		rs, err := d.loadRecords(p)
		if err != nil {
			if err := d.notePart(fmt.Sprintf("records of procedure %s cannot be generated: %v", node.Printable(p.Name),
				err)); err != nil {
				return err
			}
			continue
		}
		if d.j != nil {
			for i := range rs {
				d.j.Put("", recordOf(p.Name, &rs[i]))
			}
			continue
		}
		d.part()
		d.printf("records of procedure %s, as loading generates them from its tasks; their buffers are not resolved\n",
			node.Printable(p.Name))
		if err := td.PrintRecords(d.out, rs); err != nil {
			return err
		}
	}
	if d.j != nil {
		return d.j.Err
	}
	return nil
}

// loadRecords returns the records that loading generates from a procedure's tasks.
func (d *fileDump) loadRecords(p hwx.Procedure) ([]td.Record, error) {
	var tasks []*td.Task
	if _, _, _, err := d.walk(p, func(_ int, t td.Placed) error {
		tasks = append(tasks, t.Task)
		return nil
	}); err != nil {
		return nil, err
	}
	_, rs, err := td.Split(tasks)
	return rs, err
}

// rawRecords prints the record stream of each procedure, as a compilation can emit it.
func (d *fileDump) rawRecords() error {
	if note := noFields(d.hwx.f); note != "" {
		return d.notePart("records: " + note)
	}
	for _, p := range d.hwx.f.Procedures() {
		rs, err := d.loadRecords(p)
		var b []byte
		if err == nil {
			b, err = td.EncodeRecords(rs)
		}
		if err != nil {
			if err := d.notePart(fmt.Sprintf("records of procedure %s cannot be generated: %v", node.Printable(p.Name),
				err)); err != nil {
				return err
			}
			continue
		}
		what := "stream of procedure " + p.Name + ", which is not in the container"
		if err := d.words(PartRecords, what, 0, b); err != nil {
			return err
		}
	}
	return nil
}

// notePart prints a line instead of a part, only in text.
func (d *fileDump) notePart(s string) error {
	if d.j == nil {
		d.part()
		d.printf("%s\n", s)
	}
	return nil
}

// relocJSON is the JSON form of one relocation.
type relocJSON struct {
	In        string  `json:"in"`      // section of the relocation
	Address   string  `json:"address"` // byte offset in that section
	Kind      uint32  `json:"kind"`
	Section   int     `json:"section"` // the section whose base is added, from 1
	Target    string  `json:"target"`  // its name
	Value     *string `json:"value"`   // the word in the file, a byte offset in the target; null if truncated
	Procedure string  `json:"procedure,omitempty"`
	Task      *int    `json:"task,omitempty"`
	Field     string  `json:"field,omitempty"`
}

// relocs prints the relocations of all sections.
func (d *fileDump) relocs() error {
	f := d.hwx.f
	if d.j != nil {
		d.j.Open(PartRelocs, '[')
		defer d.j.Close()
	}
	sections, found := f.Sections(), false
	text := f.Section(hwx.SegText, hwx.SectText)
	for _, s := range sections {
		if len(s.Relocs) == 0 {
			continue
		}
		found = true
		list := make([]relocJSON, len(s.Relocs))
		at := map[uint32]int{}
		b := s.Bytes()
		for i, r := range s.Relocs {
			list[i] = relocJSON{
				In:      sectionName(s),
				Address: fmt.Sprintf("%#x", r.Addr),
				Kind:    r.Info >> 24,
				Section: r.Section(),
			}
			if r.Section() >= 1 && r.Section() <= len(sections) {
				list[i].Target = sectionName(sections[r.Section()-1])
			}
			if uint64(r.Addr)+4 <= uint64(len(b)) {
				v := fmt.Sprintf("%#x", binary.LittleEndian.Uint32(b[r.Addr:]))
				list[i].Value = &v
			}
			at[r.Addr] = i
		}
		if s == text && noFields(f) == "" {
			d.relocFields(list, at)
		}
		if err := d.printRelocs(s, list); err != nil {
			return err
		}
	}
	if d.j != nil {
		return d.j.Err
	}
	if !found {
		return d.notePart("no relocations are present")
	}
	return nil
}

// relocFields returns the task and field that each relocation of the task section changes. at has the relocations by
// address.
func (d *fileDump) relocFields(list []relocJSON, at map[uint32]int) {
	for _, p := range d.hwx.f.Procedures() {
		// visit returns no error, so neither does walk
		_, _, _, _ = d.walk(p, func(i int, t td.Placed) error {
			for w := range t.Words() {
				k, ok := at[uint32(t.Off+4*w)]
				if !ok {
					continue
				}
				list[k].Procedure, list[k].Task = p.Name, &i
				for _, f := range t.Codec.FieldsAt(t.Task, w) {
					if f.Row().Known != td.Unknown {
						list[k].Field = f.String()
					}
				}
			}
			return nil
		})
	}
}

func (d *fileDump) printRelocs(s *hwx.Section, list []relocJSON) error {
	if d.j != nil {
		for i := range list {
			d.j.Put("", &list[i])
		}
		return d.j.Err
	}
	d.part()
	d.printf("relocations of %s: %d at %#x\n", sectionName(s), len(list), s.RelocOff)
	for i := range list {
		r := &list[i]
		value := "past the end of the file"
		if r.Value != nil {
			value = "+ " + *r.Value
		}
		d.printf("  %-10s kind %d  section %d %s %s", r.Address, r.Kind, r.Section, r.Target, value)
		if r.Task != nil {
			d.printf("  procedure %s task %d %s", node.Printable(r.Procedure), *r.Task, r.Field)
		}
		if _, err := fmt.Fprintln(d.out); err != nil {
			return err
		}
	}
	return nil
}

func sectionName(s *hwx.Section) string {
	return node.Printable(s.Segment.String() + "," + s.Name.String())
}
