// Field writes the kernels of package field for amd64.
package main

import (
	"flag"
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Columns is how many sums are computed at a time, of columns of strips of twice the width. Terms is how many products
// of 122 bits are added in 128 bits before they are reduced: a reduced sum is less than one of them.
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
	tiles()
	rotations()
	coefficients()
	arithmetic()
	functions()
	Generate()
}

// The processor multiplies integers of 52 bits. A tile takes coefficients of up to 43 bits: of their products with an
// element, whose upper 9 bits are a number of their own, three halves are not zero.
const (
	limb     = 52
	tileRows = 4
	tileCols = 8   // lanes of a vector
	tileRow  = 520 // from one row to the next: 8 more than a power of two, so that rows are in other sets of a cache
	bits     = 61
)

// prime returns 2^61-1 in all lanes.
func prime() VecVirtual {
	p, v := GP64(), ZMM()
	MOVQ(U64(1<<bits-1), p)
	VPBROADCASTQ(p, v)
	return v
}

// lanes returns a mask of lanes that is a parameter.
func lanes(name string) OpmaskVirtual {
	k := K()
	KMOVW(Load(Param(name), GP32()), k)
	return k
}

// fold keeps the lower 61 bits of v and adds to them the bits above: 2^61 is 1.
func fold(v, p VecVirtual) {
	top := ZMM()
	VPSRLQ(U8(bits), v, top)
	VPANDQ(p, v, v)
	VPADDQ(top, v, v)
}

// reduce subtracts the prime from lanes from it on.
func reduce(v, p VecVirtual) {
	less := ZMM()
	VPSUBQ(p, v, less)
	VPMINUQ(less, v, v)
}

// tiles writes the kernel that adds sums of products to a tile.
func tiles() {
	TEXT("tile", NOSPLIT, "func(c *uint64, ldc int, w *uint64, b *uint64, k int, mask uint32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("tile adds to %d rows of %d elements of c (mask selects columns) the sums of the products",
		tileRows, tileCols), fmt.Sprintf("w[%d*i+l] * b[%d*l+j] of l below k, at most %d; w is below 2^43.", tileRow,
		tileCols, tileRow))
	w, b, n := Load(Param("w"), GP64()), Load(Param("b"), GP64()), Load(Param("k"), GP64())
	var low, high, top [tileRows]VecVirtual
	for i := range tileRows {
		for _, v := range []*VecVirtual{&low[i], &high[i], &top[i]} {
			*v = ZMM()
			VPXORQ(*v, *v, *v)
		}
	}
	Label("term")
	y, yTop := ZMM(), ZMM()
	VMOVDQU64(Mem{Base: b}, y)
	VPSRLQ(U8(limb), y, yTop)
	for i := range tileRows {
		x := ZMM()
		VPBROADCASTQ(Mem{Base: w, Disp: 8 * tileRow * i}, x)
		VPMADD52LUQ(x, y, low[i])
		VPMADD52HUQ(x, y, high[i])
		VPMADD52LUQ(x, yTop, top[i])
	}
	ADDQ(U8(8), w)
	ADDQ(U8(8*tileCols), b)
	DECQ(n)
	JNZ(LabelRef("term"))
	p, mask := prime(), lanes("mask")
	c, ldc := Load(Param("c"), GP64()), Load(Param("ldc"), GP64())
	for i := range tileRows {
		old := ZMM()
		VMOVDQU64_Z(Mem{Base: c}, mask, old)
		fold(low[i], p)
		VPADDQ(old, low[i], low[i])
		VPADDQ(top[i], high[i], high[i])
		fold(high[i], p)
		// Times 2^52 is a rotation of 61 bits.
		VPSRLQ(U8(bits-limb), high[i], top[i])
		VPSLLQ(U8(limb), high[i], high[i])
		VPANDQ(p, high[i], high[i])
		VPADDQ(top[i], low[i], low[i])
		VPADDQ(high[i], low[i], low[i])
		fold(low[i], p)
		reduce(low[i], p)
		VMOVDQU64(low[i], mask, Mem{Base: c})
		LEAQ(Mem{Base: c, Index: ldc, Scale: 8}, c)
	}
	VZEROUPPER()
	RET()
}

