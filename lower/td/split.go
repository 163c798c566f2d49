package td

import (
	"encoding/binary"
	"fmt"
)

// Split returns the version-10 form of a program: one image for each task, with the buffers of its DMA streams left
// open, and the records that close them. There is a record for each stream that the task enables or names a buffer for,
// one for an op-config register, and one for an identifier of a data set. What a record contains is zero in the image:
// the buffer-access register of a stream, its byte offset, the op-config registers, and the identifiers.
func Split(tasks []*Task) (images [][]byte, records []Record, err error) {
	if len(tasks) > 1<<16 {
		return nil, nil, fmt.Errorf("%d tasks: a record's task index has 16 bits", len(tasks))
	}
	for i, t := range tasks {
		img := make([]byte, ImageSize)
		if records, err = SplitTask(records, img, i, t); err != nil {
			return nil, nil, fmt.Errorf("task %d: %w", i, err)
		}
		images = append(images, img)
	}
	return images, records, nil
}

// SplitTask is Split for one task: it sets img, which has ImageSize bytes, and appends the records, which are of the
// task with the given index.
func SplitTask(rs []Record, img []byte, index int, t *Task) ([]Record, error) {
	open := *t
	for i := range slotRows {
		s := &slotRows[i]
		if !s.on(t) && !s.named(t) {
			continue
		}
		r := Record{
			Task: index, Group: groupIndex(s.group), Register: uint64(s.slot.Register()),
			Slot: s.slot, Place: placeAddress, Bar: NoBar,
		}
		if t.On(s.barE) {
			r.Bar = t.Int(s.bar)
			open.setRaw(s.bar, 0)
			open.setRaw(s.barE, 0)
		}
		if s.hasOffset {
			r.Offset = t.Get(s.offset)
			open.setRaw(s.offset, 0)
		}
		rs = append(rs, r)
	}
	for _, f := range dataSets {
		open.setRaw(f, 0)
	}
	clear(img)
	if err := open.putV10(img); err != nil {
		return nil, err
	}
	for i := range opConfig {
		c := &opConfig[i]
		p := table[c.at].Place(V10)
		w := img[p.Offset():][:4]
		v := binary.LittleEndian.Uint32(w)
		if v == 0 || !c.when(t) {
			continue
		}
		reg, _ := p.Register()
		rs = append(rs, Record{
			Task: index, Group: groupIndex(p.Block), Register: uint64(reg), Operand: uint64(v), Place: placeValue,
			Bar: NoBar,
		})
		clear(w)
	}
	for _, f := range dataSets {
		if v := t.raw(f); v != 0 {
			p := table[f].Place(V10)
			rs = append(rs, Record{Task: index, Group: groupIndex(p.Block), Register: uint64(p.Addr()),
				Operand: uint64(v), Place: Placement{Bit: p.Bit, Width: p.Width}, Bar: NoBar})
		}
	}
	return rs, nil
}

func groupIndex(g *Block) int {
	for i := range Groups {
		if Groups[i] == g {
			return i
		}
	}
	return -1
}

// Join rebuilds the tasks of a program from its images and its records. The two must agree: a stream that an image
// enables needs a record, a record of any other stream may only name a buffer, and an image must have zeros for
// everything that a record contains.
func Join(images [][]byte, records []Record) ([]*Task, error) {
	tasks := make([]*Task, len(images))
	var err error
	for i, img := range images {
		if tasks[i], err = decodeV10(img, i*ImageSize); err != nil {
			return nil, fmt.Errorf("task %d: %w", i, err)
		}
	}
	// closed has, for each task, one bit for each stream that a record has closed.
	closed := make([]uint, len(images))
	for i := range records {
		r := &records[i]
		if i > 0 && !records[i-1].before(r) {
			return nil, outOfOrder(records, i)
		}
		if err := r.check(); err != nil {
			return nil, inStream(err, i)
		}
		if r.Task >= len(tasks) {
			return nil, inStream(fieldf(offMarker, "task index", "%d: there are %d images", r.Task, len(tasks)), i)
		}
		if err := r.join(tasks[r.Task], &closed[r.Task]); err != nil {
			return nil, inStream(err, i)
		}
	}
	for i, t := range tasks {
		for k := range slotRows {
			if s := &slotRows[k]; s.on(t) && closed[i]>>k&1 == 0 {
				return nil, fmt.Errorf("task %d: %s is set, but no record is for %s", i, s.enable, s.slot)
			}
		}
	}
	return tasks, nil
}

// join puts what a record contains into its task.
func (r *Record) join(t *Task, closed *uint) error {
	if r.Slot == 0 {
		return r.joinValue(t)
	}
	k, s := slotOf(r.Slot)
	if !s.on(t) && (!s.owner || r.Bar == NoBar) {
		return fieldf(offSlot, "slot", "%s: the image has %s = 0, so the stream is off", r.Slot, s.enable)
	}
	if r.Bar != NoBar {
		// Streams of the kernel share a buffer-access register, which a second record may repeat.
		shared := false
		for j := range k {
			shared = shared || *closed>>j&1 == 1 && slotRows[j].bar == s.bar
		}
		same := t.On(s.barE) && t.Int(s.bar) == r.Bar
		if (t.raw(s.bar) != 0 || t.On(s.barE)) && !(shared && same) {
			return fieldf(offBar, "buffer-access register", "%d: the task has %s = %d already", r.Bar, s.bar,
				t.Get(s.bar))
		}
		t.Set(s.bar, r.Bar).SetBool(s.barE, true)
	}
	if s.hasOffset {
		if t.raw(s.offset) != 0 {
			return fieldf(offBar, "offset", "%#x: the image has %s = %#x already", r.Offset, s.offset, t.Get(s.offset))
		}
		t.Set(s.offset, int(r.Offset))
	}
	*closed |= 1 << k
	return t.Err()
}

func (r *Record) joinValue(t *Task) error {
	if i, ok := dataSetAt(uint32(r.Register%RegisterWindow), r.Place); ok {
		f := dataSets[i]
		if t.raw(f) != 0 {
			return fieldf(offRegister, "register", "%#x: the image has %s = %#x already", r.Register, f, t.raw(f))
		}
		t.setRaw(f, uint32(r.Operand))
		return nil
	}
	i, _ := opConfigAt(uint32(r.Register % RegisterWindow))
	c := &opConfig[i]
	if !c.when(t) {
		return fieldf(offRegister, "register", "%#x: the task is not the %s of its chain", r.Register, c.name)
	}
	word := table[c.at].Place(V10).Offset() / 4
	if w := V10.word(t, word); w != 0 {
		return fieldf(offRegister, "register", "%#x: the image has %#x there already", r.Register, w)
	}
	V10.setWord(t, word, uint32(r.Operand))
	return nil
}
