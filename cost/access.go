package cost

import "github.com/zinc-compiler/zinc/lower/td"

// dramRow is the unit of a row in DRAM, in bytes.
const dramRow = 64

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

// tileBytes is what tile DMA moves: whole rows, padded as they are in DRAM. A
// stride of zero reads the same bytes again.
func tileBytes(a *td.Access) int64 {
	if !a.InDRAM {
		return 0
	}
	return product(append(a.Count[:], alignUp(a.Columns*a.Inter*a.Element, dramRow))...)
}

// l2Bytes is what passes through L2: once, or twice for what DMA brings or takes. l is
// the tensor's place in L2.
func l2Bytes(a, l *td.Access) int64 {
	n := product(append(l.Count[:], l.Row)...)
	if a.InDRAM {
		n = product(n, 2)
	}
	return n
}

// l2End is the byte of L2 after the last that the registers place the tensor at: of what
// DMA brings in parts, the rows of one tile.
func l2End(t *td.Task, a, l *td.Access) int64 {
	end := l.First + l.Row
	count := l.Count
	if tall := int64(t.Get(td.TileHeight)); a.InDRAM && tall > 0 && tall < t.Extent(td.Hout) {
		count[td.AxisRow] = min(count[td.AxisRow], (tall-1)*t.Extent(td.Sy)+t.Extent(td.Kh))
	}
	for i, n := range count {
		end += (n - 1) * l.Stride[i]
	}
	return end
}
