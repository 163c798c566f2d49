package td

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// A record stream is an 8-byte header (magic, u16 version, u16 bytes of a record), followed by records. All of it is
// little-endian.
const (
	RecordMagic   = "ZTDR"
	RecordVersion = 2
	RecordSize    = 44
	StreamHeader  = 8 // bytes before the first record
)

// unresolved is set in the key of a slot that loading has not filled.
const unresolved = 1 << 31

// MaxTasks is the largest number of tasks that a stream describes. The marker of a record has the low 16 bits of its
// task's index; the records of a stream are in the order of their tasks, and each task has some. So a reader knows the
// rest: where the 16 bits fall by wrap or more, they have begun again. Modelled, like the record itself.
const (
	MaxTasks  = 1 << 20
	taskSpan  = 1 << 16
	taskIndex = taskSpan - 1
	wrap      = taskSpan / 2
)

// NoBar is the buffer-access register of a record without one.
const NoBar = 0xffff

// RegisterWindow is the alignment of the base of the engine registers of a load. Every register of version 10 is below
// it, so that an address can be separated into base and register. Modelled.
const RegisterWindow = 0x8000

// AddressBits is the width of a device address.
const AddressBits = 42

// Placement describes how an operand is put into its register: shifted right, then placed at a bit. A field wider than
// the register continues in the next one.
type Placement struct{ Bit, Width, Shift uint8 }

// The two placements: a device address, aligned to 64 bytes, in the pair of registers (low, high) of a slot, and a
// whole register.
var (
	placeAddress = Placement{Bit: 6, Width: AddressBits - 6, Shift: 6}
	placeValue   = Placement{Bit: 0, Width: 32}
)

// Record is one 44-byte record. With a slot it describes the base of a DMA stream, and Operand is the device address
// once Resolved; without one Operand is the value of a register. A record with an offset has a second operand: the
// device address where the buffer begins once it is resolved, and the offset before.
type Record struct {
	Task     int    // index of the task's image, below MaxTasks
	Group    int    // index in Groups
	Register uint64 // byte address of the engine register; when resolved, it includes the base of this load
	Slot     Slot   // 0: Operand is a value
	Resolved bool
	Operand  uint64
	Place    Placement
	Bar      int    // buffer-access register of a slot, or NoBar
	Offset   uint32 // byte offset in that buffer, a multiple of 64
}

// second returns the second operand, 0 for none.
func (r *Record) second() uint64 {
	if r.Offset != 0 && r.Resolved {
		return r.Operand - uint64(r.Offset)
	}
	return uint64(r.Offset)
}

// append appends the record's bytes.
func (r *Record) append(out []byte) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	start := len(out)
	le := binary.LittleEndian
	n := 1
	if r.Offset != 0 {
		n = 2
	}
	out = le.AppendUint32(out, uint32(n)|uint32(r.Group)<<8|uint32(r.Task&taskIndex)<<16)
	out = le.AppendUint64(out, r.Register)
	out = le.AppendUint64(out, r.Operand)
	out = le.AppendUint64(out, r.second())
	key := uint32(r.Slot)
	if r.Slot != 0 && !r.Resolved {
		key |= unresolved
	}
	out = le.AppendUint32(out, key)
	out = le.AppendUint32(out, uint32(r.Place.Bit)|uint32(r.Place.Width)<<8|uint32(r.Place.Shift)<<16)
	out = le.AppendUint32(out, uint32(r.Bar))
	return le.AppendUint32(out, crc32.ChecksumIEEE(out[start:])), nil
}

// fieldError reports a rule that a record breaks, with the byte offset of the field in the record.
type fieldError struct {
	off   int
	field string
	msg   string
}

func (e *fieldError) Error() string { return e.field + ": " + e.msg }

func fieldf(off int, field, format string, args ...any) error {
	return &fieldError{off, field, fmt.Sprintf(format, args...)}
}

// Byte offsets in a record.
const (
	offMarker   = 0x00
	offRegister = 0x04
	offOperand0 = 0x0c
	offOperand1 = 0x14
	offSlot     = 0x1c
	offPlace    = 0x20
	offBar      = 0x24
	offCRC      = 0x28
)

