package anec

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Sizes of the format.
const (
	Tiles      = 0x20   // buffers, by register
	TileSize   = 0x4000 // bytes; the size of a buffer is a multiple of it
	HeaderSize = 0x1000 // bytes before the tasks, as the converter writes them
	ShortSize  = 0x800  // the same as later versions of the library read them
	fieldsSize = 0x28 + Tiles*4 + Tiles*dims*8
	dims       = 6 // of a tensor: n, c, h, w, bytes of a plane and of a row
)

// Registers of the driver, as it numbers buffers.
const (
	RegTasks     = 0
	RegConstants = 1
	RegScratch   = 3
	RegFirst     = 4 // of the outputs, then the inputs
)

// A Tensor is the shape of a buffer. Elements are fp16.
type Tensor struct {
	N, C, H, W uint64
	Plane, Row uint64 // bytes
}

// A File is a program with its constants and the buffers that it works on.
type File struct {
	Size      uint64 // bytes of tasks and constants
	TaskSize  uint32 // of the first task, in bytes
	Tasks     uint32 // number of tasks
	TasksSize uint64 // of all tasks, in bytes
	Constants uint64 // bytes
	Inputs    uint32
	Outputs   uint32
	Tiles     [Tiles]uint32 // multiples of TileSize of each buffer
	Tensors   [Tiles]Tensor

	Rest []byte // of the header, after the fields
	Data []byte // tasks and constants
}

var le = binary.LittleEndian

// A FormatError reports a file that is not in the format.
type FormatError struct {
	Offset int64 // of the field, in bytes
	Field  string
	Msg    string
}

// Error returns the place and the rule.
func (e *FormatError) Error() string {
	return fmt.Sprintf("anec: byte %#x: %s %s", e.Offset, e.Field, e.Msg)
}

// field is a field of the header.
type field struct {
	name string
	at   int64
	wide *uint64 // of 8 bytes
	word *uint32 // of 4
}

// fields lists the header in order.
func (f *File) fields() []field {
	list := []field{
		{name: "size", wide: &f.Size},
		{name: "td_size", word: &f.TaskSize},
		{name: "td_count", word: &f.Tasks},
		{name: "tsk_size", wide: &f.TasksSize},
		{name: "krn_size", wide: &f.Constants},
		{name: "src_count", word: &f.Inputs},
		{name: "dst_count", word: &f.Outputs},
	}
	for i := range f.Tiles {
		list = append(list, field{name: fmt.Sprintf("tiles[%d]", i), word: &f.Tiles[i]})
	}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		for k, p := range []*uint64{&t.N, &t.C, &t.H, &t.W, &t.Plane, &t.Row} {
			list = append(list, field{name: fmt.Sprintf("nchw[%d][%d]", i, k), wide: p})
		}
	}
	at := int64(0)
	for i := range list {
		list[i].at = at
		if at += 8; list[i].word != nil {
			at -= 4
		}
	}
	return list
}

// constantsAt returns the offset of the constants in Data.
func (f *File) constantsAt() uint64 { return up(f.TasksSize, 16) }

func up(n, to uint64) uint64 { return (n + to - 1) / to * to }

// Is reports whether b is a file of this format, which has no magic: its fields agree with each other and its length.
func Is(b []byte) bool {
	_, err := Read(b)
	return err == nil
}

// Read decodes a file. Rest and Data are parts of b. Errors are *FormatError.
func Read(b []byte) (*File, error) {
	f := &File{}
	if len(b) < ShortSize {
		return nil, &FormatError{0, "header", fmt.Sprintf("needs %#x bytes, the file has %#x", ShortSize, len(b))}
	}
	at := map[string]int64{}
	for _, x := range f.fields() {
		at[x.name] = x.at
		if x.word != nil {
			*x.word = le.Uint32(b[x.at:])
		} else {
			*x.wide = le.Uint64(b[x.at:])
		}
	}
	bad := func(name, format string, args ...any) (*File, error) {
		return nil, &FormatError{at[name], name, fmt.Sprintf(format, args...)}
	}
	head := uint64(len(b)) - f.Size
	switch {
	case head != HeaderSize && head != ShortSize:
		return bad("size", "is %#x; the file has %#x bytes, of which the header is %#x or %#x", f.Size, len(b),
			HeaderSize, ShortSize)
	case f.TaskSize == 0 || f.TaskSize%4 != 0 || uint64(f.TaskSize) > f.TasksSize:
		return bad("td_size", "is %#x; want words, at most the %#x bytes of all tasks", f.TaskSize, f.TasksSize)
	case f.Tasks == 0 || uint64(f.Tasks) > f.TasksSize/4:
		return bad("td_count", "is %d; want a task, at most as many as there are words in %#x bytes", f.Tasks,
			f.TasksSize)
	case f.TasksSize > f.Size || f.Constants != f.Size-min(f.Size, f.constantsAt()):
		return bad("krn_size", "is %#x; tasks of %#x bytes and constants must be the %#x bytes of both", f.Constants,
			f.TasksSize, f.Size)
	case f.Inputs == 0 || f.Outputs == 0 || uint64(f.Inputs)+uint64(f.Outputs) > Tiles-RegFirst:
		return bad("src_count", "is %d, and dst_count %d; want an input and an output, at most %d of both", f.Inputs,
			f.Outputs, Tiles-RegFirst)
	}
	if n := uint64(f.Tiles[RegTasks]); n != up(f.Size, TileSize)/TileSize {
		return bad("tiles[0]", "is %d; tasks and constants need %d", n, up(f.Size, TileSize)/TileSize)
	}
	f.Rest, f.Data = b[fieldsSize:head:head], b[head:]
	return f, nil
}

// WriteTo writes the file.
func (f *File) WriteTo(w io.Writer) (n int64, err error) {
	var head []byte
	for _, x := range f.fields() {
		if x.word != nil {
			head = le.AppendUint32(head, *x.word)
		} else {
			head = le.AppendUint64(head, *x.wide)
		}
	}
	for _, part := range [][]byte{head, f.Rest, f.Data} {
		m, err := w.Write(part)
		if n += int64(m); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Buffer names the buffer of a register, as the converter prints it; "" for one that the program has no use for.
func (f *File) Buffer(reg int) string {
	in := reg - RegFirst - int(f.Outputs)
	switch {
	case reg == RegTasks:
		return "tasks"
	case f.Tiles[reg] == 0:
		return ""
	case reg < RegFirst:
		return fmt.Sprintf("scratch%d", RegScratch-reg)
	case in < 0:
		return fmt.Sprintf("output%d", reg-RegFirst)
	}
	return fmt.Sprintf("input%d", in)
}

// Bytes is the size of a buffer.
func (f *File) Bytes(reg int) uint64 { return uint64(f.Tiles[reg]) * TileSize }

// header returns the bytes of a header after its fields.
func header(size int) []byte { return make([]byte, size-fieldsSize) }

// maxTiles is the number of tiles that a buffer may have, in the converter.
const maxTiles = math.MaxUint16
