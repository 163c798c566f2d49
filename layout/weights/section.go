package weights

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parts says where one task's constants are: for each core, byte offset and
// size in the section, and whether the core loads anything. A dead core has
// offset 0 and size Granule, as recorded tasks write it.
type Parts struct {
	Offset, Size [MaxCores]uint32
	Live         [MaxCores]bool
}

// Symbol names one tile of a constant: K, the SHA-256 of the packed constant in
// upper-case hex, _ne_, the lane. A dead tile points at the section's end.
type Symbol struct {
	Name   string
	Offset uint32
	Live   bool
}

// Section collects the constants of a program in task order. The zero value is ready. Constants are aligned to
// Granule; equal ones are stored once. The section keeps what its bytes are made from, and WriteTo makes them. A digest
// of all bytes of a constant is made when another one begins with the same bytes and is not made from the same memory,
// or for Symbols.
type Section struct {
	// Workers is the number of goroutines that pack constants, 0 for one per processor.
	Workers int
	// Endless lets the section grow beyond the limit, for an estimate: nothing can be written then, and the offsets in
	// Parts are modulo the limit.
	Endless bool

	exceeds *LimitError // of the first constant beyond the limit
	pieces  []piece
	size    int64
	begun   map[key]*constant // the first constant that begins with the bytes of a digest
	seen    map[key]*constant // by the digest of all bytes, of those that have one
	// named lists the constants with tiles, in order of first appearance.
	named []*constant
	// For a tracked section (see Track): the stored constants, the extents of the first of them (see Extents), and the
	// offset of the one added last.
	tracked bool
	stored  []*constant
	extents []Extent
	last    int64
	buf     []byte // of the window that is being packed
}

// key identifies bytes of a constant together with its division into parts, since the same bytes may be read as other
// tiles.
type key struct {
	sum   [sha256.Size]byte
	size  int
	sizes [MaxCores]uint32
	kind  kind
}

// constant is a stored constant, its place and, if all is set, the digest of its bytes. Its key has the digest of its
// beginning.
type constant struct {
	piece piece
	task  int
	parts Parts
	base  int64
	all   bool
	sum   [sha256.Size]byte
	key   key
	// layout describes the bytes, in a tracked section; nil if all are values.
	layout func() []Repeat
}

type kind uint8

const (
	kindParts kind = iota
	kindShared
	kindRaw
)

// limit is the section's largest size: base registers hold 32 bits.
const limit = 1 << 32

// Exceeds returns the error that a section without Endless would have returned first, nil if it fits one container.
func (s *Section) Exceeds() error {
	if s.exceeds == nil {
		return nil
	}
	return s.exceeds
}

// Size returns the section's length in bytes so far, a multiple of Granule.
func (s *Section) Size() int64 { return s.size }

// HasKernels reports whether the section has coefficients or lookup tables, besides tensors.
func (s *Section) HasKernels() bool { return len(s.named) > 0 }

// AddSlice adds the share of k that the task number, counted from 0 among the tasks of the kernel, runs under its
// plan. The section keeps k, and packs it to find its digest and whenever it is written.
func (s *Section) AddSlice(k *Kernel, plan Plan, task int) (Parts, error) {
	sizes, err := plan.PartSizes(k)
	if err != nil {
		return Parts{}, err
	}
	n := 0
	for _, size := range sizes {
		n += size
	}
	return s.addParts(piece{size: n, jobs: plan.jobs(k, sizes)}, sizes, task,
		func() []Repeat { return plan.Layout(k) })
}

// AddParts adds one task's packed constant: data is the parts in core order, sizes[c] bytes each, a multiple of
// Granule, 0 for a dead core. The section keeps data. An equal constant of equal sizes is stored once. layout describes
// the bytes; only a tracked section calls it, and if it is nil all of them count as values.
func (s *Section) AddParts(data []byte, sizes [MaxCores]int, layout func() []Repeat) (Parts, error) {
	return s.addParts(inMemory(data), sizes, 0, layout)
}

