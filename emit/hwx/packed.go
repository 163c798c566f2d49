package hwx

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/zinc-compiler/zinc/internal/node"
)

// A packed program is the descriptor of a program whose tasks are packed streams: tasks that follow each other, each
// with its own size (descriptor versions from 11 on). The words are from recorded programs of h14, of one and of
// several tasks; "modelled" marks zinc's own.
//
//	0x04 flavour 4, the program, and flavour 5, one more procedure
//	+08 u32 flavour           4 sure; 5 modelled (same layout)
//	+0c u32 words of state    sure: 0x21e with one note; state ends at 0x10 + 4*words
//	+10 u64[2] * 128          buffer-access registers: the address, and 0          sure
//	+810 u64 address of the stream, which begins with 16 zero bytes              sure
//	+820 u32 4                seen
//	+824 u32 words of the stream, with the zero bytes before its first task       sure
//	+830 u32 tasks            sure
//	+838 u32[2] -1            seen
//	+844 u32 0xffff           seen
//	+848 u32 name offset      sure
//	+858 u32 scratch bytes    sure where there is scratch; one program without has 0x2000 (not known)
//	+860 u32                  not known: see order
//	+868 u32 3                seen in h14 (5 in h15, 4 in later ones)
//	+870 u32 notes            sure, with the notes at +878: u32 number, u32 bytes of the value, u64 value
//	note 9                    largest estimated time of a task; sure
//	all other words are 0     seen
//	then the name, NUL, to 8

// Flavours of CmdThread for packed streams.
const (
	FlavorPacked          = 4
	FlavorPackedProcedure = 5 // modelled: zinc's own
)

// Offsets inside a packed program command.
const (
	packedWords   = 0x824
	packedTasks   = 0x830
	packedName    = 0x848
	packedScratch = 0x858
	packedOrder   = 0x860
	packedMark    = 0x868
	packedNotes   = 0x870
	packedNote    = 0x878
	noteSize      = 0x10
	noteTime      = 9
)

// packedHead is the number of zero bytes before the first task of a packed stream.
const packedHead = 0x10

// packedTaskAlign is the alignment of a task in a packed stream.
const packedTaskAlign = 0x10

// packedSeen are the words of a packed program that are the same in every recorded one, by offset.
var packedSeen = map[int]uint32{0x820: 4, 0x838: 0xffffffff, 0x83c: 0xffffffff, 0x844: progMaskValue}

// packedField are the fields of a packed program, as in the table above.
var packedField = []place{{8, "flavour"}, {12, "words"}, {stateOff, "buffer-access registers"}, {progEntry, "stream"},
	{progFirst, "state"}, {packedWords, "words of the stream"}, {packedWords + 4, "state"}, {packedTasks, "tasks"},
	{packedTasks + 4, "state"}, {packedName, "name offset"}, {packedName + 4, "state"}, {packedScratch, "scratch"},
	{packedScratch + 4, "state"}, {packedOrder, "state"}, {packedNotes, "notes"}}

// Packed are the words of a packed program from +0x818 on, up to the end of its state.
type Packed []uint32

// minPackedWords are the words of state of a packed program without notes.
const minPackedWords = (packedNote - stateOff) / 4

func (p Packed) at(off int) int         { return (off - progFirst) / 4 }
func (p Packed) word(off int) uint32    { return p[p.at(off)] }
func (p Packed) set(off int, v uint32)  { p[p.at(off)] = v }
func (p Packed) note(i int) (at int)    { return p.at(packedNote + i*noteSize) }
func (p Packed) tasks() uint32          { return p.word(packedTasks) }
func (p Packed) words() uint32          { return p.word(packedWords) }
func (p Packed) scratch() (size uint32) { return p.word(packedScratch) }

// notes returns the notes that the state has room for, by number.
func (p Packed) notes() map[uint32]uint64 {
	m := map[uint32]uint64{}
	for i := range min(int(p.word(packedNotes)), len(p)) {
		n := p.note(i)
		if n+noteSize/4 > len(p) {
			break
		}
		m[p[n]] = uint64(p[n+3])<<32 | uint64(p[n+2])
	}
	return m
}

// describe adds what the words say to the node of a program.
func (p Packed) describe(n *node.Node) *node.Node {
	n.Add(node.Row("", "    scratch {scratch} bytes, not known: +860 {order}, +868 {mark}\n", p.scratch(),
		node.Hex(p.word(packedOrder)), p.word(packedMark)))
	for _, number := range slices.Sorted(maps.Keys(p.notes())) {
		what := "not known"
		if number == noteTime {
			what = "largest estimated time of a task, in microseconds"
		}
		n.Add(node.Text("    note %d = %d: %s\n", number, p.notes()[number], what))
	}
	return n
}

// packed reads a program command of a packed stream.
func (r *reader) packed(b body) (Command, error) {
	end, err := b.state(minPackedWords, "a packed program")
	if err != nil {
		return nil, err
	}
	p := &Program{Flavor: b.w(8), Entry: b.q(progEntry), Packed: Packed{}}
	for i := range p.Bars {
		p.Bars[i] = b.q(stateOff + 8*i)
	}
	for o := progFirst; o < end; o += 4 {
		p.Packed = append(p.Packed, b.w(o))
	}
	p.Tasks = p.Packed.tasks()
	if p.Name, p.NameOff, err = b.name(packedName, "name"); err != nil {
		return nil, err
	}
	return withTail(p, b, &p.Tail, end)
}

