// Asm writes the kernels of package vector for amd64. It is a module of its own so that
// the generator is not a dependency of zinc's.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64")
	for _, rows := range []int{4, 1} {
		for _, columns := range []int{24, 16, 8} {
			sums("exact", rows, columns, ymm, true)
			sums("rounded", rows, columns, ymm, false)
		}
	}
	for _, rows := range []int{8, 1} {
		for _, columns := range []int{48, 32, 16} {
			sums("exact", rows, columns, zmm, true)
			sums("rounded", rows, columns, zmm, false)
		}
	}
	for _, columns := range []int{24, 16, 8} {
		staged(columns, ymm)
	}
	for _, columns := range []int{48, 32, 16} {
		staged(columns, zmm)
	}
	transpose()
	widen()
	narrow()
	scale()
	interleave()
	cpuid()
	Generate()
}

// text begins a function none of whose pointers escape.
func text(name, signature string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
}

// register is a kind of registers: of ymm the processor has sixteen, of zmm thirty-two.
type register struct {
	suffix  string
	numbers int
	bytes   int
	take    func() VecVirtual
}

var (
	ymm = &register{numbers: 8, bytes: 32, take: YMM}
	zmm = &register{suffix: "z", numbers: 16, bytes: 64, take: ZMM}
)

// vectors returns n registers of eight numbers.
func vectors(n int) []VecVirtual { return ymm.vectors(n) }

func (r *register) vectors(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = r.take()
	}
	return v
}

// sums writes a kernel that adds to a tile of rows by columns of c the products of coefficients and the rows of b at
// the offsets passed, in order.
func sums(name string, rows, columns int, kind *register, fused bool) {
	name = fmt.Sprintf("%s%dx%d%s", name, rows, columns, kind.suffix)
	text(name, "func(c *float32, ldc uintptr, a *float32, lda uintptr, b *float32, at *int, k int)")
	Doc(fmt.Sprintf("%s adds k products to each of %d x %d numbers; ldc and lda are in bytes.", name, rows, columns))
	c, ldc := Load(Param("c"), GP64()), Load(Param("ldc"), GP64())
	a, lda := Load(Param("a"), GP64()), Load(Param("lda"), GP64())
	b, at, k := Load(Param("b"), GP64()), Load(Param("at"), GP64()), Load(Param("k"), GP64())

	coefficient, result := apart(a, lda, rows), apart(c, ldc, rows)

	wide := columns / kind.numbers
	acc := kind.vectors(rows * wide)
	for r := range rows {
		for v := range wide {
			VMOVUPS(result[r].Offset(kind.bytes*v), acc[r*wide+v])
		}
	}
	Label("next")
	row := GP64()
	MOVQ(Mem{Base: at}, row)
	source := func(v int) Mem { return Mem{Base: b, Index: row, Scale: 4, Disp: kind.bytes * v} }
	f := kind.take()
	switch {
	case fused:
		columns := kind.vectors(wide)
		for v := range wide {
			VMOVUPS(source(v), columns[v])
		}
		for r := range rows {
			VBROADCASTSS(coefficient[r], f)
			for v := range wide {
				VFMADD231PS(columns[v], f, acc[r*wide+v])
			}
		}
	case kind == zmm:
		columns, p := kind.vectors(wide), kind.take()
		for v := range wide {
			VMOVUPS(source(v), columns[v])
		}
		for r := range rows {
			VBROADCASTSS(coefficient[r], f)
			for v := range wide {
				VMULPS(columns[v], f, p)
				VADDPS(p, acc[r*wide+v], acc[r*wide+v])
			}
		}
	default: // there is no register for the numbers
		p := kind.take()
		for r := range rows {
			VBROADCASTSS(coefficient[r], f)
			for v := range wide {
				VMULPS(source(v), f, p)
				VADDPS(p, acc[r*wide+v], acc[r*wide+v])
			}
		}
	}
	ADDQ(U8(8), at)
	ADDQ(U8(4), a)
	DECQ(k)
	JNZ(LabelRef("next"))
	for r := range rows {
		for v := range wide {
			VMOVUPS(acc[r*wide+v], result[r].Offset(kind.bytes*v))
		}
	}
	VZEROUPPER()
	RET()
}

