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
func (d *fileDump) chosenTasks(visit func(p hwx.Procedure, i int, t td.Placed)) {
	f := d.hwx.f
	list := f.Procedures()
	if note := noFields(f); note != "" {
		d.fail(fmt.Errorf("%s: %s: %s; %s prints their words", d.path, d.name(PartTask), note, d.name(PartTasks)))
		return
	}
	counts := make([]procedureTasks, len(list))
	for i, p := range list {
		counts[i] = procedureTasks{p.Name, p.Tasks}
	}
	chosen, err := d.chooseTasks(counts)
	if err != nil {
		d.fail(fmt.Errorf("%s: %w", d.path, err))
		return
	}
	found := make([]bool, len(d.Tasks))
	for k, p := range list {
		d.walk(p, func(i int, t td.Placed) {
			show := chosen[k](i)
			for x := range d.Tasks {
				if d.Tasks[x].at(uint64(t.Off), 4*t.Words()) {
					show, found[x] = true, true
				}
			}
			if show {
				visit(p, i, t)
			}
		})
	}
	for x, r := range d.Tasks {
		if r.placed && !found[x] {
			d.fail(fmt.Errorf("%s: %s %s: no task is there; %s lists their places", d.path, d.name(PartTask), r.text,
				d.name(PartTasks)))
		}
	}
}

// containerTask prints the tasks that Tasks names.
func (d *fileDump) containerTask() {
	defer d.open("task", '[')()
	d.chosenTasks(func(p hwx.Procedure, i int, t td.Placed) {
		d.detail(p.Name, i, p.Tasks, t, d.hwx.textOff+int64(t.Off))
	})
}

// containerRecords prints the records that loading generates from the tasks; the container itself has none.
func (d *fileDump) containerRecords() {
	f := d.hwx.f
	defer d.open(PartRecords, '[')()
	if note := noFields(f); note != "" {
		d.title("records: %s\n", note)
		return
	}
	for _, p := range f.Procedures() {
		rs, err := d.loadRecords(p)
		if err != nil {
			d.title(noRecords, node.Printable(p.Name), err)
			continue
		}
		d.title("records of procedure %s, as loading generates them from its tasks; their buffers are not resolved\n",
			node.Printable(p.Name))
		d.recordStream(node.Object("", node.Value("procedure", p.Name)), rs)
	}
}

// noRecords says of a procedure that loading would fail.
const noRecords = "records of procedure %s cannot be generated: %v\n"

// loadRecords returns the records that loading generates from a procedure's tasks.
func (d *fileDump) loadRecords(p hwx.Procedure) ([]td.Record, error) {
	var tasks []*td.Task
	d.walk(p, func(_ int, t td.Placed) { tasks = append(tasks, t.Task) })
	_, rs, err := td.Split(tasks)
	return rs, err
}

// rawRecords prints the record stream of each procedure, as a compilation can emit it.
func (d *fileDump) rawRecords() {
	if note := noFields(d.hwx.f); note != "" {
		d.title("records: %s\n", note)
		return
	}
	for _, p := range d.hwx.f.Procedures() {
		rs, err := d.loadRecords(p)
		var b []byte
		if err == nil {
			b, err = td.EncodeRecords(rs)
		}
		if err != nil {
			d.title(noRecords, node.Printable(p.Name), err)
			continue
		}
		what := "stream of procedure " + p.Name + ", which is not in the container"
		d.words(PartRecords, what, 0, b)
	}
}

// relocs prints the relocations of all sections.
func (d *fileDump) relocs() {
	f := d.hwx.f
	defer d.open(PartRelocs, '[')()
	found := false
	text := f.Section(hwx.SegText, hwx.SectText)
	for _, s := range f.Sections() {
		if len(s.Relocs) == 0 {
			continue
		}
		found = true
		users := map[uint32]*node.Node{}
		if s == text && noFields(f) == "" {
			users = d.relocUsers(s.Relocs)
		}
		d.title("relocations of %s: %d at %#x\n", s.Title(), len(s.Relocs), s.RelocOff)
		for _, r := range s.Relocs {
			d.put(d.reloc(s, r, users[r.Addr]))
		}
	}
	if !found {
		d.title("no relocations are present\n")
	}
}

// relocUsers returns the task and field that each relocation of the task section changes, by address.
func (d *fileDump) relocUsers(list []hwx.Reloc) map[uint32]*node.Node {
	users := map[uint32]*node.Node{}
	for _, r := range list {
		users[r.Addr] = nil
	}
	for _, p := range d.hwx.f.Procedures() {
		d.walk(p, func(i int, t td.Placed) {
			for w := range t.Words() {
				at := uint32(t.Off + 4*w)
				if _, ok := users[at]; !ok {
					continue
				}
				field := node.Text(" ")
				for _, f := range t.Codec.FieldsAt(t.Task, w) {
					if f.Row().Known != td.Unknown {
						field = node.Row("", " {field}", f)
					}
				}
				users[at] = node.Row("", "  procedure {procedure} task {task}", p.Name, i).Add(field)
			}
		})
	}
	return users
}

// reloc describes a relocation of a section: where it is, the section whose base is added, from 1, and the word in the
// file, a byte offset in that section.
func (d *fileDump) reloc(s *hwx.Section, r hwx.Reloc, user *node.Node) *node.Node {
	target, value, text := "", any(nil), "past the end of the file"
	if sections := d.hwx.f.Sections(); r.Section() >= 1 && r.Section() <= len(sections) {
		target = sections[r.Section()-1].Title()
	}
	if b := s.Bytes(); uint64(r.Addr)+4 <= uint64(len(b)) {
		v := node.Hex(binary.LittleEndian.Uint32(b[r.Addr:]))
		value, text = v, "+ "+v.String()
	}
	n := node.Row("", "{+in}  {address:-#10x} kind {kind}  section {section} {target} {+value}{-text}", s.Title(),
		node.Hex(r.Addr), r.Info>>24, r.Section(), target, value, text)
	return n.AddIf(user != nil, user).Add(node.Text("\n"))
}
