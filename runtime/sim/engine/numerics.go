package engine

import "github.com/zinc-compiler/zinc/runtime/sim/engine/port"

// Numerics selects the arithmetic.
type Numerics uint8

const (
	ANE      Numerics = iota // the measured behaviour of the engine
	IEEE                     // plain fp32 arithmetic, rounded once to fp16
	ANEWide                  // ANE, with sums of products in fp32
	ANEFixed                 // the measured behaviour of later engines
)

// plain contains the value of every fp16 pattern.
var plain = func() *[65536]float32 {
	t := new([65536]float32)
	for i := range t {
		t[i] = port.Widen(uint16(i))
	}
	return t
}()

// table returns the values of all patterns in a mode, as operands of multiply-accumulates or of other arithmetic.
func (n Numerics) table(mac bool) *[65536]float32 {
	switch n {
	case IEEE:
		return plain
	case ANEFixed:
		return fixedValues()
	}
	return port.Values(mac)
}

// readAll reads a row of packed fp16.
func (n Numerics) readAll(dst []float32, src []byte, mac bool) {
	if n != IEEE && n != ANEFixed {
		port.Read(dst, src, mac)
		return
	}
	values := n.table(mac)
	for i := range dst {
		dst[i] = values[uint16(src[2*i])|uint16(src[2*i+1])<<8]
	}
}

// outAll is out for the numbers of a row.
func (n Numerics) outAll(out []uint16, v []float32) {
	if n != IEEE && n != ANEFixed {
		port.Write(out, v)
		return
	}
	out = out[:len(v)]
	for i, f := range v {
		out[i] = n.out(f)
	}
}

// out rounds a result to fp16 as the mode writes it.
func (n Numerics) out(f float32) uint16 {
	switch n {
	case IEEE:
		return port.Narrow(f)
	case ANEFixed:
		return halfAway(f)
	}
	return port.Round(f)
}

// fix replaces a NaN that arithmetic has produced.
func (n Numerics) fix(f float32) float32 {
	if n != IEEE && f != f {
		return 0
	}
	return f
}

// fixAll replaces every NaN that arithmetic has produced.
func (n Numerics) fixAll(v []float32) {
	if n != IEEE {
		port.ZeroNaN(v)
	}
}
