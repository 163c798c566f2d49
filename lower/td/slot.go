package td

import "fmt"

// Slot is a relocation slot of version 10: the key of a place that loading fills with a device address. A key is the
// index of a register among all registers, which is its byte address divided by four (0x1344 is register 0x4d10).
type Slot uint32

// The slots of table 23.5, and by the same rule one for the coefficient lanes: listing 23.3 has their sixteen
// configurations at G0 + 0x2c.
const (
	SlotSource     Slot = 0x1344
	SlotSource2    Slot = 0x134a
	SlotResult     Slot = 0x1442
	SlotBias       Slot = 0x1554
	SlotPostScale  Slot = 0x1558
	SlotPalette    Slot = 0x155c
	SlotActivation Slot = 0x1560
	SlotWeights    Slot = 0x1542
)

// slotRow is one DMA stream: its slot, the group of the slot's register, the flag that enables the stream, the
// buffer-access register that it uses, and the field with its byte offset in that buffer.
type slotRow struct {
	slot      Slot
	name      string
	group     *Block
	enable    Field
	stream    *Stream // of a tensor
	bar, barE Field
	offset    Field
	hasOffset bool // false: the image has the lanes' own offsets
	owner     bool // the buffer-access register belongs to this stream first of all
}

// slotRows lists the streams in the order of their records in a task.
var slotRows = []slotRow{
	tensorSlot(SlotSource, "input tile", G2, StreamSource1),
	tensorSlot(SlotSource2, "second operand", G2, StreamSource2),
	{slot: SlotWeights, name: "weight lanes", group: G0, enable: KernelOn, bar: KBase0, barE: KBE0, owner: true},
	kernelSlot(SlotBias, "bias", 0),
	kernelSlot(SlotPostScale, "post-scale", 1),
	kernelSlot(SlotPalette, "palette", 2),
	kernelSlot(SlotActivation, "activation", 3),
	tensorSlot(SlotResult, "output tile", G6, StreamResult),
}

func tensorSlot(slot Slot, name string, g *Block, stream int) slotRow {
	s := &Streams[stream]
	return slotRow{
		slot:      slot,
		name:      name,
		group:     g,
		enable:    s.Enable,
		stream:    s,
		bar:       s.Bar,
		barE:      s.BarValid,
		offset:    s.Base,
		hasOffset: true,
		owner:     true,
	}
}

// kernelSlot returns the row of a kernel stream, which shares the buffer-access register of the lanes.
func kernelSlot(slot Slot, name string, stream int) slotRow {
	return slotRow{
		slot:      slot,
		name:      name,
		group:     G0,
		enable:    StreamConfig.At(stream),
		bar:       KBase0,
		barE:      KBE0,
		offset:    StreamBase.At(stream),
		hasOffset: true,
	}
}

// on reports whether the task enables the stream: bit 0 of its enable field.
func (s *slotRow) on(t *Task) bool {
	if s.stream != nil {
		return s.stream.Moved(t)
	}
	return t.raw(s.enable)&1 == 1
}

// named reports whether the task names a buffer for the stream. Recorded tasks do so for a tensor that has a buffer but
// stays in L2, with its DMA off.
func (s *slotRow) named(t *Task) bool { return s.owner && t.On(s.barE) }

func slotOf(s Slot) (int, *slotRow) {
	for i := range slotRows {
		if slotRows[i].slot == s {
			return i, &slotRows[i]
		}
	}
	return 0, nil
}

// Register returns the byte address of the slot's register.
func (s Slot) Register() uint32 { return 4 * uint32(s) }

// String returns the slot's name and key.
func (s Slot) String() string {
	if _, r := slotOf(s); r != nil {
		return fmt.Sprintf("%s (%#x)", r.name, uint32(s))
	}
	return fmt.Sprintf("slot %#x", uint32(s))
}

// opConfig are the registers whose values are in a record, and not in the image, if they differ from the reset value,
// zero: the two words that table 23.7 calls the op-config descriptor. The one before the first operation of a chain is
// the format of its source; the one that ends the chain is the format of its result.
var opConfig = []struct {
	name string
	at   Field // any field of the register
	when func(t *Task) bool
}{
	{"start", SrcFmtMode, func(t *Task) bool { return !t.On(LNID) }},
	{"end", DstFmtMode, func(t *Task) bool { return t.On(EON) }},
}

// opConfigAt returns the index of the op-config row of a register.
func opConfigAt(reg uint32) (int, bool) {
	for i := range opConfig {
		if r, _ := table[opConfig[i].at].Place(V10).Register(); r == reg {
			return i, true
		}
	}
	return 0, false
}

// dataSets are the fields whose values, identifiers of data sets in memory on the chip, are in records and not in the
// image. Version 7 has none.
var dataSets = []Field{SrcDataSet, Src2DataSet, DstDataSet}

// dataSetAt returns the index of the data set that a record writes.
func dataSetAt(reg uint32, place Placement) (int, bool) {
	for i, f := range dataSets {
		if p := table[f].Place(V10); p.Addr() == reg && place == (Placement{Bit: p.Bit, Width: p.Width}) {
			return i, true
		}
	}
	return 0, false
}
