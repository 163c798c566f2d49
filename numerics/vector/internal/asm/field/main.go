// Field writes the kernel of package field for amd64.
package main

import (
	"flag"
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Columns is the width of the tile, in strips of twice the width. Terms is how many products of 122 bits are added in
// 128 bits before they are reduced: a reduced sum is less than one of them.
const (
	columns = 4
	strip   = 2 * columns
	terms   = 63
)

func main() {
	for name, value := range map[string]string{
		"pkg": "field", "out": "../../../field/kernel_amd64.s", "stubs": "../../../field/kernel_amd64.go",
	} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	ConstraintExpr("amd64")
	TEXT(fmt.Sprintf("sums%d", columns), NOSPLIT, "func(out, w, b *uint64, k int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("sums%d writes %d sums of k products w[l] * b[%d*l+j], each less than 2^63.", columns, columns,
		strip))
	w, b := Load(Param("w"), GP64()), Load(Param("b"), GP64())
	left := AllocLocal(8)
	n, low, high := GP64(), GP64(), GP64()
	Load(Param("k"), n)
	MOVQ(n, left)
	var lows, highs [columns]GPVirtual
	for j := range columns {
		lows[j], highs[j] = GP64(), GP64()
		XORQ(lows[j], lows[j])
		XORQ(highs[j], highs[j])
	}

	Label("block")
	MOVQ(left, n)
	CMPQ(n, U8(terms))
	JBE(LabelRef("counted"))
	MOVQ(U32(terms), n)
	Label("counted")
	SUBQ(n, left)
	Label("term")
	MOVQ(Mem{Base: w}, RDX)
	for j := range columns {
		MULXQ(Mem{Base: b, Disp: 8 * j}, low, high)
		ADDQ(low, lows[j])
		ADCQ(high, highs[j])
	}
	ADDQ(U8(8*strip), b)
	ADDQ(U8(8), w)
	DECQ(n)
	JNZ(LabelRef("term"))
	for j := range columns { // 2^61 and 2^122 are 1, 2^64 is 8
		l, h := lows[j], highs[j]
		MOVQ(l, low)
		SHRQ(U8(61), low)
		SHLQ(U8(3), l)
		SHRQ(U8(3), l)
		ADDQ(low, l)
		MOVQ(h, low)
		SHRQ(U8(58), low)
		ADDQ(low, l)
		SHLQ(U8(6), h)
		SHRQ(U8(3), h)
		ADDQ(h, l)
		XORQ(h, h)
	}
	CMPQ(left, U8(0))
	JNE(LabelRef("block"))
	out := Load(Param("out"), GP64())
	for j := range columns {
		MOVQ(lows[j], Mem{Base: out, Disp: 8 * j})
	}
	RET()
	Generate()
}
