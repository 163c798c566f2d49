// Sha256x2 writes the kernels of package sha256x2 for amd64.
package main

import (
	"flag"
	"math"
	"math/big"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lane is what one of the two sums has in registers.
type lane struct {
	data       Register
	abef, cdgh VecPhysical
	w          [4]VecPhysical // sixteen words of the message schedule
	saved      Mem
}

func main() {
	const pkg = "../../../../internal/sha256x2"
	for name, value := range map[string]string{
		"pkg": "sha256x2", "out": pkg + "/blocks_amd64.s", "stubs": pkg + "/blocks_amd64.go",
	} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	ConstraintExpr("amd64")
	blocks(roundConstants(), byteOrder())
	cpuid()
	Generate()
}

// roundConstants are the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
func roundConstants() Mem {
	k := GLOBL("k", RODATA|NOPTR)
	for i, n := 0, int64(2); i < 64; n++ {
		if !big.NewInt(n).ProbablyPrime(0) {
			continue
		}
		_, fraction := math.Modf(math.Cbrt(float64(n)))
		DATA(4*i, U32(fraction*(1<<32)))
		i++
	}
	return k
}

// byteOrder turns the bytes of each of four words around.
func byteOrder() Mem {
	order := GLOBL("order", RODATA|NOPTR)
	DATA(0, U64(0x0405060700010203))
	DATA(8, U64(0x0c0d0e0f08090a0b))
	return order
}

// blocks alternates between the lanes after every four rounds: the second needs nothing of the first, so the processor
// works on one while the other waits for its last instruction.
func blocks(k, order Mem) {
	TEXT("blocks", NOSPLIT, "func(a, b *[8]uint32, p, q *byte, n int)")
	Pragma("noescape")
	Doc("blocks adds n blocks of 64 bytes, at least one, at p to the sum a, and n at q to the sum b.")
	lanes := [2]lane{
		{abef: X1, cdgh: X2, w: [4]VecPhysical{X3, X4, X5, X6}, saved: AllocLocal(32)},
		{abef: X7, cdgh: X8, w: [4]VecPhysical{X9, X10, X11, X12}, saved: AllocLocal(32)},
	}
	message, spare := X0, X13 // the rounds take their message from X0
	sums := [2]Register{Load(Param("a"), GP64()), Load(Param("b"), GP64())}
	lanes[0].data, lanes[1].data = Load(Param("p"), GP64()), Load(Param("q"), GP64())
	n, constants := GP64(), GP64()
	Load(Param("n"), n)
	LEAQ(k, constants)
	for i := range lanes {
		l := &lanes[i]
		MOVOU(Mem{Base: sums[i]}, l.abef) // dcba
		MOVOU(Mem{Base: sums[i], Disp: 16}, l.cdgh)
		PSHUFD(U8(0xb1), l.abef, l.abef)
		PSHUFD(U8(0x1b), l.cdgh, l.cdgh)
		MOVO(l.abef, spare)
		PALIGNR(U8(8), l.cdgh, l.abef)
		PBLENDW(U8(0xf0), spare, l.cdgh)
	}
	Label("block")
	for i := range lanes {
		l := &lanes[i]
		MOVOU(l.abef, l.saved)
		MOVOU(l.cdgh, l.saved.Offset(16))
	}
	for four := range 16 {
		for i := range lanes {
			l := &lanes[i]
			now, next, before := l.w[four%4], l.w[(four+1)%4], l.w[(four+3)%4]
			if four < 4 {
				MOVOU(Mem{Base: l.data, Disp: 16 * four}, now)
				PSHUFB(order, now)
			}
			MOVO(now, message)
			PADDD(Mem{Base: constants, Disp: 16 * four}, message)
			SHA256RNDS2(message, l.abef, l.cdgh)
			if four >= 3 && four < 15 {
				MOVO(now, spare)
				PALIGNR(U8(4), before, spare)
				PADDD(spare, next)
				SHA256MSG2(now, next)
			}
			PSHUFD(U8(0x0e), message, message)
			SHA256RNDS2(message, l.cdgh, l.abef)
			if four >= 1 && four < 13 {
				SHA256MSG1(now, before)
			}
		}
	}
	for i := range lanes {
		l := &lanes[i]
		MOVOU(l.saved, spare)
		PADDD(spare, l.abef)
		MOVOU(l.saved.Offset(16), spare)
		PADDD(spare, l.cdgh)
		ADDQ(U8(64), l.data)
	}
	DECQ(n)
	JNZ(LabelRef("block"))
	for i := range lanes {
		l := &lanes[i]
		PSHUFD(U8(0x1b), l.abef, l.abef)
		PSHUFD(U8(0xb1), l.cdgh, l.cdgh)
		MOVO(l.abef, spare)
		PBLENDW(U8(0xf0), l.cdgh, l.abef)
		PALIGNR(U8(8), spare, l.cdgh)
		MOVOU(l.abef, Mem{Base: sums[i]})
		MOVOU(l.cdgh, Mem{Base: sums[i], Disp: 16})
	}
	RET()
}

func cpuid() {
	TEXT("features", NOSPLIT, "func() uint32")
	Doc("features returns the word of CPUID that has SHA.")
	MOVL(U32(7), EAX)
	XORL(ECX, ECX)
	CPUID()
	Store(EBX, ReturnIndex(0))
	RET()
}
