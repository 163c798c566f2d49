// Asm writes the kernels of package port for amd64. It is a module of its own so that the generator is not a dependency
// of zinc's.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Predicates of VCMPPS.
const (
	unordered    = 0x03
	ordered      = 0x07
	lessEqual    = 0x12
	notLess      = 0x15
	greaterEqual = 0x1d
)

const leastNormal = 0x38800000 // of fp16, in fp32

func main() {
	ConstraintExpr("amd64")
	read("read8", "read8 is Read for n times eight numbers.", false)
	read("readProducts8", "readProducts8 is Read for n times eight operands of products.", true)
	write()
	finish()
	zeroNaN()
	extreme("max8", "max8 is Max for n times eight numbers; acc has eight.", VMAXPS)
	extreme("min8", "min8 is Min for n times eight numbers; acc has eight.", VMINPS)
	combine("add8", "add8 is Add for n times eight numbers; b advances by step bytes.", VADDPS)
	combine("multiply8", "multiply8 is Multiply for n times eight numbers; b advances by step bytes.", VMULPS)
	Generate()
}

// text begins a function none of whose pointers escape.
func text(name, signature, doc string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(doc)
}

// bits returns eight times the same word.
func bits(w uint32) VecVirtual {
	v, x, g := YMM(), XMM(), GP32()
	MOVL(U32(w), g)
	VMOVD(g, x)
	VPBROADCASTD(x, v)
	return v
}

// param returns eight times a parameter.
func param(name string) VecVirtual {
	v := YMM()
	at, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(at.Addr, v)
	return v
}

// loop writes body once for every eight numbers and advances the registers, each by its number of bytes.
func loop(n Register, body func(), advance ...func()) {
	Label("next")
	body()
	for _, step := range advance {
		step()
	}
	DECQ(n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

func by(r Register, bytes uint8) func() { return func() { ADDQ(U8(bytes), r) } }

// fix replaces NaN in v by zero.
func fix(v VecVirtual) {
	mask := YMM()
	VCMPPS(U8(ordered), v, v, mask)
	VANDPS(mask, v, v)
}

func read(name, doc string, products bool) {
	text(name, "func(dst *float32, src *byte, n int)", doc)
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	infinity := bits(math.Float32bits(float32(math.Inf(1))))
	var magnitude, least VecVirtual
	if products {
		magnitude, least = bits(1<<31-1), bits(leastNormal)
	}
	v, mask, abs := YMM(), YMM(), YMM()
	loop(n, func() {
		VCVTPH2PS(Mem{Base: src}, v)
		VCMPPS(U8(unordered), v, v, mask)
		VBLENDVPS(mask, infinity, v, v)
		if products {
			VANDPS(magnitude, v, abs)
			VCMPPS(U8(greaterEqual), least, abs, mask)
			VANDPS(mask, v, v)
		}
		VMOVUPS(v, Mem{Base: dst})
	}, by(src, 16), by(dst, 32))
}

func write() {
	text("write8", "func(dst *uint16, src *float32, n int)", "write8 is Write for n times eight numbers.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	signs := bits(0x80008000)
	v, h, minus := YMM(), XMM(), XMM()
	loop(n, func() {
		VMOVUPS(Mem{Base: src}, v)
		fix(v)
		VCVTPS2PH(U8(0), v, h) // to nearest, ties to even
		VPCMPEQW(signs.AsX(), h, minus)
		VPANDN(h, minus, h)
		VMOVDQU(h, Mem{Base: dst})
	}, by(src, 32), by(dst, 16))
}

func finish() {
	text("finish8", "func(dst, src *float32, n int, bias, add, scale, limit, floor float32)",
		"finish8 is Finish.Row for n times eight numbers.")
	dst, src, n := Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())
	bias, add, scale, floor := param("bias"), param("add"), param("scale"), param("floor")
	limit, infinity := param("limit"), bits(math.Float32bits(float32(math.Inf(1))))
	sign := bits(1 << 31)
	low, least := YMM(), YMM()
	VXORPS(sign, limit, low)
	VXORPS(sign, infinity, least)
	magnitude := bits(1<<31 - 1)
	v, mask := YMM(), YMM()
	loop(n, func() {
		// If any step has no value, the last has none either.
		VADDPS(Mem{Base: src}, bias, v)
		VADDPS(add, v, v)
		VMULPS(scale, v, v)
		VANDPS(magnitude, v, mask)
		VCMPPS(U8(notLess), limit, mask, mask)
		VPTEST(mask, mask)
		JZ(LabelRef("plain"))
		VMOVUPS(Mem{Base: src}, v)
		fix(v)
		VADDPS(bias, v, v)
		fix(v)
		VADDPS(add, v, v)
		fix(v)
		VMULPS(scale, v, v)
		fix(v)
		VCMPPS(U8(greaterEqual), limit, v, mask)
		VBLENDVPS(mask, infinity, v, v)
		VCMPPS(U8(lessEqual), low, v, mask)
		VBLENDVPS(mask, least, v, v)
		Label("plain")
		VMAXPS(floor, v, v)
		VMOVUPS(v, Mem{Base: dst})
	}, by(src, 32), by(dst, 32))
}

func zeroNaN() {
	text("zeroNaN8", "func(v *float32, n int)", "zeroNaN8 is ZeroNaN for n times eight numbers.")
	p, n := Load(Param("v"), GP64()), Load(Param("n"), GP64())
	v := YMM()
	loop(n, func() {
		VMOVUPS(Mem{Base: p}, v)
		fix(v)
		VMOVUPS(v, Mem{Base: p})
	}, by(p, 32))
}

func extreme(name, doc string, op func(ops ...Op)) {
	text(name, "func(acc, v *float32, n int)", doc)
	acc, p, n := Load(Param("acc"), GP64()), Load(Param("v"), GP64()), Load(Param("n"), GP64())
	v := YMM()
	VMOVUPS(Mem{Base: acc}, v)
	Label("next")
	op(Mem{Base: p}, v, v)
	ADDQ(U8(32), p)
	DECQ(n)
	JNZ(LabelRef("next"))
	VMOVUPS(v, Mem{Base: acc})
	VZEROUPPER()
	RET()
}

func combine(name, doc string, op func(ops ...Op)) {
	text(name, "func(v, b *float32, step uintptr, sign float32, n int)", doc)
	p, q, step := Load(Param("v"), GP64()), Load(Param("b"), GP64()), Load(Param("step"), GP64())
	n, sign := Load(Param("n"), GP64()), param("sign")
	v, b := YMM(), YMM()
	loop(n, func() {
		VMOVUPS(Mem{Base: p}, v)
		VMULPS(Mem{Base: q}, sign, b)
		op(b, v, v)
		fix(v)
		VMOVUPS(v, Mem{Base: p})
	}, by(p, 32), func() { ADDQ(step, q) })
}