func (s *Section) addParts(p piece, sizes [MaxCores]int, task int, layout func() []Repeat) (Parts, error) {
	total := 0
	var ps Parts
	for c, n := range sizes {
		if n < 0 || n%Granule != 0 || n > p.size-total {
			return Parts{}, fmt.Errorf("weights: part %d has %d bytes, want a multiple of %d inside the %d of the "+
				"constant", c, n, Granule, p.size)
		}
		ps.Size[c] = uint32(n)
		total += n
	}
	if total != p.size || total == 0 {
		return Parts{}, fmt.Errorf("weights: parts have %d bytes together and the constant %d; want equal and not 0",
			total, p.size)
	}
	return s.add(p, kindParts, task, ps.Size, layout, func(base uint32) Parts {
		ps := Parts{}
		at := base
		for c, n := range sizes {
			ps.Size[c] = Granule
			if n > 0 {
				ps.Offset[c], ps.Size[c], ps.Live[c] = at, uint32(n), true
			}
			at += uint32(n)
		}
		return ps
	})
}

// AddTable adds a table for a task that streams nothing else on lanes cores. All lanes read the one stored copy; the
// rest of the space that lanes copies would take is zero, as recorded (128 bytes per lane).
func (s *Section) AddTable(t *Table, lanes int) (Parts, error) {
	if lanes < 1 || lanes > MaxCores {
		return Parts{}, fmt.Errorf("weights: table on %d lanes, want 1..%d", lanes, MaxCores)
	}
	data := make([]byte, lanes*TableBytes)
	t.put(data)
	var sizes [MaxCores]uint32
	for c := range lanes {
		sizes[c] = TableBytes
	}
	layout := func() []Repeat {
		return []Repeat{{1, slices.DeleteFunc([]Run{run1(Lookup, TableBytes), run1(Reserved, (lanes-1)*TableBytes)},
			func(r Run) bool {
				return r.Size == 0
			})}}
	}
	return s.add(inMemory(data), kindShared, 0, sizes, layout, func(base uint32) Parts {
		var ps Parts
		for c := range ps.Size {
			ps.Size[c] = Granule
			if c < lanes {
				ps.Offset[c], ps.Size[c], ps.Live[c] = base, TableBytes, true
			}
		}
		return ps
	})
}

// AddRow adds bytes that one task reads whole, such as the rows of PairRows,
// padded to Granule, and returns their offset. They carry no tile names. layout
// is as for AddParts.
func (s *Section) AddRow(data []byte, layout func() []Repeat) (uint32, error) {
	return s.addSurface(1, len(data), data, layout)
}

// AddSurface adds a raw tensor as a DMA source: rows of rowBytes, each padded to Granule. It returns the offset. The
// section keeps data.
func (s *Section) AddSurface(rows, rowBytes int, data []byte) (uint32, error) {
	return s.addSurface(rows, rowBytes, data, func() []Repeat { return rowsLayout(rows, rowBytes) })
}

func (s *Section) addSurface(rows, rowBytes int, data []byte, layout func() []Repeat) (uint32, error) {
	if rows < 1 || rowBytes < 1 || rowBytes > len(data) || len(data)%rowBytes != 0 || len(data)/rowBytes != rows {
		return 0, fmt.Errorf("weights: surface of %d rows of %d bytes, but %d bytes of data", rows, rowBytes, len(data))
	}
	stride := align(rowBytes)
	p := inMemory(data)
	if stride != rowBytes {
		if int64(stride) > (limit-1)/int64(rows) {
			return 0, &LimitError{Bytes: int64(stride) * int64(rows), Offset: s.size}
		}
		p = piece{size: rows * stride, jobs: paddedRows(data, rowBytes, stride)}
	}
	ps, err := s.add(p, kindRaw, 0, [MaxCores]uint32{}, layout, func(base uint32) Parts {
		return Parts{Offset: [MaxCores]uint32{base}}
	})
	return ps.Offset[0], err
}

// LimitError reports a constant that does not fit the section.
type LimitError struct{ Bytes, Offset int64 }

func (e *LimitError) Error() string {
	return fmt.Sprintf("a constant of %d bytes at offset %#x of the constants exceeds the limit of one container, %d "+
		"bytes; cut the model in two", e.Bytes, e.Offset, int64(limit))
}

