// Field writes the kernels of package field for amd64.
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
	strips()
	Generate()
}

// limb is the width of the integers that the instructions multiply. Of an element of 61 bits they take the lower 52 as
// they are; the others are a number of their own.
const limb = 52

// parts are the sums of the products of limbs: of the lower ones, of a lower and an upper one in both orders, each in
// two halves, and of the upper ones.
type parts struct{ low, lowTop, lowHigh, lowHighTop, highLow, highLowTop, high VecVirtual }

func (p *parts) all() []VecVirtual {
	return []VecVirtual{p.low, p.lowTop, p.lowHigh, p.lowHighTop, p.highLow, p.highLowTop, p.high}
}

// strips writes the kernel of a whole strip. Two terms at a time have sums of their own, since each addition waits for
// the one before it.
func strips() {
	TEXT(fmt.Sprintf("sums%d", strip), NOSPLIT, "func(out *[3][8]uint64, w, b *uint64, k int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("sums%d writes %d sums of at most 504 products w[l] * b[%d*l+j] in three parts, each less than "+
		"2^63:", strip, strip, strip), "the first, the second times 2^52 and the third times 2^104 add up to the sum.")
	w, b, n := Load(Param("w"), GP64()), Load(Param("b"), GP64()), Load(Param("k"), GP64())
	var sums [2]parts
	for u := range sums {
		sums[u] = parts{ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()}
		for _, v := range sums[u].all() {
			VPXORQ(v, v, v)
		}
	}
	term := func(u int) {
		p := &sums[u]
		x, y, xTop, yTop := ZMM(), ZMM(), ZMM(), ZMM()
		VPBROADCASTQ(Mem{Base: w, Disp: 8 * u}, x)
		VMOVDQU64(Mem{Base: b, Disp: 8 * strip * u}, y)
		VPSRLQ(U8(limb), x, xTop)
		VPSRLQ(U8(limb), y, yTop)
		VPMADD52LUQ(x, y, p.low)
		VPMADD52HUQ(x, y, p.lowTop)
		VPMADD52LUQ(x, yTop, p.lowHigh)
		VPMADD52HUQ(x, yTop, p.lowHighTop)
		VPMADD52LUQ(xTop, y, p.highLow)
		VPMADD52HUQ(xTop, y, p.highLowTop)
		VPMADD52LUQ(xTop, yTop, p.high)
	}
	SUBQ(U8(2), n)
	JL(LabelRef("last"))
	Label("pair")
	term(0)
	term(1)
	ADDQ(U8(16), w)
	ADDQ(U32(16*strip), b)
	SUBQ(U8(2), n)
	JGE(LabelRef("pair"))
	Label("last")
	ADDQ(U8(2), n)
	JZ(LabelRef("sum"))
	term(0)
	Label("sum")
	p := &sums[0]
	for i, v := range sums[1].all() {
		VPADDQ(v, p.all()[i], p.all()[i])
	}
	VPADDQ(p.lowHigh, p.lowTop, p.lowTop)
	VPADDQ(p.highLow, p.lowTop, p.lowTop)
	VPADDQ(p.lowHighTop, p.high, p.high)
	VPADDQ(p.highLowTop, p.high, p.high)
	out := Load(Param("out"), GP64())
	for i, v := range []VecVirtual{p.low, p.lowTop, p.high} {
		VMOVDQU64(v, Mem{Base: out, Disp: 8 * strip * i})
	}
	VZEROUPPER()
	RET()
}