// recordField names the field of a record at byte off.
func recordField(off int) (name string) {
	for _, f := range []struct {
		off  int
		name string
	}{
		{offMarker, "marker"}, {offRegister, "register"}, {offOperand0, "operand 0"}, {offOperand1, "operand 1"},
		{offSlot, "slot"}, {offPlace, "placement"}, {offBar, "buffer-access register"}, {offCRC, "CRC-32"},
	} {
		if f.off <= off {
			name = f.name
		}
	}
	return name
}

// Resolve fills in what is known only when loading: base is where the engine registers begin; address, for a slot, is
// the device address of the buffer that its buffer-access register names.
func (r *Record) Resolve(base, address uint64) error {
	if base%RegisterWindow != 0 {
		return fmt.Errorf("register base %#x: not a multiple of %#x", base, RegisterWindow)
	}
	c := *r
	c.Register = base + r.Register%RegisterWindow
	if r.Slot != 0 {
		c.Operand, c.Resolved = address+uint64(r.Offset), true
	}
	if err := c.check(); err != nil {
		return err
	}
	*r = c
	return nil
}

// check reports the first rule that a record breaks.
func (r *Record) check() error {
	switch {
	case r.Task < 0 || r.Task >= MaxTasks:
		return fieldf(offMarker, "task index", "%d: a stream has tasks 0..%d", r.Task, MaxTasks-1)
	case r.Group < 0 || r.Group >= len(Groups):
		return fieldf(offMarker, "group", "%d: groups are 0..%d", r.Group, len(Groups)-1)
	case r.Bar < 0 || r.Bar > NoBar:
		return fieldf(offBar, "buffer-access register", "%d: the field holds 0..%d", r.Bar, NoBar)
	case r.Slot == 0:
		return r.checkValue()
	}
	_, s := slotOf(r.Slot)
	switch {
	case s == nil:
		return fieldf(offSlot, "slot", "key %#x is not a slot of version 10", uint32(r.Slot))
	case Groups[r.Group] != s.group:
		return fieldf(offMarker, "group", "%d: %s is in %s", r.Group, r.Slot, s.group.Name)
	case !r.Resolved && r.Register != uint64(r.Slot.Register()):
		return fieldf(offRegister, "register", "%#x: %s, unresolved, has register %#x", r.Register, r.Slot,
			r.Slot.Register())
	case r.Register%RegisterWindow != uint64(r.Slot.Register()):
		return fieldf(offRegister, "register", "%#x: %s has register %#x from a base that is a multiple of %#x",
			r.Register, r.Slot, r.Slot.Register(), RegisterWindow)
	case r.Place != placeAddress:
		return fieldf(offPlace, "placement",
			"bit %d, width %d, shift %d: of a device address it is bit %d, width %d, shift %d",
			r.Place.Bit, r.Place.Width, r.Place.Shift, placeAddress.Bit, placeAddress.Width, placeAddress.Shift)
	case r.Bar != NoBar && uint64(r.Bar) > table[s.bar].Max():
		return fieldf(offBar, "buffer-access register", "%d: %s holds 0..%d, %#x for none", r.Bar, table[s.bar].Name,
			table[s.bar].Max(), NoBar)
	case r.Offset%64 != 0 || !s.hasOffset && r.Offset != 0:
		return fieldf(offBar, "offset", "%#x: wanted a multiple of 64, and 0 of the weight lanes", r.Offset)
	case !r.Resolved && r.Operand != 0:
		return fieldf(offOperand0, "operand 0", "%#x: the slot is unresolved, so the address is not known", r.Operand)
	case r.Resolved && r.Operand < uint64(r.Offset):
		return fieldf(offOperand0, "operand 0", "device address %#x is below the offset %#x", r.Operand, r.Offset)
	case r.Operand%64 != 0 || r.Operand>>AddressBits != 0:
		return fieldf(offOperand0, "operand 0", "device address %#x: wanted a multiple of 64 below 1<<%d", r.Operand,
			AddressBits)
	}
	return nil
}

