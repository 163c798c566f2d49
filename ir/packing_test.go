package ir

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// looked returns the weights [4, 6] with a palette of four fp16 entries.
func looked(t testing.TB, entries ...float64) *Const {
	op := mkop(t, "constexpr_lut_to_dense", "ios18", args{
		"indices": packedConst(UInt2, []int64{4, 6}, 0xe4, 0x1b, 0x27, 0x8d, 0x00, 0xff),
		"lut":     floats(FP16, []int64{1, 1, 4, 1}, entries...),
	})
	cs, err := FoldOp(op)
	if err != nil {
		t.Fatal(err)
	}
	return cs[0]
}

// TestPaletteStaysWithItsValues follows the codebook of a weight through folds.
func TestPaletteStaysWithItsValues(t *testing.T) {
	w := looked(t, 1, -2, 0.5, 3)
	for _, c := range []struct {
		name string
		op   *Op
		want []float64 // entries, nil for none
	}{
		{"transpose", mkop(t, "transpose", "ios15", args{"x": lit(w), "perm": ns(1, 0)}), []float64{1, -2, 0.5, 3}},
		{"reshape", mkop(t, "reshape", "ios15", args{"x": lit(w), "shape": ns(24, 1)}), []float64{1, -2, 0.5, 3}},
		{"slice", mkop(t, "slice_by_size", "ios15", args{"x": lit(w), "begin": ns(1, 2), "size": ns(2, 2)}),
			[]float64{1, -2, 0.5, 3}},
		{"cast", mkop(t, "cast", "ios15", args{"x": lit(w), "dtype": str("fp32")}), []float64{1, -2, 0.5, 3}},
		{"one scale", mkop(t, "constexpr_blockwise_shift_scale", "ios18", args{"data": lit(w),
			"scale": floats(FP16, []int64{1, 1}, 2)}), []float64{2, -4, 1, 6}},
		{"a scale for each row", mkop(t, "constexpr_blockwise_shift_scale", "ios18", args{"data": lit(w),
			"scale": floats(FP16, []int64{4, 1}, 2, 1, 1, 1)}), nil},
		{"a sum", mkop(t, "add", "ios15", args{"x": lit(w), "y": f16(1)}), nil},
	} {
		cs, err := FoldOp(c.op)
		if err != nil || len(cs) != 1 {
			t.Fatalf("%s: %v, %d results", c.name, err, len(cs))
		}
		var got []float64
		if p := cs[0].Packing; p != nil {
			book := &Const{Type: TensorOf(cs[0].Type.DType, 4), Data: p.Codebook}
			got = book.Floats()
			if !p.packs(cs[0]) {
				t.Errorf("%s: a value is not in the codebook %v", c.name, got)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: entries %v, want %v", c.name, got, c.want)
		}
	}
	if p := w.ScaleRows(func(int64) float64 { return 0.5 }); p.Packing == nil || !p.Packing.packs(p) {
		t.Error("one factor for all rows drops the codebook")
	}
	if p := w.ScaleRows(func(row int64) float64 { return float64(row) }); p.Packing != nil {
		t.Error("factors of rows keep the codebook")
	}
}

// TestOneCodebookIsAPalette has lookups with several tables and with vectors.
func TestOneCodebookIsAPalette(t *testing.T) {
	for _, lut := range []*Value{
		floats(FP16, []int64{2, 1, 2, 1}, 1, 2, 3, 4),
		floats(FP16, []int64{1, 1, 2, 2}, 1, 2, 3, 4),
	} {
		op := mkop(t, "constexpr_lut_to_dense", "ios18", args{"indices": packedConst(UInt1, []int64{2, 2}, 0b1001),
			"lut": lut, "vector_axis": n(0)})
		cs, err := FoldOp(op)
		if err != nil || cs[0].Packing != nil {
			t.Errorf("lut %v: %v, %v", lut.Type, cs[0].Packing, err)
		}
	}
}

// textOfProduct prints a program that multiplies with a weight.
func textOfProduct(t *testing.T, w *Const) string {
	f := &Func{Name: "main", Opset: "ios18", Body: &Block{}}
	x := &Value{Name: "x", Type: TensorOf(FP16, 1, w.Type.Shape[1])}
	f.Body.Params = []*Value{x}
	op := mkop(t, "linear", "ios18", args{"x": x, "weight": &Value{Name: "w", Type: w.Type, Const: w}})
	op.Results = []*Value{{Name: "y", Type: TensorOf(FP16, 1, w.Type.Shape[0]), Def: op}}
	f.Body.Ops, f.Body.Outputs = []*Op{op}, op.Results
	var b strings.Builder
	if err := Print(&b, &Program{Version: "1.3", Funcs: []*Func{f}}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTextHasThePalette prints and reads a constant with a codebook, and refuses codebooks that are not its own.
func TestTextHasThePalette(t *testing.T) {
	w := looked(t, 1, -2, 0.5, 3)
	text := textOfProduct(t, w)
	p, err := Parse("text", []byte(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got := p.Funcs[0].Body.Ops[0].Arg(ParamWeight).Const
	if got.Packing == nil || !slices.Equal(got.Packing.Codebook, w.Packing.Codebook) {
		t.Errorf("the codebook is %+v\n%s", got.Packing, text)
	}
	if err := VerifyPackings(p); err != nil {
		t.Error(err)
	}
	stale := *got
	stale.Packing = newPacking(FP16, []byte{0, 0x3c, 0, 0xc0, 0, 0x38, 0, 0x43})
	p.Funcs[0].Body.Ops[0].Arg(ParamWeight).Const = &stale
	if err := VerifyPackings(p); err == nil || !strings.Contains(err.Error(), "linear: a value of") {
		t.Errorf("a codebook of other values: %v", err)
	}
	const book = `palette "003c00c000380042"`
	for bad, want := range map[string]string{
		`palette "003c00c00038"`:     "a codebook of 6 bytes",
		`palette "003c00c0003800"`:   "a codebook of 7 bytes",
		`palette "003c00c000380043"`: "a value of the constant is not in its codebook",
		`palette "zz"`:               "invalid hexadecimal",
	} {
		other := strings.Replace(text, book, bad, 1)
		_, err := Parse("text", []byte(other), nil)
		if other == text || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", bad, err, want)
		}
	}
}

// TestScalesStayWithTheirValues follows the scales of weights of bytes, and the zeros of sparse ones, through folds.
func TestScalesStayWithTheirValues(t *testing.T) {
	q := packedConst(Int8, []int64{3, 4}, 1, 2, 3, 0x80, 127, 5, 0xff, 0, 9, 9, 9, 9)
	fold := func(op *Op) *Const {
		t.Helper()
		cs, err := FoldOp(op)
		if err != nil || len(cs) != 1 {
			t.Fatalf("%v, %d results", err, len(cs))
		}
		return cs[0]
	}
	weight := func(scale *Value) *Const {
		return fold(mkop(t, "constexpr_blockwise_shift_scale", "ios18", args{"data": q, "scale": scale}))
	}
	rows := weight(floats(FP16, []int64{3, 1}, 0.5, 0.1, 3))
	for _, c := range []struct {
		name string
		c    *Const
		axis int // -1 without scales
		n    int
	}{
		{"of rows", rows, 0, 3},
		{"of columns", weight(floats(FP16, []int64{1, 4}, 0.5, 0.1, 3, 2)), 1, 4},
		{"of all", weight(floats(FP16, []int64{1, 1}, 0.1)), 0, 1},
		{"of blocks", weight(floats(FP16, []int64{3, 2}, 1, 2, 3, 4, 5, 6)), -1, 0},
		{name: "affine", c: fold(mkop(t, "constexpr_affine_dequantize", "ios16", args{"quantized_data": q,
			"scale": floats(FP16, []int64{4}, 1, 2, 3, 4), "zero_point": packedConst(Int8, []int64{4}, 0, 0, 0, 0),
			"axis": n(1)})), axis: 1, n: 4},
		{name: "affine with a zero point", c: fold(mkop(t, "constexpr_affine_dequantize", "ios16",
			args{"quantized_data": q, "scale": floats(FP16, []int64{}, 1),
				"zero_point": packedConst(Int8, []int64{}, 1), "axis": n(0)})), axis: -1, n: 0},
		{"transpose", fold(mkop(t, "transpose", "ios15", args{"x": lit(rows), "perm": ns(1, 0)})), 1, 3},
		{"reshape", fold(mkop(t, "reshape", "ios15", args{"x": lit(rows), "shape": ns(3, 2, 2)})), 0, 3},
		{"reshape across", fold(mkop(t, "reshape", "ios15", args{"x": lit(rows), "shape": ns(2, 6)})), -1, 0},
		{name: "slice of columns", c: fold(mkop(t, "slice_by_size", "ios15", args{"x": lit(rows), "begin": ns(0, 1),
			"size": ns(3, 2)})), axis: 0, n: 3},
		{name: "slice of rows", c: fold(mkop(t, "slice_by_size", "ios15", args{"x": lit(rows), "begin": ns(1, 0),
			"size": ns(2, 4)})), axis: -1, n: 0},
		{name: "cast of halves", c: fold(mkop(t, "cast", "ios15", args{
			"x": lit(weight(floats(FP16, []int64{3, 1}, 0.5, 2, 4))), "dtype": str("fp32")})), axis: 0, n: 3},
		{"sum", fold(mkop(t, "add", "ios15", args{"x": lit(rows), "y": f16(1)})), -1, 0},
	} {
		p := c.c.Packing
		switch {
		case c.axis < 0 && p != nil:
			t.Errorf("%s: %+v, want no packing", c.name, p)
		case c.axis < 0:
		case p == nil || p.Axis != c.axis || len(p.Scales) != c.n*c.c.Type.DType.Bits()/8 || !p.packs(c.c):
			t.Errorf("%s: %+v, want %d scales along %d", c.name, p, c.n, c.axis)
		}
	}
	mask := packedConst(UInt1, []int64{2, 4}, 0b10010110)
	some := fold(mkop(t, "constexpr_sparse_to_dense", "ios18", args{"mask": mask,
		"nonzero_data": floats(FP16, []int64{4}, 1, -2, 3, 4)}))
	turned := fold(mkop(t, "transpose", "ios15", args{"x": lit(some), "perm": ns(1, 0)}))
	column := fold(mkop(t, "slice_by_size", "ios15", args{"x": lit(some), "begin": ns(0, 2), "size": ns(1, 1)}))
	for name, c := range map[string]*Const{"sparse": some, "turned": turned} {
		if c.Packing == nil || c.Packing.Zeros != 4 {
			t.Errorf("%s: %+v, want 4 zeros", name, c.Packing)
		}
	}
	if column.Packing != nil {
		t.Errorf("no zeros are left: %+v", column.Packing)
	}
}

// TestTextHasScalesAndZeros prints and reads constants of bytes and sparse ones, and refuses what they are not.
func TestTextHasScalesAndZeros(t *testing.T) {
	scaled, err := FoldOp(mkop(t, "constexpr_blockwise_shift_scale", "ios18", args{
		"data":  packedConst(Int8, []int64{2, 2}, 1, 2, 3, 0x80),
		"scale": floats(FP16, []int64{2, 1}, 0.5, 0.1)}))
	if err != nil {
		t.Fatal(err)
	}
	zeros := &Const{Type: TensorOf(FP16, 2, 2), Data: []byte{0, 0x3c, 0, 0, 0, 0, 1, 0x42}}
	zeros.PackedSparse()
	for _, c := range []struct {
		w     *Const
		has   string
		wrong map[string]string
	}{
		{scaled[0], `int8 0 "0038662e"`, map[string]string{
			`int8 2 "0038662e"`: "scales along dimension 2",
			`int8 0 "003866"`:   "3 bytes of scales",
			`int8 0 "0038672e"`: "a value of the constant is not a byte times its scale",
			`int8 0 "zz"`:       "invalid hexadecimal",
			`sparse`:            "without zeros",
		}},
		{zeros, ` sparse`, map[string]string{` int8 0 "0038662e"`: "is not a byte times its scale"}},
	} {
		text := textOfProduct(t, c.w)
		if !strings.Contains(text, c.has) {
			t.Errorf("the text lacks %q:\n%s", c.has, text)
		}
		p, err := Parse("text", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Funcs[0].Body.Ops[0].Arg(ParamWeight).Const; !reflect.DeepEqual(got.Packing, c.w.Packing) {
			t.Errorf("the packing is %+v, want %+v", got.Packing, c.w.Packing)
		}
		for bad, want := range c.wrong {
			other := strings.Replace(text, c.has, bad, 1)
			_, err := Parse("text", []byte(other), nil)
			if other == text || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", bad, err, want)
			}
		}
	}
}