// apart returns the addresses of one, four or eight rows that are step bytes apart.
func apart(first, step Register, rows int) []Mem {
	at := make([]Mem, rows)
	for r := range at {
		switch r {
		case 0:
			at[r] = Mem{Base: first}
		case 1, 2:
			at[r] = Mem{Base: first, Index: step, Scale: uint8(r)}
		case 3:
			three := GP64()
			LEAQ(Mem{Base: step, Index: step, Scale: 2}, three)
			at[r] = Mem{Base: first, Index: three, Scale: 1}
		case 4:
			at[r] = Mem{Base: first, Index: step, Scale: 4}
		case 5:
			five := GP64()
			LEAQ(Mem{Base: step, Index: step, Scale: 4}, five)
			at[r] = Mem{Base: first, Index: five, Scale: 1}
		case 6:
			at[r] = Mem{Base: first, Index: at[3].Index, Scale: 2}
		case 7:
			seven := GP64()
			LEAQ(Mem{Base: at[3].Index, Index: step, Scale: 4}, seven)
			at[r] = Mem{Base: first, Index: seven, Scale: 1}
		}
	}
	return at
}

// broadcast returns a constant of fp32 bits in each number of a register.
func (r *register) broadcast(name string, bits uint32) VecVirtual {
	m := GLOBL(name, RODATA|NOPTR)
	DATA(0, U32(bits))
	v := r.take()
	VBROADCASTSS(m, v)
	return v
}

// staged writes the kernel of the accumulator's first stage. See stagedRow for the
// arithmetic.
func staged(columns int, kind *register) {
	name := fmt.Sprintf("staged1x%d%s", columns, kind.suffix)
	text(name, "func(c, a, b *float32, at *int, groups int)")
	Doc(fmt.Sprintf("%s adds groups of four products to each of %d numbers by way of the first stage.", name, columns))
	c, a := Load(Param("c"), GP64()), Load(Param("a"), GP64())
	b, at, groups := Load(Param("b"), GP64()), Load(Param("at"), GP64()), Load(Param("groups"), GP64())

	exponent := kind.broadcast(name+"exponent", 0x7f800000)
	grid := kind.broadcast(name+"grid", 0x45c00000)    // 1.5 * 2^12
	up := kind.broadcast(name+"up", (113+127)<<23)     // 2^113
	down := kind.broadcast(name+"down", (127-113)<<23) // 2^-113

	wide := columns / kind.numbers
	acc := kind.vectors(wide)
	for v := range wide {
		// From 2^15 on the scaled sum is infinite.
		VMULPS(Mem{Base: c, Disp: kind.bytes * v}, up, acc[v])
	}
	part := kind.vectors(wide)
	group := func() {
		f, p, e, g := kind.take(), kind.take(), kind.take(), kind.take()
		row := GP64()
		for l := range 4 {
			MOVQ(Mem{Base: at, Disp: 8 * l}, row)
			VBROADCASTSS(Mem{Base: a, Disp: 4 * l}, f)
			for v := range wide {
				source := Mem{Base: b, Index: row, Scale: 4, Disp: kind.bytes * v}
				if l == 0 {
					VMULPS(source, f, part[v])
					continue
				}
				VMULPS(source, f, p)
				if kind == zmm {
					VRANGEPS(U8(0xb), p, part[v], e) // the larger magnitude
					VANDPS(exponent, e, e)
				} else {
					VANDPS(exponent, p, e)
					VANDPS(exponent, part[v], g)
					VPMAXUD(e, g, e) // the power of two of the larger
				}
				VFMADD231PS(e, grid, part[v]) // part + grid
				VFNMADD231PS(e, grid, p)      // p - grid
				VADDPS(p, part[v], part[v])   // both aligned and added
			}
		}
		for v := range wide {
			VANDPS(exponent, part[v], e)
			VFMADD231PS(e, grid, part[v])
			VFNMADD231PS(e, grid, part[v])
		}
		ADDQ(U8(32), at)
		ADDQ(U8(16), a)
	}
	DECQ(groups)
	JZ(LabelRef("last"))
	Label("next")
	group()
	for v := range wide {
		VFMADD231PS(part[v], up, acc[v])
	}
	DECQ(groups)
	JNZ(LabelRef("next"))
	Label("last")
	group()
	for v := range wide {
		VFMADD231PS(acc[v], down, part[v])
		VMOVUPS(part[v], Mem{Base: c, Disp: kind.bytes * v})
	}
	VZEROUPPER()
	RET()
}

