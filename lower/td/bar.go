package td

import (
	"encoding/binary"
	"fmt"
)

// BarKind is what a custom bar writes.
type BarKind uint8

// The three kinds of relocation.
const (
	BarAddress BarKind = iota + 1 // a device address
	BarDataSet                    // the identifier of an on-chip data set
	BarOffset                     // an offset in a buffer
)

var barKinds = map[BarKind]string{
	BarAddress: "device address",
	BarDataSet: "on-chip data set",
	BarOffset:  "buffer offset",
}

// String returns the kind's name.
func (k BarKind) String() string {
	if n, ok := barKinds[k]; ok {
		return n
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Limits on custom bars.
const (
	MaxWireBars    = 32  // of one call
	MaxProgramBars = 128 // of one program
)

// CustomBar is a relocation of a bit-field of a task's image: loading the program, or a call, writes a value into it.
// Its type is generic and its configuration has 32 bits, which is the only form.
type CustomBar struct {
	Task     int // index of the image
	Kind     BarKind
	Register uint32 // byte address of the register
	Bit      uint8
	Width    uint8
}

// One bar on the wire, 12 bytes: u8 type (1, generic), u8 bits of its configuration (32), u16 task index; u32
// configuration: register index 15:0, bit 20:16, width 26:21, kind 31:27; u32 zero. The list has a header: magic, u16
// version, u16 count. The layout is zinc's own.
const (
	barsMagic   = "ZTCB"
	barsVersion = 1
	barsHeader  = 8
	barSize     = 12
	barGeneric  = 1
	barConfig   = 32
)

func (c *CustomBar) check() error {
	_, known := barKinds[c.Kind]
	switch {
	case c.Task < 0 || c.Task > 0xffff:
		return fieldf(2, "task index", "%d: the field holds 0..%d", c.Task, 0xffff)
	case !known:
		return fieldf(4, "kind", "%d: kinds are 1 (%s), 2 (%s), 3 (%s)", uint8(c.Kind), BarAddress, BarDataSet,
			BarOffset)
	case registerGroup(c.Register) == nil:
		return fieldf(4, "register", "%#x: in none of the seven groups", c.Register)
	case c.Bit > 31 || c.Width == 0 || c.Width > 32-c.Bit:
		return fieldf(4, "bit-field", "bit %d, width %d: a register has bits 0..31", c.Bit, c.Width)
	}
	return nil
}

// registerGroup returns the group of a register's byte address, or nil.
func registerGroup(reg uint32) *Group {
	for _, g := range Groups {
		if reg >= g.Base && reg < g.Base+4*uint32(g.Words) && reg%4 == 0 {
			return g
		}
	}
	return nil
}

// Write puts a value into the bit-field of an image.
func (c *CustomBar) Write(img []byte, v uint32) error {
	if err := c.check(); err != nil {
		return err
	}
	if len(img) != ImageSize {
		return imagef(0, "version-10 image of %#x bytes: it has %#x", len(img), ImageSize)
	}
	if uint64(v) >= 1<<c.Width {
		return fmt.Errorf("custom bar of register %#x bits %d:%d, %s: %#x does not fit %d bits", c.Register, c.Bit+
			c.Width-1, c.Bit, c.Kind, v, c.Width)
	}
	g := registerGroup(c.Register)
	b := img[g.Image+int(c.Register-g.Base):]
	mask := uint32(1<<c.Width-1) << c.Bit
	binary.LittleEndian.PutUint32(b, binary.LittleEndian.Uint32(b)&^mask|v<<c.Bit)
	return nil
}

// BarError reports a list of custom bars that breaks a rule.
type BarError struct {
	Off   int64
	Bar   int // index, or -1 in the header
	Field string
	Msg   string
}

func (e *BarError) Error() string {
	if e.Bar < 0 {
		return fmt.Sprintf("custom bars byte %#x: %s: %s", e.Off, e.Field, e.Msg)
	}
	return fmt.Sprintf("custom bars byte %#x: bar %d: %s: %s", e.Off, e.Bar, e.Field, e.Msg)
}

func inBars(err error, i int) error {
	e, ok := err.(*fieldError)
	if !ok {
		return err
	}
	return &BarError{Off: int64(barsHeader + i*barSize + e.off), Bar: i, Field: e.field, Msg: e.msg}
}

func barCount(n, limit int) error {
	if n > limit {
		return &BarError{Off: 6, Bar: -1, Field: "count", Msg: fmt.Sprintf("%d custom bars: at most %d", n, limit)}
	}
	return nil
}

// EncodeBars returns the list of a program's custom bars. limit is the largest number allowed: MaxProgramBars, or
// MaxWireBars for those of one call.
func EncodeBars(bars []CustomBar, limit int) ([]byte, error) {
	if err := barCount(len(bars), limit); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	out := append(make([]byte, 0, barsHeader+barSize*len(bars)), barsMagic...)
	out = le.AppendUint16(out, barsVersion)
	out = le.AppendUint16(out, uint16(len(bars)))
	for i := range bars {
		c := &bars[i]
		if err := c.check(); err != nil {
			return nil, inBars(err, i)
		}
		out = append(out, barGeneric, barConfig)
		out = le.AppendUint16(out, uint16(c.Task))
		out = le.AppendUint32(out, c.Register/4|uint32(c.Bit)<<16|uint32(c.Width)<<21|uint32(c.Kind)<<27)
		out = le.AppendUint32(out, 0)
	}
	return out, nil
}

// DecodeBars reads what EncodeBars writes, refusing more than limit bars.
func DecodeBars(b []byte, limit int) ([]CustomBar, error) {
	le := binary.LittleEndian
	if len(b) < barsHeader || string(b[:4]) != barsMagic {
		return nil, &BarError{
			Off:   0,
			Bar:   -1,
			Field: "magic",
			Msg:   fmt.Sprintf("a list of custom bars opens with %d bytes, the first four %q", barsHeader, barsMagic),
		}
	}
	if v := le.Uint16(b[4:]); v != barsVersion {
		return nil, &BarError{
			Off:   4,
			Bar:   -1,
			Field: "version",
			Msg:   fmt.Sprintf("%d is not known: known is %d", v, barsVersion),
		}
	}
	n := int(le.Uint16(b[6:]))
	if err := barCount(n, limit); err != nil {
		return nil, err
	}
	if len(b) != barsHeader+n*barSize {
		return nil, &BarError{
			Off:   6,
			Bar:   -1,
			Field: "count",
			Msg:   fmt.Sprintf("%d bars take %d bytes, there are %d", n, barsHeader+n*barSize, len(b)),
		}
	}
	bars := make([]CustomBar, n)
	for i := range bars {
		p := b[barsHeader+i*barSize:]
		config := le.Uint32(p[4:])
		bars[i] = CustomBar{
			Task: int(le.Uint16(p[2:])), Register: config & 0xffff * 4,
			Bit: uint8(config >> 16 & 31), Width: uint8(config >> 21 & 63), Kind: BarKind(config >> 27),
		}
		err := bars[i].check()
		switch {
		case p[0] != barGeneric:
			err = fieldf(0, "type", "%d: known is %d, generic", p[0], barGeneric)
		case p[1] != barConfig:
			err = fieldf(1, "configuration", "%d bits: known is %d", p[1], barConfig)
		case le.Uint32(p[8:]) != 0:
			err = fieldf(8, "reserved word", "%#x: it is zero", le.Uint32(p[8:]))
		}
		if err != nil {
			return nil, inBars(err, i)
		}
	}
	return bars, nil
}
