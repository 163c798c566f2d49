package dump

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/zinc-compiler/zinc/compile/attest"
	"github.com/zinc-compiler/zinc/emit/hwx"
	"github.com/zinc-compiler/zinc/internal/diag"
	"github.com/zinc-compiler/zinc/internal/node"
	"github.com/zinc-compiler/zinc/lower/td"
)

// walk calls visit for each complete task of a procedure. Faults of the chain are reported once. rest has the offset in
// the task section of the first task that could not be decoded, -1 if there is none, and the number of its words.
func (d *fileDump) walk(p hwx.Procedure, visit func(i int, t td.Placed)) (n, rest, words int) {
	s := d.hwx
	tell := func(err error) {
		if !s.told[p.Program] {
			s.told[p.Program] = true
			d.fault(err)
		}
	}
	codec, err := td.CodecFor(s.f.TaskVersion())
	if err != nil {
		d.fail(err)
		return 0, -1, 0
	}
	text, off, ok := s.text.Of(p)
	if !ok {
		tell(fmt.Errorf("procedure %s: its entry %#x is not in the part of __TEXT,__text that is present, so none "+
			"of its %d tasks is", node.Printable(p.Name), p.Entry, p.Tasks))
		return 0, -1, 0
	}
	next, size := off, p.FirstWords
	walked := codec.WalkChain(text, off, p.FirstWords, func(t td.Placed) error {
		// A task of two chains would be printed twice, and a loop without end.
		switch owner := s.owner[t.Off]; owner {
		case nil:
			s.owner[t.Off] = p.Program
		case p.Program:
		default:
			return &sharedTask{t.Off, owner.Name}
		}
		visit(n, t.Clone()) // which may keep it
		n++
		to, words, _ := codec.Next(t.Task, t.Off, t.Words())
		next, size = int(to), words
		return nil
	})
	if walked == nil {
		return n, -1, 0
	}
	at := s.textOff
	var e *td.FormatError
	var shared *sharedTask
	switch {
	case errors.As(walked, &shared):
		at, next = at+int64(shared.off), -1
	case errors.As(walked, &e):
		at += e.Off
	}
	tell(fmt.Errorf("byte %#x: procedure %s: task %d of %d: %w", at, node.Printable(p.Name), n, p.Tasks, walked))
	if next < 0 || next > len(text) {
		return n, -1, 0
	}
	return n, next, codec.SizeAt(text, next, size)
}

// sharedTask is a task in the chains of two procedures.
type sharedTask struct {
	off   int
	owner string
}

func (e *sharedTask) Error() string {
	return fmt.Sprintf("task section byte %#x: the task is in the chain of procedure %s already", e.off,
		node.Printable(e.owner))
}

// containerTasks prints the tasks of all procedures, with their fields if requested.
func (d *fileDump) containerTasks() {
	s := d.hwx
	if d.j != nil && s.db != nil && d.Source {
		putList(d.j, s.db.Lists()[0])
	}
	defer d.open("procedures", '[')()
	if len(s.f.Procedures()) == 0 {
		d.title("no procedure is present\n")
	}
	for _, p := range s.f.Procedures() {
		d.containerProcedure(p)
	}
}

func (d *fileDump) containerProcedure(p hwx.Procedure) {
	s := d.hwx
	defer d.begin(node.Row("", "procedure {name}: {-tasks} tasks\n{+entry}{+count}", p.Name, p.Tasks, node.Hex(p.Entry),
		p.Tasks))()
	if note := noFields(s.f); note != "" {
		d.undecodedText(note)
		return
	}
	end := d.open("tasks", '[')
	n, rest, words := d.walk(p, func(i int, t td.Placed) { d.task(i, t, s.textOff+int64(t.Off)) })
	end()
	if rest < 0 {
		return
	}
	b := s.f.TextBytes()[rest:] // the words of the first task that does not decode
	b = b[:min(len(b), 4*max(words, 0))]
	if d.j != nil {
		d.j.Put("undecoded", node.Row("", "{+index}{+offset}{+words}{+bytes}", n, rest, words, fmt.Sprintf("%x", b)))
		return
	}
	d.printf("task %d at %#x, not decoded: %d of %d words are present\n", n, rest, len(b)/4, words)
	for at := 0; at < len(b); at += rawLine {
		d.out.Write(wordLine(nil, s.textOff+int64(rest+at), b[at:min(at+rawLine, len(b))]))
	}
}

