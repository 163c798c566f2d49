package cost

import "github.com/zinc-compiler/zinc/lower/td"

// dramRow is the unit of a row in DRAM, in bytes.
const dramRow = 64

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

// tileBytes returns the bytes that tile DMA moves: whole rows, padded as in DRAM. A stride of zero reads the same bytes
// again.
func tileBytes(a *td.Access) int64 {
	if !a.InDRAM {
		return 0
	}
	return product(product(a.Count[:]...), alignUp(a.Columns*a.Inter*a.Element, dramRow))
}

// l2Bytes returns the bytes that pass through L2: once, or twice if DMA brings or takes them. l is the tensor's place
// in L2.
func l2Bytes(a, l *td.Access) int64 {
	n := product(product(l.Count[:]...), l.Row)
	if a.InDRAM {
		n = product(n, 2)
	}
	return n
}

// l2End returns the end of the tensor in L2 according to the registers; if DMA brings it in parts, the end of one tile.
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
