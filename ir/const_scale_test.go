package ir

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

func TestScaleRowsRoundsEachProductOnce(t *testing.T) {
	const rows, per = 64, 1024 // every fp16 number once
	halves := make([]byte, 0, 2*rows*per)
	for i := range rows * per {
		halves = binary.LittleEndian.AppendUint16(halves, uint16(i))
	}
	var singles []byte
	for i := range rows * per {
		singles = AppendElem(singles, FP32, math.Ldexp(1+float64(i)/3, i%40-20))
	}
	for _, c := range []*Const{
		{Type: TensorOf(FP16, rows, per), Data: halves},
		{Type: TensorOf(FP16, 3, parallelBytes/4), Data: bytes.Repeat(halves, 3*parallelBytes/2/len(halves))},
		{Type: TensorOf(FP32, rows, per), Data: singles},
	} {
		for _, f := range []float64{1, 0.5, -3.0 / 1024, 65504, 0x1p-24, 1.0 / 3, math.Inf(1), math.NaN(), 0} {
			t.Run(fmt.Sprint(c.Type.DType, " ", f), func(t *testing.T) {
				factor := func(row int64) float64 { return f * float64(1+row%2) }
				var want []byte
				for i := range c.Elems() {
					row := i / (c.Elems() / c.Type.Shape[0])
					want = AppendElem(want, c.Type.DType, float64(c.Float(i)*factor(row)))
				}
				if got := c.ScaleRows(factor); !bytes.Equal(got.Data, want) || !got.Type.Equal(c.Type) {
					t.Errorf("the elements of %v differ from products rounded one by one", got.Type)
				}
			})
		}
	}
}

func TestAppendElemWritesOneNaN(t *testing.T) {
	for dtype, want := range map[DType]string{
		FP16: "007e", BF16: "c07f", FP32: "0000c07f", FP64: "010000000000f87f",
	} {
		for _, bits := range []uint64{0x7ff8000000000000, 0xfff8000000000000, 0x7ff0000000000001, 0xffffffffffffffff} {
			if got := fmt.Sprintf("%x", AppendElem(nil, dtype, math.Float64frombits(bits))); got != want {
				t.Errorf("NaN %#x as %v: bytes %s, want %s", bits, dtype, got, want)
			}
		}
	}
}