// appendPacked appends the words of the state after the stream's address.
func (p *Program) appendPacked(b []byte) []byte {
	w := slices.Clone(p.Packed)
	w.set(packedTasks, p.Tasks)
	w.set(packedName, p.NameOff)
	if p.Tail == nil {
		w.set(packedName, uint32(progFirst+4*len(w)))
	}
	for _, v := range w {
		b = le.AppendUint32(b, v)
	}
	return b
}

// stream is the extent of a packed stream and what its tasks say of it.
type stream struct {
	end   uint64 // byte offset in the text at which the last task ends
	time  uint32 // the largest estimated time of a task
	words int    // of the first task
}

// packedTask returns the words of the task at a byte offset of the text.
func (f *form) packedTask(text []byte, off uint64) (words int, err error) {
	if off > uint64(len(text)) || uint64(len(text))-off < 4*uint64(f.header) {
		return 0, fmt.Errorf("at %#x runs past the text (%#x bytes)", off, len(text))
	}
	words = int(le.Uint32(text[off:]) >> 16 & 0x7ff)
	if words < f.header || 4*uint64(words) > uint64(len(text))-off {
		return 0, fmt.Errorf("at %#x has %d words, want %d to %d, the end of the text", off, words, f.header,
			(uint64(len(text))-off)/4)
	}
	return words, nil
}

// follow walks the tasks of a packed stream from the first one, which is at byte off of the text.
func (f *form) follow(text []byte, off uint64, tasks int, seen map[uint64]bool) (s stream, err error) {
	for i := range tasks {
		switch {
		case off%packedTaskAlign != 0:
			return s, fmt.Errorf("task %d at %#x is not aligned to %#x bytes", i, off, packedTaskAlign)
		case seen[off]:
			return s, fmt.Errorf("task %d at %#x is in two procedures", i, off)
		}
		words, err := f.packedTask(text, off)
		if err != nil {
			return s, fmt.Errorf("task %d %w", i, err)
		}
		if seen != nil {
			seen[off] = true
		}
		task := text[off : off+4*uint64(words)]
		if err := f.checkPacked(task); err != nil {
			return s, fmt.Errorf("task %d at %#x: %w", i, off, err)
		}
		if i == 0 {
			s.words = words
		}
		s.time = max(s.time, le.Uint32(task[4:])&0xffff)
		s.end = off + 4*uint64(words)
		off = up(s.end, packedTaskAlign)
	}
	return s, nil
}

// checkPacked checks that the records of a packed task end with the task.
func (f *form) checkPacked(task []byte) error {
	word := func(i int) uint32 { return le.Uint32(task[4*i:]) }
	words, p := len(task)/4, f.header
	if word(f.header-1)&3 == 3 {
		p++
	}
	for p < words {
		h := word(p)
		count := int(h>>15&0x3f) + 1
		if h>>31 == 1 { // the first register, and one for each bit
			count = 1 + bits.OnesCount32(h>>15&0xffff)
		}
		if p+1+count > words {
			return fmt.Errorf("record at word %d of %d values runs past the task's %d words", p, count, words)
		}
		p += 1 + count
	}
	if p > words {
		return fmt.Errorf("the header runs past the task's %d words", words)
	}
	return nil
}

// order returns the word at +0x860, which depends on more than the number of tasks: it is the first of the recorded
// ones (0x23 and 0x30 of three tasks of h14). Beyond the recorded numbers it is 0x11 for each task but one, as in a
// program of seven; modelled.
func (f *form) order(tasks uint32) uint32 {
	if int(tasks) < len(f.orders) {
		return f.orders[tasks]
	}
	return 0x11 * (tasks - 1)
}

// newPacked returns the state of a program whose stream begins at byte from of the text.
func (f *form) newPacked(from uint64, s stream, tasks uint32, scratch uint64) Packed {
	w := make(Packed, (packedNote+noteSize*(1+len(f.notes))-progFirst)/4)
	for off, v := range packedSeen {
		w.set(off, v)
	}
	w.set(packedWords, uint32((s.end-from)/4))
	w.set(packedTasks, tasks)
	w.set(packedScratch, uint32(scratch))
	w.set(packedOrder, f.order(tasks))
	w.set(packedMark, f.mark)
	w.set(packedNotes, uint32(1+len(f.notes)))
	copy(w[w.note(0):], Packed{noteTime, 8, s.time, 0})
	for i, n := range f.notes {
		copy(w[w.note(1+i):], Packed{n[0], 8, n[1], 0})
	}
	return w
}

// packed checks the stream of a packed program, whose first task is at byte off of the text.
func (v *validator) packed(p *Procedure, text []byte, off uint64, seen map[uint64]bool) {
	if off < packedHead || !allZero(text[off-packedHead:off]) {
		v.rule(false, "procedure %q: the stream at %#x does not begin with %#x zero bytes", p.Name, off, packedHead)
		return
	}
	s, err := formOf(v.f.Header.CPUSubtype).follow(text, off, p.Tasks, seen)
	v.rule(err == nil, "procedure %q: %w", p.Name, err)
	end := off - packedHead + 4*uint64(p.Program.Packed.words())
	v.rule(err != nil || p.Tasks > 0 && s.end == end,
		"procedure %q states %d tasks and a stream that ends at %#x; its tasks end at %#x", p.Name, p.Tasks, end, s.end)
}
