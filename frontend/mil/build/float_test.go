package build

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"github.com/x448/float16"
	"github.com/zinc-compiler/zinc/frontend/mil"
	"github.com/zinc-compiler/zinc/ir"
)

// lit parses one typed literal.
func lit(t testing.TB, typ, text string) *mil.Literal {
	t.Helper()
	p, l := mil.ParseString("x.mil", "program(1.3)\n{\n func main<ios18>() {\n "+typ+" c = const()[val = "+typ+"("+text+
		")];\n } -> (c);\n}\n")
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return p.Funcs[0].Body.Stmts[0].Attr("val").Value.(*mil.Literal)
}

// TestLiteralsAreRoundedOnce converts numbers next to the middle between two, where rounding twice goes wrong.
func TestLiteralsAreRoundedOnce(t *testing.T) {
	zeros := strings.Repeat("0", 60)
	for _, c := range []struct {
		t    ir.DType
		text string
		want uint64
	}{
		{ir.FP16, "1", 0x3c00},
		{ir.FP16, "-0.0", 0x8000},
		{ir.FP16, "1.00048828125", 0x3c00},                           // halfway, to even
		{ir.FP16, "1.00048828125" + zeros + "1", 0x3c01},             // just above, which float64 cannot represent
		{ir.FP16, "-1.00048828125" + zeros + "1", 0xbc01},            //
		{ir.FP16, "1.00146484375", 0x3c02},                           // halfway, to even, up
		{ir.FP16, "1.00146484374" + strings.Repeat("9", 60), 0x3c01}, // just below
		{ir.FP16, "0x1.002p+0", 0x3c00},
		{ir.FP16, "0x1.002" + zeros + "1p+0", 0x3c01},
		{ir.FP16, "0x1.006p+0", 0x3c02},
		{ir.FP16, "0x1.005" + strings.Repeat("f", 60) + "p+0", 0x3c01},
		{ir.FP16, "0x.0008" + zeros + "1p+1", 0x0c00},
		{ir.FP16, "65519.99", 0x7bff},
		{ir.FP16, "65519." + strings.Repeat("9", 60), 0x7bff},
		{ir.FP16, "65520", 0x7c00},
		{ir.FP16, "-1e999999999", 0xfc00},
		{ir.FP16, "0x1p-25", 0},
		{ir.FP16, "0x1.0000000000000000001p-25", 1},
		{ir.FP16, "2.98023223876953125e-8", 0},
		{ir.FP16, "2.980232238769531249999e-8", 0},
		{ir.FP16, "2.98023223876953125" + zeros + "1e-8", 1},
		{ir.FP16, "6e-8", 1},
		{ir.FP16, "6.097e-05", 0x03ff},
		{ir.FP16, "1e-999999999", 0},
		{ir.FP16, "+inf", 0x7c00},
		{ir.FP16, "-inf", 0xfc00},
		{ir.FP16, "+nan", 0x7e00},
		{ir.FP16, "18446744073709551615", 0x7c00},
		{ir.FP32, "1.00000005960464477539062" + "5", 0x3f800000},
		{ir.FP32, "1.000000059604644775390625" + zeros + "1", 0x3f800001},
		{ir.FP32, "16777217", 0x4b800000},
		{ir.FP32, "16777217." + zeros + "1", 0x4b800001},
		{ir.FP32, "1e-46", 0},
		{ir.FP32, "3.4028235677973366e38", 0x7f7fffff},
		{ir.FP32, "340282356779733661637539395458142568447.9", 0x7f7fffff},
		{ir.FP32, "340282356779733661637539395458142568448.0", 0x7f800000},
		{ir.BF16, "1.00390625", 0x3f80},
		{ir.BF16, "1.00390625" + zeros + "1", 0x3f81},
		{ir.FP8E4M3, "448", 0x7e},
		{ir.FP8E4M3, "1000", 0x7e},
		{ir.FP8E4M3, "-1", 0xb8},
		{ir.FP8E5M2, "57344", 0x7b},
		{ir.FP8E5M2, "1e6", 0x7c},
		{ir.FP64, "0.1", math.Float64bits(0.1)},
	} {
		k, err := literal(lit(t, c.t.String(), c.text), ir.Scalar(c.t))
		if err != nil {
			t.Errorf("%s(%s): %v", c.t, c.text, err)
			continue
		}
		var b [8]byte
		copy(b[:], k.Data)
		if got := binary.LittleEndian.Uint64(b[:]); got != c.want || len(k.Data)*8 != c.t.Bits() {
			t.Errorf("%s(%s) = %#x in %d bytes, want %#x", c.t, c.text, got, len(k.Data), c.want)
		}
	}
}