// undecodedText prints the task section of a target whose tasks have no field table, as words.
func (d *fileDump) undecodedText(note string) {
	b := d.hwx.f.TextBytes()
	if d.j != nil {
		d.j.Put("note", note)
		d.j.Open("tasks", '[')
		d.j.Close()
		if !d.printed { // all procedures share one task section
			d.printed = true
			d.j.Open("raw", '[')
			d.wordsJSON(PartTasks, hwx.SegText+","+hwx.SectText, d.hwx.textOff, b)
			d.j.Close()
		}
		return
	}
	d.printf("%s; its words:\n", note)
	if d.printed {
		d.printf("as above\n")
		return
	}
	d.printed = true
	d.blank = false
	defer func() { d.blank = true }()
	d.words(hwx.SegText+","+hwx.SectText, "", d.hwx.textOff, b)
}

// task prints one task: a line, and the fields if requested.
func (d *fileDump) task(i int, t td.Placed, at int64) {
	s, symbol := t.Summary(), ""
	n := node.Row("", "task {index} at {offset:#x}{+file_offset}, {words} words: {-summary}{+engine}{+operation}"+
		"{+shape}{+buffers}\n", i, t.Off, at, t.Words(), s, s.Engine, s.Operation, s.Shape, s.Buffers)
	if d.hwx != nil {
		symbol = d.hwx.symbols[uint64(t.Off)]
	}
	n.AddIf(symbol != "", node.Row("", "  symbol {symbol:q}\n", symbol))
	fields := d.All || d.has(PartFields)
	if fields && d.j != nil {
		if values := t.Codec.Values(t.Task); len(values) > 0 {
			n.Add(node.Value("fields", values))
		}
	}
	d.put(d.sourced(n, t.Off))
	if fields && d.j == nil {
		d.fieldRuns(t, false)
	}
}

// sourced adds to a task where it came from, with Options.Source.
func (d *fileDump) sourced(n *node.Node, off int) *node.Node {
	if d.hwx == nil || d.hwx.db == nil || !d.Source {
		return n
	}
	db := d.hwx.db
	i := db.TaskAt(uint64(off))
	if i < 0 {
		return n
	}
	t := &db.Tasks[i]
	for _, l := range db.SourceLines(db.Source(t.Ref()), 0) {
		n.Add(node.Text("  %s\n", l))
	}
	for _, l := range t.Links {
		n.Add(node.Text("  word %d points at %s\n", l.Word, db.LinkString(l)))
	}
	return n.Add(node.Value("source", db.TaskNode(i)))
}

// everyField prints the fields of a task, word by word, with place, meaning and source.
func (d *fileDump) everyField(t td.Placed) {
	block := (*td.Block)(nil)
	for r := range t.Readings(true) {
		if r.At.Block != block {
			block = r.At.Block
			d.printf("  %s: %s\n", block.Name, block.Doc)
		}
		d.printf("    %s  %s\n%s%s\n", placeOf(&r), fieldColumns(&r, r.Name, cmp.Or(r.Doc, "-")),
			strings.Repeat(" ", 30), r.Provenance())
	}
}

// knownFields prints the fields of a task that are not zero and whose meaning is known, with their place, and how many
// others there are.
func (d *fileDump) knownFields(t td.Placed) {
	d.fieldRuns(t, true)
	zero, unknown := 0, 0
	for r := range t.Readings(true) {
		switch {
		case r.Value == 0:
			zero++
		case !understood(&r):
			unknown++
		}
	}
	d.printf("  not listed: %d fields that are zero, %d set fields of unknown meaning; %s lists every field with its "+
		"source\n", zero, unknown, d.name(optionAllFields))
}

// understood reports whether the meaning of a field is known. Some fields have only a name, from public register maps.
func understood(r *td.Reading) bool { return r.Known != td.Unknown && r.Doc != "" }

// placeOf returns where a field is: word of the task, register, bits.
func placeOf(r *td.Reading) string {
	return fmt.Sprintf("word %-3d %-9s %-5s", r.Word, registerOf(r.At), r.At.Bits())
}

// fieldColumns returns the columns of a field's line: name, value, value in words, meaning.
func fieldColumns(r *td.Reading, name, doc string) string {
	return fmt.Sprintf("%-32s %-10s %-22s %s", name, fmt.Sprintf("%#x", r.Value), r.Describe(r.Value), doc)
}