// rotations writes the kernel that arranges the columns of a tile.
func rotations() {
	TEXT("rotate", NOSPLIT, "func(dst, b *uint64, at *int, k int, by uint64, mask uint32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("rotate writes to dst k rows of %d elements (mask selects columns), the ones of b that begin",
		tileCols), "at at[l], times 2^by, and zeros. A row after them has their sums.")
	dst, b, at, n := Load(Param("dst"), GP64()), Load(Param("b"), GP64()), Load(Param("at"), GP64()),
		Load(Param("k"), GP64())
	p, mask, left, right := prime(), lanes("mask"), XMM(), XMM()
	by := Load(Param("by"), GP64())
	MOVQ(by, left)
	NEGQ(by)
	ADDQ(U8(bits), by)
	MOVQ(by, right)
	sum := ZMM()
	VPXORQ(sum, sum, sum)
	Label("row")
	first, v, top := GP64(), ZMM(), ZMM()
	MOVQ(Mem{Base: at}, first)
	VMOVDQU64_Z(Mem{Base: b, Index: first, Scale: 8}, mask, v)
	VPSRLQ(right, v, top)
	VPSLLQ(left, v, v)
	VPANDQ(p, v, v)
	VPORQ(top, v, v)
	VMOVDQU64(v, Mem{Base: dst})
	VPADDQ(v, sum, sum)
	fold(sum, p)
	ADDQ(U8(8), at)
	ADDQ(U8(8*tileCols), dst)
	DECQ(n)
	JNZ(LabelRef("row"))
	reduce(sum, p)
	VMOVDQU64(sum, Mem{Base: dst})
	VZEROUPPER()
	RET()
}

// eights calls f with the address of each eight of n elements; the last are masked.
func eights(n Register, f func(mask OpmaskVirtual, disp Register)) {
	at, mask := GP64(), lanes("mask")
	all, ones := K(), GP32()
	MOVL(U32(0xff), ones)
	KMOVW(ones, all)
	XORQ(at, at)
	Label("eight")
	SUBQ(U8(8), n)
	JL(LabelRef("last"))
	f(all, at)
	ADDQ(U8(8), at)
	JMP(LabelRef("eight"))
	Label("last")
	f(mask, at)
}

// coefficients writes the kernels that make integers of a row of coefficients.
func coefficients() {
	TEXT("halves", NOSPLIT, "func(dst *uint64, w *uint64, n int, mask uint32) (over uint64)")
	Pragma("noescape")
	Doc("halves writes n elements times 2^24 plus 2^40, which is an integer below 2^41 for every finite number of",
		"fp16; over is not 0 if one is not. Eight more are overwritten. mask selects the last n%8.")
	dst, w, n := Load(Param("dst"), GP64()), Load(Param("w"), GP64()), Load(Param("n"), GP64())
	p, offset, over, bias := prime(), ZMM(), ZMM(), GP64()
	MOVQ(U64(1<<40), bias)
	VPBROADCASTQ(bias, offset)
	VPXORQ(over, over, over)
	eights(n, func(mask OpmaskVirtual, at Register) {
		v, top := ZMM(), ZMM()
		VMOVDQU64_Z(Mem{Base: w, Index: at, Scale: 8}, mask, v)
		VPSRLQ(U8(bits-24), v, top)
		VPSLLQ(U8(24), v, v)
		VPANDQ(p, v, v)
		VPORQ(top, v, v)
		VPADDQ(offset, v, v)
		reduce(v, p)
		VMOVDQU64(v, Mem{Base: dst, Index: at, Scale: 8})
		VPORQ(v, over, over)
	})
	VPSRLQ(U8(41), over, over)
	high := YMM()
	VEXTRACTI64X4(U8(1), over, high)
	VPORQ(over.AsY(), high, high)
	half := XMM()
	VEXTRACTI128(U8(1), high, half)
	VPOR(high.AsX(), half, half)
	VPSRLDQ(U8(8), half, high.AsX())
	VPOR(high.AsX(), half, half)
	out := GP64()
	MOVQ(half, out)
	Store(out, ReturnIndex(0))
	VZEROUPPER()
	RET()

	TEXT("parts", NOSPLIT, "func(dst *uint64, w *uint64, n int, from uint64, mask uint32)")
	Pragma("noescape")
	Doc("parts writes 31 bits of n elements, from a bit on. Eight more are overwritten. mask selects the last",
		"n%8.")
	dst, w, n = Load(Param("dst"), GP64()), Load(Param("w"), GP64()), Load(Param("n"), GP64())
	from, few, ones := XMM(), ZMM(), GP64()
	MOVQ(Load(Param("from"), GP64()), from)
	MOVQ(U64(1<<31-1), ones)
	VPBROADCASTQ(ones, few)
	eights(n, func(mask OpmaskVirtual, at Register) {
		v := ZMM()
		VMOVDQU64_Z(Mem{Base: w, Index: at, Scale: 8}, mask, v)
		VPSRLQ(from, v, v)
		VPANDQ(few, v, v)
		VMOVDQU64(v, Mem{Base: dst, Index: at, Scale: 8})
	})
	VZEROUPPER()
	RET()
}