// transpose writes a kernel that transposes squares of eight by eight numbers.
func transpose() {
	text("transpose8", "func(dst *float32, ldd uintptr, src *float32, lds uintptr, n int)")
	Doc("transpose8 writes n times eight numbers of eight rows as columns; ldd and lds are in bytes.")
	dst, ldd := Load(Param("dst"), GP64()), Load(Param("ldd"), GP64())
	src, lds := Load(Param("src"), GP64()), Load(Param("lds"), GP64())
	n := Load(Param("n"), GP64())
	row, next := GP64(), GP64()
	Label("next")
	r, t := vectors(8), vectors(8)
	MOVQ(src, row)
	for i := range r {
		VMOVUPS(Mem{Base: row}, r[i])
		ADDQ(lds, row)
	}
	for i := 0; i < 8; i += 2 {
		VUNPCKLPS(r[i+1], r[i], t[i])
		VUNPCKHPS(r[i+1], r[i], t[i+1])
	}
	for i := 0; i < 8; i += 4 {
		for k := range 2 {
			VSHUFPS(U8(0x44), t[i+k+2], t[i+k], r[i+2*k])
			VSHUFPS(U8(0xee), t[i+k+2], t[i+k], r[i+2*k+1])
		}
	}
	for i := range 4 {
		VPERM2F128(U8(0x20), r[i+4], r[i], t[i])
		VPERM2F128(U8(0x31), r[i+4], r[i], t[i+4])
	}
	MOVQ(dst, next)
	for i := range t {
		VMOVUPS(t[i], Mem{Base: next})
		ADDQ(ldd, next)
	}
	MOVQ(next, dst)
	ADDQ(U8(32), src)
	DECQ(n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

func widen() {
	text("widen8", "func(dst *float32, src *byte, n int)")
	Doc("widen8 converts n times eight numbers.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	v := YMM()
	Label("next")
	VCVTPH2PS(Mem{Base: src}, v)
	VMOVUPS(v, Mem{Base: dst})
	ADDQ(U8(16), src)
	ADDQ(U8(32), dst)
	DECQ(n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

func narrow() {
	text("narrow8", "func(dst *byte, src *float32, n int)")
	Doc("narrow8 converts n times eight numbers.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	v := YMM()
	Label("next")
	VMOVUPS(Mem{Base: src}, v)
	VCVTPS2PH(U8(0), v, Mem{Base: dst}) // to nearest, ties to even
	ADDQ(U8(32), src)
	ADDQ(U8(16), dst)
	DECQ(n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

func scale() {
	text("scale8", "func(dst, src *byte, factor float32, n int)")
	Doc("scale8 multiplies n times eight fp16 numbers and rounds once.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	factor := YMM()
	VBROADCASTSS(NewParamAddr("factor", 16), factor)
	nan := ymm.broadcast("scalenan", 0x7fc00000)
	v, not := YMM(), YMM()
	Label("next")
	VCVTPH2PS(Mem{Base: src}, v)
	VMULPS(factor, v, v)
	VCMPPS(U8(3), v, v, not) // unordered
	VBLENDVPS(not, nan, v, v)
	VCVTPS2PH(U8(0), v, Mem{Base: dst}) // to nearest, ties to even
	ADDQ(U8(16), src)
	ADDQ(U8(16), dst)
	DECQ(n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// interleave writes a kernel that transposes eight rows of sixteen halves.
func interleave() {
	text("interleave8", "func(dst *byte, ldd uintptr, src *byte, lds uintptr, n int)")
	Doc("interleave8 writes n times sixteen halves of eight rows as columns; ldd and lds are in bytes.")
	dst, ldd := Load(Param("dst"), GP64()), Load(Param("ldd"), GP64())
	src, lds := Load(Param("src"), GP64()), Load(Param("lds"), GP64())
	n := Load(Param("n"), GP64())
	row, high := GP64(), GP64()
	Label("next")
	r, t := vectors(8), vectors(8)
	MOVQ(src, row)
	for i := range r {
		VMOVDQU(Mem{Base: row}, r[i])
		ADDQ(lds, row)
	}
	// Each 128-bit lane is a square of eight by eight.
	for i := range 4 {
		VPUNPCKLWD(r[i+4], r[i], t[2*i])
		VPUNPCKHWD(r[i+4], r[i], t[2*i+1])
	}
	for i := range 4 {
		VPUNPCKLWD(t[i+4], t[i], r[2*i])
		VPUNPCKHWD(t[i+4], t[i], r[2*i+1])
	}
	for i := range 4 {
		VPUNPCKLWD(r[i+4], r[i], t[2*i])
		VPUNPCKHWD(r[i+4], r[i], t[2*i+1])
	}
	LEAQ(Mem{Base: dst, Index: ldd, Scale: 8}, high)
	for i := range t {
		VMOVDQU(t[i].AsX(), Mem{Base: dst})
		VEXTRACTI128(U8(1), t[i], Mem{Base: high})
		if i < 7 {
			ADDQ(ldd, dst)
			ADDQ(ldd, high)
		}
	}
	LEAQ(Mem{Base: high, Index: ldd, Scale: 1}, dst)
	ADDQ(U8(32), src)
	DECQ(n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

func cpuid() {
	text("features", "func() uint32")
	Doc("features returns the word of CPUID that has F16C.")
	MOVL(U32(1), EAX)
	XORL(ECX, ECX)
	CPUID()
	Store(ECX, ReturnIndex(0))
	RET()
}