// fieldRun is a field, or consecutive elements of an array with one value.
type fieldRun struct {
	td.Reading
	last *td.Row
}

// fieldRuns prints the fields that are not zero, one line per run; with known only those whose meaning is known, each
// with the place of the first of its run.
func (d *fileDump) fieldRuns(t td.Placed, known bool) {
	var runs []fieldRun
	flush := func() {
		for i := range runs {
			r := &runs[i]
			if i == 0 {
				d.printf("  %s: %s\n", r.At.Block.Name, r.At.Block.Doc)
			}
			doc := cmp.Or(r.Doc, "-")
			if r.Known >= td.Modelled {
				doc += fmt.Sprintf(" (%s)", r.Known)
			}
			place := ""
			if known {
				place = placeOf(&r.Reading) + "  "
			}
			d.printf("    %s%s\n", place, fieldColumns(&r.Reading, td.RunName(r.Row, r.last), doc))
		}
		runs = runs[:0]
	}
	open := map[td.Field]int{} // the last run of each array, of the block
	for r := range t.Readings(false) {
		if known && !understood(&r) {
			continue
		}
		if len(runs) > 0 && runs[0].At.Block != r.At.Block {
			flush()
			clear(open)
		}
		if r.Array.Len > 0 {
			if i, ok := open[r.Array.Base]; ok && runs[i].Value == r.Value && r.Follows(runs[i].last) {
				runs[i].last = r.Row
				continue
			}
			open[r.Array.Base] = len(runs)
		}
		runs = append(runs, fieldRun{r, r.Row})
	}
	flush()
}

// registerOf returns the address of a field's register, or the index of the word for the header, which has no
// registers, or that it is in the head of a record.
func registerOf(p td.Place) string {
	switch addr, ok := p.Register(); {
	case ok:
		return fmt.Sprintf("%#07x", addr) // as in docs/registers.md
	case p.InHead():
		return "head"
	}
	return fmt.Sprintf("header %d", p.Word)
}

// fieldNode describes a field and its row of the table.
func fieldNode(r *td.Reading) *node.Node {
	meaning := r.Meaning(r.Value)
	n := node.Row("", "{+name}{+word}{+register}{+bits}{+kind}{+value}{+hex}{+text}", r.Name, r.Word,
		registerOf(r.At), r.At.Bits(), r.Kind, r.Value, node.Hex(r.Value), r.Text(r.Value))
	n.AddIf(meaning != "", node.Value("meaning", meaning))
	return n.Add(node.Row("", "{+doc}{+known}{+source}{+v10}", r.Doc, r.Known, r.Provenance(), r.Place(td.V10)))
}

// detail prints one task: in text the fields that are set and known or, with AllFields, every field; in JSON every
// field.
func (d *fileDump) detail(procedure string, i, count int, t td.Placed, at int64) {
	kind := attest.Kind(t.Task, i, count)
	cases := attest.Cases(t.Codec.Version, kind)
	s := t.Summary()
	n := node.Row("", "{+procedure}task {index} of procedure {-procedure} at {offset:#x}, byte {file_offset:#x} of "+
		"the file, {words} words\n  {engine}, {operation}\n  {shape}\n  {buffers}\n{+attested_kind}{+attested_by}",
		procedure, i, procedure, t.Off, at, t.Words(), s.Engine, s.Operation, s.Shape, s.Buffers, kind,
		append([]string{}, cases...))
	if len(cases) > 0 {
		n.Add(node.Text("  a task of this kind is in %s: %s\n", diag.Count(len(cases), "recorded case",
			"recorded cases"), strings.Join(cases[:min(len(cases), maxCases)], ", ")))
	} else {
		n.Add(node.Text("  no recorded case has a task of this kind\n"))
	}
	d.sourced(n, t.Off)
	if d.j != nil {
		fields := node.List("detail")
		for r := range t.Readings(true) {
			fields.Add(fieldNode(&r))
		}
		d.put(n.Add(fields))
		return
	}
	d.part()
	d.put(n)
	if d.AllFields {
		d.everyField(t)
		return
	}
	d.knownFields(t)
}

// maxCases is the number of recorded cases that the text names.
const maxCases = 6