func (s *Section) add(p piece, kd kind, task int, sizes [MaxCores]uint32, layout func() []Repeat,
	place func(base uint32) Parts) (Parts, error) {
	c := &constant{piece: p, task: task}
	c.key = key{sum: s.beginning(c), size: p.size, sizes: sizes, kind: kd}
	return s.put(c, layout, place)
}

// put stores a constant that has its key, unless the section has an equal one.
func (s *Section) put(c *constant, layout func() []Repeat, place func(base uint32) Parts) (Parts, error) {
	if old := s.equal(c, c.key); old != nil {
		s.last = old.base
		return old.parts, nil
	}
	if s.size+int64(c.piece.size) >= limit && s.exceeds == nil {
		err := &LimitError{Bytes: int64(c.piece.size), Offset: s.size}
		if !s.Endless {
			return Parts{}, err
		}
		s.exceeds = err
	}
	c.base, c.parts = s.size, place(uint32(s.size))
	if s.tracked {
		c.layout, s.last, s.stored = layout, c.base, append(s.stored, c)
	}
	s.pieces = append(s.pieces, c.piece)
	s.size += int64(c.piece.size)
	s.remember(c, c.key)
	if c.key.kind != kindRaw {
		s.named = append(s.named, c)
	}
	return c.parts, nil
}

// Take adds the constant that another section has at an offset. Both sections are tracked.
func (s *Section) Take(from *Section, offset int64) error {
	i, ok := slices.BinarySearchFunc(from.stored, offset, func(c *constant, at int64) int {
		return cmp.Compare(c.base, at)
	})
	if !ok {
		return fmt.Errorf("weights: no constant is stored at offset %#x", offset)
	}
	c := *from.stored[i]
	_, err := s.put(&c, c.layout, func(base uint32) Parts {
		ps, old := c.parts, uint32(c.base)
		for lane := range ps.Offset {
			if ps.Live[lane] || c.key.kind == kindRaw && lane == 0 {
				ps.Offset[lane] += base - old
			}
		}
		return ps
	})
	return err
}

// equal returns the stored constant that is equal to c, or nil. The key has the digest of c's beginning.
func (s *Section) equal(c *constant, k key) *constant {
	first := s.begun[k]
	if first == nil {
		return nil
	}
	if first.piece.same(&c.piece) {
		return first // several functions that have one weight
	}
	s.digests([]*constant{first, c})
	k.sum = first.sum
	s.seen[k] = first
	k.sum = c.sum
	return s.seen[k]
}

// remember makes equal find c, which is stored and has no equal yet.
func (s *Section) remember(c *constant, k key) {
	if s.begun == nil {
		s.begun, s.seen = make(map[key]*constant), make(map[key]*constant)
	}
	if s.begun[k] == nil {
		s.begun[k] = c
		return
	}
	k.sum = c.sum
	s.seen[k] = c
}

// Symbols lists the tiles of all constants in order of appearance, MaxCores per constant, with dead ones at the
// section's end.
func (s *Section) Symbols() []Symbol {
	s.digests(s.named)
	var out []Symbol
	for _, c := range s.named {
		name := "K" + strings.ToUpper(hex.EncodeToString(c.sum[:])) + "_ne_"
		for lane, live := range c.parts.Live {
			sy := Symbol{Name: name + strconv.Itoa(lane), Offset: uint32(s.size), Live: live}
			if live {
				sy.Offset = c.parts.Offset[lane]
			}
			out = append(out, sy)
		}
	}
	return out
}

// PairRows lays out a per-channel elementwise constant for the planar engine: one fp16 bias per channel, then one fp16
// scale per channel, each row padded to Granule. The engine computes x*scale + bias; an add stores (c, 1.0), a mul (0,
// c), a division (0, 1/c).
func PairRows(bias, scale []uint16) ([]byte, error) {
	if len(bias) != len(scale) || len(bias) == 0 {
		return nil, fmt.Errorf("weights: %d biases and %d scales, want equal numbers, at least one", len(bias),
			len(scale))
	}
	row := align(2 * len(bias))
	out := make([]byte, 2*row)
	for i := range bias {
		binary.LittleEndian.PutUint16(out[2*i:], bias[i])
		binary.LittleEndian.PutUint16(out[row+2*i:], scale[i])
	}
	return out, nil
}