func (r *Record) checkValue() error {
	switch {
	case r.Resolved:
		return fieldf(offSlot, "slot", "a value has no slot to resolve")
	case r.Bar != NoBar:
		return fieldf(offBar, "buffer-access register", "%d: a value has none (%#x)", r.Bar, NoBar)
	case r.Offset != 0:
		return fieldf(offBar, "offset", "%#x: a value has none", r.Offset)
	case r.Operand == 0:
		return fieldf(offOperand0, "operand 0", "0: a register with its reset value has no record")
	case r.Operand>>r.Place.Width != 0:
		return fieldf(offOperand0, "operand 0", "%#x: the bits are %d", r.Operand, r.Place.Width)
	}
	if i, ok := dataSetAt(uint32(r.Register%RegisterWindow), r.Place); ok {
		if g := table[dataSets[i]].Place(V10).Block; Groups[r.Group] != g {
			return fieldf(offMarker, "group", "%d: register %#x is in %s", r.Group, r.Register, g.Name)
		}
		return nil
	}
	if r.Place != placeValue {
		return fieldf(offPlace, "placement", "bit %d, width %d, shift %d: of a value it is bit 0, width 32, shift 0",
			r.Place.Bit, r.Place.Width, r.Place.Shift)
	}
	i, ok := opConfigAt(uint32(r.Register % RegisterWindow))
	if !ok {
		return fieldf(offRegister, "register", "%#x: no register whose value travels in a record", r.Register)
	}
	if g := table[opConfig[i].at].Place(V10).Block; Groups[r.Group] != g {
		return fieldf(offMarker, "group", "%d: register %#x is in %s", r.Group, r.Register, g.Name)
	}
	return nil
}

// StreamError reports a record stream that breaks a rule.
type StreamError struct {
	Off    int64 // byte offset in the stream
	Record int   // index, or -1 in the header
	Field  string
	Msg    string
}

func (e *StreamError) Error() string {
	if e.Record < 0 {
		return fmt.Sprintf("record stream byte %#x: %s: %s", e.Off, e.Field, e.Msg)
	}
	return fmt.Sprintf("record stream byte %#x: record %d: %s: %s", e.Off, e.Record, e.Field, e.Msg)
}

// EncodeRecords returns the stream of the records, which must be in order: by task, and within a task by stream, then
// the op-config registers.
func EncodeRecords(rs []Record) ([]byte, error) {
	out := append(make([]byte, 0, StreamHeader+RecordSize*len(rs)), RecordMagic...)
	out = binary.LittleEndian.AppendUint16(out, RecordVersion)
	out = binary.LittleEndian.AppendUint16(out, RecordSize)
	var err error
	last := 0
	for i := range rs {
		if i > 0 && !rs[i-1].before(&rs[i]) {
			return nil, outOfOrder(rs, i)
		}
		if err := checkGap(last, rs[i].Task); err != nil {
			return nil, inStream(err, i)
		}
		last = rs[i].Task
		if out, err = rs[i].append(out); err != nil {
			return nil, inStream(err, i)
		}
	}
	return out, nil
}