// TestLiteralsAreRoundedToNearest compares fp16 and fp32 literals with exact rational arithmetic and with strconv.
func TestLiteralsAreRoundedToNearest(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for range 2000 {
		// A number near the middle of two fp16 numbers.
		lo := uint16(rnd.Intn(0x7bff))
		a, b := float64(float16.Frombits(lo).Float32()), float64(float16.Frombits(lo+1).Float32())
		mid := new(big.Rat).SetFloat64((a + b) / 2)
		nudge := new(big.Rat).SetFrac(big.NewInt(int64(rnd.Intn(3)-1)), new(big.Int).
			Exp(big.NewInt(10), big.NewInt(int64(30+rnd.Intn(40))), nil))
		text := mid.Add(mid, nudge).FloatString(120)
		want := lo
		if s := nudge.Sign(); s > 0 || s == 0 && lo&1 == 1 {
			want++
		}
		c, err := literal(lit(t, "fp16", text), ir.Scalar(ir.FP16))
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint16(c.Data); got != want {
			t.Errorf("fp16(%s) = %#x, want %#x", text, got, want)
		}
	}
	for range 5000 {
		v := math.Float64frombits(rnd.Uint64())
		if v != v || math.IsInf(v, 0) {
			continue
		}
		if rnd.Intn(2) == 0 {
			v = math.Ldexp(rnd.Float64(), rnd.Intn(300)-170)
		}
		text := strconv.FormatFloat(v, "ex"[rnd.Intn(2)], -1, 64)
		want, _ := strconv.ParseFloat(text, 32)
		c, err := literal(lit(t, "fp32", text), ir.Scalar(ir.FP32))
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint32(c.Data); got != math.Float32bits(float32(want)) {
			t.Errorf("fp32(%s) = %#x, want %#x", text, got, math.Float32bits(float32(want)))
		}
	}
}

// TestIntegersArePacked packs integers of every width and reads them back.
func TestIntegersArePacked(t *testing.T) {
	for _, d := range []ir.DType{ir.UInt1, ir.UInt2, ir.UInt3, ir.UInt4, ir.UInt6, ir.UInt8, ir.UInt16, ir.UInt32,
		ir.UInt64,
		ir.Int4, ir.Int8, ir.Int16, ir.Int32, ir.Int64} {
		lo, hi := int64(0), int64(math.MaxInt64)
		if d.Bits() < 64 {
			hi = 1<<d.Bits() - 1
		}
		if d.IsSigned() {
			lo, hi = -1<<(d.Bits()-1), 1<<(d.Bits()-1)-1
		}
		want := []int64{lo, hi, 0, 1 & hi, hi / 2, hi, lo, hi / 3, hi, 0, hi}
		var s []string
		for _, v := range want {
			s = append(s, strconv.FormatInt(v, 10))
		}
		typ := "tensor<" + d.String() + ", [11]>"
		c, err := literal(lit(t, typ, "["+strings.Join(s, ", ")+"]"), ir.TensorOf(d, 11))
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(c.Data)) != c.Type.Bytes() {
			t.Errorf("%s: %d bytes, want %d", d, len(c.Data), c.Type.Bytes())
		}
		for i, v := range want {
			if got := c.Int(int64(i)); got != v {
				t.Errorf("%s: element %d is %d, want %d", d, i, got, v)
			}
		}
	}
}
