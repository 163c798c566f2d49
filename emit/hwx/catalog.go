package hwx

import (
	"fmt"
	"strings"
)

// typeEntry is one entry of the element-type catalog in the symbol table.
type typeEntry struct {
	number uint32
	text   string // after "name:tN="
	name   string
}

// typeCatalog lists the element types by number. 1 to 10 are in every file
// seen; 16 and 23 are from chapter 23. The numbers between are not published and
// are left out, not guessed.
var typeCatalog = []typeEntry{
	{1, "1", "void"},
	{2, "r2;0;127", "int8"},
	{3, "r1;0;255", "uint8"},
	{4, "r1;-32768;32767", "int16"},
	{5, "r1;2;0", "float16"},
	{6, "r1;4;0", "float"},
	{7, "r1;-512;511", "raw10"},
	{8, "", "lut"},
	{9, "r1;0;15", "uint4"},
	{10, "r1;0;63", "uint6"},
	{16, "r1;1;0", "e4m3"},
	{23, "r1;-8;7", "int4"},
}

// catalogs has, for each layout, the last number that its catalog may use. The shapes' own type numbers follow it:
// 11 in the old files (10 entries), 25 with the catalog of 24 entries in chapter 23 (modelled).
var catalogs = map[Layout]uint32{TextFirst: 10, SurfacesFirst: 24}

// typeSymbols returns the catalog's symbols up to the number last.
func typeSymbols(last uint32) (l []Symbol) {
	for _, e := range typeCatalog {
		if e.number <= last {
			l = append(l, Symbol{Name: fmt.Sprintf("%s:t%d=%s", e.name, e.number, e.text), Type: SymType})
		}
	}
	return l
}

// shapeSymbol returns the stabs-style shape of a surface, whose five types are
// numbered from first, and the number after them. The last stride is an
// element's; its extent is W.
func shapeSymbol(s *Surface, first uint32) (Symbol, uint32) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:t%d=", s.Name, first)
	for i, axis := range "nchw" {
		fmt.Fprintf(&b, "ar1;0;%d;%d=s%d%c:", s.Dims[i], first+uint32(i)+1, s.Strides[i], axis)
	}
	fmt.Fprintf(&b, "%d", s.Element)
	return Symbol{Name: b.String(), Type: SymShape, Desc: uint16(first)}, first + 5
}

// kernelNames returns segment and section name of the i-th kernel section.
func kernelNames(i int) (segment, section string) {
	return fmt.Sprintf("__KERN_%d", i), fmt.Sprintf("__kern_%d", i)
}