// arithmetic writes the kernels of rows that replace the elements of one by those and the elements of another.
func arithmetic() {
	for _, row := range []struct {
		name string
		f    func(x, y, p VecVirtual)
	}{
		{"addRow", func(x, y, p VecVirtual) {
			VPADDQ(y, x, x)
			reduce(x, p)
		}},
		{"subRow", func(x, y, p VecVirtual) {
			VPADDQ(p, x, x)
			VPSUBQ(y, x, x)
			reduce(x, p)
		}},
		{"mulRow", product},
	} {
		TEXT(row.name, NOSPLIT, "func(v, b *uint64, n, step int, mask uint32)")
		Pragma("noescape")
		Doc(row.name+" replaces n elements of v by results with elements of b, where each eight begin step after the",
			"last: 8, or 0 if there are only eight. mask selects the last n%8.")
		v, b, n, step := Load(Param("v"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64()),
			Load(Param("step"), GP64())
		p := prime()
		eights(n, func(mask OpmaskVirtual, at Register) {
			x, y := ZMM(), ZMM()
			VMOVDQU64_Z(Mem{Base: v, Index: at, Scale: 8}, mask, x)
			VMOVDQU64_Z(Mem{Base: b}, mask, y)
			row.f(x, y, p)
			VMOVDQU64(x, mask, Mem{Base: v, Index: at, Scale: 8})
			LEAQ(Mem{Base: b, Index: step, Scale: 8}, b)
		})
		VZEROUPPER()
		RET()
	}
}

// product multiplies elements, in parts of 52 and 9 bits.
func product(x, y, p VecVirtual) {
	low, mid, high, xTop, yTop, part := ZMM(), ZMM(), ZMM(), ZMM(), ZMM(), ZMM()
	for _, v := range []VecVirtual{low, mid, high} {
		VPXORQ(v, v, v)
	}
	VPSRLQ(U8(limb), x, xTop)
	VPSRLQ(U8(limb), y, yTop)
	VPMADD52LUQ(x, y, low)
	VPMADD52HUQ(x, y, mid)
	VPMADD52LUQ(x, yTop, mid)
	VPMADD52LUQ(xTop, y, mid)
	VPMADD52HUQ(x, yTop, high)
	VPMADD52HUQ(xTop, y, high)
	VPMADD52LUQ(xTop, yTop, high)
	times := func(v VecVirtual, power int) { // a power of two rotates 61 bits
		VPSRLQ(U8(bits-power), v, part)
		VPADDQ(part, low, low)
		VPSLLQ(U8(power), v, v)
		VPANDQ(p, v, v)
		VPADDQ(v, low, low)
	}
	times(mid, limb)
	times(high, 2*limb-bits)
	fold(low, p)
	reduce(low, p)
	VMOVDQA64(low, x)
}

// broadcast returns lanes with a number of a list of keys.
func broadcast(keys Register, i int) VecVirtual {
	v := ZMM()
	VPBROADCASTQ(Mem{Base: keys, Disp: 8 * i}, v)
	return v
}

// stir is a step of a hash, as Functions has it.
func stir(v, k VecVirtual) {
	top := ZMM()
	VPSRLQ(U8(32), v, top)
	VPXORQ(top, v, v)
	VPMULLQ(k, v, v)
}

// functions writes the kernels of random functions of rows, as Functions defines them.
func functions() {
	TEXT("hashRow", NOSPLIT, "func(v *uint64, keys *[8]uint64, name uint64, n int, mask uint32)")
	Pragma("noescape")
	Doc("hashRow replaces n elements by their hashes; name is that times the first key. mask selects the last",
		"n%8.")
	v, keys, n := Load(Param("v"), GP64()), Load(Param("keys"), GP64()), Load(Param("n"), GP64())
	p, name := prime(), ZMM()
	VPBROADCASTQ(Load(Param("name"), GP64()), name)
	factors := []VecVirtual{broadcast(keys, 1), broadcast(keys, 2), broadcast(keys, 3)}
	eights(n, func(mask OpmaskVirtual, at Register) {
		h, top := ZMM(), ZMM()
		VMOVDQU64_Z(Mem{Base: v, Index: at, Scale: 8}, mask, h)
		VPADDQ(name, h, h)
		for _, k := range factors {
			stir(h, k)
		}
		VPSRLQ(U8(32), h, top)
		VPXORQ(top, h, h)
		fold(h, p)
		reduce(h, p)
		VMOVDQU64(h, mask, Mem{Base: v, Index: at, Scale: 8})
	})
	VZEROUPPER()
	RET()

	TEXT("scrambled", NOSPLIT, "func(v *uint64, keys, sums *[8]uint64, n int, mask uint32) (again uint64)")
	Pragma("noescape")
	Doc("scrambled writes sums of the permuted elements of v; again is not 0 if one must be permuted again. mask",
		"selects the last n%8.")
	v, keys, n = Load(Param("v"), GP64()), Load(Param("keys"), GP64()), Load(Param("n"), GP64())
	p = prime()
	var k [8]VecVirtual
	for i := range k {
		k[i] = broadcast(keys, i)
	}
	again, sum, lowMask, few := GP64(), ZMM(), ZMM(), GP64()
	XORQ(again, again)
	VPXORQ(sum, sum, sum)
	MOVQ(U64(1<<31-1), few)
	VPBROADCASTQ(few, lowMask)
	eights(n, func(mask OpmaskVirtual, at Register) {
		x, low, high, h := ZMM(), ZMM(), ZMM(), ZMM()
		VMOVDQU64_Z(Mem{Base: v, Index: at, Scale: 8}, mask, x)
		VPANDQ(lowMask, x, low)
		VPSRLQ(U8(31), x, high)
		for i := range 4 {
			from, to, width := low, high, 30
			if i%2 == 1 {
				from, to, width = high, low, 31
			}
			VPADDQ(k[i], from, h)
			VPMULLQ(k[i+4], h, h)
			stir(h, k[i+4])
			VPSRLQ(U8(64-width), h, h)
			VPXORQ(h, to, to)
		}
		VPSLLQ(U8(31), high, high)
		VPORQ(low, high, high)
		equal, lanes := K(), GP32()
		VPCMPEQQ(high, p, equal)
		KMOVW(equal, lanes)
		ORL(lanes, again.As32())
		VPADDQ(high, sum, mask, sum)
		fold(sum, p)
	})
	VMOVDQU64(sum, Mem{Base: Load(Param("sums"), GP64())})
	Store(again, ReturnIndex(0))
	VZEROUPPER()
	RET()
}