// ScanRecords reads a stream and checks each of its records: size, checksum, counts, slot, placement, order. With an
// error it returns the records before the first that is incomplete or breaks a rule.
func ScanRecords(b []byte) ([]Record, error) {
	head := func(off int64, field, format string, args ...any) error {
		return &StreamError{Off: off, Record: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
	}
	if len(b) >= 4 && len(b) < StreamHeader && string(b[:4]) == RecordMagic {
		return nil, head(int64(len(b)), "header", "the stream ends inside its header: %d bytes are there, it has %d",
			len(b), StreamHeader)
	}
	if len(b) < StreamHeader || string(b[:4]) != RecordMagic {
		return nil, head(0, "magic", "a record stream opens with %d bytes, the first four %q", StreamHeader,
			RecordMagic)
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != RecordVersion {
		return nil, head(4, "version", "record stream version %d is not known: known is %d", v, RecordVersion)
	}
	if n := binary.LittleEndian.Uint16(b[6:]); n != RecordSize {
		return nil, head(6, "record size", "%d: records of version %d have %d bytes", n, RecordVersion, RecordSize)
	}
	rest := b[StreamHeader:]
	rs := make([]Record, len(rest)/RecordSize)
	last := 0
	for i := range rs {
		if err := rs[i].decode(rest[i*RecordSize:][:RecordSize], last); err != nil {
			return rs[:i], inStream(err, i)
		}
		last = rs[i].Task
		if i > 0 && !rs[i-1].before(&rs[i]) {
			return rs[:i], outOfOrder(rs, i)
		}
	}
	if n := len(rest) % RecordSize; n != 0 {
		return rs, &StreamError{
			Off:    int64(len(b) - n),
			Record: len(rs),
			Field:  "size",
			Msg: fmt.Sprintf("%d bytes are left, a record has %d, so the stream ends at byte %#x in its %s", n,
				RecordSize, len(b), recordField(n)),
		}
	}
	return rs, nil
}

// decode reads a record that follows one of the task last.
func (r *Record) decode(b []byte, last int) error {
	le := binary.LittleEndian
	if got, want := le.Uint32(b[offCRC:]), crc32.ChecksumIEEE(b[:offCRC]); got != want {
		return fieldf(offCRC, "CRC-32", "%#08x: the record's first %d bytes have %#08x", got, offCRC, want)
	}
	marker, key, place, bar := le.Uint32(b), le.Uint32(b[offSlot:]), le.Uint32(b[offPlace:]), le.Uint32(b[offBar:])
	*r = Record{
		Task: taskAfter(last, int(marker>>16)), Group: int(marker >> 8 & 0xff),
		Register: le.Uint64(b[offRegister:]), Operand: le.Uint64(b[offOperand0:]),
		Slot: Slot(key &^ unresolved), Resolved: key != 0 && key&unresolved == 0,
		Place: Placement{uint8(place), uint8(place >> 8), uint8(place >> 16)},
		Bar:   int(bar & 0xffff),
	}
	second := le.Uint64(b[offOperand1:])
	switch n := marker & 0xff; {
	case n != 1 && n != 2:
		return fieldf(offMarker, "operand count", "%d: a record has 1 or 2 operands", n)
	case n == 1 && second != 0:
		return fieldf(offOperand1, "operand 1", "%#x: the record counts one operand, so it is 0", second)
	case n == 2:
		offset := second
		if r.Resolved {
			offset = r.Operand - second
		}
		if offset == 0 || offset >= 1<<32 {
			return fieldf(offOperand1, "operand 1", "%#x: the byte offset is %#x, want 1 to %#x", second, offset,
				uint32(math.MaxUint32))
		}
		r.Offset = uint32(offset)
	}
	if bar>>16 != 0 {
		return fieldf(offBar, "buffer-access register", "%#x: bits 31:16 are zero", bar)
	}
	if key == unresolved {
		return fieldf(offSlot, "slot", "%#x: marked unresolved, but without a key", key)
	}
	if err := checkGap(last, r.Task); err != nil {
		return err
	}
	if place>>24 != 0 {
		return fieldf(offPlace, "placement", "%#x: bits 31:24 are zero", place)
	}
	return r.check()
}

// checkGap returns an error for a record of task after one of the task last if a reader could not tell their distance.
func checkGap(last, task int) error {
	if task-last < wrap {
		return nil
	}
	return fieldf(offMarker, "task index", "%d follows %d: wanted fewer than %d tasks without a record", task, last,
		wrap)
}

// taskAfter returns the index of a task from its low 16 bits and the index of the record before.
func taskAfter(last, low int) int {
	task := last&^taskIndex | low
	if last-task >= wrap {
		task += taskSpan
	}
	return task
}

// before reports whether r precedes s in a stream.
func (r *Record) before(s *Record) bool {
	if r.Task != s.Task {
		return r.Task < s.Task
	}
	return r.rank() < s.rank()
}

// rank orders the records of a task.
func (r *Record) rank() int {
	if r.Slot != 0 {
		i, _ := slotOf(r.Slot)
		return i
	}
	reg := uint32(r.Register % RegisterWindow)
	if i, ok := dataSetAt(reg, r.Place); ok {
		return len(slotRows) + len(opConfig) + i
	}
	i, _ := opConfigAt(reg)
	return len(slotRows) + i
}

func outOfOrder(rs []Record, i int) error {
	return &StreamError{Off: int64(StreamHeader + i*RecordSize), Record: i, Field: "order",
		Msg: fmt.Sprintf("task %d, register %#x comes after task %d, register %#x", rs[i].Task, rs[i].Register,
			rs[i-1].Task, rs[i-1].Register)}
}

// inStream adds the place in the stream to a field's error.
func inStream(err error, i int) error {
	e, ok := err.(*fieldError)
	if !ok {
		return err
	}
	return &StreamError{Off: int64(StreamHeader + i*RecordSize + e.off), Record: i, Field: e.field, Msg: e.msg}
}
